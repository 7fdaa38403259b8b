/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/store/s3_request.h"

#include "fetch/object_url.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define REPLY_FACTOR 5 /* a store writes a body to its disks before it replies */
#define GATE_MS 50

/* A store that restarts, or sheds load, is away for a minute: all deadlines have room for two. */
#define AWAY_FACTOR 12
#define FIRST_FACTOR 2    /* before the first answer */
#define IN_VAIN_DIVISOR 5 /* of options.deadline_ms, behind that */
#define BACKOFF_BASE_MS 500
#define BACKOFF_CAP_MS 15000

/* Of a session: 8 threads that wait for a store for two minutes make about 200. A success gives one
 * back, so they run out where less than half of what is asked succeeds, for long. */
#define RETRIES_MAX 1000

int dx_s3_session_open(struct dx_s3_session *session, const char *root,
                       const struct dx_source_options *options, struct dx_error *err)
{
    const struct dx_http_client_settings settings = {
        .connect_ms = options->connect_ms,
        .stall_ms = options->stall_ms,
        .reply_ms = options->first_byte_ms * REPLY_FACTOR,
        .ca_file = options->ca_file,
    };
    int rc;

    memset(session, 0, sizeof *session);
    session->limits = options->limits != NULL ? options->limits : dx_fetch_limits_shared();
    session->policy = (struct dx_retry_policy){ UINT_MAX, BACKOFF_BASE_MS, BACKOFF_CAP_MS };
    atomic_init(&session->budget.tokens, RETRIES_MAX * DX_RETRY_BUDGET_COST);
    session->reply_ms = settings.reply_ms;
    session->bytes_per_s_min = options->bytes_per_s_min;
    session->deadline_ms = options->deadline_ms;
    rc = dx_s3_root_open(&session->root, root, options, err);
    if (rc == DX_OK)
        rc = dx_http_client_new(&session->client, &settings, err);
    if (rc < 0)
        dx_s3_session_close(session);
    return rc;
}

void dx_s3_session_close(struct dx_s3_session *session)
{
    dx_http_client_free(&session->client);
    dx_s3_root_close(&session->root);
}

uint64_t dx_s3_deadline(const struct dx_s3_session *session, uint64_t size)
{
    const struct dx_retry_watch *watch = &session->limits->watch;
    uint64_t away_ms = (uint64_t)session->deadline_ms * AWAY_FACTOR;

    if (!atomic_load(&watch->answered))
        away_ms = atomic_load(&watch->given_up) ? session->deadline_ms / IN_VAIN_DIVISOR
                                                : (uint64_t)session->deadline_ms * FIRST_FACTOR;
    return dx_clock_ms() + away_ms + size / (session->bytes_per_s_min / 1000 + 1);
}

static void give_back_retry(struct dx_retry_budget *budget)
{
    int tokens = atomic_load_explicit(&budget->tokens, memory_order_relaxed);

    while (tokens <= (RETRIES_MAX - 1) * DX_RETRY_BUDGET_COST)
        if (atomic_compare_exchange_weak_explicit(&budget->tokens, &tokens,
                                                  tokens + DX_RETRY_BUDGET_COST,
                                                  memory_order_relaxed, memory_order_relaxed))
            return;
}

void dx_s3_request_header(struct dx_s3_request *r, const char *name, const char *value)
{
    assert(r->header_count < DX_S3_HEADERS_MAX);
    r->headers[r->header_count++] = (struct dx_s3_header){ name, value };
}

void dx_s3_request_release(struct dx_s3_request *r)
{
    dx_http_call_release(&r->call);
}

static bool write_url(const struct dx_s3_session *session, const struct dx_s3_request *r,
                      struct dx_buf *url)
{
    const char *bucket = session->root.bucket_url;

    dx_buf_str(url, bucket);
    if (r->key != NULL) {
        dx_buf_u8(url, '/');
        dx_url_encode(url, r->key);
    } else if (strchr(strstr(bucket, "://") + 3, '/') == NULL) {
        dx_buf_u8(url, '/'); /* the bucket is the host */
    }
    if (r->query != NULL) {
        dx_buf_u8(url, '?');
        dx_buf_str(url, r->query);
    }
    dx_buf_u8(url, '\0');
    return !url->failed;
}

static int prepare_call(struct dx_s3_session *session, struct dx_s3_request *r, const char *url,
                        struct dx_error *err)
{
    const struct dx_signing_request sign = {
        .method = r->method,
        .url = url,
        .payload_sha256 = r->sha256 != NULL ? r->sha256 : DX_SHA256_OF_NOTHING,
    };
    struct dx_http_call *call = &r->call;
    int rc = DX_OK;

