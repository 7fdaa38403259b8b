/* SPDX-License-Identifier: Apache-2.0 */
#include "server/connection.h"

#include "base/json_out.h"
#include "base/log.h"
#include "query/domain_text.h"
#include "server/bulk.h"
#include "server/metrics.h"
#include "server/request_head.h"
#include "server/target.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reads end so long before the answer is due, so that the answer says which read it was. */
#define JOB_SLACK_MS 50
#define TURN_REQUESTS_MAX 16 /* served in one wake before others have their turn */
#define LINGER_BYTES_MAX (256 * 1024)
#define LOOP_STALL_MS 10000 /* a loop that has not turned for so long is not alive */
#define BULK_SLICE_US 500   /* of work on a body, before others have their turn */
#define LIST_BYTES (DX_BULK_BYTES + 2 * DX_BULK_OUT_MAX) /* of one whose client does not read */
#define BULK_WAITS_MAX 100           /* of DX_WAIT_LATER in a row: ten seconds */
#define BODY_KEEP_BYTES (256 * 1024) /* a loop's body buffer larger than this is given back */

static void on_readable(evutil_socket_t fd, short what, void *argument);
static void on_writable(evutil_socket_t fd, short what, void *argument);
static void serve_pending(struct dx_connection *c);
static void settle(struct dx_connection *c);

static bool is_busy(const struct dx_connection *c)
{
    return c->wait != DX_WAIT_HEAD && c->wait != DX_WAIT_IDLE;
}

/* ---- waits, reading, the end ---- */

static void leave_wait(struct dx_connection *c)
{
    if (c->wait != DX_WAIT_CLOSED)
        TAILQ_REMOVE(&c->loop->waits[c->wait], c, links);
}

static void enter_wait(struct dx_connection *c, enum dx_wait wait)
{
    leave_wait(c);
    c->wait = wait;
    c->deadline_ms = c->loop->now_ms + dx_loop_timeout_ms(c->loop, wait);
    TAILQ_INSERT_TAIL(&c->loop->waits[wait], c, links);
}

static void stop_reading(struct dx_connection *c)
{
    if (c->reading)
        (void)event_del(&c->read_event);
    c->reading = false;
}

static void start_reading(struct dx_connection *c)
{
    if (!c->reading && !c->eof)
        c->reading = event_add(&c->read_event, NULL) == 0;
}

static void unpin(struct dx_connection *c)
{
    const struct dx_answers *answers = c->loop->serving->answers;

    if (c->version != NULL && c->lent)
        dx_lent_pins_give(&c->loop->pins, answers, c->version);
    else if (c->version != NULL)
        answers->unpin(c->version);
    c->version = NULL;
    c->lent = false;
}

/* A pin of its own, for who may give it up in another thread or for another version. */
static void own_pin(struct dx_connection *c)
{
    const struct dx_answers *answers = c->loop->serving->answers;

    if (!c->lent)
        return;
    (void)answers->pin_again(c->version);
    dx_lent_pins_give(&c->loop->pins, answers, c->version);
    c->lent = false;
}

/* Accounts for a body that waits for its client. A kept one counts for each who waits, though it is
 * there once: out of the cache it may live for them alone. */
static void hold(struct dx_connection *c)
{
    c->held = c->out_kept.data != NULL ? c->out_kept.size : c->out_body.capacity;
    atomic_fetch_add(&c->loop->serving->held_bytes, c->held);
}

static void let_body_go(struct dx_connection *c)
{
    if (c->held > 0)
        atomic_fetch_sub(&c->loop->serving->held_bytes, c->held);
    if (c->bulk_counted)
        atomic_fetch_sub(&c->loop->serving->list_bytes, LIST_BYTES);
    c->held = 0;
    c->bulk_counted = false;
    if (c->out_block != NULL)
        dx_answer_cache_put(c->loop->serving->hot, &c->out_block);
    dx_hot_reply_drop(&c->out_hot);
    c->out_kept = (struct dx_span){ NULL, 0 };
    dx_buf_release(&c->out_body);
}

static struct dx_span out_body(const struct dx_connection *c)
{
    return c->out_kept.data != NULL ? c->out_kept
                                    : (struct dx_span){ c->out_body.data, c->out_body.size };
}

/* Marks it closed and gives all back but the struct: callers up the stack still look at it. */
static void shut(struct dx_connection *c)
{
    if (c->wait == DX_WAIT_CLOSED)
        return;
    leave_wait(c);
    c->wait = DX_WAIT_CLOSED;
    if (c->in_turns)
        TAILQ_REMOVE(&c->loop->turns, c, turn);
    c->in_turns = false;
    stop_reading(c);
    (void)event_del(&c->write_event);
    (void)close(c->fd);
    c->fd = -1;
    unpin(c);
    if (c->job != NULL) { /* the job keeps its own pin */
        atomic_store(&c->job->cancelled, true);
        c->job->connection = NULL;
        c->job = NULL;
    }
    dx_bulk_free(&c->bulk);
    dx_buf_release(&c->pending);
    dx_buf_release(&c->out_head);
    let_body_go(c);
    c->loop->open--;
    atomic_fetch_sub(&c->loop->serving->connections, 1);
}

/* The last thing every entry point does. */
static void reap(struct dx_connection *c)
{
    if (c->wait == DX_WAIT_CLOSED)
        free(c);
}

/* Ours is said. A client that still sends would get a reset for unread bytes, and the reset
 * may destroy the reply before it is read: so read on for a while. */
static void begin_linger(struct dx_connection *c)
{
    if (c->eof || shutdown(c->fd, SHUT_WR) != 0) {
        shut(c);
        return;
    }
    dx_buf_release(&c->pending);
    c->lingered = 0;
    enter_wait(c, DX_WAIT_LINGER);
    start_reading(c);
}

/* ---- out ---- */

static void reply_is_out(struct dx_connection *c)
{
    unpin(c);
    if (c->closing)
        begin_linger(c);
    else
        enter_wait(c, DX_WAIT_IDLE);
}

