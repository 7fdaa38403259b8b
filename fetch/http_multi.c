/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/http_multi.h"

#include "base/log.h"
#include "fetch/fetch_counts.h"
#include "fetch/recent_peak.h"
#include "fetch/signing.h"
#include "fetch/source.h"
#include "fetch/timers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define SUSPECT_MS 2000
#define UNSIGNED_MS 20 /* between two looks for credentials that are on their way */
#define IDLE_LEAST 4   /* handles, which hold the TLS sessions, and connections that are kept */
#define IDLE_MAX DX_FETCH_IN_FLIGHT

enum state {
    WAITING, /* for the time of its next attempt */
    READY,   /* for a place in the gate */
    RUNNING,
    DONE
};

/* Of one request, at the same time. */
enum { FIRST, HEDGE, TRIES };

struct request {
    struct dx_timer timer; /* the first member: its owner is found by it */
    struct dx_http_batch *batch;
    struct dx_http_get *get;
    struct dx_http_attempt *tries[TRIES]; /* RUNNING: one of them at least */
    uint64_t hedge_ms;                    /* when it is late; UINT64_MAX: not, or not again */
    TAILQ_ENTRY(request) in_gate;         /* READY */
    enum state state;
    bool fresh;        /* the next attempt takes a new connection */
    bool signed_again; /* had the attempt that does not count */
    bool unsigned_yet; /* waits for credentials */
};

/* The requests of one lane that wait for the same limits. */
struct gate {
    LIST_ENTRY(gate) in_lane;
    struct dx_fetch_limits *limits;
    struct dx_fetch_waiter waiter;
    TAILQ_HEAD(, request) ready;
    size_t batches;
};

struct dx_http_batch {
    struct dx_timer timer; /* the first member; the deadline */
    struct dx_http_multi *lane;
    struct gate *gate;
    struct dx_http_ask ask;
    dx_http_done *done;
    void *ctx;
    size_t accepted;
    bool over; /* in the list of those whose done is to be called */
    int rc;
    struct dx_error err;
    TAILQ_ENTRY(dx_http_batch) in_over;
    struct request requests[];
};

struct dx_http_multi {
    CURLM *multi;
    CURL *idle[IDLE_MAX];
    size_t idle_count;
    size_t running;             /* attempts, each with a handle */
    struct dx_recent_peak peak; /* of running */
    size_t kept;                /* handles and connections at most, idle ones and others */
    uint64_t random;
    int fd;
    struct dx_timers timers;
    size_t timers_most; /* that can be set at once */
    LIST_HEAD(, gate) gates;
    TAILQ_HEAD(, dx_http_batch) over;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_begin(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* As many handles and connections are kept as were at work at once recently. libcurl closes one too many
 * whenever a transfer ends. */
static void keep_as_needed(struct dx_http_multi *lane)
{
    size_t kept = dx_recent_peak_note(&lane->peak, lane->running, dx_clock_ms());

    kept = kept < IDLE_LEAST ? IDLE_LEAST : kept > IDLE_MAX ? IDLE_MAX : kept;
    while (lane->idle_count > 0 && lane->idle_count + lane->running > kept)
        curl_easy_cleanup(lane->idle[--lane->idle_count]);
    if (kept != lane->kept)
        (void)curl_multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, (long)kept);
    lane->kept = kept;
}

int dx_http_multi_new(struct dx_http_multi **out, struct dx_error *err)
{
    struct dx_http_multi *lane = calloc(1, sizeof *lane);

    *out = NULL;
    if (lane == NULL)
        return dx_no_memory(err, "fetch");
    (void)pthread_once(&curl_once, curl_begin);
    LIST_INIT(&lane->gates);
    TAILQ_INIT(&lane->over);
    lane->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lane->fd < 0) {
        int rc = dx_fail_errno(err, errno, "fetch: no eventfd");

        free(lane);
        return rc;
    }
    lane->multi = curl_multi_init();
    if (lane->multi == NULL) {
        (void)close(lane->fd);
        free(lane);
        return dx_fail(err, DX_E_NOMEM, "fetch: out of memory: libcurl cannot start");
    }
    keep_as_needed(lane);
    if (getrandom(&lane->random, sizeof lane->random, GRND_NONBLOCK) < 0)
        lane->random = dx_clock_ms() ^ (uint64_t)(uintptr_t)lane;
    *out = lane;
    return DX_OK;
}

