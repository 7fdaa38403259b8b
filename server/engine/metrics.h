/* SPDX-License-Identifier: Apache-2.0
 * metrics.h - counters as Prometheus reads them (text format 0.0.4).
 *
 *   dx_metrics_write(serving, &buf);                  all of a server and of what lies below it
 *
 * All of them are in server/observe/metrics.def. Labels are from short fixed lists: never a domain,
 * a URL or a token. Any thread; a snapshot of atomics, so sums of one reply may differ by what
 * happened meanwhile.
 */
#ifndef DX_SERVER_ENGINE_METRICS_H
#define DX_SERVER_ENGINE_METRICS_H

#include "base/buf.h"
#include "server/observe/metric_text.h"

struct dx_serving;

void dx_metrics_write(const struct dx_serving *serving, struct dx_buf *out);

/* Of caches, storage and the version; from: struct dx_current. For struct dx_answers. */
void dx_metrics_live(void *from, struct dx_buf *out);

#endif
