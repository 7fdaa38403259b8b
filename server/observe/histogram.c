/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/histogram.h"

#include <stddef.h>

/* Upper bounds, inclusive, in microseconds and as the label has them. */
static const struct {
    int64_t us;
    const char *text;
} bounds[DX_HISTOGRAM_BUCKETS] = { { 100, "0.0001" },    { 250, "0.00025" },   { 500, "0.0005" },
                                   { 1000, "0.001" },    { 2500, "0.0025" },   { 5000, "0.005" },
                                   { 10000, "0.01" },    { 25000, "0.025" },   { 50000, "0.05" },
                                   { 100000, "0.1" },    { 250000, "0.25" },   { 500000, "0.5" },
                                   { 1000000, "1.0" },   { 2500000, "2.5" },   { 5000000, "5.0" },
                                   { 10000000, "10.0" }, { INT64_MAX, "+Inf" } };

static void grow(_Atomic uint64_t *number, uint64_t by)
{
    atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

void dx_histogram_add(struct dx_histogram *h, int64_t us)
{
    size_t i = 0;

    if (us < 0)
        us = 0;
    while (us > bounds[i].us) /* most are in the first bucket */
        i++;
    grow(&h->buckets[i], 1);
    grow(&h->sum_us, (uint64_t)us);
}

void dx_histogram_sum_add(struct dx_histogram_sum *sum, const struct dx_histogram *h)
{
    for (size_t i = 0; i < DX_HISTOGRAM_BUCKETS; i++) {
        uint64_t n = atomic_load_explicit(&h->buckets[i], memory_order_relaxed);

        sum->buckets[i] += n;
        sum->count += n;
    }
    sum->sum_us += atomic_load_explicit(&h->sum_us, memory_order_relaxed);
}

void dx_histogram_write(const struct dx_histogram_sum *sum, enum dx_metric_id id,
                        const char *labels, struct dx_buf *out)
{
    const char *name = dx_metric_name(id);
    const char *more = labels == NULL ? "" : labels;
    const char *comma = labels == NULL ? "" : ",";
    uint64_t below = 0;

    for (size_t i = 0; i < DX_HISTOGRAM_BUCKETS; i++) {
        below += sum->buckets[i];
        dx_buf_fmt(out, "%s_bucket{%s%sle=\"%s\"} %llu\n", name, more, comma, bounds[i].text,
                   (unsigned long long)below);
    }
    if (labels == NULL)
        dx_buf_fmt(out, "%s_sum %.6f\n%s_count %llu\n", name, (double)sum->sum_us / 1e6, name,
                   (unsigned long long)sum->count);
    else
        dx_buf_fmt(out, "%s_sum{%s} %.6f\n%s_count{%s} %llu\n", name, labels,
                   (double)sum->sum_us / 1e6, name, labels, (unsigned long long)sum->count);
}
