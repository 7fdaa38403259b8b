/* SPDX-License-Identifier: Apache-2.0
 * http_lane.h - GETs over one libcurl multi, in parallel, until all are right or one is given up.
 *
 *   rc = dx_http_lane_new(&lane, &settings, &err);
 *   struct dx_http_get gets[2] = { { .url = ..., .want = { offset, size, total, etag }, .to = p } };
 *   rc = dx_http_lane_run(lane, gets, 2, deadline_ms, &err);
 *   dx_http_lane_free(&lane);
 *
 * A range (`to`) is filled, or a whole object (`out`) appended. After DX_OK each reply was accepted
 * by its predicate; gets[i].reply tells ETag and total, gets[i].refusal may be
 * DX_REPLY_NOT_MODIFIED. The first request that is given up ends the run; its error names URL,
 * range and reason. Connections stay open between runs; a retry after a reply that was refused
 * goes over a new one. Redirections are not followed, HEAD is never sent.
 *
 * A lane is of one thread at a time. The settings outlive it.
 */
#ifndef DX_FETCH_HTTP_LANE_H
#define DX_FETCH_HTTP_LANE_H

#include "base/buf.h"
#include "base/error.h"
#include "fetch/fetch_limits.h"

struct dx_http_lane;

/* How requests are signed. The strings are copied by who keeps them. */
struct dx_http_sign {
    char *sigv4; /* "aws:amz:us-east-1:s3" */
    char *key_id;
    char *secret;
    char *token; /* NULL: none */
};

struct dx_http_settings {
    unsigned connect_ms;
    unsigned first_byte_ms;
    unsigned stall_ms;
    unsigned bytes_per_s_min;
    struct dx_retry_policy retry;
    struct dx_fetch_limits *limits;
    const char *ca_file;
    const struct dx_http_sign *sign; /* NULL: not signed */
};

struct dx_http_get {
    const char *url;
    struct dx_range_want want; /* whole: size is the cap */
    uint8_t *to;               /* of a range; NULL: the whole object goes to out */
    struct dx_buf *out;
    const char *if_none_match;
    /* results */
    struct dx_reply reply;
    enum dx_refusal refusal;
    unsigned attempts;
};

int dx_http_lane_new(struct dx_http_lane **lane, const struct dx_http_settings *settings,
                     struct dx_error *err);
int dx_http_lane_run(struct dx_http_lane *lane, struct dx_http_get *gets, size_t count,
                     uint64_t deadline_ms, struct dx_error *err);
void dx_http_lane_free(struct dx_http_lane **lane);

#endif