/* Head and body in one call. Returns bytes taken, or -1: the client is gone. */
static ssize_t send_both(int fd, struct dx_span head, struct dx_span body)
{
    struct dx_span one = body.size == 0 ? head : body;
    struct iovec parts[2] = { { (void *)(uintptr_t)head.data, head.size },
                              { (void *)(uintptr_t)body.data, body.size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t n;

    do
        n = head.size == 0 || body.size == 0 ? send(fd, one.data, one.size, MSG_NOSIGNAL)
                                             : sendmsg(fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : n;
}

static struct dx_span rest_of(struct dx_span all, size_t sent)
{
    return sent >= all.size ? (struct dx_span){ all.data, 0 }
                            : (struct dx_span){ all.data + sent, all.size - sent };
}

static struct dx_span span_of(const struct dx_buf *b)
{
    return (struct dx_span){ b->data, b->size };
}

static void swap(struct dx_buf *a, struct dx_buf *b)
{
    struct dx_buf t = *a;

    *a = *b;
    *b = t;
}

/* The rest goes when the client has taken so many bytes. */
static void wait_to_write(struct dx_connection *c, size_t sent)
{
    c->sent = sent;
    if (c->out_head.failed || event_add(&c->write_event, NULL) != 0) {
        shut(c);
        return;
    }
    hold(c);
    enter_wait(c, DX_WAIT_WRITE);
}

/* Sends loop->head and the payload; what the socket does not take stays with the connection: the
 * payload by exchange of storage with `body`, or by taking over `block`, whichever it lies in. */
static void send_reply(struct dx_connection *c, struct dx_span payload, struct dx_buf *body,
                       struct dx_cached **block)
{
    struct dx_loop *loop = c->loop;
    ssize_t n;

    if (payload.size <= DX_REPLY_SMALL) {
        dx_buf_append(&loop->head, payload.data, payload.size);
        payload.size = 0;
    }
    if (loop->head.failed) {
        shut(c);
        return;
    }
    n = send_both(c->fd, span_of(&loop->head), payload);
    if (n < 0) {
        shut(c);
        return;
    }
    if ((size_t)n == loop->head.size + payload.size) {
        reply_is_out(c);
        return;
    }
    dx_buf_clear(&c->out_head);
    dx_buf_append(&c->out_head, loop->head.data, loop->head.size);
    if (block != NULL) {
        c->out_block = *block;
        c->out_kept = payload;
        *block = NULL;
    } else if (payload.size > 0) {
        swap(&c->out_body, body);
    }
    wait_to_write(c, (size_t)n);
}

/* The same for one that is kept: it is held, not copied, until the client has it. */
static void send_hot(struct dx_connection *c, struct dx_hot_reply *r, struct dx_span bytes)
{
    ssize_t n = send_both(c->fd, bytes, (struct dx_span){ NULL, 0 });

    if (n < 0) {
        shut(c);
    } else if ((size_t)n == bytes.size) {
        reply_is_out(c);
    } else {
        dx_buf_clear(&c->out_head);
        dx_hot_reply_hold(r);
        c->out_hot = r;
        c->out_kept = bytes;
        wait_to_write(c, (size_t)n);
    }
}

static void keep_reply(struct dx_connection *c, int status, const char *etag, struct dx_span body)
{
    struct dx_loop *loop = c->loop;
    const struct dx_hot_reply_parts parts = {
        .status = status,
        .etag = etag,
        .date_second = loop->date_second,
        .date_at = dx_reply_date_at(status),
        .head = dx_span_of(loop->head.data, loop->head.size),
        .body = body,
    };

    if (loop->head.failed || c->closing)
        return;
    dx_hot_replies_put(&loop->hot, loop->keep, &parts);
    atomic_store_explicit(&loop->counts.hot_bytes, loop->hot.bytes, memory_order_relaxed);
}

static void reply_with(struct dx_connection *c, int status, const char *content_type,
                       const char *disposition, const char *etag, struct dx_span payload,
                       struct dx_buf *body, struct dx_cached **block)
{
    struct dx_loop *loop = c->loop;
    struct dx_reply r = {
        .status = status,
        .content_type = content_type,
        .disposition = disposition,
        .body_size = payload.size,
        .date = loop->date,
        .version = c->version == NULL ? NULL : loop->serving->answers->version_name(c->version),
        .etag = etag,
        .allow = status != 405                  ? NULL
                 : c->head.reject_status == 405 ? "GET, HEAD"
                                                : "POST", /* of a GET that has no answer */
        .close = c->closing,
    };

    dx_buf_clear(&loop->head);
    dx_reply_head(&r, &loop->head);
    if (loop->keep.size > 0 && (status == 200 || status == 404))
        keep_reply(c, status, etag, payload);
    if (content_type == NULL || c->head.method == DX_METHOD_HEAD)
        payload = (struct dx_span){ NULL, 0 };
    send_reply(c, payload, body, block);
}

static void reply(struct dx_connection *c, int status, const char *content_type, const char *etag,
                  struct dx_buf *body)
{
    reply_with(c, status, content_type, NULL, etag, span_of(body), body, NULL);
}

/* Failures of ours are logged, one line a second a loop: a broken file must not fill a disk. */
static void say_failure(struct dx_loop *loop, const struct dx_problem *problem)
{
    if (loop->said_second == loop->date_second)
        return;
    loop->said_second = loop->date_second;
    dx_log(DX_LOG_ERROR, "no answer: %s: %s", problem->slug, problem->detail);
}

static void reply_problem(struct dx_connection *c, const struct dx_problem *problem)
{
    struct dx_buf *body = &c->loop->body;
    int status = dx_reply_problem(problem, body);

    reply(c, status, "application/problem+json", NULL, body);
}

/* HTTP itself went wrong: nothing after this can be trusted to be a request. */
static void refuse(struct dx_connection *c, int status, const char *detail)
{
    struct dx_buf *body = &c->loop->body;

    c->closing = true;
    dx_reply_http_problem(status, detail, body);
    reply(c, status, "application/problem+json", NULL, body);
}

/* Whether nothing may be sent of what was computed from the version; then the reason is sent. */
static bool is_broken(struct dx_connection *c)
{
    const struct dx_answers *answers = c->loop->serving->answers;
    struct dx_problem broken;

    if (answers->intact == NULL || c->version == NULL || answers->intact(c->version, &broken))
        return false;
    say_failure(c->loop, &broken);
    reply_problem(c, &broken);
    return true;
}

static void reply_overloaded(struct dx_connection *c, const char *why)
{
    struct dx_problem overloaded;

    dx_loop_count(&c->loop->counts.overloaded);
    (void)dx_problem_set(&overloaded, DX_PROBLEM_UNAVAILABLE, "overloaded", "Server is overloaded",
                         "%s; try again in a second", why);
    reply_problem(c, &overloaded);
}

static bool is_overloaded(struct dx_connection *c)
{
    if (atomic_load(&c->loop->serving->held_bytes) <= c->loop->serving->options.reply_memory)
        return false;
    reply_overloaded(c, "too many replies wait for slow clients");
    return true;
}

/* rc, body and problem as query/answer.h leaves them; match: value of If-None-Match; key: NULL if the
 * answer is none that is kept. */
static void reply_answer(struct dx_connection *c, int rc, struct dx_buf *body,
                         const struct dx_problem *problem, struct dx_span match,
                         const struct dx_answer_key *key, const struct dx_ask *ask)
{
    struct dx_serving *serving = c->loop->serving;
    struct dx_ask_content content;
    char etag[DX_ETAG_TEXT];
    struct dx_problem failed;

    /* Absent is an answer too, and a failure may have this cause. */
    if (is_broken(c))
        return;
    if (rc == 1 && body->failed) {
        (void)dx_problem_set(&failed, DX_PROBLEM_UNAVAILABLE, "out-of-memory", "Out of memory",
                             "the answer does not fit the memory a reply may take; "
                             "ask for a smaller page");
        reply_problem(c, &failed);
        return;
    }
    if (rc != 1) {
        if (rc < 0)
            say_failure(c->loop, problem);
        reply_problem(c, problem);
        return;
    }
    if (is_overloaded(c))
        return;
    dx_reply_etag(span_of(body), etag);
    if (key != NULL)
        dx_answer_cache_offer(serving->hot, key, serving->answers, c->version, span_of(body), etag);
    if (match.size > 0 && dx_reply_etag_matches(match, etag)) {
        reply(c, 304, NULL, etag, body);
        return;
    }
    dx_ask_content(ask, &content);
    reply_with(c, 200, content.type, content.disposition, etag, span_of(body), body, NULL);
}

/* Sends a kept answer, by the same rules; false: there is none. */
static bool reply_hot(struct dx_connection *c, const struct dx_answer_key *key,
                      struct dx_span match)
{
    struct dx_serving *serving = c->loop->serving;
    struct dx_hot_answer hot;
    struct dx_cached *block = dx_answer_cache_get(serving->hot, key, &hot);

    if (block == NULL)
        return false;
    if (!is_broken(c) && !is_overloaded(c)) {
        if (serving->answers->asked_again != NULL)
            serving->answers->asked_again(c->version, dx_domain_text_subject(hot.body));
        if (match.size > 0 && dx_reply_etag_matches(match, hot.etag))
            reply_with(c, 304, NULL, NULL, hot.etag, (struct dx_span){ NULL, 0 }, NULL, NULL);
        else
            reply_with(c, 200, "application/json", NULL, hot.etag, hot.body, NULL, &block);
    }
    dx_answer_cache_put(serving->hot, &block);
    return true;
}

/* ---- the server's own routes ---- */

static void reply_healthz(struct dx_connection *c)
{
    struct dx_serving *serving = c->loop->serving;
    struct dx_buf *body = &c->loop->body;
    struct dx_problem stalled;

    for (unsigned i = 0; i < serving->loop_count; i++) {
        int64_t ticked = atomic_load(&serving->loops[i]->counts.ticked_ms);

        if (c->loop->now_ms - ticked > LOOP_STALL_MS) {
            (void)dx_problem_set(&stalled, DX_PROBLEM_UNAVAILABLE, "stalled", "A loop stands still",
                                 "an event loop has not turned for %d seconds",
                                 LOOP_STALL_MS / 1000);
            reply_problem(c, &stalled);
            return;
        }
    }
    dx_buf_clear(body);
    dx_buf_str(body, "{\"status\":\"ok\"}");
    reply(c, 200, "application/json", NULL, body);
}

/* A version of which objects were lost still answers what it can: ready, and degraded. */
static void write_state(const struct dx_answers *answers, struct dx_json *j)
{
    struct dx_buf words = DX_BUF_INIT(1024);
    bool sound = answers->sound == NULL || answers->sound(answers->from, &words);

    dx_json_key(j, "state");
    dx_json_str(j, sound ? "sound" : "degraded");
    if (!sound) {
        dx_json_key(j, "detail");
        dx_json_text(j, dx_span_of(words.data, words.size));
    }
    dx_buf_release(&words);
}

/* Without a version: the lease has run out, so that a collector may remove what is open here. */
static int no_version(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "lease-lost",
                          "The lease on the index has run out",
                          "this server could not renew its lease, so the files that it reads may "
                          "be removed; it answers again when it has a lease");
}

static void reply_readyz(struct dx_connection *c)
{
    struct dx_serving *serving = c->loop->serving;
    struct dx_buf *body = &c->loop->body;
    struct dx_problem problem;
    struct dx_json j;

    if (atomic_load(&serving->draining)) {
        (void)dx_problem_set(&problem, DX_PROBLEM_UNAVAILABLE, "draining", "Server is draining",
                             "the server stops soon; send requests to another one");
        reply_problem(c, &problem);
        return;
    }
    if (c->version == NULL) {
        (void)no_version(&problem);
        reply_problem(c, &problem);
        return;
    }
    if (serving->answers->intact != NULL && !serving->answers->intact(c->version, &problem)) {
        reply_problem(c, &problem);
        return;
    }
    dx_buf_clear(body);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "ready");
    dx_json_bool(&j, true);
    dx_json_key(&j, "version");
    dx_json_str(&j, serving->answers->version_name(c->version));
    write_state(serving->answers, &j);
    dx_json_end(&j);
    reply(c, 200, "application/json", NULL, body);
}

static void reply_metrics(struct dx_connection *c)
{
    struct dx_buf *body = &c->loop->body;
    struct dx_problem problem;

    if (!c->loop->serving->options.metrics) {
        (void)dx_problem_set(&problem, DX_PROBLEM_NOT_FOUND, "metrics-off", "Metrics are off",
                             "start the server with --metrics yes");
        reply_problem(c, &problem);
        return;
    }
    dx_buf_clear(body);
    dx_metrics_write(c->loop->serving, body);
    reply(c, 200, "text/plain; version=0.0.4", NULL, body);
}

/* ---- in ---- */

static struct dx_span if_none_match(const struct dx_connection *c, struct dx_span head)
{
    /* Lists over two lines are rare; to send the whole answer is always right. */
    if (c->head.if_none_match_twice || c->head.if_none_match.size == 0)
        return (struct dx_span){ NULL, 0 };
    return dx_head_slice(head, c->head.if_none_match);
}

/* task: begun here already; NULL: not. key: NULL if the answer is none that is kept; without memory
 * for a copy it is none either. */
static void start_job(struct dx_connection *c, bool cold, struct dx_task *task,
                      const struct dx_answer_key *key, uint64_t deadline_ms, struct dx_span match)
{
    struct dx_loop *loop = c->loop;
    struct dx_job *job = dx_job_new(&loop->ask);
    struct dx_problem problem;

    own_pin(c);
    if (job != NULL) {
        job->version = c->version;
        job->cold = cold;
        job->about = key == NULL ? NULL : malloc(sizeof *key);
        if (job->about != NULL)
            memcpy(job->about, key, sizeof *key);
        job->task = task;
        job->begun = task != NULL;
        job->deadline_ms = deadline_ms;
        job->done = dx_loop_job_done;
        job->fetch = dx_loop_job_fetch;
        job->loop = loop;
        job->connection = c;
        c->match_size = match.size <= sizeof c->match ? match.size : 0;
        if (c->match_size > 0)
            memcpy(c->match, match.data, c->match_size);
        /* From here the worker may touch it, so all is set before. */
        if (dx_workers_submit(loop->serving->workers, job)) {
            c->version = NULL;
            c->job = job;
            enter_wait(c, DX_WAIT_JOB);
            return;
        }
    }
    dx_job_free(&job);
    if (task != NULL)
        loop->serving->answers->task_free(&task);
    c->closing = c->closing || c->bulk != NULL; /* its body is not read */
    dx_bulk_free(&c->bulk);
    dx_loop_count(&loop->counts.overloaded);
    (void)dx_problem_set(&problem, DX_PROBLEM_UNAVAILABLE, "overloaded", "Server is overloaded",
                         "too many listings are being read; try again in a second");
    reply_problem(c, &problem);
}

/* ---- replies that are kept ---- */

/* Makes the store be of what c would be answered from; false: nothing can be kept or found. */
static bool hot_begin(struct dx_connection *c)
{
    struct dx_loop *loop = c->loop;
    const struct dx_answers *answers = loop->serving->answers;
    uint64_t state[2];

    if (loop->hot.max_bytes == 0 || answers->state == NULL || c->version == NULL || c->closing ||
        c->version != dx_lent_pins_now(&loop->pins) || !answers->state(c->version, state))
        return false;
    dx_hot_replies_begin(&loop->hot, state[0], state[1]);
    return true;
}

/* What no answer may do without is asked for here as well; where it says no, the usual way says why. */
static bool may_send_hot(struct dx_connection *c)
{
    const struct dx_serving *serving = c->loop->serving;
    struct dx_problem *ignored = &c->loop->problem;

    return atomic_load_explicit(&serving->held_bytes, memory_order_relaxed) <=
               serving->options.reply_memory &&
           (serving->answers->intact == NULL || serving->answers->intact(c->version, ignored));
}

/* False: there is none, or it does not do; nothing has been sent. */
static bool answer_hot(struct dx_connection *c, struct dx_span target, struct dx_span match)
{
    struct dx_loop *loop = c->loop;
    const struct dx_answers *answers = loop->serving->answers;
    struct dx_hot_reply *r = hot_begin(c) ? dx_hot_replies_get(&loop->hot, target) : NULL;
    struct dx_span bytes;

    if (r == NULL || !may_send_hot(c))
        return false;
    bytes = dx_hot_reply_bytes(r, loop->date_second, loop->date);
    if (bytes.size == 0)
        return false;
    dx_loop_count(&loop->counts.hot_hits);
    if (r->status == 200 && answers->asked_again != NULL)
        answers->asked_again(c->version, dx_domain_text_subject(dx_hot_reply_body(r)));
    if (match.size > 0 && r->etag[0] != '\0' && dx_reply_etag_matches(match, r->etag)) {
        reply(c, 304, NULL, r->etag, &loop->body);
        return true;
    }
    if (c->head.method == DX_METHOD_HEAD)
        bytes.size = r->head_size;
    send_hot(c, r, bytes);
    return true;
}

/* The answer follows from the target, the version and the state alone, and was asked for before. */
static bool may_keep(struct dx_connection *c, int rc, const struct dx_problem *problem,
                     struct dx_span target)
{
    struct dx_loop *loop = c->loop;
    uint64_t state = loop->hot.state;

    if (loop->ask.route != DX_ROUTE_DOMAIN || loop->ask.version.data != NULL ||
        (rc != 1 && (rc != 0 || problem->kind != DX_PROBLEM_NOT_FOUND)) || !hot_begin(c))
        return false;
    /* The state that answer_hot found, before the answer was made, and still the same. */
    return state == loop->hot.state && dx_hot_replies_wants(&loop->hot, target);
}

/* From a version: the current one, or the one that is named, which a worker may have to bring. */
static void answer_ask(struct dx_connection *c, struct dx_span target, struct dx_span match)
{
    struct dx_loop *loop = c->loop;
    const struct dx_serving *serving = loop->serving;
    const struct dx_answers *answers = serving->answers;
    struct dx_answer_key *key = NULL;
    struct dx_problem problem;
    struct dx_task *task = NULL;
    uint64_t deadline_ms = 0;
    int rc = dx_ask_resolve(answers, &loop->ask, (int64_t)loop->date_second, &problem);

    if (rc == 1 && loop->ask.wanted[0] != '\0')
        own_pin(c);
    if (rc == 1)
        rc = dx_ask_pin(answers, &loop->ask, &c->version, &problem);
    if (rc == 1 && c->version == NULL)
        rc = no_version(&problem);
    if (rc == 1 && serving->hot != NULL &&
        dx_answer_key_make(&loop->key, answers, c->version, &loop->ask))
        key = &loop->key;
    if (key != NULL && reply_hot(c, key, match))
        return;
    if (rc == DX_ASK_COLD || (rc == 1 && dx_ask_may_block(&loop->ask)))
        deadline_ms = dx_clock_ms() + serving->options.job_timeout_ms - JOB_SLACK_MS;
    loop->ask.brief = rc == 1 && dx_ask_may_be_brief(answers, &loop->ask);
    if (deadline_ms > 0 && !loop->ask.brief) {
        start_job(c, rc == DX_ASK_COLD, NULL, key, deadline_ms, match);
        return;
    }
    if (rc == 1)
        rc = dx_ask_answer(answers, &loop->canon, c->version, &loop->ask, deadline_ms, &task,
                           &loop->body, &problem);
    if (may_keep(c, rc, &problem, target))
        loop->keep = target;
    if (rc == DX_TASK_WAITS)
        start_job(c, false, task, key, deadline_ms, match);
    else
        reply_answer(c, rc, &loop->body, &problem, match, key, &loop->ask);
    loop->keep.size = 0;
}

/* ---- many names: the one request with a body ---- */

static void take_turn_later(struct dx_connection *c)
{
    if (!c->in_turns)
        TAILQ_INSERT_TAIL(&c->loop->turns, c, turn);
    c->in_turns = true;
    dx_loop_want_turn(c->loop);
}

/* What is left of the body is of no use, and nothing behind it can be told from it. */
static void drop_bulk(struct dx_connection *c)
{
    dx_bulk_free(&c->bulk);
    dx_buf_release(&c->pending);
    dx_buf_release(&c->out_head);
    let_body_go(c);
    dx_buf_clear(&c->loop->body);
    c->closing = true;
}

/* All of the answer has gone. */
static void end_bulk(struct dx_connection *c)
{
    dx_bulk_free(&c->bulk);
    dx_buf_release(&c->out_head);
    let_body_go(c);
    reply_is_out(c);
    if (c->wait == DX_WAIT_IDLE && c->pending.size > 0)
        take_turn_later(c);
    settle(c);
}

/* Sends out_head and out_body as far as the client takes them now; true: all of it. */
static bool push_bulk(struct dx_connection *c)
{
    ssize_t n = c->out_head.failed || c->out_body.failed
                    ? -1
                    : send_both(c->fd, span_of(&c->out_head), span_of(&c->out_body));

    if (n < 0) {
        shut(c);
        return false;
    }
    if ((size_t)n < c->out_head.size + c->out_body.size) {
        c->sent = (size_t)n;
        if (event_add(&c->write_event, NULL) != 0)
            shut(c);
        else
            enter_wait(c, DX_WAIT_WRITE);
        return false;
    }
    dx_buf_clear(&c->out_head);
    dx_buf_clear(&c->out_body);
    if (c->out_body.capacity > BODY_KEEP_BYTES)
        dx_buf_release(&c->out_body);
    return true;
}

/* What is in out_body as a chunk, behind the reply's head if that is not out yet. */
static void frame_bulk(struct dx_connection *c, bool last)
{
    const struct dx_reply r = {
        .status = 200,
        .content_type = dx_bulk_content_type(c->bulk),
        .chunked = true,
        .date = c->loop->date,
        .version = c->loop->serving->answers->version_name(c->version),
        .close = c->closing,
    };

    dx_buf_clear(&c->out_head);
    if (!c->bulk_begun)
        dx_reply_head(&r, &c->out_head);
    c->bulk_begun = true;
    if (c->out_body.size > 0) {
        dx_buf_fmt(&c->out_head, "%zx\r\n", c->out_body.size);
        dx_buf_str(&c->out_body, "\r\n");
    }
    if (last)
        dx_buf_str(&c->out_body, "0\r\n\r\n");
}

/* A reply that has begun cannot become another one: it ends without its last chunk, so that nobody
 * takes it for whole, and where there are lines the last of them says why. */
static void break_off(struct dx_connection *c, const struct dx_problem *problem, int status,
                      const char *words)
{
    struct dx_buf *body = &c->loop->body;

    c->closing = true;
    c->bulk_failed = true;
    dx_buf_clear(&c->out_body);
    if (dx_bulk_has_lines(c->bulk)) {
        if (problem != NULL)
            (void)dx_reply_problem(problem, body);
        else
            dx_reply_http_problem(status, words, body);
        dx_buf_str(&c->out_body, "{\"error\":");
        dx_buf_append(&c->out_body, body->data, body->size);
        dx_buf_str(&c->out_body, "}\n");
        frame_bulk(c, false);
    }
    if (push_bulk(c))
        end_bulk(c);
}

/* Of ours; the answer so far is not sent, as it may be what is wrong. */
static void fail_bulk(struct dx_connection *c, const struct dx_problem *problem)
{
    say_failure(c->loop, problem);
    if (c->bulk_begun) {
        break_off(c, problem, 0, NULL);
        return;
    }
    drop_bulk(c);
    reply_problem(c, problem);
}

static void refuse_bulk(struct dx_connection *c, int status, const char *words)
{
    dx_loop_count(&c->loop->counts.rejected);
    if (c->bulk_begun) {
        break_off(c, NULL, status, words);
        return;
    }
    drop_bulk(c);
    refuse(c, status, words);
}

static bool bulk_is_intact(struct dx_connection *c, struct dx_problem *problem)
{
    const struct dx_answers *answers = c->loop->serving->answers;

    return answers->intact == NULL || answers->intact(c->version, problem);
}

/* Sends what there is of the answer, if it may be believed. True: the next batch may be worked on. */
static bool flush_bulk(struct dx_connection *c, bool last)
{
    struct dx_problem broken;

    if (c->out_body.size == 0 && !last)
        return true;
    if (!bulk_is_intact(c, &broken)) {
        fail_bulk(c, &broken);
        return false;
    }
    c->bulk_ended = last;
    frame_bulk(c, last);
    if (!push_bulk(c))
        return false;
    if (last)
        end_bulk(c);
    return !last;
}

/* The body has more to come, or never will. */
static void want_body(struct dx_connection *c)
{
    if (!flush_bulk(c, false))
        return;
    if (c->eof) {
        refuse_bulk(c, 400, "the body ends before its end");
        return;
    }
    enter_wait(c, DX_WAIT_BODY);
    start_reading(c);
}

static void want_later(struct dx_connection *c, const struct dx_problem *problem)
{
    if (c->bulk_waits == BULK_WAITS_MAX)
        fail_bulk(c, problem);
    else if (flush_bulk(c, false))
        enter_wait(c, DX_WAIT_LATER);
    c->bulk_waits++;
}

static void take_pending(struct dx_connection *c)
{
    struct dx_buf *p = &c->pending;
    size_t used = dx_bulk_take(c->bulk, (struct dx_span){ p->data, p->size });

    /* Also with no bytes: a body may end before any come, or at those taken before. */
    if (used == p->size) {
        dx_buf_clear(p);
        return;
    }
    memmove(p->data, p->data + used, p->size - used);
    p->size -= used;
}

/* Not while its version is brought, nor while the client takes what there is. */
static bool is_at_bulk(const struct dx_connection *c)
{
    return c->bulk != NULL && c->wait == DX_WAIT_BODY;
}

/* Batches of names until something has to be waited for, or others have waited long enough. */
static void go_on_bulk(struct dx_connection *c)
{
    int64_t until_us = dx_monotonic_us() + BULK_SLICE_US;
    struct dx_problem problem;

    stop_reading(c);
    enter_wait(c, DX_WAIT_BODY);
    do {
        enum dx_bulk_step step;

        take_pending(c);
        step = dx_bulk_step(c->bulk, &c->out_body, &problem);
        if (step == DX_BULK_LATER) {
            want_later(c, &problem);
            return;
        }
        c->bulk_waits = 0;
        if (step == DX_BULK_MORE && c->pending.size == 0) {
            want_body(c);
            return;
        }
        if (step == DX_BULK_END) {
            (void)flush_bulk(c, true);
            return;
        }
        if (step == DX_BULK_FAILED) {
            (void)bulk_is_intact(c, &problem); /* else that is why it failed */
            fail_bulk(c, &problem);
            return;
        }
        if (step == DX_BULK_REFUSED) {
            struct dx_bulk_refusal why = dx_bulk_refusal_of(c->bulk);

            refuse_bulk(c, why.status, why.words);
            return;
        }
        if (c->out_body.size >= DX_BULK_OUT_MAX && !flush_bulk(c, false))
            return;
    } while (dx_monotonic_us() < until_us);
    take_turn_later(c);
}

/* What the client had to take has gone. */
static void bulk_is_out(struct dx_connection *c)
{
    dx_buf_clear(&c->out_head);
    dx_buf_clear(&c->out_body);
    if (c->bulk_ended || c->bulk_failed)
        end_bulk(c);
    else
        go_on_bulk(c);
}

/* A list costs its client a few bytes and may last: so lists have half of what replies may hold, and
 * leave the other to all other answers. One is always taken. False: refused. */
static bool count_bulk(struct dx_connection *c)
{
    struct dx_serving *serving = c->loop->serving;
    size_t others = atomic_fetch_add(&serving->list_bytes, LIST_BYTES);

    if (others > 0 && others + LIST_BYTES > serving->options.reply_memory / 2) {
        atomic_fetch_sub(&serving->list_bytes, LIST_BYTES);
        dx_bulk_free(&c->bulk);
        reply_overloaded(c, "too many lists of names are answered");
        return false;
    }
    c->bulk_counted = true;
    c->held = LIST_BYTES;
    atomic_fetch_add(&serving->held_bytes, c->held);
    return true;
}

/* c->version is the one that shall answer. */
static void open_bulk(struct dx_connection *c, const struct dx_ask *ask)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct dx_serving *serving = c->loop->serving;
    struct dx_problem problem;

    bool closing = c->closing;

    c->closing = true; /* what refuses it leaves the body unread */
    if (is_broken(c) || is_overloaded(c)) {
        dx_bulk_free(&c->bulk);
        return;
    }
    if (dx_bulk_open(c->bulk, serving->answers, c->version, ask, &problem) != 1) {
        dx_bulk_free(&c->bulk);
        reply_problem(c, &problem);
        return;
    }
    if (!count_bulk(c))
        return;
    c->closing = closing;
    c->bulk_begun = c->bulk_failed = c->bulk_ended = false;
    c->bulk_waits = 0;
    /* A new reply's first bytes on a socket that has taken all before them: they fit. */
    if (c->head.expects &&
        send(c->fd, go_on, sizeof go_on - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof go_on - 1)) {
        shut(c);
        return;
    }
    enter_wait(c, DX_WAIT_BODY);
    take_turn_later(c);
}

