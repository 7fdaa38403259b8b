/* SPDX-License-Identifier: Apache-2.0
 * suppress.h - index/suppressions.log of a root, read and added to.
 *
 *   struct dx_suppressions log;
 *   rc = dx_suppress_read(root, &log, &err);                no log: no lines
 *   rc = dx_suppress_change(root, edit, ctx, &err);         1 written, 0 nothing to write
 *   rc = dx_suppress_accept(root, dry_run, &lines, &err);   the log as it is now is the whole one
 *   raised = dx_suppress_bind(root, &manifest);             before a put of it
 *   dx_suppressions_release(&log);
 *
 * The log is replaced as a whole, and only if it is still the one that was edited
 * (builder/root/index_text.h), so of two at once both are in it, and who is killed leaves the old
 * log or the new one. Behind it the floor is raised (format/root/suppressions_floor.h), to that of
 * the longest log that was written: a process that is killed in between leaves a log that is ahead,
 * and the next change raises it.
 *
 * The manifest says, too, what the log had (format/version/manifest.h), since log and floor may be lost
 * together: the first rules of a root write it if no other command is at work, and each flip of a publish raises it. One thread at a time.
 */
#ifndef DX_BUILDER_POLICY_SUPPRESS_H
#define DX_BUILDER_POLICY_SUPPRESS_H

#include "format/root/suppressions.h"

struct dx_manifest;

/* Adds lines to the log: 1, or 0 if there is nothing to add. May be called again, with another
 * log. */
typedef int dx_suppress_edit(void *ctx, struct dx_suppressions *log, struct dx_error *err);

int dx_suppress_read(const char *root, struct dx_suppressions *log, struct dx_error *err);

/* DX_E_UNKNOWN: it may have been written; the same command again does no harm. DX_E_CORRUPT: also
 * if the log has fewer lines than a version was cleansed by, or is behind its floor or the manifest. */
int dx_suppress_change(const char *root, dx_suppress_edit *edit, void *ctx, struct dx_error *err);

/* Sets the floor to the log that is there: rules that were lost are given up. *lines: of it. A dry
 * run reads the log only. */
int dx_suppress_accept(const char *root, bool dry_run, uint64_t *lines, struct dx_error *err);

/* Raises what the manifest says of the log to the log that is there: true if it says more now. */
bool dx_suppress_bind(const char *root, struct dx_manifest *m);

#endif
