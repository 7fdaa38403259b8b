/* SPDX-License-Identifier: Apache-2.0
 * metric_text.h - the metrics of metrics.def in the text format of Prometheus (0.0.4).
 *
 *   dx_metric_one(&buf, DX_METRIC_CONNECTIONS, n);                             one without labels
 *   dx_metric_head(&buf, DX_METRIC_JOBS);                                      one with labels: its head,
 *   dx_metric(&buf, DX_METRIC_JOBS, "state=\"queued\"", n);                    then each of them
 *
 * A metric is a row of metrics.def: its name, type and help. Any thread.
 */
#ifndef DX_SERVER_OBSERVE_METRIC_TEXT_H
#define DX_SERVER_OBSERVE_METRIC_TEXT_H

#include "base/buf.h"

enum dx_metric_id {
#define DX_METRIC(id, name, type, labels, help) DX_METRIC_##id,
#include "server/observe/metrics.def"
#undef DX_METRIC
    DX_METRIC_COUNT
};

const char *dx_metric_name(enum dx_metric_id id);

void dx_metric_head(struct dx_buf *out, enum dx_metric_id id);
void dx_metric(struct dx_buf *out, enum dx_metric_id id, const char *labels, uint64_t value);
void dx_metric_seconds(struct dx_buf *out, enum dx_metric_id id, const char *labels, double value);

/* The head and the one value. */
void dx_metric_one(struct dx_buf *out, enum dx_metric_id id, uint64_t value);
void dx_metric_one_seconds(struct dx_buf *out, enum dx_metric_id id, double value);
/* When something was, that long ago: in seconds since 1970, as Prometheus wants times. */
void dx_metric_ago(struct dx_buf *out, enum dx_metric_id id, uint64_t age_ms);

/* Of a snapshot: rows of metrics whose values are members of *from, each of type uint64_t. */
struct dx_metric_member {
    enum dx_metric_id id;
    size_t offset;
};
void dx_metric_members(struct dx_buf *out, const struct dx_metric_member *rows, size_t count,
                       const void *from);

#endif