static void answer_post(struct dx_connection *c, struct dx_span head, struct dx_span target)
{
    struct dx_loop *loop = c->loop;
    const struct dx_answers *answers = loop->serving->answers;
    struct dx_bulk_refusal why;
    struct dx_problem problem;
    int rc = dx_target_parse(target, &loop->ask, &problem);

    if (rc == 1)
        rc = dx_ask_resolve(answers, &loop->ask, (int64_t)loop->date_second, &problem);
    own_pin(c); /* for as long as the client likes */
    if (rc == 1)
        rc = dx_ask_pin(answers, &loop->ask, &c->version, &problem);
    if (rc == 1 && c->version == NULL)
        rc = no_version(&problem);
    if (rc != 1 && rc != DX_ASK_COLD) {
        c->closing = true;
        reply_problem(c, &problem);
    } else if (dx_bulk_new(&c->bulk, &c->head, head, &why) == 0) {
        refuse(c, why.status, why.words);
    } else if (rc == DX_ASK_COLD) {
        start_job(c, true, NULL, NULL,
                  dx_clock_ms() + loop->serving->options.job_timeout_ms - JOB_SLACK_MS,
                  (struct dx_span){ NULL, 0 });
    } else {
        open_bulk(c, &loop->ask);
    }
}

static void answer(struct dx_connection *c, struct dx_span head)
{
    struct dx_loop *loop = c->loop;
    struct dx_problem problem;
    struct dx_span target = dx_head_slice(head, c->head.target);
    struct dx_ask *ask = &loop->ask;

    dx_loop_count(&loop->counts.requests);
    c->closing = c->closing || c->head.close || loop->draining;
    dx_buf_clear(&loop->body);
    if (c->head.method == DX_METHOD_POST) {
        answer_post(c, head, target);
        return;
    }
    if (answer_hot(c, target, if_none_match(c, head)))
        return;
    if (dx_target_parse(target, ask, &problem) == 0) {
        reply_problem(c, &problem);
    } else if (ask->route == DX_ROUTE_NAMES) {
        refuse(c, 405, "this takes POST, with names in the body");
    } else if (ask->route == DX_ROUTE_HEALTHZ) {
        reply_healthz(c);
    } else if (ask->route == DX_ROUTE_READYZ) {
        reply_readyz(c);
    } else if (ask->route == DX_ROUTE_METRICS) {
        reply_metrics(c);
    } else {
        answer_ask(c, target, if_none_match(c, head));
    }
    if (loop->body.capacity > BODY_KEEP_BYTES)
        dx_buf_release(&loop->body);
}

