/* SPDX-License-Identifier: Apache-2.0
 * publish_report.h - what a version costs, in bytes: by file, by domain, by pair.
 *
 *   dx_publish_report(entry, lake_bytes, &buf);     lines of text, appended; buf.failed as ever
 */
#ifndef DX_BUILDER_PUBLISH_REPORT_H
#define DX_BUILDER_PUBLISH_REPORT_H

#include "base/buf.h"
#include "format/manifest.h"

void dx_publish_report(const struct dx_manifest_version *entry, uint64_t lake_bytes,
                       struct dx_buf *out);

#endif
