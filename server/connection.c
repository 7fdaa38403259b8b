/* SPDX-License-Identifier: Apache-2.0 */
#include "server/connection.h"

#include "server/admin_routes.h"
#include "server/bulk_answer.h"
#include "server/delivery.h"
#include "server/exchange.h"
#include "server/job_wait.h"
#include "server/kept_reply.h"
#include "server/own_routes.h"
#include "server/single_answer.h"
#include "server/toll.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_REQUESTS_MAX 16         /* served in one wake before others have their turn */
#define BODY_KEEP_BYTES (256 * 1024) /* a loop's body buffer larger than this is given back */

/* The last thing every entry point does. */
static void reap(struct dx_connection *c)
{
    if (c->stream.wait != DX_WAIT_CLOSED)
        return;
    if (c->stream.admin)
        dx_admin_listener_gone(&c->stream.loop->admin);
    dx_job_wait_cancel(c);
    dx_bulk_answer_release(c);
    dx_exchange_drop(c);
    dx_buf_release(&c->pending);
    dx_buf_release(&c->target);
    free(c);
}

/* ---- heads ---- */

static struct dx_span if_none_match(const struct dx_connection *c, struct dx_span head)
{
    /* Lists over two lines are rare; to send the whole answer is always right. */
    if (c->head.if_none_match_twice || c->head.if_none_match.size == 0)
        return (struct dx_span){ NULL, 0 };
    return dx_head_slice(head, c->head.if_none_match);
}

static void answer_get(struct dx_connection *c, struct dx_span target, struct dx_span match)
{
    struct dx_loop *loop = c->stream.loop;
    struct dx_problem problem;
    int rc;

    if (dx_kept_reply_answer(c, target, match))
        return;
    rc = dx_target_parse(target, &loop->ask, &problem);
    c->record.route = loop->ask.route;
    c->record.dataset_id = loop->ask.dataset_id;
    if (rc == 0) {
        if (dx_toll_take(c, 1)) /* no question at all costs as much as a small one */
            dx_deliver_problem(c, &problem);
    } else if (loop->ask.route == DX_ROUTE_NAMES) {
        dx_deliver_refusal(c, 405, "this takes POST, with names in the body");
    } else if (!dx_own_routes_answer(c)) {
        dx_single_answer(c, target, match);
    }
    if (loop->body.capacity > BODY_KEEP_BYTES)
        dx_buf_release(&loop->body);
}

/* Who may be told nothing may still ask whether the server lives: that is a supervisor, who has no token. */
static void turn_away(struct dx_connection *c, struct dx_span target,
                      const struct dx_problem *problem)
{
    struct dx_problem ignored;
    bool own;

    if (c->head.method == DX_METHOD_POST) {
        c->closing = true; /* its body is not read */
        own = false;
    } else {
        own = dx_target_parse(target, &c->stream.loop->ask, &ignored) == 1;
        c->record.route = c->stream.loop->ask.route;
    }
    if (!(own && dx_own_routes_answer(c)) && dx_toll_take(c, 1))
        dx_deliver_problem(c, problem);
}

/* What the log of requests wants of a head; it is gone when the reply is out. */
static void keep_for_log(struct dx_connection *c, struct dx_span head, struct dx_span target)
{
    const struct dx_serving *serving = c->stream.loop->serving;

    if (serving->log == NULL)
        return;
    if (c->head.traceparent_count == 1)
        (void)dx_trace_id(dx_head_slice(head, c->head.traceparent), c->record.trace);
    if (serving->options.log_targets)
        dx_buf_append(&c->target, target.data, target.size);
}

static void answer(struct dx_connection *c, struct dx_span head)
{
    struct dx_loop *loop = c->stream.loop;
    struct dx_span target = dx_head_slice(head, c->head.target);
    struct dx_problem problem;

    keep_for_log(c, head, target);
    dx_loop_count(&loop->counts.requests);
    c->paid = 0;
    c->closing = c->closing || c->head.close || loop->draining;
    dx_buf_clear(&loop->body);
    if (c->stream.admin)
        dx_admin_answer(c, target);
    else if (dx_exchange_identify(c, head, &problem) == 0)
        turn_away(c, target, &problem);
    else if (c->head.method == DX_METHOD_POST)
        dx_bulk_answer(c, head, target);
    else
        answer_get(c, target, if_none_match(c, head));
}

