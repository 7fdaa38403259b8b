/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/hdr.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SUB (UINT64_C(1) << DX_HDR_BITS)

int dx_hdr_init(struct dx_hdr *h, struct dx_error *err)
{
    *h = (struct dx_hdr){ .min = UINT64_MAX };
    h->buckets = calloc(DX_HDR_BUCKETS, sizeof(*h->buckets));
    if (h->buckets == NULL)
        return dx_no_memory(err, "histogram: %d buckets", DX_HDR_BUCKETS);
    return DX_OK;
}

void dx_hdr_release(struct dx_hdr *h)
{
    free(h->buckets);
    *h = (struct dx_hdr){ .min = UINT64_MAX };
}

/*
 * The value keeps its top 9 bits: `shift` of the lower ones are dropped. With shift s the bucket
 * numbers are s * 256 + (256 … 511), so that they follow each other without a gap.
 */
static unsigned bucket_of(uint64_t value)
{
    unsigned shift;

    if (value < 2 * SUB)
        return (unsigned)value;
    shift = 63u - (unsigned)__builtin_clzll(value) - DX_HDR_BITS;
    return (unsigned)(shift * SUB + (value >> shift));
}

/* The greatest value of a bucket. */
static uint64_t bucket_top(unsigned bucket)
{
    unsigned shift;

    if (bucket < 2 * SUB)
        return bucket;
    shift = bucket / (unsigned)SUB - 1;
    return ((bucket - shift * SUB + 1) << shift) - 1;
}

void dx_hdr_add(struct dx_hdr *h, uint64_t value)
{
    if (value > DX_HDR_VALUE_MAX)
        value = DX_HDR_VALUE_MAX;
    h->buckets[bucket_of(value)]++;
    h->count++;
    h->sum += (double)value;
    if (value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
}

uint64_t dx_hdr_percentile(const struct dx_hdr *h, double p)
{
    uint64_t rank, seen = 0;

    assert(p >= 0 && p <= 100);
    if (h->count == 0)
        return 0;
    rank = (uint64_t)ceil(p / 100 * (double)h->count);
    if (rank < 1)
        return h->min;
    if (rank >= h->count)
        return h->max;
    for (unsigned i = 0; i < DX_HDR_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank)
            return bucket_top(i) < h->max ? bucket_top(i) : h->max;
    }
    return h->max;
}

size_t dx_hdr_curve(const struct dx_hdr *h, struct dx_hdr_point points[DX_HDR_CURVE_MAX])
{
    double left = 100; /* of percent, above the decade that is next */
    size_t n = 0;

    for (; h->count > 0 && left >= 0.01 && left * (double)h->count >= 1000; left /= 10)
        for (int i = 0; i < 9; i++)
            points[n++].percentile = 100 - left + left * i / 10;
    if (h->count > 0)
        points[n++].percentile = 100;
    for (size_t i = 0; i < n; i++)
        points[i].value = dx_hdr_percentile(h, points[i].percentile);
    return n;
}

double dx_hdr_mean(const struct dx_hdr *h)
{
    return h->count == 0 ? 0 : h->sum / (double)h->count;
}
