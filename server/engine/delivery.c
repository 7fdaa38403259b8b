/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/delivery.h"

#include "base/log.h"
#include "server/observe/server_timing.h"
#include "server/policy/receipt.h"
#include "server/routes/route.h"
#include "server/routes/routes.h"

#include <inttypes.h>
#include <string.h>

/* The kernel takes so much of every reply: it is not held here, so it is never refused for want of
 * room. */
#define SMALL_BYTES 16384

static const struct dx_span no_target = { NULL, 0 };

static void keep_reply(struct dx_connection *c, const struct dx_delivery *d)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_request_record *r = &c->record;
    const struct dx_cached_reply_parts parts = {
        .status = d->status,
        .etag = d->etag,
        .date_second = loop->date_second,
        .date_at = dx_reply_date_at(d->status),
        .head = dx_span_of(loop->head.data, loop->head.size),
        .body = d->payload,
        .subject = d->subject,
        .refusal = r->refusal,
        .route = r->route,
        .summary = r->summary,
    };

    if (loop->head.failed || c->closing)
        return;
    dx_reply_cache_put(&loop->replies, dx_scope_key(dx_exchange_scope(c)), d->keep, &parts);
    atomic_store_explicit(&loop->counts.hot_bytes, loop->replies.bytes, memory_order_relaxed);
}

static void copy_name(char to[DX_VERSION_NAME], const char *name)
{
    size_t size = strnlen(name, DX_VERSION_NAME - 1);

    memcpy(to, name, size);
    to[size] = '\0';
}

void dx_delivery_record(struct dx_connection *c, int status)
{
    struct dx_request_record *r = &c->record;

    dx_exchange_mark(c, DX_STAGE_ANSWER);
    r->status = status;
    if (c->version != NULL && c->stream.loop->serving->log != NULL)
        copy_name(r->version, c->stream.loop->serving->answers->version_name(c->version));
}

/* Of answers that were computed for this request alone. A cached reply has none: it must not show
 * times of another client's request. Restricted callers get none: sketches are read only where
 * datasets are hidden, and microseconds without the network would reveal them. */
static void add_timing(struct dx_connection *c, const struct dx_reply *r)
{
    struct dx_loop *loop = c->stream.loop;
    DX_UNINITIALIZED char text[DX_SERVER_TIMING_TEXT];
    DX_UNINITIALIZED struct dx_reply timed;

    if (!loop->serving->options.server_timing || c->restricted || r->status != 200 ||
        (c->record.from != DX_FROM_LOOP && c->record.from != DX_FROM_WORKER))
        return;
    dx_server_timing(&c->record, text);
    timed = *r;
    timed.timing = text;
    dx_buf_clear(&loop->head);
    dx_reply_head(&timed, &loop->head);
}

/* Of what there is, and of what there is not. Without one the client sees that it has none. A build follows from datasets
 * that a restricted caller may not see, and would tell it that a guess of what they hold is right. */
static void write_receipt(const struct dx_connection *c, const struct dx_delivery *d,
                          struct dx_buf *out)
{
    const struct dx_serving *serving = c->stream.loop->serving;
    const struct dx_answers *answers = serving->answers;
    struct dx_build_id build;
    struct dx_receipt r = { .at_s = (int64_t)c->stream.loop->date_second,
                            .method = c->head.method == DX_METHOD_HEAD ? "HEAD" : "GET",
                            .target = { c->receipt_of.data, c->receipt_of.size },
                            .status = d->status,
                            .body = d->payload };

    if (c->version != NULL)
        r.version = answers->version_name(c->version);
    if (c->version != NULL && !c->restricted && answers->version_build != NULL) {
        build = answers->version_build(c->version);
        r.build = dx_span_of((const uint8_t *)&build, sizeof build);
    }
    if (!dx_receipt_write(serving->options.receipt_key, &r, out)) {
        dx_buf_clear(out);
        dx_log(DX_LOG_ERROR, "no receipt of request %016" PRIx64 ": out of memory",
               c->record.number);
    }
}

