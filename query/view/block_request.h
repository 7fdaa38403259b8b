/* SPDX-License-Identifier: Apache-2.0
 * block_request.h - a block that an answer needs: cached, being fetched for another one, or read by
 * us.
 *
 *   struct dx_block_request w = { .of = { .object = o, .name = n, .total = t }, .cache = c,
 *                                .key = k, .offset = at, .size = s };
 *   rc = dx_block_request_advance(&w, &reading, decode, ctx, &err);
 *     DX_OK: w.block is there; or reads were added to `reading`, or what is waited for was noted
 *   state = dx_read_batch_state(&reading);         DX_READ_BATCH_DONE, _READ, _WAIT
 *   ... what it says is done ...                and advance is called again, for all of them
 *   dx_block_request_failed(&reading, &err);           instead, if the batch failed
 *   dx_block_request_release(&w);                      at the end, on every path
 *
 * decode makes the bytes of the cache from those of the store, and checks them. What it refuses is
 * read again (DX_BLOCK_READS), over another connection if there are connections: then it is the error of all
 * who want the block. A block whose leader gave up is claimed again.
 *
 * All wanted of one answer that are advanced together are read in one batch: no answer waits for
 * another one's read before its own are done. A request is for one thread at a time.
 */
#ifndef DX_QUERY_VIEW_BLOCK_REQUEST_H
#define DX_QUERY_VIEW_BLOCK_REQUEST_H

#include "cache/flight.h"
#include "query/view/read_batch.h"

#define DX_BLOCK_READS 3 /* of wrong bytes, the last ones by new connections; then it is an error */

struct dx_block_request {
    struct dx_read_object of; /* first: the read batch knows it alone */
    struct dx_page_cache *cache;
    struct dx_cache_key key;
    uint64_t offset;
    uint32_t size;
    uint64_t dictionary_offset;
    uint32_t dictionary_size; /* 0: none is needed */

    struct dx_cached *block; /* the result */

    uint8_t *raw; /* for decode: size bytes */
    uint8_t *raw_dictionary;

    /* private */
    struct dx_flight *flight;
    bool leads;
    unsigned refused; /* how often wrong bytes came */
};

/* *bytes: malloc'ed; for the caller's cache. */
typedef int dx_block_request_decode(void *ctx, const struct dx_block_request *w, uint8_t **bytes,
                                    size_t *size, struct dx_error *err);

int dx_block_request_advance(struct dx_block_request *w, struct dx_read_batch *reading,
                             dx_block_request_decode *decode, void *ctx, struct dx_error *err);
void dx_block_request_failed(struct dx_read_batch *reading, const struct dx_error *err);
void dx_block_request_release(struct dx_block_request *w);

#endif
