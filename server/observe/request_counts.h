/* SPDX-License-Identifier: Apache-2.0
 * request_counts.h - the requests of one event loop in numbers, for metrics.
 *
 *   dx_request_counts_begin(&c);                       a request's first byte came
 *   dx_request_counts_end(&c, &record);                its reply is out, or its connection ended
 *
 *   dx_request_counts_write(all, count, &buf);         sums over loops, as Prometheus text
 *
 * By route, method, status, source and slug of a problem: all of them from short lists that the
 * program has, so the number of series has a bound whatever is asked. The loop's thread writes,
 * without an atomic read-modify-write; any thread reads. All zero is an empty one.
 */
#ifndef DX_SERVER_OBSERVE_REQUEST_COUNTS_H
#define DX_SERVER_OBSERVE_REQUEST_COUNTS_H

#include "server/observe/histogram.h"
#include "server/observe/request_record.h"

#define DX_COUNTED_METHODS 4 /* of enum dx_method */
#define DX_COUNTED_STATUS 27 /* those of server/http/reply.c, "0" and "other" */
#define DX_COUNTED_SLUGS 96  /* twice as many as there are; further ones count as "other" */
#define DX_COUNTED_ROUTES (DX_ROUTE_COUNT + 1)
#define DX_COUNTED_FROM (DX_FROM_NONE + 1)

struct dx_request_counts {
    _Atomic uint64_t begun;
    _Atomic uint64_t ended;
    _Atomic uint64_t by_status[DX_COUNTED_ROUTES][DX_COUNTED_METHODS][DX_COUNTED_STATUS];
    struct dx_histogram duration[DX_COUNTED_ROUTES];
    _Atomic uint64_t sent_bytes[DX_COUNTED_ROUTES];
    _Atomic uint64_t body_bytes;
    _Atomic uint64_t by_from[DX_COUNTED_FROM];
    _Atomic uint64_t by_fault[DX_IDENTITY_FAULTS];
    struct dx_histogram queue;
    struct {
        const char *_Atomic slug; /* NULL: free, and so are all behind it */
        _Atomic uint64_t count;
    } problems[DX_COUNTED_SLUGS];
};

void dx_request_counts_begin(struct dx_request_counts *c);
void dx_request_counts_end(struct dx_request_counts *c, const struct dx_request_record *r);
void dx_request_counts_write(const struct dx_request_counts *const *all, unsigned count,
                             struct dx_buf *out);

#endif