void dx_deliver(struct dx_connection *c, const struct dx_delivery *d)
{
    struct dx_loop *loop = c->stream.loop;
    const struct dx_serving *serving = loop->serving;
    struct dx_span payload = d->payload;
    struct dx_buf receipt = DX_BUF_INIT(DX_RECEIPT_MAX);
    struct dx_reply r = {
        .status = d->status,
        .content_type = d->content_type,
        .body_size = payload.size,
        .date = loop->date,
        .version = c->version == NULL || d->status == 401
                       ? NULL
                       : loop->serving->answers->version_name(c->version),
        .etag = d->etag,
        .caching = d->caching != NULL                                  ? d->caching
                   : c->of_version && serving->version_caching[0] != 0 ? serving->version_caching
                                                                       : NULL,
        .untimed = d->untimed,
        .more = d->more,
        .by_paths = d->by_paths,
        .policy = d->policy,
        .coding = dx_coding_name(d->coding),
        .negotiated = c->negotiates && d->etag != NULL,
        .by_accept = c->by_accept,
        .location = d->location,
        .origin = c->stream.admin ? NULL : loop->serving->options.origin,
        .methods = d->status == 204 ? c->allow : NULL,
        .vary = c->under_table ? loop->serving->vary : NULL,
        .retry_s = d->retry_s,
        .allow = d->status == 204 ? NULL : c->allow,
        .close = c->closing,
    };

    if (c->receipt_of.size > 0 && (d->status == 200 || d->status == 404))
        write_receipt(c, d, &receipt);
    r.receipt = dx_span_of(receipt.data, receipt.size);
    dx_delivery_record(c, d->status);
    dx_buf_clear(&loop->head);
    dx_reply_head(&r, &loop->head);
    if (d->keep.size > 0 && (d->status == 200 || d->status == 404))
        keep_reply(c, d);
    add_timing(c, &r);
    dx_buf_release(&receipt);
    if (d->content_type == NULL || c->head.method == DX_METHOD_HEAD)
        payload = (struct dx_span){ NULL, 0 };
    dx_exchange_sent(c, dx_stream_send(&c->stream, &loop->head, payload, d->body, d->block));
}

static void deliver_document(struct dx_connection *c, int status, unsigned retry_s,
                             const char *content_type, struct dx_buf *body, struct dx_span keep)
{
    const struct dx_delivery d = {
        .keep = keep,
        .status = status,
        .retry_s = retry_s,
        .content_type = content_type,
        .payload = { body->data, body->size },
        .body = body,
    };

    dx_deliver(c, &d);
}

void dx_deliver_body(struct dx_connection *c, const char *content_type, struct dx_buf *body)
{
    deliver_document(c, 200, 0, content_type, body, no_target);
}

void dx_deliver_unchanged(struct dx_connection *c, const char *etag)
{
    const struct dx_delivery d = { .status = 304, .etag = etag };

    dx_deliver(c, &d);
}

static void deliver_problem(struct dx_connection *c, const struct dx_problem *problem,
                            struct dx_span keep)
{
    struct dx_buf *body = &c->stream.loop->body;
    int status = dx_reply_problem(problem, 0, true, body);

    c->record.refusal = problem->slug;
    deliver_document(c, status, problem->retry_s, "application/problem+json", body, keep);
}

void dx_deliver_problem(struct dx_connection *c, const struct dx_problem *problem)
{
    deliver_problem(c, problem, no_target);
}

static void say(struct dx_connection *c, const struct dx_problem *problem)
{
    struct dx_loop *loop = c->stream.loop;

    if (loop->said_second == loop->date_second)
        return;
    loop->said_second = loop->date_second;
    dx_log(DX_LOG_ERROR, "no answer to request %016" PRIx64 ": %s: %s", c->record.number,
           problem->slug, problem->detail);
}

