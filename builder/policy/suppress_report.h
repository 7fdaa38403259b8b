/* SPDX-License-Identifier: Apache-2.0
 * suppress_report.h - what `domaindex suppress list` and `status` print.
 *
 *   dx_suppress_list(&log, json, &out);                 all lines
 *   dx_suppress_status(&log, &manifest, json, &out);    active rules: where they still hide rows
 *
 * A rule is in one of two states for each version that is kept: its rows are hidden by the log
 * alone ("hidden"), or they are not in the version's lake files any more ("gone": the manifest's
 * `cleansed` is its number or above). Errors are those of the buffer. No state; any thread.
 */
#ifndef DX_BUILDER_POLICY_SUPPRESS_REPORT_H
#define DX_BUILDER_POLICY_SUPPRESS_REPORT_H

#include "format/root/suppressions.h"

struct dx_manifest;

void dx_suppress_list(const struct dx_suppressions *log, bool json, struct dx_buf *out);

/* manifest: without versions if nothing is published. */
void dx_suppress_status(const struct dx_suppressions *log, const struct dx_manifest *manifest,
                        bool json, struct dx_buf *out);

#endif
