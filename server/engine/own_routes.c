/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/own_routes.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/release.h"
#include "loader/followed/access.h"
#include "loader/followed/domain64_live.h"
#include "server/engine/charge.h"
#include "server/engine/delivery.h"
#include "server/engine/metrics.h"
#include "server/policy/receipt.h"
#include "server/routes/openapi.h"
#include "server/routes/route.h"

#define LOOP_STALL_MS 10000 /* a loop that has not turned for so long is not alive */

static void answer_healthz(struct dx_connection *c, struct dx_span match)
{
    struct dx_serving *serving = c->stream.loop->serving;
    struct dx_buf *body = &c->stream.loop->body;
    struct dx_problem stalled;

    (void)match;
    for (unsigned i = 0; i < serving->loop_count; i++) {
        int64_t ticked = atomic_load(&serving->loops[i]->counts.ticked_ms);

        if (c->stream.loop->now_ms - ticked > LOOP_STALL_MS) {
            (void)dx_problem_set(&stalled, DX_PROBLEM_UNAVAILABLE, "stalled", "A loop stands still",
                                 "an event loop has not turned for %d seconds",
                                 LOOP_STALL_MS / 1000);
            dx_deliver_problem(c, &stalled);
            return;
        }
    }
    dx_buf_clear(body);
    dx_buf_str(body, "{\"status\":\"ok\"}");
    dx_deliver_body(c, "application/json", body);
}

/* A version of which objects were lost still answers what it can: ready, and degraded. Which
 * objects these are is not for everybody where not everybody may see all. */
static void write_state(const struct dx_serving *serving, bool words_too, struct dx_json *j)
{
    const struct dx_answers *answers = serving->answers;
    struct dx_buf words = DX_BUF_INIT(1024);
    bool sound = answers->sound == NULL || answers->sound(answers->from, &words);
    struct dx_access_health access;
    struct dx_domain64_registry_health numbers;

    dx_domain64_live_health(answers->numbers, &numbers);
    if (!numbers.sound)
        dx_buf_fmt(&words, "%sdomain64: %s", words.size == 0 ? "" : "; ", numbers.text);
    if (!words_too)
        dx_buf_clear(&words);
    dx_access_health(serving->options.access, dx_clock_ms(), &access);
    if (!access.sound) /* why may contain names, and this caller is anonymous */
        dx_buf_fmt(&words, "%saccess: the last read of the access table failed; the log says why",
                   words.size == 0 ? "" : "; ");
    sound = sound && access.sound && numbers.sound;
    dx_json_key(j, "state");
    dx_json_str(j, sound ? "sound" : "degraded");
    if (!sound && words.size > 0) {
        dx_json_key(j, "detail");
        dx_json_text(j, dx_span_of(words.data, words.size));
    }
    dx_buf_release(&words);
}

/* 1; 0, or <0 of what is damaged: problem says why not. */
static int is_ready(const struct dx_connection *c, struct dx_problem *problem)
{
    const struct dx_serving *serving = c->stream.loop->serving;

    if (atomic_load(&serving->draining))
        return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "draining", "Server is draining",
                              "the server stops soon; send requests to another one");
    if (c->version == NULL)
        return dx_exchange_no_version(problem);
    if (!dx_access_known(serving->options.access, dx_clock_ms()))
        return dx_identity_unknown(problem);
    return serving->answers->intact == NULL || serving->answers->intact(c->version, problem)
               ? 1
               : DX_E_CORRUPT;
}

static void answer_readyz(struct dx_connection *c, struct dx_span match)
{
    struct dx_serving *serving = c->stream.loop->serving;
    struct dx_buf *body = &c->stream.loop->body;
    struct dx_problem problem;
    struct dx_json j;
    int rc = is_ready(c, &problem);

    (void)match;
    if (rc != 1) {
        dx_deliver_no_answer(c, rc, &problem);
        return;
    }
    dx_buf_clear(body);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "ready");
    dx_json_bool(&j, true);
    dx_json_key(&j, "version");
    dx_json_str(&j, serving->answers->version_name(c->version));
    write_state(serving, !c->under_table, &j);
    dx_json_end(&j);
    dx_deliver_body(c, "application/json", body);
}

static void metrics(struct dx_connection *c, struct dx_span match)
{
    struct dx_buf *body = &c->stream.loop->body;

    (void)match;
    dx_buf_clear(body);
    dx_metrics_write(c->stream.loop->serving, body);
    dx_deliver_body(c, "text/plain; version=0.0.4; charset=utf-8", body);
}

static void answer_program(struct dx_connection *c, struct dx_span match)
{
    const struct dx_answers *answers = c->stream.loop->serving->answers;
    struct dx_buf *body = &c->stream.loop->body;
    struct dx_json j;

    (void)match;
    dx_buf_clear(body);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "program");
    dx_json_str(&j, "domaindexd");
    dx_json_key(&j, "version");
    dx_json_str(&j, dx_release());
    dx_json_key(&j, "compiler");
    dx_json_str(&j, __VERSION__);
    dx_json_key(&j, "index_version");
    if (c->version == NULL)
        dx_json_null(&j);
    else
        dx_json_str(&j, answers->version_name(c->version));
    dx_json_end(&j);
    dx_deliver_body(c, "application/json", body);
}