static int write_failure(struct dx_connection *c, const struct dx_problem *problem,
                         struct dx_buf *body)
{
    say(c, problem);
    c->record.refusal = problem->slug;
    return dx_reply_problem(problem, c->record.number, !c->restricted, body);
}

void dx_delivery_write_failure(struct dx_connection *c, const struct dx_problem *problem,
                               struct dx_buf *body)
{
    (void)write_failure(c, problem, body);
}

void dx_deliver_failure(struct dx_connection *c, const struct dx_problem *problem)
{
    struct dx_buf *body = &c->stream.loop->body;
    int status = write_failure(c, problem, body);

    deliver_document(c, status, problem->retry_s, "application/problem+json", body, no_target);
}

void dx_deliver_no_answer(struct dx_connection *c, int rc, const struct dx_problem *problem)
{
    if (rc < 0)
        dx_deliver_failure(c, problem);
    else
        dx_deliver_problem(c, problem);
}

void dx_deliver_refusal(struct dx_connection *c, int status, const char *words)
{
    struct dx_buf *body = &c->stream.loop->body;

    c->closing = true;
    c->record.refusal = dx_reply_http_slug(status);
    dx_reply_http_problem(status, words, body);
    deliver_document(c, status, 0, "application/problem+json", body, no_target);
}

bool dx_delivery_is_broken(struct dx_connection *c)
{
    const struct dx_answers *answers = c->stream.loop->serving->answers;
    DX_UNINITIALIZED struct dx_problem broken;

    if (answers->intact == NULL || c->version == NULL || answers->intact(c->version, &broken))
        return false;
    dx_deliver_failure(c, &broken);
    return true;
}

void dx_deliver_overloaded(struct dx_connection *c, const char *why)
{
    struct dx_problem overloaded;

    dx_loop_count(&c->stream.loop->counts.overloaded);
    (void)dx_problem_set(&overloaded, DX_PROBLEM_UNAVAILABLE, "overloaded", "Server is overloaded",
                         "%s; try again in a moment", why);
    overloaded.retry_s = dx_retry_spread_s(atomic_load(&c->stream.loop->counts.overloaded) +
                                           c->stream.loop->ticks);
    dx_deliver_problem(c, &overloaded);
}

static bool has_room(const struct dx_serving *serving, size_t bytes)
{
    return bytes <= SMALL_BYTES ||
           atomic_load_explicit(&serving->held_bytes, memory_order_relaxed) <=
               serving->options.reply_memory;
}

bool dx_delivery_has_room(const struct dx_connection *c, size_t bytes)
{
    return has_room(c->stream.loop->serving, bytes);
}

void dx_deliver_no_room(struct dx_connection *c)
{
    dx_loops_tell(c->stream.loop->serving, DX_LOOP_SHED_READERS);
    dx_deliver_overloaded(c, "too many replies wait for slow clients");
}

bool dx_delivery_is_overloaded(struct dx_connection *c, size_t bytes)
{
    if (dx_delivery_has_room(c, bytes))
        return false;
    dx_deliver_no_room(c);
    return true;
}

void dx_delivery_hold(struct dx_serving *serving, struct dx_job *job)
{
    if (job->rc != 1 || dx_routes[job->ask.route]->post || job->rows != NULL)
        return; /* a list counts its blocks itself */
    if (has_room(serving, job->body.size)) {
        job->held = job->body.size;
        (void)atomic_fetch_add(&serving->held_bytes, job->held);
        return;
    }
    dx_buf_release(&job->body);
    job->dropped = true;
}

void dx_delivery_unhold(struct dx_serving *serving, struct dx_job *job)
{
    (void)atomic_fetch_sub(&serving->held_bytes, job->held);
    job->held = 0;
}

static struct dx_span kept_target(const struct dx_exchange *x)
{
    return x->keeps_reply ? x->kept_as : no_target;
}