void dx_http_multi_free(struct dx_http_multi **out)
{
    struct dx_http_multi *lane = *out;

    *out = NULL;
    if (lane == NULL)
        return;
    assert(LIST_EMPTY(&lane->gates) && TAILQ_EMPTY(&lane->over));
    while (lane->idle_count > 0)
        curl_easy_cleanup(lane->idle[--lane->idle_count]);
    (void)curl_multi_cleanup(lane->multi);
    (void)close(lane->fd);
    dx_timers_release(&lane->timers);
    free(lane);
}

CURLM *dx_http_multi_multi(struct dx_http_multi *lane)
{
    return lane->multi;
}

int dx_http_multi_fd(const struct dx_http_multi *lane)
{
    return lane->fd;
}

/* splitmix64: jitter needs no better. */
static uint64_t next_random(struct dx_http_multi *lane)
{
    uint64_t z = lane->random += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static struct gate *take_gate(struct dx_http_multi *lane, struct dx_fetch_limits *limits)
{
    struct gate *gate;

    for (gate = LIST_FIRST(&lane->gates); gate != NULL; gate = LIST_NEXT(gate, in_lane))
        if (gate->limits == limits) {
            gate->batches++;
            return gate;
        }
    gate = calloc(1, sizeof *gate);
    if (gate == NULL)
        return NULL;
    gate->limits = limits;
    gate->waiter.fd = lane->fd;
    gate->batches = 1;
    TAILQ_INIT(&gate->ready);
    LIST_INSERT_HEAD(&lane->gates, gate, in_lane);
    return gate;
}

static void put_gate(struct gate *gate)
{
    if (--gate->batches > 0)
        return;
    dx_fetch_limits_unqueue(gate->limits, &gate->waiter);
    LIST_REMOVE(gate, in_lane);
    free(gate);
}

static void make_ready(struct request *r)
{
    r->state = READY;
    TAILQ_INSERT_TAIL(&r->batch->gate->ready, r, in_gate);
}

static void put_easy(struct dx_http_multi *lane, CURL *easy)
{
    if (easy == NULL)
        return;
    if (lane->idle_count < IDLE_MAX) {
        curl_easy_reset(easy);
        lane->idle[lane->idle_count++] = easy;
    } else {
        curl_easy_cleanup(easy);
    }
    keep_as_needed(lane);
}

/* Handle, headers and place in the gate of an attempt go back. */
static void end_try(struct request *r, unsigned which)
{
    struct dx_http_multi *lane = r->batch->lane;

    if (r->tries[which] == NULL)
        return;
    (void)curl_multi_remove_handle(lane->multi, r->tries[which]->easy);
    dx_fetch_limits_leave(r->batch->gate->limits);
    if (which == HEDGE)
        free(r->tries[which]->to);
    lane->running--;
    put_easy(lane, dx_http_attempt_free(&r->tries[which]));
}

static void end_tries(struct request *r)
{
    end_try(r, FIRST);
    end_try(r, HEDGE);
    dx_timers_clear(&r->batch->lane->timers, &r->timer);
}

/* Takes a request out of all that it is in. */
static void end_request(struct request *r)
{
    struct gate *gate = r->batch->gate;

    end_tries(r);
    if (r->state == READY) {
        TAILQ_REMOVE(&gate->ready, r, in_gate);
        if (TAILQ_EMPTY(&gate->ready))
            dx_fetch_limits_unqueue(gate->limits, &gate->waiter);
    }
    r->state = DONE;
}

static void leave_lane(struct dx_http_batch *batch)
{
    struct dx_http_multi *lane = batch->lane;

    for (size_t i = 0; i < batch->ask.count; i++)
        end_request(&batch->requests[i]);
    dx_timers_clear(&lane->timers, &batch->timer);
    lane->timers_most -= batch->ask.count + 1;
    put_gate(batch->gate);
}

/* The batch is over: done is called at the end of the step. */
static void end_batch(struct dx_http_batch *batch, int rc)
{
    leave_lane(batch);
    batch->rc = rc;
    batch->over = true;
    TAILQ_INSERT_TAIL(&batch->lane->over, batch, in_over);
}

static void fail_request(struct request *r, int rc)
{
    r->get->failed = true;
    if (rc == DX_E_CONFLICT)
        dx_fetch_count(DX_COUNT_CONFLICTS, 1);
    if (r->get->refusal == DX_REPLY_RANGE_IMPOSSIBLE)
        dx_fetch_count(DX_COUNT_RANGES_IMPOSSIBLE, 1);
    end_batch(r->batch, rc);
}

void dx_http_batch_cancel(struct dx_http_batch **out)
{
    struct dx_http_batch *batch = *out;

    *out = NULL;
    if (batch == NULL)
        return;
    if (batch->over)
        TAILQ_REMOVE(&batch->lane->over, batch, in_over);
    else
        leave_lane(batch);
    free(batch);
}

/* The next look at what runs: when it is late or too slow by what is known now, but not later than
 * a stall that begins now would be. */
static void watch(struct request *r, uint64_t now_ms)
{
    uint64_t next = now_ms + r->batch->ask.settings->stall_ms;

    for (unsigned k = 0; k < TRIES; k++) {
        const char *why;
        uint64_t at = r->tries[k] != NULL ? dx_http_attempt_expires_ms(r->tries[k], &why)
                                          : UINT64_MAX;

        next = at < next ? at : next;
    }
    next = r->hedge_ms < next ? r->hedge_ms : next;
    dx_timers_set(&r->batch->lane->timers, &r->timer, next);
}

/* Requests over a shared connection came too late, so it may not answer any more. */
static bool is_suspect(const struct request *r)
{
    const struct dx_http_settings *settings = r->batch->ask.settings;

    return atomic_load_explicit(settings->http2, memory_order_relaxed) &&
           dx_clock_ms() < atomic_load_explicit(settings->suspect_until_ms, memory_order_relaxed);
}

/* There is a place in the gate for it; after an error there is again. `to` of a hedge is taken
 * over. */
static int start_attempt(struct request *r, unsigned which, uint8_t *to, struct dx_error *err)
{
    struct dx_http_multi *lane = r->batch->lane;
    CURL *easy = lane->idle_count > 0 ? lane->idle[--lane->idle_count] : curl_easy_init();
    struct dx_http_attempt *t = dx_http_attempt_new(r->batch->ask.settings, r->get, to);
    int rc;

    if (t == NULL) {
        put_easy(lane, easy);
        rc = dx_no_memory(err, "fetch");
    } else {
        t->owner = r;
        rc = dx_http_attempt_prepare(t, easy, r->fresh || which == HEDGE || is_suspect(r), err);
    }
    if (rc == DX_OK && (curl_easy_setopt(easy, CURLOPT_PRIVATE, t) != CURLE_OK ||
                        curl_multi_add_handle(lane->multi, easy) != CURLM_OK))
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory: libcurl refuses the request",
                     r->get->url);
    if (rc < 0) {
        put_easy(lane, dx_http_attempt_free(&t));
        dx_fetch_limits_leave(r->batch->gate->limits);
        if (which == HEDGE)
            free(to);
        return rc;
    }
    r->tries[which] = t;
    r->state = RUNNING;
    lane->running++;
    keep_as_needed(lane);
    dx_fetch_count(DX_COUNT_REQUESTS, 1);
    return DX_OK;
}

