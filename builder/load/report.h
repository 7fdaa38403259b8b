/* SPDX-License-Identifier: Apache-2.0
 * report.h - what came of a load, as text and as JSON.
 *
 *   dx_report_text(&out, &plan, &result, parts, part_count);
 *   dx_report_json(&out, &plan, &result, parts, part_count);
 *
 * Times are microseconds. A curve is [[percentile, us] …]: finer towards 100, as far as the count
 * of replies says anything, and 100 itself. cpu_share near 1 in a closed loop: the load itself was
 * what could not go faster; an open loop polls. Errors are those of the buffer.
 * No state; any thread.
 */
#ifndef DX_BUILDER_LOAD_REPORT_H
#define DX_BUILDER_LOAD_REPORT_H

#include "base/buf.h"
#include "builder/load/load.h"

void dx_report_text(struct dx_buf *out, const struct dx_load_plan *plan,
                    const struct dx_load_result *r, const struct dx_mix_part *parts, size_t count);
void dx_report_json(struct dx_buf *out, const struct dx_load_plan *plan,
                    const struct dx_load_result *r, const struct dx_mix_part *parts, size_t count);

/* One paragraph: where a latency begins, and what is not in it. */
const char *dx_report_method(const struct dx_load_plan *plan);

/* Replies with a status of failure: all but 2xx, 304, and 404, 410 and 451, which answer that nothing is shown. */
uint64_t dx_report_failed_statuses(const struct dx_mix_part *part);

/* Replies 2xx and 304. Without one a load measured nothing but how fast a server says no. */
uint64_t dx_report_answers(const struct dx_mix_part *part);

/* "2xx 12, 4xx 3" */
void dx_report_statuses(struct dx_buf *out, const struct dx_mix_part *part);

/* True: no failure, nothing wrong, all sent. */
bool dx_report_is_good(const struct dx_load_result *r);

#endif
