/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/http_lane.h"

#include "fetch/fetch_counts.h"
#include "fetch/signing.h"
#include "fetch/source.h"
#include "fetch/timers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MAX 64 /* easy handles kept: they hold the TLS sessions */

enum state {
    WAITING, /* for the time of its next attempt */
    READY,   /* for a place in the gate */
    RUNNING,
    DONE
};

struct request {
    struct dx_timer timer; /* the first member: its owner is found by it */
    struct dx_http_wave *wave;
    struct dx_http_get *get;
    struct dx_http_try *attempt;  /* RUNNING */
    TAILQ_ENTRY(request) in_gate; /* READY */
    enum state state;
    bool fresh;        /* the next attempt takes a new connection */
    bool signed_again; /* had the attempt that does not count */
};

/* The requests of one lane that wait for the same limits. */
struct gate {
    LIST_ENTRY(gate) in_lane;
    struct dx_fetch_limits *limits;
    struct dx_fetch_waiter waiter;
    TAILQ_HEAD(, request) ready;
    size_t waves;
};

struct dx_http_wave {
    struct dx_timer timer; /* the first member; the deadline */
    struct dx_http_lane *lane;
    struct gate *gate;
    struct dx_http_ask ask;
    dx_http_done *done;
    void *ctx;
    size_t accepted;
    bool over; /* in the list of those whose done is to be called */
    int rc;
    struct dx_error err;
    TAILQ_ENTRY(dx_http_wave) in_over;
    struct request requests[];
};

struct dx_http_lane {
    CURLM *multi;
    CURL *idle[IDLE_MAX];
    size_t idle_count;
    uint64_t random;
    int fd;
    struct dx_timers timers;
    size_t timers_most; /* that can be set at once */
    LIST_HEAD(, gate) gates;
    TAILQ_HEAD(, dx_http_wave) over;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_begin(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

int dx_http_lane_new(struct dx_http_lane **out, struct dx_error *err)
{
    struct dx_http_lane *lane = calloc(1, sizeof *lane);

    *out = NULL;
    if (lane == NULL)
        return dx_fail(err, DX_E_NOMEM, "fetch: out of memory");
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
        return dx_fail(err, DX_E_NOMEM, "fetch: libcurl cannot start");
    }
    (void)curl_multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_MAX);
    if (getrandom(&lane->random, sizeof lane->random, GRND_NONBLOCK) < 0)
        lane->random = dx_source_now_ms() ^ (uint64_t)(uintptr_t)lane;
    *out = lane;
    return DX_OK;
}