    dx_http_call_release(call);
    *call = (struct dx_http_call)DX_HTTP_CALL_INIT(r->method, url, r->deadline_ms);
    if (r->reply_cap > 0)
        call->body.max = r->reply_cap;
    call->has_body = r->body;
    call->bytes = r->bytes;
    call->fd = r->fd;
    call->offset = r->offset;
    call->size = r->size;
    call->reply_ms = r->reply_ms;
    call->watch = &session->limits->watch;
    for (size_t i = 0; rc == DX_OK && i < r->header_count; i++) {
        if (!dx_http_header_ok(r->headers[i].value))
            rc = dx_fail(err, DX_E_INVALID, "%s %s: a header with odd bytes", r->method, url);
        else if (!dx_http_header_add(&call->headers, r->headers[i].name, r->headers[i].value))
            rc = dx_no_memory(err, "%s %s", r->method, url);
    }
    if (rc == DX_OK && session->root.signing != NULL)
        rc = dx_signing_apply(session->root.signing, &sign, &call->headers, err);
    if (rc < 0)
        return rc;
    /* No "Expect: 100-continue", which some stores never answer. */
    return dx_http_header_add(&call->headers, "Expect", "")
               ? DX_OK
               : dx_no_memory(err, "%s %s", r->method, url);
}

static enum dx_s3_outcome outcome_of(const struct dx_s3_request *r)
{
    unsigned status = r->call.status;

    if (status >= 200 && status < 300)
        return r->error.code[0] != '\0' ? DX_S3_UNSURE : DX_S3_DONE;
    switch (status) {
    case 404:
        return DX_S3_ABSENT;
    case 409:
        /* Other 409s are about buckets, and stay as they are. The third is versitygw's, for a name
         * in a folder that goes at this moment, since another removes its last object. */
        return strcmp(r->error.code, "ConditionalRequestConflict") == 0 ||
                       strcmp(r->error.code, "OperationAborted") == 0 ||
                       strcmp(r->error.code, "ExistingObjectIsDirectory") == 0
                   ? DX_S3_RACE
                   : DX_S3_REFUSED;
    case 412:
        return DX_S3_CONDITION;
    case 429:
        return DX_S3_NOT_NOW;
    case 400:
        return strcmp(r->error.code, "RequestTimeout") == 0 ? DX_S3_NOT_NOW : DX_S3_REFUSED;
    case 408:
        return DX_S3_UNSURE;
    default:
        /* SlowDown is said before anything is done. */
        return status < 500                                              ? DX_S3_REFUSED
               : status == 503 && strcmp(r->error.code, "SlowDown") == 0 ? DX_S3_NOT_NOW
                                                                         : DX_S3_UNSURE;
    }
}

static enum dx_code code_of(const struct dx_s3_request *r)
{
    switch (r->outcome) {
    case DX_S3_ABSENT:
        return DX_E_NOT_FOUND;
    case DX_S3_CONDITION:
    case DX_S3_RACE:
        return DX_E_CONFLICT;
    default:
        if (r->call.status == 401 || r->call.status == 403 || r->call.status == 405)
            return DX_E_DENIED;
        return r->call.status == 429 || r->call.status == 503 ? DX_E_BUSY : DX_E_IO;
    }
}

static int say(const struct dx_s3_request *r, struct dx_error *err)
{
    const char *message = r->error.message;
    bool elsewhere = (r->call.status >= 300 && r->call.status < 400) ||
                     strcmp(r->error.code, "AuthorizationHeaderMalformed") == 0;
    int shown = (int)strcspn(r->call.url, "?");

    return dx_fail(err, code_of(r), "%s %.*s: HTTP %u%s%s%s%s%s", r->method, shown, r->call.url,
                   r->call.status, r->error.code[0] != '\0' ? " " : "", r->error.code,
                   message[0] != '\0' ? ", " : "", message,
                   elsewhere ? "; is the bucket in another region? Set AWS_REGION" : "");
}

/* With the URL in hand. Fills outcome, error and err. */
static int send_once(struct dx_s3_session *session, struct dx_s3_request *r, const char *url,
                     struct dx_error *err)
{
    int rc = prepare_call(session, r, url, err);

