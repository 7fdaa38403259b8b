/* SPDX-License-Identifier: Apache-2.0
 * publish_report.h - what a version costs, in bytes: by file, by domain, by pair; and what it holds.
 *
 *   dx_publish_report(entry, lake_bytes, &buf);     lines of text, appended; buf.failed as ever
 *   dx_publish_report_held(entry, &stats, &buf);    of a version that was made just now
 */
#ifndef DX_BUILDER_PUBLISH_REPORT_H
#define DX_BUILDER_PUBLISH_REPORT_H

#include "base/buf.h"
#include "builder/index_build.h"
#include "format/manifest.h"

void dx_publish_report(const struct dx_manifest_version *entry, uint64_t lake_bytes,
                       struct dx_buf *out);
void dx_publish_report_held(const struct dx_manifest_version *entry,
                            const struct dx_index_stats *stats, struct dx_buf *out);

#endif