static void begin_head(struct dx_connection *c)
{
    dx_request_head_begin(&c->head);
    c->in_head = true;
    c->version = dx_lent_pins_take(&c->loop->pins, c->loop->serving->answers, &c->lent);
    if (c->wait != DX_WAIT_HEAD)
        enter_wait(c, DX_WAIT_HEAD);
}

/* Answers the requests at the front of bytes until one has to wait; returns the bytes used. */
static size_t serve(struct dx_connection *c, struct dx_span bytes)
{
    size_t used = 0;

    for (unsigned served = 0; used < bytes.size && !is_busy(c); served++) {
        struct dx_span rest = { bytes.data + used, bytes.size - used };
        enum dx_head_verdict verdict;

        if (served == TURN_REQUESTS_MAX) {
            take_turn_later(c);
            break;
        }
        if (!c->in_head)
            begin_head(c);
        verdict = dx_request_head_parse(&c->head, rest);
        if (verdict == DX_HEAD_MORE)
            break;
        c->in_head = false;
        if (verdict == DX_HEAD_REJECT) {
            dx_loop_count(&c->loop->counts.rejected);
            refuse(c, c->head.reject_status, c->head.reject_reason);
            return bytes.size;
        }
        used += c->head.size;
        answer(c, rest);
    }
    return used;
}

