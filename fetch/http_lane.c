/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/http_lane.h"

#include "fetch/source.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define IDLE_MAX 64   /* easy handles kept: they hold the TLS sessions */
#define NOTE_MAX 1024 /* of the body of an error, for the store's own word on it */
#define DRAIN_MAX \
    16384          /* of the body of an error: less than this is read so that the
                         * connection can be used again */
#define GATE_MS 20 /* who waits for the gate with requests of its own in flight looks again */

enum state { WAITING, RUNNING, DONE };

struct transfer {
    struct dx_http_get *get;
    struct dx_http_lane *lane;
    enum state state;
    CURL *easy;
    struct curl_slist *headers;
    bool fresh;          /* the next attempt takes a new connection */
    bool head_checked;   /* refusal is the one of the head */
    const char *expired; /* which of our timers ended the attempt */
    size_t out_before;   /* size of get->out when the run began */
    uint64_t not_before_ms;
    uint64_t started_ms;
    uint64_t progress_ms;
    size_t note_size;
    char note[NOTE_MAX + 1];
    char words[CURL_ERROR_SIZE];
};

struct dx_http_lane {
    const struct dx_http_settings *settings;
    CURLM *multi;
    CURL *idle[IDLE_MAX];
    size_t idle_count;
    uint64_t random;
    size_t running;
    size_t done;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_begin(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

int dx_http_lane_new(struct dx_http_lane **out, const struct dx_http_settings *settings,
                     struct dx_error *err)
{
    struct dx_http_lane *lane = calloc(1, sizeof *lane);

    *out = NULL;
    if (lane == NULL)
        return dx_fail(err, DX_E_NOMEM, "fetch: out of memory");
    (void)pthread_once(&curl_once, curl_begin);
    lane->settings = settings;
    lane->multi = curl_multi_init();
    if (lane->multi == NULL) {
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
    while (lane->idle_count > 0)
        curl_easy_cleanup(lane->idle[--lane->idle_count]);
    (void)curl_multi_cleanup(lane->multi);
    free(lane);
}

/* splitmix64: jitter needs no better. */
static uint64_t next_random(struct dx_http_lane *lane)
{
    uint64_t z = lane->random += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;

    (void)one;
    dx_reply_header(&t->get->reply, dx_span_of(line, n));
    t->progress_ms = dx_source_now_ms();
    return n;
}

static enum dx_refusal check_head(const struct transfer *t)
{
    return t->get->to != NULL ? dx_range_reply_head(&t->get->reply, &t->get->want)
                              : dx_whole_reply_head(&t->get->reply, &t->get->want);
}

static enum dx_refusal check_all(const struct transfer *t)
{
    return t->get->to != NULL ? dx_range_reply_check(&t->get->reply, &t->get->want)
                              : dx_whole_reply_check(&t->get->reply, &t->get->want);
}

/* What of a refused reply is read on: the words of an error, not a body without end. */
static size_t keep_note(struct transfer *t, const char *data, size_t n)
{
    size_t room = NOTE_MAX - t->note_size;

    memcpy(t->note + t->note_size, data, n < room ? n : room);
    t->note_size += n < room ? n : room;
    return t->get->reply.status >= 400 && t->get->reply.received <= DRAIN_MAX ? n : 0;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;
    struct dx_http_get *get = t->get;
    uint64_t at = get->reply.received;

    (void)one;
    if (!t->head_checked) {
        t->head_checked = true;
        get->refusal = check_head(t);
    }
    dx_reply_body(&get->reply, n);
    t->progress_ms = dx_source_now_ms();
    if (get->refusal != DX_REPLY_ACCEPTED)
        return keep_note(t, data, n);
    if (get->reply.received > get->want.size) {
        get->refusal = get->to != NULL ? DX_REPLY_BODY_LONG : DX_REPLY_TOO_LARGE;
        return 0;
    }
    if (get->to != NULL) {
        memcpy(get->to + at, data, n);
        return n;
    }
    dx_buf_append(get->out, data, n);
    return get->out->failed ? 0 : n;
}

/* x-amz-content-sha256 of no body: S3 demands the header, and libcurl 7.88 does not add it. */
#define NO_BODY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static bool add_header(struct transfer *t, const char *name, const char *value)
{
    char line[4096];
    struct curl_slist *longer;
    int n = snprintf(line, sizeof line, "%s: %s", name, value);

    if (n < 0 || (size_t)n >= sizeof line)
        return false;
    longer = curl_slist_append(t->headers, line);
    if (longer != NULL)
        t->headers = longer;
    return longer != NULL;
}

static bool set_headers(struct transfer *t)
{
    const struct dx_http_sign *sign = t->lane->settings->sign;
    bool ok = true;

    if (t->get->want.etag != NULL)
        ok = ok && add_header(t, "If-Match", t->get->want.etag);
    if (t->get->if_none_match != NULL)
        ok = ok && add_header(t, "If-None-Match", t->get->if_none_match);
    if (sign != NULL)
        ok = ok && add_header(t, "x-amz-content-sha256", NO_BODY_SHA256);
    if (sign != NULL && sign->token != NULL)
        ok = ok && add_header(t, "x-amz-security-token", sign->token);
    return ok;
}

static bool set_options(struct transfer *t)
{
    const struct dx_http_settings *settings = t->lane->settings;
    const struct dx_http_get *get = t->get;
    char range[64];
    CURL *e = t->easy;
    int bad = 0;

    bad |= (int)curl_easy_setopt(e, CURLOPT_URL, get->url);
    bad |= (int)curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    bad |= (int)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->words);
    bad |= (int)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_NOPROGRESS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR,
                                 strncmp(get->url, "https:", 6) == 0 ? "https" : "http");
    bad |= (int)curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    bad |= (int)curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    bad |= (int)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)settings->connect_ms);
    bad |= (int)curl_easy_setopt(e, CURLOPT_USERAGENT, "domaindex/" DX_VERSION);
    /* Set this way it is no header of ours, hence not signed: proxies may change it. */
    bad |= (int)curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "identity");
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    bad |= (int)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    bad |= (int)curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    bad |= (int)curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, t->fresh ? 1L : 0L);
    if (settings->ca_file != NULL)
        bad |= (int)curl_easy_setopt(e, CURLOPT_CAINFO, settings->ca_file);
    if (settings->sign != NULL) {
        bad |= (int)curl_easy_setopt(e, CURLOPT_AWS_SIGV4, settings->sign->sigv4);
        bad |= (int)curl_easy_setopt(e, CURLOPT_USERNAME, settings->sign->key_id);
        bad |= (int)curl_easy_setopt(e, CURLOPT_PASSWORD, settings->sign->secret);
    }
    if (get->to != NULL) {
        (void)snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)get->want.offset,
                       (unsigned long long)(get->want.offset + get->want.size - 1));
        bad |= (int)curl_easy_setopt(e, CURLOPT_RANGE, range);
    }
    bad |= set_headers(t) ? 0 : 1;
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
    return bad == 0;
}