static int start_first(struct request *r, struct dx_error *err)
{
    struct dx_hedge *hedge = &r->batch->gate->limits->hedge;
    int rc = start_attempt(r, FIRST, r->get->to, err);

    r->unsigned_yet = rc == DX_E_BUSY;
    if (rc == DX_E_BUSY)
        dx_timers_set(&r->batch->lane->timers, &r->timer, dx_clock_ms() + UNSIGNED_MS);
    if (rc < 0)
        return rc;
    r->hedge_ms = UINT64_MAX;
    if (r->get->attempts++ > 0) {
        dx_fetch_count(DX_COUNT_RETRIES, 1);
    } else if (r->batch->ask.settings->hedge && r->get->to != NULL) {
        uint64_t after = dx_hedge_after_ms(hedge);

        dx_hedge_offer(hedge);
        if (after != UINT64_MAX)
            r->hedge_ms = r->tries[FIRST]->started_ms + after;
    }
    watch(r, r->tries[FIRST]->started_ms);
    return DX_OK;
}

/* The request is late. Its hedge writes to bytes of its own: those of two replies must not mix. A
 * hedge that cannot be had is done without. */
static void start_hedge(struct request *r)
{
    struct dx_fetch_limits *limits = r->batch->gate->limits;
    struct dx_error err;
    uint8_t *to;

    r->hedge_ms = UINT64_MAX;
    if (r->tries[FIRST] == NULL || r->tries[FIRST]->reply.status != 0 ||
        !dx_fetch_limits_enter(limits))
        return;
    to = dx_hedge_take(&limits->hedge, &limits->budget) ? malloc(r->get->want.size) : NULL;
    if (to == NULL)
        dx_fetch_limits_leave(limits);
    else if (start_attempt(r, HEDGE, to, &err) == DX_OK)
        dx_fetch_count(DX_COUNT_HEDGES, 1);
}

