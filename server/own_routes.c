/* SPDX-License-Identifier: Apache-2.0 */
#include "server/own_routes.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "loader/access.h"
#include "loader/numbers_now.h"
#include "server/delivery.h"
#include "server/exchange.h"

#define LOOP_STALL_MS 10000 /* a loop that has not turned for so long is not alive */

static void healthz(struct dx_connection *c)
{
    struct dx_serving *serving = c->stream.loop->serving;
    struct dx_buf *body = &c->stream.loop->body;
    struct dx_problem stalled;

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

/* A version of which objects were lost still answers what it can: ready, and degraded. Which objects these are
 * is not for everybody where not everybody may see all. */
static void write_state(const struct dx_serving *serving, bool words_too, struct dx_json *j)
{
    const struct dx_answers *answers = serving->answers;
    struct dx_buf words = DX_BUF_INIT(1024);
    bool sound = answers->sound == NULL || answers->sound(answers->from, &words);
    struct dx_access_health access;
    struct dx_numbers_health numbers;

    dx_numbers_now_health(answers->numbers, &numbers);
    if (!numbers.sound)
        dx_buf_fmt(&words, "%sdomain64: %s", words.size == 0 ? "" : "; ", numbers.text);
    if (!words_too)
        dx_buf_clear(&words);
    dx_access_health(serving->options.access, dx_clock_ms(), &access);
    if (!access.sound) /* why may have names in it, and whoever asks here says none */
        dx_buf_fmt(&words, "%saccess: the last look at who may see what failed; the log says why",
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

static void readyz(struct dx_connection *c)
{
    struct dx_serving *serving = c->stream.loop->serving;
    struct dx_buf *body = &c->stream.loop->body;
    struct dx_problem problem;
    struct dx_json j;
    int rc = is_ready(c, &problem);

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

bool dx_own_routes_answer(struct dx_connection *c)
{
    c->record.from = DX_FROM_LOOP;
    switch (c->stream.loop->ask.route) {
    case DX_ROUTE_HEALTHZ:
        healthz(c);
        return true;
    case DX_ROUTE_READYZ:
        readyz(c);
        return true;
    default:
        return false;
    }
}