/* The request is over or was never made: handle, headers and place in the gate go back. */
static void stop(struct transfer *t)
{
    struct dx_http_lane *lane = t->lane;

    if (t->state == RUNNING) {
        (void)curl_multi_remove_handle(lane->multi, t->easy);
        dx_fetch_limits_leave(lane->settings->limits);
        lane->running--;
        t->state = WAITING;
    }
    curl_slist_free_all(t->headers);
    t->headers = NULL;
    if (t->easy != NULL && lane->idle_count < IDLE_MAX) {
        curl_easy_reset(t->easy);
        lane->idle[lane->idle_count++] = t->easy;
    } else {
        curl_easy_cleanup(t->easy);
    }
    t->easy = NULL;
}

/* The caller has a place in the gate for it. */
static int start(struct transfer *t, struct dx_error *err)
{
    struct dx_http_lane *lane = t->lane;

    t->easy = lane->idle_count > 0 ? lane->idle[--lane->idle_count] : curl_easy_init();
    dx_reply_begin(&t->get->reply);
    t->get->refusal = DX_REPLY_NO_STATUS;
    t->head_checked = false;
    t->expired = NULL;
    t->note_size = 0;
    t->words[0] = '\0';
    if (t->get->out != NULL)
        t->get->out->size = t->out_before;
    if (t->easy == NULL || !set_options(t) ||
        curl_multi_add_handle(lane->multi, t->easy) != CURLM_OK) {
        dx_fetch_limits_leave(lane->settings->limits);
        stop(t);
        return dx_fail(err, DX_E_NOMEM, "%s: libcurl refuses the request", t->get->url);
    }
    t->started_ms = t->progress_ms = dx_source_now_ms();
    t->get->attempts++;
    t->state = RUNNING;
    lane->running++;
    return DX_OK;
}