/* Answers the requests at the front of bytes until one has to wait; returns the bytes used. */
static size_t serve(struct dx_connection *c, struct dx_span bytes)
{
    size_t used = 0;

    for (unsigned served = 0; used < bytes.size && !dx_stream_is_busy(&c->stream); served++) {
        struct dx_span rest = { bytes.data + used, bytes.size - used };
        enum dx_head_verdict verdict;

        if (served == TURN_REQUESTS_MAX) {
            dx_stream_turn_later(&c->stream);
            break;
        }
        if (!c->in_head)
            dx_exchange_begin(c);
        verdict = dx_request_head_parse(&c->head, rest);
        if (verdict == DX_HEAD_MORE)
            break;
        dx_exchange_head_read(c);
        if (verdict == DX_HEAD_REJECT) {
            dx_loop_count(&c->stream.loop->counts.rejected);
            dx_deliver_refusal(c, c->head.reject_status, c->head.reject_reason);
            return bytes.size;
        }
        used += c->head.size;
        answer(c, rest);
    }
    return used;
}

/* ---- bytes ---- */

static bool is_over(const struct dx_connection *c)
{
    return c->stream.wait == DX_WAIT_CLOSED || c->stream.wait == DX_WAIT_LINGER;
}

static void keep_rest(struct dx_connection *c, struct dx_span rest)
{
    if (is_over(c) || (c->closing && c->bulk == NULL))
        return;
    dx_buf_append(&c->pending, rest.data, rest.size);
    if (c->pending.failed)
        dx_stream_shut(&c->stream);
}

/* After anything that may have changed what the connection waits for. */
static void settle(struct dx_connection *c)
{
    struct dx_stream *s = &c->stream;
    bool at_work = dx_stream_is_busy(s) || s->in_turns;

    if (is_over(c))
        return;
    if (s->eof && !at_work)
        dx_stream_shut(s); /* whatever is there is no whole head and never will be */
    else if (at_work && c->pending.size >= DX_HEAD_MAX)
        dx_stream_pause(s);
    else
        dx_stream_listen(s);
}

static void serve_pending(struct dx_connection *c)
{
    struct dx_buf *p = &c->pending;
    size_t used;

    if (p->size > 0 && !dx_stream_is_busy(&c->stream)) {
        used = serve(c, (struct dx_span){ p->data, p->size });
        if (is_over(c))
            return;
        if (used < p->size) {
            memmove(p->data, p->data + used, p->size - used);
            p->size -= used;
        } else {
            dx_buf_release(p);
        }
    }
    settle(c);
}

/* A list works on what has come; its exchange may end with that. */
static void go_on_with_list(struct dx_connection *c)
{
    dx_bulk_answer_go_on(c);
    if (c->stream.wait == DX_WAIT_IDLE)
        settle(c);
}

static void take_body(struct dx_connection *c, struct dx_span bytes)
{
    size_t used = dx_bulk_answer_take(c, bytes);

    keep_rest(c, (struct dx_span){ bytes.data + used, bytes.size - used });
    if (dx_bulk_answer_takes(c))
        go_on_with_list(c);
}

static void take_heads(struct dx_connection *c, struct dx_span bytes)
{
    struct dx_stream *s = &c->stream;
    size_t used;

    if (dx_stream_is_busy(s) || s->in_turns || c->pending.size > 0) {
        keep_rest(c, bytes);
        if (s->wait != DX_WAIT_CLOSED && !s->in_turns)
            serve_pending(c);
        else
            settle(c);
        return;
    }
    used = serve(c, bytes);
    if (used < bytes.size)
        keep_rest(c, (struct dx_span){ bytes.data + used, bytes.size - used });
    settle(c);
}

static void read_some(struct dx_connection *c)
{
    struct dx_span bytes = dx_stream_read(&c->stream);

    if (bytes.size == 0 && !c->stream.eof)
        return;
    if (dx_bulk_answer_takes(c))
        take_body(c, bytes);
    else if (bytes.size == 0)
        settle(c);
    else
        take_heads(c, bytes);
}

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
    struct dx_connection *c = argument;

    (void)fd;
    (void)what;
    dx_loop_clock(c->stream.loop);
    if (c->stream.wait == DX_WAIT_LINGER)
        dx_stream_discard(&c->stream);
    else
        read_some(c);
    reap(c);
}

