/* SPDX-License-Identifier: Apache-2.0
 * hdr.h - a histogram of nanoseconds whose relative error is bounded.
 *
 *   struct dx_hdr h;
 *   rc = dx_hdr_init(&h, &err);
 *   dx_hdr_add(&h, 35000);                          O(1), no allocation
 *   uint64_t ns = dx_hdr_percentile(&h, 99.99);
 *   dx_hdr_release(&h);
 *
 * Below 512 each value has a bucket of its own; above, each power of two is cut into 256 buckets. A
 * percentile p is that of the sorted values by the nearest rank, ceil(p / 100 * count): the result
 * is never below the exact value and at most 1/256 (0.4 %) above it. Values above DX_HDR_VALUE_MAX
 * (18 minutes) count as that; min and max are exact. One thread at a time.
 */
#ifndef DX_BUILDER_LOAD_HDR_H
#define DX_BUILDER_LOAD_HDR_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define DX_HDR_BITS 8 /* buckets of a power of two: 2^8 */
#define DX_HDR_VALUE_BITS 40
#define DX_HDR_VALUE_MAX ((UINT64_C(1) << DX_HDR_VALUE_BITS) - 1)
#define DX_HDR_BUCKETS ((DX_HDR_VALUE_BITS - DX_HDR_BITS + 1) << DX_HDR_BITS)

struct dx_hdr {
    uint64_t *buckets; /* DX_HDR_BUCKETS */
    uint64_t count;
    uint64_t min; /* of no values: UINT64_MAX */
    uint64_t max;
    double sum;
};

int dx_hdr_init(struct dx_hdr *h, struct dx_error *err);
void dx_hdr_release(struct dx_hdr *h);

void dx_hdr_add(struct dx_hdr *h, uint64_t value);

/* p from 0 (the least value) to 100 (the greatest); 0 where there are no values. */
uint64_t dx_hdr_percentile(const struct dx_hdr *h, double p);
/* The curve of percentiles: [0, 10, 20 … 90, 91 … 99, 99.1 …], finer towards 100 as far as the count
 * says anything, and 100 itself. Returns how many points there are; none of no values. */
#define DX_HDR_CURVE_MAX 48
struct dx_hdr_point {
    double percentile;
    uint64_t value;
};
size_t dx_hdr_curve(const struct dx_hdr *h, struct dx_hdr_point points[DX_HDR_CURVE_MAX]);

double dx_hdr_mean(const struct dx_hdr *h);

#endif