static const char *media_of(const struct dx_ask *ask)
{
    const struct dx_route *route = dx_routes[ask->route];

    return route->media == NULL ? "application/json" : route->media(ask);
}

static void deliver_200(const struct dx_exchange *x, const struct dx_encoding *e)
{
    const struct dx_delivery d = {
        .status = 200,
        .content_type = media_of(x->ask),
        .etag = e->etag,
        .subject = dx_encoding_subject(e),
        .coding = e->coding,
        .payload = { x->body->data, x->body->size },
        .body = x->body,
        .untimed = x->summary.untimed_rows,
        .more = x->summary.more_rows,
        .by_paths = x->summary.by_paths,
        .keep = kept_target(x),
    };
    dx_deliver(x->c, &d);
}

/* There is one: it is sent, unless the client has it already. */
static void deliver_body(const struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    struct dx_serving *serving = c->stream.loop->serving;
    const struct dx_encoding *e = x->encoding;
    DX_UNINITIALIZED struct dx_encoding here;
    struct dx_span bytes;

    c->record.summary = x->summary;
    if (e == NULL) {
        dx_encoding_make(&here, x->ask, x->key != NULL || x->keeps_reply, x->body);
        e = &here;
    }
    bytes = dx_span_of(x->body->data, x->body->size);
    c->of_version = c->of_version && e->lasts;
    if (x->key != NULL)
        dx_body_cache_offer(serving->bodies, x->key, serving->answers, c->version,
                            &(struct dx_hot_answer){ bytes, e->etag, x->summary,
                                                     dx_encoding_subject(e), e->coding, e->lasts });
    if (x->match.size > 0 && dx_reply_etag_matches(x->match, e->etag))
        dx_deliver_unchanged(c, e->etag);
    else
        deliver_200(x, e);
}

void dx_deliver_answer(const struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    DX_UNINITIALIZED struct dx_problem failed;

    /* Absent is an answer too, and a failure may have this cause. */
    if (dx_delivery_is_broken(c))
        return;
    if (x->rc == 1 && x->body->failed) {
        (void)dx_problem_set(&failed, DX_PROBLEM_UNAVAILABLE, "out-of-memory", "Out of memory",
                             "the answer does not fit the memory a reply may take; "
                             "ask for a smaller page");
        dx_deliver_problem(c, &failed);
    } else if (x->rc < 0) {
        dx_deliver_failure(c, x->problem);
    } else if (x->rc != 1) {
        deliver_problem(c, x->problem, kept_target(x));
    } else if (!dx_delivery_is_overloaded(c, x->body->size)) {
        deliver_body(x);
    }
}

static void deliver_block(struct dx_connection *c, const struct dx_hot_answer *hot,
                          struct dx_cached **block)
{
    const struct dx_delivery d = {
        .status = 200,
        .content_type = "application/json",
        .etag = hot->etag,
        .payload = hot->body,
        .coding = hot->coding,
        .block = block,
    };

    dx_deliver(c, &d);
}

bool dx_deliver_cached(const struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    struct dx_serving *serving = c->stream.loop->serving;
    struct dx_hot_answer hot;
    struct dx_cached *block = dx_body_cache_get(serving->bodies, x->key, &hot);

    if (block == NULL)
        return false;
    if (!dx_delivery_is_broken(c) && !dx_delivery_is_overloaded(c, hot.body.size)) {
        c->record.from = DX_FROM_BODY_CACHE;
        c->record.summary = hot.summary;
        c->of_version = c->of_version && hot.lasts;
        if (serving->answers->asked_again != NULL)
            serving->answers->asked_again(c->version, hot.subject);
        if (x->match.size > 0 && dx_reply_etag_matches(x->match, hot.etag))
            dx_deliver_unchanged(c, hot.etag);
        else
            deliver_block(c, &hot, &block);
    }
    dx_body_cache_put(serving->bodies, &block);
    return true;
}