static void keep_rest(struct dx_connection *c, struct dx_span rest)
{
    if (c->wait == DX_WAIT_CLOSED || c->wait == DX_WAIT_LINGER || (c->closing && c->bulk == NULL))
        return;
    dx_buf_append(&c->pending, rest.data, rest.size);
    if (c->pending.failed)
        shut(c);
}

/* After anything that may have changed what the connection waits for. */
static void settle(struct dx_connection *c)
{
    if (c->wait == DX_WAIT_CLOSED)
        return;
    if (c->eof && !is_busy(c) && !c->in_turns) {
        shut(c); /* whatever is there is no whole head and never will be */
        return;
    }
    if (c->wait == DX_WAIT_LINGER)
        return;
    if ((is_busy(c) || c->in_turns) && c->pending.size >= DX_HEAD_MAX)
        stop_reading(c);
    else
        start_reading(c);
}

static void serve_pending(struct dx_connection *c)
{
    struct dx_buf *p = &c->pending;
    size_t used;

    if (p->size > 0 && !is_busy(c)) {
        used = serve(c, (struct dx_span){ p->data, p->size });
        if (c->wait == DX_WAIT_CLOSED || c->wait == DX_WAIT_LINGER)
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

static void linger(struct dx_connection *c)
{
    ssize_t n = recv(c->fd, c->loop->bytes, sizeof c->loop->bytes, 0);

    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n > 0)
        c->lingered += (size_t)n;
    if (n <= 0 || c->lingered > LINGER_BYTES_MAX)
        shut(c);
}

static void read_some(struct dx_connection *c)
{
    struct dx_loop *loop = c->loop;
    ssize_t n = recv(c->fd, loop->bytes, sizeof loop->bytes, 0);
    struct dx_span bytes = { loop->bytes, n > 0 ? (size_t)n : 0 };
    size_t used = 0;

    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            shut(c);
        return;
    }
    if (n == 0) {
        c->eof = true;
        stop_reading(c);
        if (is_at_bulk(c))
            go_on_bulk(c);
        else
            settle(c);
        return;
    }
    if (is_at_bulk(c)) {
        if (c->pending.size == 0)
            used = dx_bulk_take(c->bulk, bytes);
        keep_rest(c, (struct dx_span){ bytes.data + used, bytes.size - used });
        if (is_at_bulk(c))
            go_on_bulk(c);
        return;
    }
    if (is_busy(c) || c->in_turns || c->pending.size > 0) {
        keep_rest(c, bytes);
        if (c->wait != DX_WAIT_CLOSED && !c->in_turns)
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

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
    struct dx_connection *c = argument;

    (void)fd;
    (void)what;
    dx_loop_clock(c->loop);
    if (c->wait == DX_WAIT_LINGER)
        linger(c);
    else
        read_some(c);
    reap(c);
}

static void on_writable(evutil_socket_t fd, short what, void *argument)
{
    struct dx_connection *c = argument;
    size_t body_sent = c->sent > c->out_head.size ? c->sent - c->out_head.size : 0;
    ssize_t n;

    (void)fd;
    (void)what;
    dx_loop_clock(c->loop);
    n = send_both(c->fd, rest_of(span_of(&c->out_head), c->sent), rest_of(out_body(c), body_sent));
    if (n < 0) {
        shut(c);
        reap(c);
        return;
    }
    c->sent += (size_t)n;
    if (c->sent == c->out_head.size + out_body(c).size) {
        (void)event_del(&c->write_event);
        if (c->bulk != NULL) {
            bulk_is_out(c);
        } else {
            dx_buf_release(&c->out_head);
            let_body_go(c);
            reply_is_out(c);
            serve_pending(c);
        }
    }
    reap(c);
}

static void drain(struct dx_connection *c)
{
    c->closing = true;
    if (!is_busy(c) && !c->in_head && !c->in_turns) {
        read_some(c); /* a request may have come in the meantime */
        if (!is_busy(c) && !c->in_head)
            shut(c);
    }
}

/* ---- entry points of the loop ---- */

void dx_connection_open(struct dx_loop *loop, int fd)
{
    struct dx_connection *c = calloc(1, sizeof *c);
    int one = 1;

    if (c == NULL) {
        (void)close(fd);
        atomic_fetch_sub(&loop->serving->connections, 1);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->loop = loop;
    c->fd = fd;
    c->wait = DX_WAIT_CLOSED; /* in no list yet */
    dx_buf_init(&c->pending, DX_HEAD_MAX + DX_LOOP_READ_MAX);
    dx_buf_init(&c->out_head, DX_REPLY_HEAD_MAX + DX_REPLY_SMALL);
    dx_buf_init(&c->out_body, DX_BODY_MAX);
    (void)event_assign(&c->read_event, loop->base, fd, EV_READ | EV_PERSIST, on_readable, c);
    (void)event_assign(&c->write_event, loop->base, fd, EV_WRITE | EV_PERSIST, on_writable, c);
    loop->open++;
    enter_wait(c, DX_WAIT_HEAD);
    start_reading(c);
    if (!c->reading)
        shut(c);
    if (loop->draining && c->wait != DX_WAIT_CLOSED)
        drain(c);
    reap(c);
}

void dx_connection_turn(struct dx_connection *c)
{
    TAILQ_REMOVE(&c->loop->turns, c, turn);
    c->in_turns = false;
    if (is_at_bulk(c))
        go_on_bulk(c);
    else
        serve_pending(c);
    reap(c);
}

void dx_connection_answered(struct dx_job *job)
{
    struct dx_connection *c = job->connection;
    struct dx_loop *loop = job->loop;

    if (c == NULL) {
        loop->serving->answers->unpin(job->version);
        dx_job_free(&job);
        return;
    }
    assert(c->job == job && c->wait == DX_WAIT_JOB);
    c->job = NULL;
    c->version = job->version;
    c->closing = c->closing || loop->draining;
    if (c->bulk != NULL && job->rc == 1) {
        open_bulk(c, &job->ask);
    } else {
        c->closing = c->closing || c->bulk != NULL;
        dx_bulk_free(&c->bulk);
        reply_answer(c, job->rc, &job->body, &job->problem,
                     (struct dx_span){ c->match, c->match_size }, job->about, &job->ask);
    }
    dx_job_free(&job);
    serve_pending(c);
    reap(c);
}

void dx_connection_expire(struct dx_connection *c)
{
    struct dx_problem problem;

    if (c->wait != DX_WAIT_IDLE && c->wait != DX_WAIT_LINGER && c->wait != DX_WAIT_LATER)
        dx_loop_count(&c->loop->counts.timeouts);
    if (c->wait == DX_WAIT_HEAD && c->in_head) {
        c->in_head = false;
        refuse(c, 408, "the request head did not arrive in time");
    } else if (c->wait == DX_WAIT_JOB) {
        /* The worker goes on by itself; its answer will find nobody. The pin stays with it. */
        atomic_store(&c->job->cancelled, true);
        c->job->connection = NULL;
        c->job = NULL;
        c->closing = true;
        dx_bulk_free(&c->bulk);
        (void)dx_problem_set(
            &problem, DX_PROBLEM_UNAVAILABLE, "timeout", "Answer took too long",
            "the pages could not be read in time; try again, or ask for fewer rows");
        reply_problem(c, &problem);
    } else if (c->wait == DX_WAIT_BODY) {
        refuse_bulk(c, 408, "the body did not go on in time");
    } else if (c->wait == DX_WAIT_LATER) {
        go_on_bulk(c);
    } else {
        shut(c);
    }
    reap(c);
}

void dx_connection_close(struct dx_connection *c)
{
    shut(c);
    reap(c);
}

void dx_connection_drain(struct dx_connection *c)
{
    drain(c);
    reap(c);
}