void dx_http_lane_free(struct dx_http_lane **out)
{
    struct dx_http_lane *lane = *out;

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

CURLM *dx_http_lane_multi(struct dx_http_lane *lane)
{
    return lane->multi;
}

int dx_http_lane_fd(const struct dx_http_lane *lane)
{
    return lane->fd;
}

/* splitmix64: jitter needs no better. */
static uint64_t next_random(struct dx_http_lane *lane)
{
    uint64_t z = lane->random += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static struct gate *take_gate(struct dx_http_lane *lane, struct dx_fetch_limits *limits)
{
    struct gate *gate;

    for (gate = LIST_FIRST(&lane->gates); gate != NULL; gate = LIST_NEXT(gate, in_lane))
        if (gate->limits == limits) {
            gate->waves++;
            return gate;
        }
    gate = calloc(1, sizeof *gate);
    if (gate == NULL)
        return NULL;
    gate->limits = limits;
    gate->waiter.fd = lane->fd;
    gate->waves = 1;
    TAILQ_INIT(&gate->ready);
    LIST_INSERT_HEAD(&lane->gates, gate, in_lane);
    return gate;
}

static void put_gate(struct gate *gate)
{
    if (--gate->waves > 0)
        return;
    dx_fetch_limits_unqueue(gate->limits, &gate->waiter);
    LIST_REMOVE(gate, in_lane);
    free(gate);
}

static void make_ready(struct request *r)
{
    r->state = READY;
    TAILQ_INSERT_TAIL(&r->wave->gate->ready, r, in_gate);
}

/* Handle, headers and place in the gate of an attempt go back. */
static void end_attempt(struct request *r)
{
    struct dx_http_lane *lane = r->wave->lane;
    CURL *easy;

    if (r->attempt == NULL)
        return;
    dx_timers_clear(&lane->timers, &r->timer);
    (void)curl_multi_remove_handle(lane->multi, r->attempt->easy);
    dx_fetch_limits_leave(r->wave->gate->limits);
    easy = dx_http_try_free(&r->attempt);
    if (lane->idle_count < IDLE_MAX) {
        curl_easy_reset(easy);
        lane->idle[lane->idle_count++] = easy;
    } else {
        curl_easy_cleanup(easy);
    }
}

/* Takes a request out of all that it is in. */
static void end_request(struct request *r)
{
    struct gate *gate = r->wave->gate;

    end_attempt(r);
    dx_timers_clear(&r->wave->lane->timers, &r->timer);
    if (r->state == READY) {
        TAILQ_REMOVE(&gate->ready, r, in_gate);
        if (TAILQ_EMPTY(&gate->ready))
            dx_fetch_limits_unqueue(gate->limits, &gate->waiter);
    }
    r->state = DONE;
}

static void leave_lane(struct dx_http_wave *wave)
{
    struct dx_http_lane *lane = wave->lane;

    for (size_t i = 0; i < wave->ask.count; i++)
        end_request(&wave->requests[i]);
    dx_timers_clear(&lane->timers, &wave->timer);
    lane->timers_most -= wave->ask.count + 1;
    put_gate(wave->gate);
}

/* The wave is over: done is called at the end of the step. */
static void end_wave(struct dx_http_wave *wave, int rc)
{
    leave_lane(wave);
    wave->rc = rc;
    wave->over = true;
    TAILQ_INSERT_TAIL(&wave->lane->over, wave, in_over);
}

static void fail_request(struct request *r, int rc)
{
    r->get->failed = true;
    if (rc == DX_E_CONFLICT)
        dx_fetch_count(DX_COUNT_CONFLICTS, 1);
    if (r->get->refusal == DX_REPLY_RANGE_IMPOSSIBLE)
        dx_fetch_count(DX_COUNT_RANGES_IMPOSSIBLE, 1);
    end_wave(r->wave, rc);
}

void dx_http_wave_cancel(struct dx_http_wave **out)
{
    struct dx_http_wave *wave = *out;

    *out = NULL;
    if (wave == NULL)
        return;
    if (wave->over)
        TAILQ_REMOVE(&wave->lane->over, wave, in_over);
    else
        leave_lane(wave);
    free(wave);
}

/* The next look at a running attempt: when it is too slow by what is known now, but not later than
 * a stall that begins now would be. */
static void watch(struct request *r, uint64_t now_ms)
{
    const char *which;
    uint64_t expires = dx_http_try_expires_ms(r->attempt, &which);
    uint64_t stall = now_ms + r->wave->ask.settings->stall_ms;

    dx_timers_set(&r->wave->lane->timers, &r->timer, expires < stall ? expires : stall);
}

/* There is a place in the gate for it; after an error there is again. */
static int start(struct request *r, struct dx_error *err)
{
    struct dx_http_lane *lane = r->wave->lane;
    CURL *easy = lane->idle_count > 0 ? lane->idle[--lane->idle_count] : curl_easy_init();
    int rc;

    r->attempt = dx_http_try_new(r->wave->ask.settings, r->get, r->get->to);
    if (r->attempt == NULL) {
        curl_easy_cleanup(easy);
        rc = dx_fail(err, DX_E_NOMEM, "fetch: out of memory");
    } else {
        rc = dx_http_try_prepare(r->attempt, easy, r->fresh, err);
    }
    if (rc == DX_OK && (curl_easy_setopt(easy, CURLOPT_PRIVATE, r) != CURLE_OK ||
                        curl_multi_add_handle(lane->multi, easy) != CURLM_OK))
        rc = dx_fail(err, DX_E_NOMEM, "%s: libcurl refuses the request", r->get->url);
    if (rc < 0) {
        curl_easy_cleanup(dx_http_try_free(&r->attempt));
        dx_fetch_limits_leave(r->wave->gate->limits);
        return rc;
    }
    if (r->get->attempts++ > 0)
        dx_fetch_count(DX_COUNT_RETRIES, 1);
    dx_fetch_count(DX_COUNT_REQUESTS, 1);
    r->state = RUNNING;
    watch(r, r->attempt->started_ms);
    return DX_OK;
}

static void start_ready(struct dx_http_lane *lane)
{
    struct gate *gate;
    struct gate *next;

    /* A wave that fails may take its gate with it. */
    for (gate = LIST_FIRST(&lane->gates); gate != NULL; gate = next) {
        struct request *r;

        next = LIST_NEXT(gate, in_lane);
        gate->waves++;
        while ((r = TAILQ_FIRST(&gate->ready)) != NULL &&
               dx_fetch_limits_enter_as(gate->limits, &gate->waiter)) {
            int rc;

            TAILQ_REMOVE(&gate->ready, r, in_gate);
            r->state = WAITING;
            rc = start(r, &r->wave->err);
            if (rc < 0)
                fail_request(r, rc);
        }
        put_gate(gate);
    }
}

static void accept_reply(struct request *r)
{
    struct dx_http_wave *wave = r->wave;

    r->get->reply = r->attempt->reply;
    r->get->refusal = r->attempt->refusal;
    r->get->accepted = true;
    end_request(r);
    dx_retry_budget_success(&wave->gate->limits->budget);
    if (++wave->accepted == wave->ask.count)
        end_wave(wave, DX_OK);
}

/* A 403 for the date or the credentials, which are others from now on: true, and asked again, once a
 * request. */
static bool sign_again(struct request *r)
{
    struct dx_signing *signing = r->wave->ask.settings->signing;

    if (signing == NULL || r->signed_again || r->attempt->reply.status != 403 ||
        !dx_signing_refused(signing, r->get->store_code, r->attempt->reply.date))
        return false;
    dx_fetch_count(DX_COUNT_SIGNED_AGAIN, 1);
    r->signed_again = true;
    end_attempt(r);
    make_ready(r);
    return true;
}

/* Tried again later, or the end of its wave. */
static void retry(struct request *r, CURLcode code)
{
    struct dx_http_wave *wave = r->wave;
    const struct dx_http_settings *settings = wave->ask.settings;
    struct dx_retry_attempt attempt = {
        .failed = dx_http_try_class(r->attempt, code),
        .made = r->get->attempts - r->signed_again,
        .now_ms = dx_source_now_ms(),
        .deadline_ms = wave->ask.deadline_ms,
        .retry_after_ms = dx_retry_after_ms(r->attempt->reply.retry_after, (int64_t)time(NULL)),
        .random = next_random(wave->lane),
    };
    enum dx_retry_verdict verdict;
    uint64_t wait_ms;

    verdict = dx_retry_decide(&settings->retry, &settings->limits->budget, &attempt, &wait_ms);
    if (verdict == DX_RETRY_NO_BUDGET)
        dx_fetch_count(DX_COUNT_RETRIES_DENIED, 1);
    if (verdict != DX_RETRY_AGAIN) {
        fail_request(
            r, dx_http_fail(r->get, r->attempt, code, dx_retry_verdict_words(verdict), &wave->err));
        return;
    }
    end_attempt(r);
    r->state = WAITING;
    r->fresh = true;
    dx_timers_set(&wave->lane->timers, &r->timer, attempt.now_ms + wait_ms);
}

/* An attempt has ended, by itself or because it was too slow. */
static void finish(struct request *r, CURLcode code)
{
    enum dx_refusal refusal = dx_http_try_end(r->attempt, code);

    if (refusal == DX_REPLY_ACCEPTED || refusal == DX_REPLY_NOT_MODIFIED) {
        accept_reply(r);
        return;
    }
    r->get->reply = r->attempt->reply;
    r->get->refusal = r->attempt->refusal;
    dx_http_try_store_code(r->attempt, r->get->store_code);
    if (r->get->out != NULL && r->get->out->failed)
        fail_request(r, dx_buf_fail(r->get->out, &r->wave->err, r->get->url));
    else if (!sign_again(r))
        retry(r, code);
}

static void take_finished(struct dx_http_lane *lane)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
        CURLcode code = message->data.result;
        char *private = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        finish((struct request *)(void *)private, code);
    }
}