static void start_ready(struct dx_http_multi *lane)
{
    struct gate *gate;
    struct gate *next;

    /* A batch that fails may take its gate with it. */
    for (gate = LIST_FIRST(&lane->gates); gate != NULL; gate = next) {
        struct request *r;

        next = LIST_NEXT(gate, in_lane);
        gate->batches++;
        while ((r = TAILQ_FIRST(&gate->ready)) != NULL &&
               dx_fetch_limits_enter_as(gate->limits, &gate->waiter)) {
            int rc;

            TAILQ_REMOVE(&gate->ready, r, in_gate);
            r->state = WAITING;
            rc = start_first(r, &r->batch->err);
            if (rc == DX_E_BUSY) /* nothing to sign with: the others need not be tried now */
                break;
            if (rc < 0)
                fail_request(r, rc);
        }
        put_gate(gate);
    }
}

/* What was not answered in the time of the other one was late too: without it the percentile would
 * sink by each hedge. */
static void note_times(struct request *r, unsigned won)
{
    struct dx_hedge *hedge = &r->batch->gate->limits->hedge;
    uint64_t now_ms = dx_clock_ms();

    for (unsigned k = 0; k < TRIES; k++)
        if (k == won)
            dx_hedge_note(hedge, dx_http_attempt_first_byte_ms(r->tries[k]));
        else if (k == FIRST && r->tries[k] != NULL)
            dx_hedge_note(hedge, now_ms - r->tries[k]->started_ms);
}

static void accept_reply(struct request *r, unsigned which)
{
    struct dx_http_batch *batch = r->batch;

    if (which == HEDGE) {
        memcpy(r->get->to, r->tries[which]->to, r->get->want.size);
        dx_fetch_count(DX_COUNT_HEDGES_WON, 1);
    }
    if (batch->ask.settings->hedge)
        note_times(r, which);
    r->get->reply = r->tries[which]->reply;
    r->get->refusal = r->tries[which]->refusal;
    r->get->accepted = true;
    end_request(r);
    dx_retry_budget_success(&batch->gate->limits->budget);
    if (++batch->accepted == batch->ask.count)
        end_batch(batch, DX_OK);
}

/* A 403 for the date or the credentials, which are others from now on: true, and asked again, once
 * a request. */
static bool sign_again(struct request *r, const struct dx_http_attempt *t)
{
    struct dx_signing *signing = r->batch->ask.settings->signing;

    if (signing == NULL || r->signed_again || t->reply.status != 403 ||
        !dx_signing_refused(signing, r->get->store_code, t->reply.date))
        return false;
    dx_fetch_count(DX_COUNT_SIGNED_AGAIN, 1);
    r->signed_again = true;
    end_tries(r);
    make_ready(r);
    return true;
}

/* Left to the other attempt, tried again later, or the end of its batch. */
static void retry_attempt(struct request *r, unsigned which, CURLcode code)
{
    struct dx_http_batch *batch = r->batch;
    const struct dx_http_settings *settings = batch->ask.settings;
    struct dx_http_attempt *t = r->tries[which];
    struct dx_retry_attempt attempt = {
        .failed = dx_http_attempt_class(t, code),
        .made = r->get->attempts - r->signed_again,
        .now_ms = dx_clock_ms(),
        .deadline_ms = batch->ask.deadline_ms,
        .retry_after_ms = dx_retry_after_ms(t->reply.retry_after, (int64_t)time(NULL)),
        .random = next_random(batch->lane),
    };
    enum dx_retry_verdict verdict;
    uint64_t wait_ms;

    if (attempt.failed != DX_RETRY_NEVER && r->tries[FIRST] != NULL && r->tries[HEDGE] != NULL) {
        end_try(r, which);
        return;
    }
    verdict = dx_retry_decide(&settings->retry, &settings->limits->budget, &attempt, &wait_ms);
    if (verdict == DX_RETRY_NO_BUDGET)
        dx_fetch_count(DX_COUNT_RETRIES_DENIED, 1);
    if (verdict != DX_RETRY_AGAIN) {
        fail_request(r,
                     dx_http_fail(r->get, t, code, dx_retry_verdict_words(verdict), &batch->err));
        return;
    }
    end_tries(r);
    r->state = WAITING;
    r->fresh = true;
    dx_timers_set(&batch->lane->timers, &r->timer, attempt.now_ms + wait_ms);
}

