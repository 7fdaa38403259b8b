/* SPDX-License-Identifier: Apache-2.0
 * s3_request.h - one signed request to an S3 store, what its reply means, and when to ask again.
 *
 *   struct dx_s3_session session;                          one a store
 *   struct dx_s3_request r = { .method = "PUT", .key = key, .body = true, ... };
 *   r.deadline_ms = d; made = 0;                           the first answer of the process makes it later
 *   do
 *       rc = dx_s3_send(&session, &r, &err);               r.outcome, r.call
 *   while (... && dx_s3_again(&session, &made, &r, &err)); sleeps; false: give up
 *   dx_s3_request_release(&r);
 *
 *   rc = dx_s3_run(&session, &r, deadline_ms, &err);       the same for what may happen twice
 *
 * An outcome tells whether the store may have acted: that decides what a writer does next. Every
 * 5xx but SlowDown and every lost reply may have been applied, and so may a 200 whose body is an
 * <Error>.
 *
 * A writer has hours of work behind it and no waiting client: it waits for a store that is away for
 * a minute. Not so before the first answer that the process gets: a name or a port may be wrong. The deadline of a request ends its attempts, not their number (attempts_max of the
 * options is for reads), waits grow to 15 s, Retry-After is kept to, and the retries come from a
 * budget of the session, which only a store that fails again and again, between successes too, can
 * spend.
 *
 * A session is used by several threads at once, a request by one.
 */
#ifndef DX_FETCH_STORE_S3_REQUEST_H
#define DX_FETCH_STORE_S3_REQUEST_H

#include "fetch/fetch_limits.h"
#include "fetch/http_call.h"
#include "fetch/s3.h"
#include "fetch/store/s3_xml.h"

#define DX_S3_HEADERS_MAX 8

struct dx_s3_session {
    struct dx_s3_root root;
    struct dx_http_client *client;
    struct dx_fetch_limits *limits;
    struct dx_retry_policy policy;
    struct dx_retry_budget budget;
    unsigned reply_ms;
    unsigned bytes_per_s_min;
    unsigned deadline_ms;
};

enum dx_s3_outcome {
    DX_S3_DONE,      /* 2xx, with a body that is not an <Error> */
    DX_S3_ABSENT,    /* 404: no such key, upload or bucket */
    DX_S3_CONDITION, /* 412 */
    DX_S3_RACE,      /* 409: two writers at once; a second try learns which one succeeded */
    DX_S3_UNSURE,    /* it may have been done */
    DX_S3_NOT_NOW,   /* not done, and worth another attempt */
    DX_S3_REFUSED    /* not done, and asking again gives the same */
};

struct dx_s3_header {
    const char *name;
    const char *value;
};

struct dx_s3_request {
    const char *method;
    const char *key;   /* in the bucket; NULL: the bucket itself */
    const char *query; /* encoded and sorted, without '?'; NULL: none */
    struct dx_s3_header headers[DX_S3_HEADERS_MAX];
    size_t header_count;
    bool body;
    struct dx_span bytes;
    int fd; /* -1: bytes; set it in each request */
    uint64_t offset;
    uint64_t size;
    const char *sha256; /* of the body, in hex; NULL: of nothing */
    size_t reply_cap;   /* 0: DX_HTTP_CALL_CAP */
    unsigned reply_ms;  /* 0: the session's */
    uint64_t deadline_ms;
    /* results */
    enum dx_s3_outcome outcome;
    struct dx_http_call call;
    struct dx_s3_error error;
};

int dx_s3_session_open(struct dx_s3_session *session, const char *root,
                       const struct dx_source_options *options, struct dx_error *err);
void dx_s3_session_close(struct dx_s3_session *session);

/* When a transfer of so many bytes has to be over: the time that they take on the slowest line that
 * is borne with, and two minutes (12 x options.deadline_ms) for a store to come back in; before the
 * first answer 2 x options.deadline_ms, and a fifth of one once this was in vain. */
uint64_t dx_s3_deadline(const struct dx_s3_session *session, uint64_t size);

/* One attempt; a refusal that another signature may turn is asked once more. DX_OK: DX_S3_DONE.
 * May be called again for the same request. */
int dx_s3_send(struct dx_s3_session *session, struct dx_s3_request *r, struct dx_error *err);
bool dx_s3_again(struct dx_s3_session *session, unsigned *made, const struct dx_s3_request *r,
                 const struct dx_error *why);
int dx_s3_run(struct dx_s3_session *session, struct dx_s3_request *r, uint64_t deadline_ms,
              struct dx_error *err);
void dx_s3_request_release(struct dx_s3_request *r);

void dx_s3_request_header(struct dx_s3_request *r, const char *name, const char *value);

#endif