static void request_due(struct dx_timer *timer, uint64_t now_ms)
{
    struct request *r = (struct request *)(void *)timer;
    const char *which;

    if (r->state == WAITING) {
        make_ready(r);
    } else if (dx_http_try_expires_ms(r->attempt, &which) > now_ms) {
        watch(r, now_ms);
    } else {
        r->attempt->expired = which;
        /* The others on this connection may still be answered; no new one is to join them. */
        (void)curl_easy_setopt(r->attempt->easy, CURLOPT_FORBID_REUSE, 1L);
        finish(r, CURLE_OPERATION_TIMEDOUT);
    }
}

static void deadline_due(struct dx_timer *timer, uint64_t now_ms)
{
    struct dx_http_wave *wave = (struct dx_http_wave *)(void *)timer;
    size_t i = 0;

    (void)now_ms;
    while (wave->requests[i].state == DONE)
        i++;
    dx_fetch_count(DX_COUNT_DEADLINES_MISSED, 1);
    if (wave->requests[i].attempt != NULL && wave->requests[i].attempt->reply.status != 0)
        wave->requests[i].get->reply = wave->requests[i].attempt->reply;
    fail_request(&wave->requests[i],
                 dx_http_fail(wave->requests[i].get, NULL, CURLE_OPERATION_TIMEDOUT,
                              dx_retry_verdict_words(DX_RETRY_DEADLINE), &wave->err));
}