/* The instant at which a running attempt is too slow, and which timer says so. */
static uint64_t expires_at(const struct transfer *t, const char **which)
{
    const struct dx_http_settings *s = t->lane->settings;
    uint64_t first = t->started_ms + s->connect_ms + s->first_byte_ms;
    uint64_t size = t->get->to != NULL          ? t->get->want.size
                    : t->get->reply.lengths > 0 ? t->get->reply.length
                                                : t->get->reply.received;
    uint64_t stall = t->progress_ms + s->stall_ms;
    uint64_t all = first + s->stall_ms + size / (s->bytes_per_s_min / 1000 + 1);

    if (t->get->reply.status == 0) {
        *which = "no reply in time";
        return first;
    }
    *which = stall < all ? "the reply stalled" : "the reply came too slowly";
    return stall < all ? stall : all;
}

static bool never_again(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_URL_MALFORMAT || code == CURLE_OUT_OF_MEMORY ||
           code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_ISSUER_ERROR ||
           code == CURLE_FAILED_INIT || code == CURLE_NOT_BUILT_IN;
}

static enum dx_code code_of(const struct transfer *t, CURLcode curl)
{
    if (t->expired != NULL || curl == CURLE_OPERATION_TIMEDOUT)
        return DX_E_TIMEOUT;
    if (curl == CURLE_OUT_OF_MEMORY)
        return DX_E_NOMEM;
    switch (t->get->refusal) {
    case DX_REPLY_NOT_FOUND:
        return DX_E_NOT_FOUND;
    case DX_REPLY_CHANGED:
    case DX_REPLY_OTHER_ETAG:
    case DX_REPLY_OTHER_TOTAL:
        return DX_E_CONFLICT;
    case DX_REPLY_RANGE_IMPOSSIBLE:
    case DX_REPLY_BODY_SHORT:
        return DX_E_TRUNCATED;
    case DX_REPLY_THROTTLED:
        return DX_E_BUSY;
    case DX_REPLY_TOO_LARGE:
        return DX_E_LIMIT;
    case DX_REPLY_NO_STATUS:
    case DX_REPLY_ACCEPTED: /* the transfer failed although its head was good */
    case DX_REPLY_FORBIDDEN:
    case DX_REPLY_REDIRECT:
    case DX_REPLY_SERVER_ERROR:
    case DX_REPLY_STATUS:
        return DX_E_IO;
    default:
        return DX_E_CORRUPT;
    }
}

