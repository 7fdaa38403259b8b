/* SPDX-License-Identifier: Apache-2.0
 * http_multi.h - batches of GETs over one libcurl multi: each in parallel, until all are right or one
 * is given up.
 *
 *   rc = dx_http_multi_new(&lane, &err);
 *   struct dx_http_get gets[2] = { { .url = ..., .want = { offset, size, total, etag }, .to = p } };
 *   struct dx_http_ask ask = { &settings, gets, 2, deadline_ms };
 *
 *   rc = dx_http_multi_run(lane, &ask, &err);                   blocks, or
 *
 *   rc = dx_http_multi_begin(lane, &ask, done, ctx, &batch, &err);
 *   ... whenever the multi has worked, dx_http_multi_fd is readable, or the instant has come:
 *       at_ms = dx_http_multi_step(lane);                       done(ctx, rc, err) is called from it
 *   dx_http_batch_cancel(&batch);                                done is not called
 *
 *   dx_http_multi_free(&lane);                                  no batch is under way
 *
 * A range (`to`) is filled, or a whole object (`out`) appended. After DX_OK each reply was accepted
 * by its predicate; gets[i].reply tells ETag and total, gets[i].refusal may be
 * DX_REPLY_NOT_MODIFIED. The first request that is given up ends its batch; the error names URL,
 * range and reason, and gets[i].failed says which it was. Connections stay open between batches, as
 * many as were at work at once within the last minute or two; a retry goes over a new one.
 * Redirections are not followed, HEAD is never sent. At its deadline a batch is over, whatever its
 * attempts do: nothing here waits for a name server, a store or a lock.
 *
 * A lane is of one thread at a time. Settings and gets outlive the batch. done may begin and cancel
 * batches; it may not free the lane.
 */
#ifndef DX_FETCH_HTTP_MULTI_H
#define DX_FETCH_HTTP_MULTI_H

#include "fetch/http_attempt.h"

struct dx_http_multi;
struct dx_http_batch;

typedef void dx_http_done(void *ctx, int rc, const struct dx_error *err);

struct dx_http_ask {
    const struct dx_http_settings *settings;
    struct dx_http_get *gets;
    size_t count; /* 0: done at once */
    uint64_t deadline_ms;
    bool fresh; /* over new connections from the first attempt on */
};

int dx_http_multi_new(struct dx_http_multi **lane, struct dx_error *err);
void dx_http_multi_free(struct dx_http_multi **lane);

int dx_http_multi_run(struct dx_http_multi *lane, const struct dx_http_ask *ask,
                      struct dx_error *err);

int dx_http_multi_begin(struct dx_http_multi *lane, const struct dx_http_ask *ask,
                        dx_http_done *done, void *ctx, struct dx_http_batch **batch,
                        struct dx_error *err);
void dx_http_batch_cancel(struct dx_http_batch **batch);

/* Does what is due; the instant at which something will be, UINT64_MAX: nothing is under way. */
uint64_t dx_http_multi_step(struct dx_http_multi *lane);

/* For the loop that drives it: the multi, and a descriptor that is readable when a place in a gate may be
 * free (read by dx_http_multi_step). */
CURLM *dx_http_multi_multi(struct dx_http_multi *lane);
int dx_http_multi_fd(const struct dx_http_multi *lane);

#endif
