/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/connection.h"

#include "server/engine/bulk_answer.h"
#include "server/engine/charge.h"
#include "server/engine/delivery.h"
#include "server/engine/exchange.h"
#include "server/engine/greeting.h"
#include "server/engine/job_wait.h"
#include "server/engine/own_routes.h"
#include "server/engine/reply_reuse.h"
#include "server/engine/row_reply.h"
#include "server/engine/single_answer.h"
#include "server/engine/web_page.h"
#include "server/policy/receipt.h"
#include "server/routes/route.h"
#include "server/routes/row_ask.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_PATH_MAX 1024           /* of a longer one the answer is JSON */
#define TURN_REQUESTS_MAX 16         /* served in one wake before others have their turn */
#define BODY_KEEP_BYTES (256 * 1024) /* a loop's body buffer larger than this is given back */

/* The last thing every entry point does. */
static void reap(struct dx_connection *c)
{
    if (c->stream.wait != DX_WAIT_CLOSED)
        return;
    if (c->stream.admin)
        c->stream.loop->admin.open--;
    dx_job_wait_cancel(c);
    dx_bulk_answer_release(c);
    dx_row_reply_release(c);
    dx_exchange_drop(c);
    dx_buf_release(&c->pending);
    dx_buf_release(&c->target);
    dx_buf_release(&c->receipt_of);
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

/* Its body, if it has one, is not read. */
static void refuse_method(struct dx_connection *c, const char *allow)
{
    c->allow = allow;
    dx_deliver_refusal(c, 405,
                       strcmp(allow, "POST") == 0 ? "this takes POST, with names in the body"
                       : strcmp(allow, "GET, HEAD") == 0
                           ? "this takes GET and HEAD; POST is for " DX_HEAD_POST_PATH
                           : "this server takes GET and HEAD, and POST of " DX_HEAD_POST_PATH);
}

/* Of a method that the target does not take, or that nothing here takes. */
static void refuse_elsewhere(struct dx_connection *c, struct dx_span target)
{
    const char *methods = target.size == 0             ? "GET, HEAD, POST"
                          : c->stream.admin            ? dx_admin_methods(target)
                          : dx_web_page_has(c, target) ? "GET, HEAD"
                                                       : dx_target_methods(target);
    struct dx_problem problem;

    if (methods != NULL) {
        refuse_method(c, methods);
        return;
    }
    c->closing = true;
    if (c->stream.admin)
        dx_admin_answer(c, target);
    else if (dx_target_parse(target, false, &c->stream.loop->ask, &problem) == 0)
        dx_deliver_problem(c, &problem);
}

/* A browser asks so before a script of another origin may send a token, or a list of names. Nothing
 * that it says has to be read: the answer is the same for each. */
static bool answer_preflight(struct dx_connection *c, struct dx_span head)
{
    static const char method[] = "OPTIONS ";
    struct dx_span target = dx_head_slice(head, c->head.target);

    if (c->stream.loop->serving->options.origin == NULL || c->stream.admin || target.size == 0 ||
        head.size < sizeof method || memcmp(head.data, method, sizeof method - 1) != 0)
        return false;
    c->allow = dx_target_methods(target);
    if (c->allow == NULL)
        return false;
    c->closing = true;
    dx_deliver(c, &(struct dx_delivery){ .status = 204 });
    return true;
}

static void refuse_head(struct dx_connection *c, struct dx_span head)
{
    if (c->head.reject_status == 405 && answer_preflight(c, head))
        return;
    dx_loop_count(&c->stream.loop->counts.rejected);
    if (c->head.reject_status == 405)
        refuse_elsewhere(c, dx_head_slice(head, c->head.target));
    else
        dx_deliver_refusal(c, c->head.reject_status, c->head.reject_reason);
}

static void choose_coding(struct dx_loop *loop, struct dx_span field)
{
    loop->codings.chosen = dx_coding_choose(field);
    loop->codings.size = field.size <= sizeof loop->codings.text ? field.size : 0;
    memcpy(loop->codings.text, field.data, loop->codings.size);
}

/* By default not where answers depend on the caller: then the length of one that a script has made a
 * browser ask for, with a word of the script's in it, would tell whether the answer has the word too. */
static enum dx_coding wanted_coding(struct dx_connection *c, struct dx_span head)
{
    struct dx_loop *loop = c->stream.loop;
    enum dx_compress compress = loop->serving->options.compress;
    struct dx_span field;

    c->negotiates = compress == DX_COMPRESS_YES ||
                    (compress == DX_COMPRESS_AUTO && !c->under_table);
    if (!c->negotiates || c->head.accept_encoding.size == 0 || c->head.accept_encoding_twice)
        return DX_CODING_NONE;
    field = dx_head_slice(head, c->head.accept_encoding);
    if (!dx_span_equal(field, dx_span_of(loop->codings.text, loop->codings.size)))
        choose_coding(loop, field);
    return loop->codings.chosen;
}

/* Size 0: none is named, or it cannot be said. */
static struct dx_span accepted_codings(const struct dx_connection *c, struct dx_span head)
{
    if (c->head.accept_encoding.size == 0 || c->head.accept_encoding_twice)
        return (struct dx_span){ NULL, 0 };
    return dx_head_slice(head, c->head.accept_encoding);
}

/* Size 0: none is named, or it cannot be said. */
static struct dx_span accepted_types(const struct dx_connection *c, struct dx_span head)
{
    if (c->head.accept.size == 0 || c->head.accept_twice)
        return (struct dx_span){ NULL, 0 };
    return dx_head_slice(head, c->head.accept);
}

/* A target holds no space, so no other target has this key. */
static struct dx_span kept_as(struct dx_loop *loop, struct dx_span target, enum dx_coding coding)
{
    if (coding == DX_CODING_NONE)
        return target;
    dx_buf_clear(&loop->kept_as);
    dx_buf_append(&loop->kept_as, target.data, target.size);
    dx_buf_str(&loop->kept_as, " ");
    dx_buf_str(&loop->kept_as, dx_coding_name(coding));
    return dx_span_of(loop->kept_as.data, loop->kept_as.failed ? 0 : loop->kept_as.size);
}

/* A browser that shows a listing gets the page that shows it better. */
static bool send_to_page(struct dx_connection *c, const struct dx_ask *ask)
{
    const char *url = c->stream.loop->serving->options.public_url;
    struct dx_buf path = DX_BUF_INIT(PAGE_PATH_MAX);
    bool sent;

    dx_buf_str(&path, url == NULL ? "" : url);
    sent = ask->wants_page && dx_row_ask_page(ask, &path);

    if (sent)
        dx_deliver(c, &(struct dx_delivery){ .status = 303,
                                             .location = (const char *)path.data,
                                             .content_type = "text/plain" });
    dx_buf_release(&path);
    return sent;
}

/* A receipt is of the bytes of one whole answer, without a coding, and of this moment: so it is neither kept nor 304. */
static int take_receipt(struct dx_exchange *x)
{
    struct dx_connection *c = x->c;

    if (!x->ask->receipt)
        return 1;
    if (c->stream.loop->serving->options.receipt_key == NULL)
        return dx_problem_set(x->problem, DX_PROBLEM_BAD_REQUEST, "no-receipts", "No receipts",
                              "this server has no key to sign receipts with (receipt-key-file)");
    if (x->ask->row_format != DX_ROWS_JSON)
        return dx_route_refuse(x->problem, "a receipt is of one whole answer, not of a stream");
    if (x->target.size > DX_RECEIPT_TARGET_MAX)
        return dx_route_refuse(x->problem,
                               "a receipt is of a target of at most %d bytes; this one has %zu",
                               DX_RECEIPT_TARGET_MAX, x->target.size);
    dx_buf_append(&c->receipt_of, x->target.data, x->target.size);
    x->ask->coding = DX_CODING_NONE;
    x->match = x->kept_as = (struct dx_span){ NULL, 0 };
    return 1;
}

/* x->ask is a question of the API, in the format that the client prefers. */
static void answer_ask(struct dx_exchange *x, struct dx_span accepted)
{
    struct dx_connection *c = x->c;

    x->rc = dx_row_ask_choose(x->ask, accepted, c->stream.loop->serving->options.web, x->problem);
    if (x->rc == 1)
        x->rc = take_receipt(x);
    if (x->rc == 0) {
        if (dx_charge_take(c, 1))
            dx_deliver_problem(c, x->problem);
    } else if (x->ask->wants_page && !dx_charge_take(c, 1)) {
        return;
    } else if (send_to_page(c, x->ask)) {
        return;
    } else if (x->ask->row_format != DX_ROWS_JSON) {
        dx_row_reply(x);
    } else {
        dx_single_answer(x);
    }
}

/* Of answers that have addresses of this server. */
static void take_address(const struct dx_connection *c, struct dx_span head, struct dx_ask *ask)
{
    const char *url = c->stream.loop->serving->options.public_url;

    ask->secure = c->stream.tls != NULL;
    if (url != NULL && (ask->route == DX_ROUTE_COLLINFO || ask->route == DX_ROUTE_DOMAIN_CHANGES))
        ask->host = dx_span_str(url);
    else if (ask->route == DX_ROUTE_COLLINFO)
        ask->host = dx_head_slice(head, c->head.host);
}

static void answer_get(struct dx_connection *c, struct dx_span head, struct dx_span target,
                       struct dx_span match)
{
    struct dx_loop *loop = c->stream.loop;
    enum dx_coding coding = wanted_coding(c, head);
    struct dx_span accepted = accepted_types(c, head);
    bool plain = dx_row_accept_is_plain(accepted);
    DX_UNINITIALIZED struct dx_problem problem;
    struct dx_exchange x = { .c = c,
                             .ask = &loop->ask,
                             .target = target,
                             .kept_as = kept_as(loop, target, coding),
                             .match = match,
                             .body = &loop->body,
                             .problem = &problem };

    /* What is kept is JSON: of another format it is neither sent nor kept. */
    if (!plain)
        x.kept_as.size = 0;
    if ((plain && dx_reply_reuse_answer(&x)) ||
        dx_web_page_answer(c, accepted_codings(c, head), target, match))
        return;
    x.rc = dx_target_parse(target, false, x.ask, &problem);
    x.ask->coding = coding;
    take_address(c, head, x.ask);
    c->record.route = x.ask->route;
    c->record.dataset_id = x.ask->dataset_id;
    c->of_version = x.rc == 1 && x.ask->version.data != NULL && !c->under_table && !x.ask->receipt;
    c->by_accept = x.ask->route < DX_ROUTE_COUNT && (dx_routes[x.ask->route]->rows != NULL ||
                                                     dx_routes[x.ask->route]->choose != NULL);
    if (x.ask->route < DX_ROUTE_COUNT && dx_routes[x.ask->route]->post) {
        refuse_method(c, "POST");
    } else if (x.rc == 0) {
        if (dx_charge_take(c, 1)) /* no question at all costs as much as a small one */
            dx_deliver_problem(c, &problem);
    } else if (!dx_own_routes_answer(c, x.ask->route, match)) {
        answer_ask(&x, accepted);
    }
    if (loop->body.capacity > BODY_KEEP_BYTES)
        dx_buf_release(&loop->body);
}

/* A client without access may still ask whether the server lives: it may be a supervisor, which has
 * no token. */
static void turn_away(struct dx_connection *c, struct dx_span head, struct dx_span target,
                      const struct dx_problem *problem)
{
    struct dx_span match = if_none_match(c, head);
    struct dx_problem ignored;
    bool own;

    if (c->head.method == DX_METHOD_POST) {
        c->closing = true; /* its body is not read */
        c->record.route = DX_ROUTE_NAMES;
        own = false;
    } else if (dx_web_page_answer(c, accepted_codings(c, head), target, match)) {
        return;
    } else {
        own = dx_target_parse(target, false, &c->stream.loop->ask, &ignored) == 1;
        c->record.route = c->stream.loop->ask.route;
    }
    if (!(own && dx_own_routes_answer(c, c->record.route, match)) && dx_charge_take(c, 1))
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

static void answer_request(struct dx_connection *c, struct dx_span head)
{
    struct dx_loop *loop = c->stream.loop;
    struct dx_span target = dx_head_slice(head, c->head.target);
    DX_UNINITIALIZED struct dx_problem problem;

    keep_for_log(c, head, target);
    dx_loop_count(&loop->counts.requests);
    c->paid = 0;
    c->closing = c->closing || c->head.close || loop->draining;
    dx_buf_clear(&loop->body);
    if (c->stream.admin)
        dx_admin_answer(c, target);
    else if (dx_exchange_identify(c, head, &problem) == 0)
        turn_away(c, head, target, &problem);
    else if (c->head.method == DX_METHOD_POST)
        dx_bulk_answer(c, head, target);
    else
        answer_get(c, head, target, if_none_match(c, head));
}

/* Answers the requests at the front of bytes until one has to wait; returns the bytes used. */
static size_t serve_requests(struct dx_connection *c, struct dx_span bytes)
{
    size_t used = c->needs_proxy_header ? dx_greeting_proxy_header(c, bytes) : 0;

    if (c->needs_proxy_header)
        return used;
    for (unsigned served = 0; used < bytes.size && !dx_stream_is_busy(&c->stream); served++) {
        struct dx_span rest = dx_span_from(bytes, used);
        enum dx_head_verdict verdict;

        if (served == TURN_REQUESTS_MAX) {
            dx_stream_turn_later(&c->stream);
            break;
        }
        if (!c->in_head)
            dx_exchange_begin(c);
        verdict = dx_request_head_parse(&c->head, rest);
        if (verdict == DX_HEAD_MORE) { /* seldom: nearly every head comes in one piece */
            if (c->stream.wait != DX_WAIT_HEAD)
                dx_stream_wait(&c->stream, DX_WAIT_HEAD);
            break;
        }
        dx_exchange_head_read(c);
        if (verdict == DX_HEAD_REJECT) {
            refuse_head(c, rest);
            return bytes.size;
        }
        used += c->head.size;
        answer_request(c, rest);
    }
    return used;
}

/* ---- bytes ---- */

static bool is_over(const struct dx_connection *c)
{
    return c->stream.wait == DX_WAIT_CLOSED || c->stream.wait == DX_WAIT_LINGER;
}

/* What comes behind the last request is dropped; a head that is under way while the server drains is not. */
static void keep_rest(struct dx_connection *c, struct dx_span rest)
{
    if (is_over(c) || (c->closing && c->bulk == NULL && dx_stream_is_busy(&c->stream)))
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
        used = serve_requests(c, (struct dx_span){ p->data, p->size });
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

    keep_rest(c, dx_span_from(bytes, used));
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
    used = serve_requests(c, bytes);
    if (used < bytes.size)
        keep_rest(c, dx_span_from(bytes, used));
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
    if ((what & EV_CLOSED) != 0)
        c->stream.ending = true;
    dx_loop_clock(c->stream.loop);
    if (c->stream.wait == DX_WAIT_LINGER)
        dx_stream_discard(&c->stream);
    else
        read_some(c);
    reap(c);
}

/* Handshakes are computing, so they have their turn behind the requests that have come. */
static void on_readable_tls(evutil_socket_t fd, short what, void *argument)
{
    struct dx_connection *c = argument;

    if (c->needs_handshake)
        dx_stream_turn_later(&c->stream);
    else
        on_readable(fd, what, argument);
}

/* Long replies go on in turns behind the requests that have come, so that who takes much does not
 * keep those waiting who ask for little. */
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
        if (c->bulk != NULL || c->list_counted > 0) {
            c->bulk != NULL ? dx_bulk_answer_is_out(c) : dx_row_reply_is_out(c);
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
    if (c->needs_handshake) {
        if (s->loop->newcomers_until_ms == 0)
            dx_stream_shut(s);
    } else if (!dx_stream_is_busy(s) && !c->in_head && !s->in_turns) {
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
            loop->admin.open--;
        (void)close(guest->fd);
        dx_serving_gone(loop->serving, guest->admin ? NULL : &guest->peer);
        return;
    }
    dx_buf_init(&c->pending, DX_HEAD_MAX + DX_LOOP_READ_MAX);
    dx_buf_init(&c->target, DX_TARGET_MAX);
    dx_buf_init(&c->receipt_of, DX_RECEIPT_TARGET_MAX);
    c->client = guest->peer;
    c->needs_proxy_header = !guest->admin && loop->serving->options.proxy_protocol &&
                            dx_identity_is_proxy(&loop->serving->options.identity, &guest->peer);
    c->needs_handshake = !guest->admin && loop->serving->options.tls != NULL;
    if (dx_stream_open(&c->stream, loop, guest, !c->needs_handshake,
                       c->needs_handshake ? on_readable_tls : on_readable, on_writable, c) &&
        loop->draining)
        drain(c);
    reap(c);
}

void dx_connection_turn(struct dx_connection *c)
{
    TAILQ_REMOVE(&c->stream.loop->turns, &c->stream, turn);
    c->stream.in_turns = false;
    if (c->needs_handshake)
        dx_greeting_go_on(c);
    else if (c->stream.wait == DX_WAIT_WRITE)
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
    struct dx_serving *serving = ((struct dx_loop *)job->loop)->serving;

    dx_delivery_unhold(serving, job);
    if (c == NULL) {
        dx_charge_of_job(job);
        serving->answers->unpin(job->version);
        dx_job_free(&job);
        return;
    }
    dx_job_wait_end(c, job);
    if (c->bulk != NULL)
        dx_bulk_answered(c, job);
    else if (job->rows != NULL)
        dx_row_reply_answered(c, job);
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
    } else if (wait == DX_WAIT_JOB && c->job->rows != NULL) {
        dx_row_reply_late(c);
    } else if (wait == DX_WAIT_LATER && c->rows != NULL) {
        dx_row_reply_go_on(c);
        if (c->stream.wait == DX_WAIT_IDLE)
            settle(c);
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
