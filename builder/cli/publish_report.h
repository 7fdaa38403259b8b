/* SPDX-License-Identifier: Apache-2.0
 * publish_report.h - what a version costs, in bytes: by file, by domain, by pair; and what it
 * holds.
 *
 *   dx_publish_report(entry, lake_bytes, &buf);     lines of text, appended; buf.failed as ever
 *   dx_publish_report_held(entry, &stats, &buf);    of a version that was made just now
 *   dx_publish_report_left_out("publish", &left);   on standard error, if there are any
 *
 * One thread.
 */
#ifndef DX_BUILDER_CLI_PUBLISH_REPORT_H
#define DX_BUILDER_CLI_PUBLISH_REPORT_H

#include "base/buf.h"
#include "builder/index/index_build.h"
#include "builder/lake/left_out.h"
#include "format/version/manifest.h"

struct dx_json;
struct dx_publish_result;

void dx_publish_report(const struct dx_manifest_version *entry, uint64_t lake_bytes,
                       struct dx_buf *out);
/* Faulty rows that the version leaves out, in lines for standard error. */
void dx_publish_report_rows_left_out(const char *command, const struct dx_publish_result *r);
/* Likewise files. */
void dx_publish_report_left_out(const char *command, const struct dx_left_out *left);
/* Likewise those whose datasets a compaction leaves as they are. */
void dx_publish_report_damaged(const char *command, const struct dx_left_out *damaged);
/* Rows that stand twice, of files that were never compared. */
void dx_publish_report_rows_twice(const char *command, const struct dx_publish_result *r);
void dx_publish_report_held(const struct dx_manifest_version *entry,
                            const struct dx_index_stats *stats, struct dx_buf *out);

/* Members of an object: what was published, read and left out. */
void dx_publish_report_json(const struct dx_publish_result *r, struct dx_json *j);
/* Those of the members left_out and damaged. */
void dx_publish_report_json_left_out(const struct dx_left_out *left, struct dx_json *j);
void dx_publish_report_json_damaged(const struct dx_left_out *damaged, struct dx_json *j);

#endif