static void trace_try(const struct dx_http_attempt *t, bool good)
{
    const struct dx_http_get *get = t->get;
    char range[64] = "";

    if (get->out == NULL)
        (void)snprintf(range, sizeof range, ", %zu bytes from %llu", get->want.size,
                       (unsigned long long)get->want.offset);
    dx_trace("GET %.*s%s: status %d, %llu ms%s", (int)strcspn(get->url, "?"), get->url, range,
             t->reply.status, (unsigned long long)(dx_clock_ms() - t->started_ms),
             good ? "" : ", refused");
}

/* An attempt has ended, by itself or because it was too slow. */
static void settle_try(struct request *r, unsigned which, CURLcode code)
{
    struct dx_http_attempt *t = r->tries[which];
    enum dx_refusal refusal = dx_http_attempt_end(t, code);
    bool good = refusal == DX_REPLY_ACCEPTED || refusal == DX_REPLY_NOT_MODIFIED;

    if (dx_trace_on())
        trace_try(t, good);
    if (t->reply.status != 0)
        (void)dx_retry_watch_answered(&r->batch->gate->limits->watch);
    if (good) {
        accept_reply(r, which);
        return;
    }
    r->get->reply = t->reply;
    r->get->refusal = t->refusal;
    dx_http_attempt_store_code(t, r->get->store_code);
    if (r->get->out != NULL && r->get->out->failed)
        fail_request(r, dx_buf_fail(r->get->out, &r->batch->err, r->get->url));
    else if (!sign_again(r, t))
        retry_attempt(r, which, code);
}

static void take_finished(struct dx_http_multi *lane)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
        CURLcode code = message->data.result;
        char *private = NULL;
        const struct dx_http_attempt *t;
        struct request *r;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        t = (const struct dx_http_attempt *)(const void *)private;
        r = t->owner;
        settle_try(r, t == r->tries[HEDGE] ? HEDGE : FIRST, code);
    }
}

static void take_expired(struct request *r, unsigned which, uint64_t now_ms)
{
    struct dx_http_attempt *t = r->tries[which];
    const char *why;

    if (t == NULL || dx_http_attempt_expires_ms(t, &why) > now_ms)
        return;
    t->expired = why;
    /* FORBID_REUSE does nothing while others share the connection, so for a while new ones take a
     * connection of their own; the others on this one may still be answered. */
    (void)curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
    atomic_store_explicit(r->batch->ask.settings->suspect_until_ms, now_ms + SUSPECT_MS,
                          memory_order_relaxed);
    settle_try(r, which, CURLE_OPERATION_TIMEDOUT);
}

static void request_due(struct dx_timer *timer, uint64_t now_ms)
{
    struct request *r = (struct request *)(void *)timer;

    if (r->state == WAITING) {
        make_ready(r);
        return;
    }
    for (unsigned k = 0; k < TRIES && r->state == RUNNING; k++)
        take_expired(r, k, now_ms);
    if (r->state == RUNNING && r->hedge_ms <= now_ms)
        start_hedge(r);
    if (r->state == RUNNING)
        watch(r, now_ms);
}

static void deadline_due(struct dx_timer *timer, uint64_t now_ms)
{
    struct dx_http_batch *batch = (struct dx_http_batch *)(void *)timer;
    struct request *r = batch->requests;

    (void)now_ms;
    while (r->state == DONE)
        r++;
    dx_fetch_count(DX_COUNT_DEADLINES_MISSED, 1);
    if (r->tries[FIRST] != NULL && r->tries[FIRST]->reply.status != 0)
        r->get->reply = r->tries[FIRST]->reply;
    fail_request(r, dx_http_fail(r->get, NULL, CURLE_OPERATION_TIMEDOUT,
                                 r->unsigned_yet ? "the credentials to sign with did not come"
                                                 : dx_retry_verdict_words(DX_RETRY_DEADLINE),
                                 &batch->err));
}

