/* SPDX-License-Identifier: Apache-2.0
 * read_batch.h - what an answer waits for: a batch of reads, or a block that another answer fetches.
 *
 *   dx_read_batch_begin(&r, v, source, deadline_ms);                     empty
 *   rc = dx_read_batch_add(&r, wanted, offset, size, to, &err);          a range of its object
 *   dx_read_batch_wait(&r, flight);                                      another request's; borrowed
 *   state = dx_read_batch_state(&r);                                     reads come before waits
 *   rc = dx_read_batch_move(&r, &of, &err);                              the reads of another batch of the same source, which has none then
 *
 * and the driver of the answer:
 *
 *   DX_READ_BATCH_READ   rc = dx_source_read_batch(r->source, &r->batch, &err), or on a loop
 *   DX_READ_BATCH_WAIT   dx_flight_watch(r->flight, ...) or dx_flight_wait
 *   rc = dx_read_batch_perform(&r, &err);                                either, blocking
 *
 *   rc = dx_read_batch_fetched(&r, rc, &err);      what the batch's replies say of the objects
 *   dx_read_batch_release(&r);
 *
 * Pins (size, ETag) come from the objects of the part. The ETag that came with a read is kept with
 * its owner until the bytes are found right. After DX_E_CONFLICT or DX_E_TRUNCATED the object is
 * not the one that was indexed (fetched makes both DX_E_CONFLICT), after DX_E_NOT_FOUND it is gone:
 * what the caches hold of it is dropped and the version remembers that it broke.
 *
 * Names and buffers are the caller's until the batch is over. One thread at a time.
 */
#ifndef DX_QUERY_VIEW_READ_BATCH_H
#define DX_QUERY_VIEW_READ_BATCH_H

#include "fetch/source.h"
#include "loader/objects.h"

struct dx_flight;
struct dx_part;
struct dx_version;

/* Whose bytes are read; the owner of reads begins with one. */
struct dx_read_object {
    const struct dx_part *part; /* that knows the object */
    struct dx_object object;
    const char *name;          /* borrowed */
    uint64_t total;            /* bytes of the object */
    char etag[DX_SOURCE_ETAG]; /* that the object had when it was read; "": unknown */
};

enum dx_read_batch_state { DX_READ_BATCH_DONE, DX_READ_BATCH_READ, DX_READ_BATCH_WAIT };

struct dx_read_batch {
    struct dx_source *source;
    struct dx_source_batch batch;
    struct dx_flight *flight; /* the first that is waited for; NULL: none */

    /* private */
    struct dx_version *version;
    struct dx_source_batch_report report;
    struct dx_read *reads;
    struct dx_pin *pins;
    struct dx_seen *seen;
    struct dx_read_object **owners;
    size_t capacity;
};

void dx_read_batch_begin(struct dx_read_batch *r, struct dx_version *v, struct dx_source *source,
                         uint64_t deadline_ms);
int dx_read_batch_add(struct dx_read_batch *r, struct dx_read_object *owner, uint64_t offset,
                      size_t size, uint8_t *to, struct dx_error *err);
void dx_read_batch_wait(struct dx_read_batch *r, struct dx_flight *flight);
enum dx_read_batch_state dx_read_batch_state(const struct dx_read_batch *r);
int dx_read_batch_move(struct dx_read_batch *r, struct dx_read_batch *of, struct dx_error *err);

int dx_read_batch_perform(struct dx_read_batch *r, struct dx_error *err);
int dx_read_batch_fetched(struct dx_read_batch *r, int rc, struct dx_error *err);

/* Whose read the batch failed at; NULL: no particular one. */
struct dx_read_object *dx_read_batch_failed(const struct dx_read_batch *r);

/* Whether the deadline is over, or so near that it may be why the batch failed: what was not asked
 * again for want of time says nothing of the store. */
bool dx_read_batch_late(const struct dx_read_batch *r);

/* Bytes that the batch will hold. */
uint64_t dx_read_batch_bytes(const struct dx_read_batch *r);
void dx_read_batch_release(struct dx_read_batch *r);

#endif