/* "SlowDown" of <Code>SlowDown</Code>; "" if there is none. Only letters: it goes to a log. */
static void store_code(struct transfer *t, char out[64])
{
    const char *at;
    size_t n = 0;

    t->note[t->note_size] = '\0';
    at = strstr(t->note, "<Code>");
    for (at = at == NULL ? "" : at + 6;
         n < 63 && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')); at++)
        out[n++] = *at;
    out[n] = '\0';
}

static int fail(struct transfer *t, CURLcode curl, enum dx_retry_verdict verdict,
                struct dx_error *err)
{
    const struct dx_http_get *get = t->get;
    char range[64] = "";
    char status[80] = "";
    char code[64];
    const char *reason = t->expired != NULL ? t->expired
                         : get->refusal != DX_REPLY_NO_STATUS && get->refusal != DX_REPLY_ACCEPTED
                             ? dx_refusal_words(get->refusal)
                         : t->words[0] != '\0' ? t->words
                                               : curl_easy_strerror(curl);

    if (get->to != NULL)
        (void)snprintf(range, sizeof range, " bytes %llu-%llu",
                       (unsigned long long)get->want.offset,
                       (unsigned long long)(get->want.offset + get->want.size - 1));
    store_code(t, code);
    if (get->reply.status != 0)
        (void)snprintf(status, sizeof status, " (HTTP %u%s%s)", get->reply.status,
                       code[0] != '\0' ? " " : "", code);
    return dx_fail(err, code_of(t, curl), "%s%s: %s%s; attempt %u, %s", get->url, range, reason,
                   status, get->attempts, dx_retry_verdict_words(verdict));
}

/* One attempt is over: accepted, or to be tried again, or the end of the run. */
static int finish(struct transfer *t, CURLcode curl, uint64_t deadline_ms, struct dx_error *err)
{
    struct dx_http_lane *lane = t->lane;
    struct dx_http_get *get = t->get;
    struct dx_retry_attempt attempt = { .made = get->attempts, .deadline_ms = deadline_ms };
    enum dx_retry_verdict verdict;
    uint64_t wait_ms;

    if (curl == CURLE_OK) {
        get->refusal = check_all(t);
        if (get->refusal == DX_REPLY_NOT_MODIFIED && get->if_none_match == NULL)
            get->refusal = DX_REPLY_STATUS;
        if (get->refusal == DX_REPLY_ACCEPTED || get->refusal == DX_REPLY_NOT_MODIFIED) {
            stop(t);
            t->state = DONE;
            lane->done++;
            dx_retry_budget_success(&lane->settings->limits->budget);
            return DX_OK;
        }
    } else if (!t->head_checked && get->reply.status != 0) {
        get->refusal = check_head(t);
    }
    if (get->out != NULL && get->out->failed) {
        stop(t);
        return dx_buf_fail(get->out, err, get->url);
    }
    /* A transfer that broke off under a good head, or without any, is the network's fault. */
    attempt.failed = get->refusal == DX_REPLY_ACCEPTED || get->refusal == DX_REPLY_NO_STATUS
                         ? DX_RETRY_TRANSIENT
                         : dx_retry_class_of(get->refusal);
    if (never_again(curl))
        attempt.failed = DX_RETRY_NEVER;
    attempt.now_ms = dx_source_now_ms();
    attempt.retry_after_ms = dx_retry_after_ms(get->reply.retry_after, (int64_t)time(NULL));
    attempt.random = next_random(lane);
    verdict = dx_retry_decide(&lane->settings->retry, &lane->settings->limits->budget, &attempt,
                              &wait_ms);
    stop(t);
    if (verdict != DX_RETRY_AGAIN)
        return fail(t, curl, verdict, err);
    t->fresh = true;
    t->not_before_ms = attempt.now_ms + wait_ms;
    return DX_OK;
}

/* Starts what may start. *gate: one was turned away for want of a place. */
static int start_ready(struct dx_http_lane *lane, struct transfer *all, size_t count, bool *gate,
                       struct dx_error *err)
{
    uint64_t now = dx_source_now_ms();

    *gate = false;
    for (size_t i = 0; i < count; i++) {
        int rc;

        if (all[i].state != WAITING || all[i].not_before_ms > now)
            continue;
        if (!dx_fetch_limits_enter(lane->settings->limits)) {
            *gate = true;
            return DX_OK;
        }
        rc = start(&all[i], err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int take_finished(struct dx_http_lane *lane, uint64_t deadline_ms, struct dx_error *err)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
        CURLcode code = message->data.result;
        char *private = NULL;
        int rc;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        rc = finish((struct transfer *)(void *)private, code, deadline_ms, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int take_expired(struct transfer *all, size_t count, uint64_t deadline_ms,
                        struct dx_error *err)
{
    uint64_t now = dx_source_now_ms();

    for (size_t i = 0; i < count; i++) {
        const char *which;
        int rc;

        if (all[i].state != RUNNING || expires_at(&all[i], &which) > now)
            continue;
        all[i].expired = which;
        rc = finish(&all[i], CURLE_OPERATION_TIMEDOUT, deadline_ms, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

/* When something is to be done that no socket will tell of. Who only waits for the gate is not
 * counted. */
static uint64_t next_timer(const struct transfer *all, size_t count, bool gate, uint64_t now,
                           uint64_t deadline_ms)
{
    uint64_t next = deadline_ms;

    for (size_t i = 0; i < count; i++) {
        const char *which;
        uint64_t at = all[i].state == RUNNING   ? expires_at(&all[i], &which)
                      : all[i].state == WAITING ? all[i].not_before_ms
                                                : UINT64_MAX;

        if (all[i].state == WAITING && at <= now && gate)
            continue;
        next = at < next ? at : next;
    }
    return next;
}

static int fail_deadline(struct transfer *all, size_t count, struct dx_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].state != DONE) {
            all[i].expired = "the deadline came first";
            stop(&all[i]);
            return fail(&all[i], CURLE_OPERATION_TIMEDOUT, DX_RETRY_DEADLINE, err);
        }
    return DX_OK;
}

static int step(struct dx_http_lane *lane, struct transfer *all, size_t count, uint64_t deadline_ms,
                struct dx_error *err)
{
    uint64_t next;
    uint64_t now;
    size_t before;
    bool gate;
    int running;
    int wait_ms;
    int rc = start_ready(lane, all, count, &gate, err);

    before = lane->running;
    if (rc == DX_OK && curl_multi_perform(lane->multi, &running) != CURLM_OK)
        rc = dx_fail(err, DX_E_NOMEM, "%s: libcurl fails", all[0].get->url);
    if (rc == DX_OK)
        rc = take_finished(lane, deadline_ms, err);
    if (rc == DX_OK)
        rc = take_expired(all, count, deadline_ms, err);
    if (rc < 0 || lane->done == count)
        return rc;
    now = dx_source_now_ms();
    if (now >= deadline_ms)
        return fail_deadline(all, count, err);
    if (gate && lane->running < before)
        return DX_OK; /* a place of ours is free for the next of ours */
    next = next_timer(all, count, gate, now, deadline_ms);
    wait_ms = next <= now ? 0 : next - now < 1000 ? (int)(next - now) : 1000;
    if (gate && lane->running == 0)
        dx_fetch_limits_wait(lane->settings->limits, (unsigned)wait_ms);
    else
        (void)curl_multi_poll(lane->multi, NULL, 0, gate && wait_ms > GATE_MS ? GATE_MS : wait_ms,
                              NULL);
    return DX_OK;
}

int dx_http_lane_run(struct dx_http_lane *lane, struct dx_http_get *gets, size_t count,
                     uint64_t deadline_ms, struct dx_error *err)
{
    struct transfer *all = calloc(count, sizeof *all);
    int rc = DX_OK;

    if (all == NULL)
        return dx_fail(err, DX_E_NOMEM, "fetch: out of memory");
    lane->done = 0;
    for (size_t i = 0; i < count; i++) {
        all[i].get = &gets[i];
        all[i].lane = lane;
        all[i].out_before = gets[i].out != NULL ? gets[i].out->size : 0;
        gets[i].attempts = 0;
    }
    while (rc == DX_OK && lane->done < count)
        rc = step(lane, all, count, deadline_ms, err);
    for (size_t i = 0; i < count; i++)
        if (all[i].state == RUNNING)
            stop(&all[i]);
    free(all);
    return rc;
}