static void call_done(struct dx_http_lane *lane)
{
    struct dx_http_wave *wave;

    while ((wave = TAILQ_FIRST(&lane->over)) != NULL) {
        dx_http_done *done = wave->done;
        void *ctx = wave->ctx;
        int rc = wave->rc;
        const struct dx_error err = wave->err;

        TAILQ_REMOVE(&lane->over, wave, in_over);
        free(wave);
        done(ctx, rc, &err);
    }
}

uint64_t dx_http_lane_step(struct dx_http_lane *lane)
{
    struct dx_timer *timer;
    uint64_t now_ms;
    uint64_t count;

    if (read(lane->fd, &count, sizeof count) < 0)
        count = 0; /* nobody has called */
    take_finished(lane);
    now_ms = dx_source_now_ms();
    while ((timer = dx_timers_take_due(&lane->timers, now_ms)) != NULL)
        timer->due(timer, now_ms);
    start_ready(lane);
    call_done(lane);
    return dx_timers_first_ms(&lane->timers);
}

int dx_http_lane_begin(struct dx_http_lane *lane, const struct dx_http_ask *ask, dx_http_done *done,
                       void *ctx, struct dx_http_wave **out, struct dx_error *err)
{
    struct dx_http_wave *wave = calloc(1, sizeof *wave + ask->count * sizeof wave->requests[0]);

    *out = NULL;
    if (wave == NULL || !dx_timers_reserve(&lane->timers, lane->timers_most + ask->count + 1) ||
        (wave->gate = take_gate(lane, ask->settings->limits)) == NULL) {
        free(wave);
        return dx_fail(err, DX_E_NOMEM, "fetch: out of memory");
    }
    lane->timers_most += ask->count + 1;
    wave->lane = lane;
    wave->ask = *ask;
    wave->done = done;
    wave->ctx = ctx;
    wave->timer.due = deadline_due;
    dx_fetch_count(DX_COUNT_WAVES, 1);
    for (size_t i = 0; i < ask->count; i++) {
        struct request *r = &wave->requests[i];

        r->timer.due = request_due;
        r->wave = wave;
        r->get = &ask->gets[i];
        r->fresh = ask->fresh;
        r->get->attempts = 0;
        r->get->refusal = DX_REPLY_NO_STATUS;
        make_ready(r);
    }
    dx_timers_set(&lane->timers, &wave->timer, ask->deadline_ms);
    if (ask->count == 0)
        end_wave(wave, DX_OK);
    *out = wave;
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

int dx_http_lane_run(struct dx_http_lane *lane, const struct dx_http_ask *ask, struct dx_error *err)
{
    struct result result = { .err = err };
    struct dx_http_wave *wave;
    int rc = dx_http_lane_begin(lane, ask, on_run_done, &result, &wave, err);

    while (rc == DX_OK && !result.over) {
        struct curl_waitfd gate = { lane->fd, CURL_WAIT_POLLIN, 0 };
        uint64_t next = dx_http_lane_step(lane);
        uint64_t now = dx_source_now_ms();
        int running;

        if (result.over)
            break;
        /* libcurl's own timers shorten the wait. */
        (void)curl_multi_poll(lane->multi, &gate, 1,
                              next <= now         ? 0
                              : next - now < 1000 ? (int)(next - now)
                                                  : 1000,
                              NULL);
        if (curl_multi_perform(lane->multi, &running) != CURLM_OK) {
            dx_http_wave_cancel(&wave);
            return dx_fail(err, DX_E_NOMEM, "fetch: libcurl fails");
        }
    }
    return rc < 0 ? rc : result.rc;
}
