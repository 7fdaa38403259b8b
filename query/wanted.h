/* SPDX-License-Identifier: Apache-2.0
 * wanted.h - a block that an answer needs: cached, on its way by somebody else, or read by us.
 *
 *   struct dx_wanted w = { .cache = c, .key = k, .object = o, .name = n, .total = t,
 *                          .offset = at, .size = s };
 *   rc = dx_wanted_advance(&w, &reading, decode, ctx, &err);
 *     DX_OK: w.block is there; or reads were added to `reading`, or what is waited for was noted
 *   state = dx_reading_state(&reading);         DX_READING_DONE, _READ, _WAIT
 *   ... what it says is done ...                and advance is called again, for all of them
 *   dx_wanted_failed(&reading, &err);           instead, if the wave failed
 *   dx_wanted_release(&w);                      at the end, on every path
 *
 * decode makes the bytes of the cache from those of the store, and checks them. What it refuses is
 * read once more, over another connection if there are connections: then it is the error of all
 * who want the block. A block whose leader gave up is claimed again.
 *
 * All wanted of one answer that are advanced together are read in one wave: nobody waits for
 * another answer's read before its own are done.
 */
#ifndef DX_QUERY_WANTED_H
#define DX_QUERY_WANTED_H

#include "cache/flight.h"
#include "query/reading.h"

struct dx_wanted {
    struct dx_page_cache *cache;
    struct dx_cache_key key;
    struct dx_object object;
    const char *name; /* of the object; borrowed */
    uint64_t total;   /* bytes of the object */
    uint64_t offset;
    uint32_t size;
    uint64_t dictionary_offset;
    uint32_t dictionary_size; /* 0: none is needed */

    struct dx_cached *block; /* the result */

    uint8_t *raw; /* for decode: size bytes */
    uint8_t *raw_dictionary;

    char etag[DX_SOURCE_ETAG]; /* that the object had when raw was read; "": not told */

    /* private */
    struct dx_flight *flight;
    bool leads;
    bool again; /* it was refused once */
};

/* *bytes: malloc'ed; for the caller's cache. */
typedef int dx_wanted_decode(void *ctx, const struct dx_wanted *w, uint8_t **bytes, size_t *size,
                             struct dx_error *err);

int dx_wanted_advance(struct dx_wanted *w, struct dx_reading *reading, dx_wanted_decode *decode,
                      void *ctx, struct dx_error *err);
void dx_wanted_failed(struct dx_reading *reading, const struct dx_error *err);
void dx_wanted_release(struct dx_wanted *w);

#endif
