/* SPDX-License-Identifier: Apache-2.0
 * histogram.h - how many times of each length there were, for Prometheus.
 *
 *   dx_histogram_add(&h, us);                          by the one thread that writes it
 *
 *   struct dx_histogram_sum sum = { .count = 0 };      by any thread
 *   dx_histogram_sum_add(&sum, &h);                    of each thread's
 *   dx_histogram_write(&sum, DX_METRIC_X, "route=\"urls\"", out);    after dx_metric_head
 *
 * Buckets from 100 us to 10 s, two or three a decade. One writer each, so no read-modify-write and
 * no line that two threads write. All zero is an empty one.
 */
#ifndef DX_SERVER_OBSERVE_HISTOGRAM_H
#define DX_SERVER_OBSERVE_HISTOGRAM_H

#include "server/observe/metric_text.h"

#include <stdatomic.h>
#include <stdint.h>

#define DX_HISTOGRAM_BUCKETS 17 /* the last one has no upper bound */

struct dx_histogram {
    _Atomic uint64_t buckets[DX_HISTOGRAM_BUCKETS];
    _Atomic uint64_t sum_us;
};

struct dx_histogram_sum {
    uint64_t buckets[DX_HISTOGRAM_BUCKETS];
    uint64_t count;
    uint64_t sum_us;
};

void dx_histogram_add(struct dx_histogram *h, int64_t us); /* below 0 counts as 0 */
void dx_histogram_sum_add(struct dx_histogram_sum *sum, const struct dx_histogram *h);

/* labels: NULL: none. */
void dx_histogram_write(const struct dx_histogram_sum *sum, enum dx_metric_id id,
                        const char *labels, struct dx_buf *out);

#endif
