/* SPDX-License-Identifier: Apache-2.0
 * metrics.h - counters as Prometheus reads them (text format 0.0.4).
 *
 *   dx_metrics_write(serving, &buf);                  all of a server and of what lies below it
 *
 *   dx_metric_head(&buf, "domaindex_x_total", "counter", "What it counts");    for who adds some
 *   dx_metric(&buf, "domaindex_x_total", NULL, n);                             one without labels
 *   dx_metric(&buf, "domaindex_x_total", "cache=\"idx\"", n);
 *
 * Names begin with domaindex_, have base units, and end in _total if they only grow. Labels are
 * from short fixed lists: never a domain, a URL or a token. Any thread; a snapshot of atomics, so
 * sums of one reply may differ by what happened meanwhile.
 */
#ifndef DX_SERVER_METRICS_H
#define DX_SERVER_METRICS_H

#include "base/buf.h"

struct dx_access;
struct dx_current;
struct dx_numbers_now;
struct dx_serving;

void dx_metrics_write(const struct dx_serving *serving, struct dx_buf *out);

void dx_metric_head(struct dx_buf *out, const char *name, const char *type, const char *help);
void dx_metric(struct dx_buf *out, const char *name, const char *labels, uint64_t value);
void dx_metric_seconds(struct dx_buf *out, const char *name, const char *labels, double value);

/* Of the table that says who may see what. */
void dx_metrics_access(struct dx_access *access, struct dx_buf *out);

/* Of the registry that gives names their domain64. */
void dx_metrics_numbers(struct dx_numbers_now *numbers, struct dx_buf *out);

/* Of caches, storage and the version; from: struct dx_current. For struct dx_answers. */
void dx_metrics_live(void *from, struct dx_buf *out);

#endif
