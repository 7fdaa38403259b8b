/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/record_ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Of a record and, behind it, its target. Entries are padded to ALIGN and may go on at the ring's
 * beginning, so they are copied in and out, never pointed at. */
#define ALIGN 8

static size_t padded(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

int dx_record_ring_init(struct dx_record_ring *ring, size_t bytes, struct dx_error *err)
{
    assert(bytes >= ALIGN && (bytes & (bytes - 1)) == 0);
    *ring = (struct dx_record_ring){ .bytes = malloc(bytes), .size = bytes };
    return ring->bytes == NULL ? dx_no_memory(err, "log of requests") : DX_OK;
}

void dx_record_ring_release(struct dx_record_ring *ring)
{
    free(ring->bytes);
    ring->bytes = NULL;
}

static void copy_in(struct dx_record_ring *ring, size_t at, const void *from, size_t size)
{
    size_t begin = at & (ring->size - 1);
    size_t first = size < ring->size - begin ? size : ring->size - begin;

    memcpy(ring->bytes + begin, from, first);
    if (size > first)
        memcpy(ring->bytes, (const uint8_t *)from + first, size - first);
}

static void copy_out(const struct dx_record_ring *ring, size_t at, void *to, size_t size)
{
    size_t begin = at & (ring->size - 1);
    size_t first = size < ring->size - begin ? size : ring->size - begin;

    memcpy(to, ring->bytes + begin, first);
    if (size > first)
        memcpy((uint8_t *)to + first, ring->bytes, size - first);
}

static size_t kept_of(const struct dx_request_record *r)
{
    return r->target.data == NULL                ? 0
           : r->target.size < DX_RING_TARGET_MAX ? r->target.size
                                                 : DX_RING_TARGET_MAX;
}

bool dx_record_ring_put(struct dx_record_ring *ring, const struct dx_request_record *r,
                        bool keep_target)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    size_t kept = keep_target ? kept_of(r) : 0;
    size_t needs = padded(sizeof *r) + padded(kept);
    struct dx_request_record copy;

    if (needs > ring->size - (head - tail)) {
        atomic_store_explicit(&ring->dropped,
                              atomic_load_explicit(&ring->dropped, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        return false;
    }
    if (!keep_target && r->target.data != NULL) {
        copy = *r;
        copy.target = (struct dx_span){ NULL, 0 };
        r = &copy;
    }
    copy_in(ring, head, r, sizeof *r);
    if (kept > 0)
        copy_in(ring, head + padded(sizeof *r), r->target.data, kept);
    atomic_store_explicit(&ring->head, head + needs, memory_order_release);
    return true;
}

bool dx_record_ring_get(struct dx_record_ring *ring, struct dx_request_record *r,
                        uint8_t room[DX_RING_TARGET_MAX])
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t kept;

    if (tail == atomic_load_explicit(&ring->head, memory_order_acquire))
        return false;
    copy_out(ring, tail, r, sizeof *r);
    kept = kept_of(r);
    if (kept > 0) {
        copy_out(ring, tail + padded(sizeof *r), room, kept);
        r->target.data = room;
    }
    atomic_store_explicit(&ring->tail, tail + padded(sizeof *r) + padded(kept),
                          memory_order_release);
    return true;
}
