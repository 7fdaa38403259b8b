/* SPDX-License-Identifier: Apache-2.0
 * record_ring.h - requests on their way from the loop that ended them to the thread that writes
 * them down.
 *
 *   rc = dx_record_ring_init(&ring, bytes, &err);       a power of two
 *   if (!dx_record_ring_put(&ring, &record, keep))      full: it is counted in ring.dropped
 *   while (dx_record_ring_get(&ring, &record, room))    oldest first; the target, if kept, lies in room
 *   dx_record_ring_release(&ring);
 *
 * One thread puts and one gets, without a lock. What is put is the record and the beginning of its
 * target, DX_RING_TARGET_MAX bytes at most (the record says how long it was).
 */
#ifndef DX_SERVER_OBSERVE_RECORD_RING_H
#define DX_SERVER_OBSERVE_RECORD_RING_H

#include "base/error.h"
#include "server/observe/request_json.h"

#include <stdatomic.h>

#define DX_RING_TARGET_MAX DX_REQUEST_TARGET_MAX

struct dx_record_ring {
    uint8_t *bytes;
    size_t size;
    _Alignas(64) _Atomic size_t head; /* written by put; only grows */
    _Atomic uint64_t dropped;
    _Alignas(64) _Atomic size_t tail; /* written by get */
};

int dx_record_ring_init(struct dx_record_ring *ring, size_t bytes, struct dx_error *err);
void dx_record_ring_release(struct dx_record_ring *ring);
bool dx_record_ring_put(struct dx_record_ring *ring, const struct dx_request_record *r,
                        bool keep_target);
bool dx_record_ring_get(struct dx_record_ring *ring, struct dx_request_record *r,
                        uint8_t room[DX_RING_TARGET_MAX]);

#endif
