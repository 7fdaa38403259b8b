/* SPDX-License-Identifier: Apache-2.0
 * reading.h - what an answer waits for: a wave of reads, or a block that another answer fetches.
 *
 *   dx_reading_begin(&r, v, source, deadline_ms);                     empty
 *   rc = dx_reading_add(&r, wanted, offset, size, to, &err);          a range of its object
 *   dx_reading_wait(&r, flight);                                      somebody else's; borrowed
 *   state = dx_reading_state(&r);                                     reads come before waits
 *
 * and whoever drives the answer:
 *
 *   DX_READING_READ   rc = dx_source_read_wave(r->source, &r->wave, &err), or on a loop
 *   DX_READING_WAIT   dx_flight_watch(r->flight, ...) or dx_flight_wait
 *   rc = dx_reading_perform(&r, &err);                                either, blocking
 *
 *   rc = dx_reading_fetched(&r, rc, &err);      what the wave's replies say of the objects
 *   dx_reading_release(&r);
 *
 * Pins (size, ETag) come from the version's objects. The ETag that came with a read is kept with
 * its owner until the bytes are found right. After DX_E_CONFLICT or DX_E_TRUNCATED the object is
 * not the one that was indexed (fetched makes both DX_E_CONFLICT), after DX_E_NOT_FOUND it is gone:
 * what the caches hold of it is dropped and the version remembers that it broke.
 *
 * Names and buffers are the caller's until the wave is over. One thread at a time.
 */
#ifndef DX_QUERY_READING_H
#define DX_QUERY_READING_H

#include "fetch/source.h"
#include "loader/objects.h"

struct dx_flight;
struct dx_version;
struct dx_wanted;

enum dx_reading_state { DX_READING_DONE, DX_READING_READ, DX_READING_WAIT };

struct dx_reading {
    struct dx_source *source;
    struct dx_wave wave;
    struct dx_flight *flight; /* the first that is waited for; NULL: none */

    /* private */
    struct dx_version *version;
    struct dx_wave_report report;
    struct dx_read *reads;
    struct dx_pin *pins;
    struct dx_seen *seen;
    struct dx_wanted **owners;
    size_t capacity;
};

void dx_reading_begin(struct dx_reading *r, struct dx_version *v, struct dx_source *source,
                      uint64_t deadline_ms);
int dx_reading_add(struct dx_reading *r, struct dx_wanted *owner, uint64_t offset, size_t size,
                   uint8_t *to, struct dx_error *err);
void dx_reading_wait(struct dx_reading *r, struct dx_flight *flight);
enum dx_reading_state dx_reading_state(const struct dx_reading *r);

int dx_reading_perform(struct dx_reading *r, struct dx_error *err);
int dx_reading_fetched(struct dx_reading *r, int rc, struct dx_error *err);

/* Whose read the wave failed at; NULL: nobody's in particular. */
struct dx_wanted *dx_reading_failed(const struct dx_reading *r);

/* Whether the deadline is over, or so near that it may be why the wave failed: what was not asked
 * again for want of time says nothing of the store. */
bool dx_reading_late(const struct dx_reading *r);

/* Bytes that the wave will hold. */
uint64_t dx_reading_bytes(const struct dx_reading *r);
void dx_reading_release(struct dx_reading *r);

#endif