static void call_done(struct dx_http_multi *lane)
{
    struct dx_http_batch *batch;

    while ((batch = TAILQ_FIRST(&lane->over)) != NULL) {
        dx_http_done *done = batch->done;
        void *ctx = batch->ctx;
        int rc = batch->rc;
        const struct dx_error err = batch->err;

        TAILQ_REMOVE(&lane->over, batch, in_over);
        free(batch);
        done(ctx, rc, &err);
    }
}

uint64_t dx_http_multi_step(struct dx_http_multi *lane)
{
    struct dx_timer *timer;
    uint64_t now_ms;
    uint64_t count;

    if (read(lane->fd, &count, sizeof count) < 0)
        count = 0; /* there was no call */
    take_finished(lane);
    now_ms = dx_clock_ms();
    while ((timer = dx_timers_take_due(&lane->timers, now_ms)) != NULL)
        timer->due(timer, now_ms);
    start_ready(lane);
    call_done(lane);
    return dx_timers_first_ms(&lane->timers);
}

int dx_http_multi_begin(struct dx_http_multi *lane, const struct dx_http_ask *ask,
                        dx_http_done *done, void *ctx, struct dx_http_batch **out,
                        struct dx_error *err)
{
    struct dx_http_batch *batch = calloc(1, sizeof *batch + ask->count * sizeof batch->requests[0]);

    *out = NULL;
    if (batch == NULL || !dx_timers_reserve(&lane->timers, lane->timers_most + ask->count + 1) ||
        (batch->gate = take_gate(lane, ask->settings->limits)) == NULL) {
        free(batch);
        return dx_no_memory(err, "fetch");
    }
    lane->timers_most += ask->count + 1;
    batch->lane = lane;
    batch->ask = *ask;
    batch->done = done;
    batch->ctx = ctx;
    batch->timer.due = deadline_due;
    dx_fetch_count(DX_COUNT_BATCHES, 1);
    for (size_t i = 0; i < ask->count; i++) {
        struct request *r = &batch->requests[i];

        r->timer.due = request_due;
        r->batch = batch;
        r->get = &ask->gets[i];
        r->fresh = ask->fresh;
        r->get->attempts = 0;
        r->get->refusal = DX_REPLY_NO_STATUS;
        make_ready(r);
    }
    dx_timers_set(&lane->timers, &batch->timer, ask->deadline_ms);
    if (ask->count == 0)
        end_batch(batch, DX_OK);
    *out = batch;
    return DX_OK;
}

struct result {
    bool over;
    int rc;
    struct dx_error *err;
};

static void on_run_done(void *ctx, int rc, const struct dx_error *err)
{
    struct result *result = ctx;

    result->over = true;
    result->rc = rc;
    if (rc < 0 && result->err != NULL)
        *result->err = *err;
}

int dx_http_multi_run(struct dx_http_multi *lane, const struct dx_http_ask *ask,
                      struct dx_error *err)
{
    struct result result = { .err = err };
    uint64_t begin_ms = dx_clock_ms();
    struct dx_http_batch *batch;
    int rc = dx_http_multi_begin(lane, ask, on_run_done, &result, &batch, err);

    while (rc == DX_OK && !result.over) {
        struct curl_waitfd gate = { lane->fd, CURL_WAIT_POLLIN, 0 };
        uint64_t next = dx_http_multi_step(lane);
        uint64_t now = dx_clock_ms();
        int running;

        if (result.over)
            break;
        if (ask->count > 0)
            dx_retry_watch_waiting(&ask->settings->limits->watch, "GET", ask->gets[0].url, begin_ms,
                                   now, ask->deadline_ms);
        /* libcurl's own timers shorten the wait. */
        (void)curl_multi_poll(lane->multi, &gate, 1,
                              next <= now         ? 0
                              : next - now < 1000 ? (int)(next - now)
                                                  : 1000,
                              NULL);
        if (curl_multi_perform(lane->multi, &running) != CURLM_OK) {
            dx_http_batch_cancel(&batch);
            return dx_fail(err, DX_E_NOMEM, "fetch: libcurl fails");
        }
    }
    return rc < 0 ? rc : result.rc;
}