/* Long replies go on in turns behind the requests that have come, so that who takes much does not keep
 * those waiting who ask for little. */
static void on_writable(evutil_socket_t fd, short what, void *argument)
{
    struct dx_connection *c = argument;

    (void)fd;
    (void)what;
    dx_stream_turn_later(&c->stream);
}

static void go_on_writing(struct dx_connection *c)
{
    if (dx_stream_go_on(&c->stream) == DX_SENT_ALL) {
        if (c->bulk != NULL) {
            dx_bulk_answer_is_out(c);
            if (c->stream.wait == DX_WAIT_IDLE)
                settle(c);
        } else {
            dx_buf_release(&c->stream.out_head);
            dx_stream_let_go(&c->stream);
            dx_exchange_mark(c, DX_STAGE_SEND);
            dx_exchange_sent(c, DX_SENT_ALL);
            serve_pending(c);
        }
    }
}

static void drain(struct dx_connection *c)
{
    struct dx_stream *s = &c->stream;
    bool newcomer;

    c->closing = true;
    if (!dx_stream_is_busy(s) && !c->in_head && !s->in_turns) {
        read_some(c); /* a request may have come in the meantime */
        newcomer = s->wait == DX_WAIT_HEAD && s->loop->newcomers_until_ms != 0;
        if (!dx_stream_is_busy(s) && !c->in_head && !newcomer)
            dx_stream_shut(s);
    }
}

/* ---- entry points of the loop ---- */

void dx_connection_open(struct dx_loop *loop, const struct dx_guest *guest)
{
    struct dx_connection *c = calloc(1, sizeof *c);

    if (c == NULL) {
        if (guest->admin)
            dx_admin_listener_gone(&loop->admin);
        (void)close(guest->fd);
        dx_serving_gone(loop->serving, guest->admin ? NULL : &guest->peer);
        return;
    }
    dx_buf_init(&c->pending, DX_HEAD_MAX + DX_LOOP_READ_MAX);
    dx_buf_init(&c->target, DX_TARGET_MAX);
    if (dx_stream_open(&c->stream, loop, guest, on_readable, on_writable, c) && loop->draining)
        drain(c);
    reap(c);
}

void dx_connection_turn(struct dx_connection *c)
{
    TAILQ_REMOVE(&c->stream.loop->turns, &c->stream, turn);
    c->stream.in_turns = false;
    if (c->stream.wait == DX_WAIT_WRITE)
        go_on_writing(c);
    else if (dx_bulk_answer_takes(c))
        go_on_with_list(c);
    else
        serve_pending(c);
    reap(c);
}

void dx_connection_answered(struct dx_job *job)
{
    struct dx_connection *c = job->connection;

    if (c == NULL) {
        dx_toll_of_job(job);
        ((struct dx_loop *)job->loop)->serving->answers->unpin(job->version);
        dx_job_free(&job);
        return;
    }
    dx_job_wait_end(c, job);
    if (c->bulk != NULL)
        dx_bulk_answered(c, job);
    else
        dx_single_answered(c, job);
    dx_job_free(&job);
    serve_pending(c);
    reap(c);
}

void dx_connection_expire(struct dx_connection *c)
{
    enum dx_wait wait = c->stream.wait;

    if (wait != DX_WAIT_IDLE && wait != DX_WAIT_LINGER && wait != DX_WAIT_LATER)
        dx_loop_count(&c->stream.loop->counts.timeouts);
    if (wait == DX_WAIT_HEAD && c->in_head) {
        dx_exchange_head_read(c);
        dx_deliver_refusal(c, 408, "the request head did not arrive in time");
    } else if (wait == DX_WAIT_JOB) {
        dx_bulk_answer_release(c);
        dx_single_answer_late(c);
    } else if (wait == DX_WAIT_BODY || wait == DX_WAIT_LATER) {
        dx_bulk_answer_late(c);
        if (c->stream.wait == DX_WAIT_IDLE)
            settle(c);
    } else {
        dx_stream_shut(&c->stream);
    }
    reap(c);
}

void dx_connection_close(struct dx_connection *c)
{
    dx_stream_shut(&c->stream);
    reap(c);
}

void dx_connection_drain(struct dx_connection *c)
{
    drain(c);
    reap(c);
}
