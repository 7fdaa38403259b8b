/* SPDX-License-Identifier: Apache-2.0
 * fetch_loop.h - batches of reads on a libevent loop, with one libcurl multi a loop.
 *
 *   rc = dx_fetch_loop_new(&fl, event_base, &err);
 *   if (dx_source_on_loop(src))                                 HTTP and S3; not a directory
 *       rc = dx_fetch_begin(fl, src, &batch, done, ctx, &fetch, &err);
 *   ... the loop runs; done(ctx, rc, err) is called from it, once ...
 *   dx_fetch_cancel(&fetch);                                    before that: done is not called
 *   dx_fetch_loop_free(&fl);                                    none is under way any more
 *
 * Everything here is for the loop's own thread, and neither done nor anything that it calls may
 * free the loop. When begin fails done is not called. The batch with its reads, pins, names and
 * buffers is the caller's and stays as it is until done is called or cancel returns; `fetch` is
 * gone then. done is never called from within begin, and may begin the next batch. rc and err are
 * those of dx_source_read_batch, and so is the deadline: done is called by then, whatever the store
 * does. Batches of several sources and versions share the connections of the loop.
 */
#ifndef DX_FETCH_FETCH_LOOP_H
#define DX_FETCH_FETCH_LOOP_H

#include "fetch/source.h"

struct event_base;

int dx_fetch_loop_new(struct dx_fetch_loop **loop, struct event_base *base, struct dx_error *err);
void dx_fetch_loop_free(struct dx_fetch_loop **loop);

static inline bool dx_source_on_loop(const struct dx_source *src)
{
    return src->ops->begin != NULL;
}

int dx_fetch_begin(struct dx_fetch_loop *loop, struct dx_source *src,
                   const struct dx_source_batch *batch, dx_fetch_done *done, void *ctx,
                   struct dx_fetch **fetch, struct dx_error *err);
void dx_fetch_cancel(struct dx_fetch **fetch); /* also of NULL */

/* For the kinds of sources: the first member of a batch under way, and where its GETs run. */
struct dx_fetch {
    void (*cancel)(struct dx_fetch *fetch); /* frees it */
};

struct dx_http_multi;
struct dx_http_multi *dx_fetch_loop_lane(struct dx_fetch_loop *loop);

#endif