/* What does not change while the server runs; free only for a client that has it. */
static void deliver_document(struct dx_connection *c, enum dx_route_id route, struct dx_span match,
                             const struct dx_delivery *like, const struct dx_buf *text)
{
    struct dx_buf *body = &c->stream.loop->body;
    struct dx_delivery d = *like;
    struct dx_encoding e;

    if (!dx_charge_take(c, dx_routes[route]->cost.base) || dx_delivery_is_overloaded(c, text->size))
        return;
    dx_buf_clear(body);
    dx_buf_append(body, text->data, text->size);
    if (body->failed) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_problem problem;

        (void)dx_buf_fail(body, &err, "document");
        (void)dx_problem_of_error(&problem, &err);
        dx_buf_clear(body);
        dx_deliver_problem(c, &problem);
        return;
    }
    dx_encoding_make(&e, &c->stream.loop->ask, false, body);
    if (match.size > 0 && dx_reply_etag_matches(match, e.etag)) {
        dx_deliver_unchanged(c, e.etag);
        return;
    }
    d.status = 200;
    d.etag = e.etag;
    d.coding = e.coding;
    d.payload = dx_span_of(body->data, body->size);
    d.body = body;
    dx_deliver(c, &d);
}

static void openapi(struct dx_connection *c, struct dx_span match)
{
    const struct dx_delivery like = { .content_type = "application/json" };

    deliver_document(c, DX_ROUTE_OPENAPI, match, &like, &c->stream.loop->serving->openapi);
}

static void docs(struct dx_connection *c, struct dx_span match)
{
    const struct dx_delivery like = { .content_type = "text/html; charset=utf-8",
                                      .policy = dx_openapi_page_policy };

    deliver_document(c, DX_ROUTE_DOCS, match, &like, &c->stream.loop->serving->docs);
}

static void receipt_key(struct dx_connection *c, struct dx_span match)
{
    const struct dx_delivery like = { .content_type = "application/x-pem-file" };
    const struct dx_jws_key *key = c->stream.loop->serving->options.receipt_key;
    struct dx_buf pem = DX_BUF_INIT(1024);
    struct dx_problem problem;

    if (key == NULL) {
        (void)dx_problem_set(&problem, DX_PROBLEM_NOT_FOUND, "no-receipts", "No receipts",
                             "this server has no key to sign receipts with (receipt-key-file)");
        if (dx_charge_take(c, dx_routes[DX_ROUTE_RECEIPT_KEY]->cost.base))
            dx_deliver_problem(c, &problem);
    } else if (!dx_jws_public(key, &pem)) {
        dx_deliver_overloaded(c, "no memory for the key");
    } else {
        deliver_document(c, DX_ROUTE_RECEIPT_KEY, match, &like, &pem);
    }
    dx_buf_release(&pem);
}

/* ---- which of them ---- */

static const struct {
    enum dx_route_id route;
    void (*answer)(struct dx_connection *c, struct dx_span match);
} rows[] = {
    { DX_ROUTE_HEALTHZ, answer_healthz },  { DX_ROUTE_READYZ, answer_readyz },
    { DX_ROUTE_METRICS, metrics },         { DX_ROUTE_PROGRAM, answer_program },
    { DX_ROUTE_OPENAPI, openapi },         { DX_ROUTE_DOCS, docs },
    { DX_ROUTE_RECEIPT_KEY, receipt_key },
};

bool dx_own_routes_answer(struct dx_connection *c, enum dx_route_id route, struct dx_span match)
{
    c->record.from = DX_FROM_LOOP;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].route == route) {
            rows[i].answer(c, match);
            return true;
        }
    return false;
}

/* ---- the admin listener ---- */

static enum dx_route_id admin_route(struct dx_span target)
{
    for (size_t i = 0; target.size > 1 && i < sizeof rows / sizeof rows[0]; i++)
        if ((dx_routes[rows[i].route]->admin || !dx_routes[rows[i].route]->words->charged) &&
            dx_span_equal(dx_span_of(target.data + 1, target.size - 1),
                          dx_span_str(dx_routes[rows[i].route]->pattern)))
            return rows[i].route;
    return DX_ROUTE_COUNT;
}

const char *dx_admin_methods(struct dx_span target)
{
    return admin_route(target) == DX_ROUTE_COUNT ? NULL : "GET, HEAD";
}

void dx_admin_answer(struct dx_connection *c, struct dx_span target)
{
    enum dx_route_id route = admin_route(target);
    struct dx_problem problem;

    c->record.route = route;
    c->record.from = DX_FROM_LOOP;
    if (c->head.method == DX_METHOD_POST)
        c->closing = true; /* its body is not read */
    else if (dx_own_routes_answer(c, route, (struct dx_span){ NULL, 0 }))
        return;
    (void)dx_problem_set(&problem, DX_PROBLEM_NOT_FOUND, "no-such-resource", "No such resource",
                         "this listener has /metrics, /healthz, /readyz and /version");
    dx_deliver_problem(c, &problem);
}