    memset(&r->error, 0, sizeof r->error);
    r->outcome = DX_S3_REFUSED;
    if (rc < 0)
        return rc;
    while (!dx_fetch_limits_enter(session->limits)) {
        if (dx_clock_ms() >= r->deadline_ms) {
            r->outcome = DX_S3_NOT_NOW;
            return dx_fail(err, DX_E_TIMEOUT, "%s %s: no place among the requests of this process",
                           r->method, url);
        }
        dx_fetch_limits_wait(session->limits, GATE_MS);
    }
    rc = dx_http_call_run(session->client, &r->call, err);
    dx_fetch_limits_leave(session->limits);
    if (r->call.status != 0 && dx_retry_watch_answered(&session->limits->watch))
        r->deadline_ms += (uint64_t)session->deadline_ms * (AWAY_FACTOR - FIRST_FACTOR);
    if (rc == DX_E_NOMEM || rc == DX_E_NOT_FOUND) /* of ours, or of the file */
        return rc;
    if (rc < 0) {
        /* What was too long to read once is so again. */
        r->outcome = rc == DX_E_LIMIT && strcmp(r->method, "GET") == 0 ? DX_S3_REFUSED
                     : r->call.sent                                    ? DX_S3_UNSURE
                                                                       : DX_S3_NOT_NOW;
        return rc;
    }
    (void)dx_s3_xml_error(dx_span_of(r->call.body.data, r->call.body.size), &r->error);
    r->outcome = outcome_of(r);
    return r->outcome == DX_S3_DONE ? DX_OK : say(r, err);
}

int dx_s3_send(struct dx_s3_session *session, struct dx_s3_request *r, struct dx_error *err)
{
    struct dx_buf url = DX_BUF_INIT(2 * DX_URL_MAX);
    int rc;

    if (!write_url(session, r, &url)) {
        rc = dx_buf_fail(&url, err, "S3 URL");
        r->outcome = DX_S3_REFUSED;
    } else {
        rc = send_once(session, r, (const char *)url.data, err);
        if (rc < 0 && r->call.status >= 400 && r->call.status < 500 &&
            session->root.signing != NULL &&
            dx_signing_refused(session->root.signing, r->error.code, r->call.date))
            rc = send_once(session, r, (const char *)url.data, err);
    }
    r->call.url = NULL; /* it goes with the buffer */
    dx_buf_release(&url);
    if (rc == DX_OK)
        give_back_retry(&session->budget);
    return rc;
}

static uint64_t random_bits(void)
{
    uint64_t random = 0;

    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = dx_clock_ms() * UINT64_C(0x9E3779B97F4A7C15);
    return random;
}

bool dx_s3_again(struct dx_s3_session *session, unsigned *made, const struct dx_s3_request *r,
                 const struct dx_error *why)
{
    struct dx_retry_watch *watch = &session->limits->watch;
    bool may = r->outcome == DX_S3_UNSURE || r->outcome == DX_S3_NOT_NOW ||
               r->outcome == DX_S3_RACE;
    struct dx_retry_attempt attempt = {
        .failed = may ? DX_RETRY_TRANSIENT : DX_RETRY_NEVER,
        .made = ++*made,
        .now_ms = dx_clock_ms(),
        .deadline_ms = r->deadline_ms,
        .retry_after_ms = dx_retry_after_ms(r->call.head.retry_after, (int64_t)time(NULL)),
        .random = random_bits(),
    };
    struct timespec pause;
    uint64_t wait_ms;

    if (dx_retry_decide(&session->policy, &session->budget, &attempt, &wait_ms) != DX_RETRY_AGAIN) {
        if (may && !atomic_load(&watch->answered))
            atomic_store(&watch->given_up, true);
        return false;
    }
    if (why != NULL)
        dx_retry_watch_silent(watch, why->text, attempt.now_ms, attempt.now_ms + wait_ms,
                              attempt.deadline_ms);
    pause.tv_sec = (time_t)(wait_ms / 1000);
    pause.tv_nsec = (long)(wait_ms % 1000) * 1000000;
    while (nanosleep(&pause, &pause) < 0 && errno == EINTR)
        ;
    return true;
}

int dx_s3_run(struct dx_s3_session *session, struct dx_s3_request *r, uint64_t deadline_ms,
              struct dx_error *err)
{
    unsigned made = 0;
    int rc;

    r->deadline_ms = deadline_ms;
    do
        rc = dx_s3_send(session, r, err);
    while (rc < 0 && dx_s3_again(session, &made, r, err));
    return rc;
}
