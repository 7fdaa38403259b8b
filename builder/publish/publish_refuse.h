/* SPDX-License-Identifier: Apache-2.0
 * publish_refuse.h - a publish without faulty lake files.
 *
 *   rc = dx_index_scan(..., &faults);               DX_INDEX_FAULTS
 *   struct dx_publish_refusal r = { .lake = &lake, .left_out = &left, .merges = true };
 *   rc = dx_publish_refuse(&r, &faults, &err);      DX_OK: lake is without them; rebase, scan again
 *
 * One dataset's fault must not stop the news of the others. The rule, in docs/OPERATIONS.md for
 * users:
 *
 *   - a faulty file that the current version does not have is left out; the other files of its
 *     dataset are taken. Where only the files together cannot be taken, all new ones of the dataset
 *     are left out;
 *   - a replacement (ingest --replace) of which a file is faulty is left out as a whole: the dataset stays as the current version has it;
 *   - a faulty file that the current version has (replaced in place, or damaged since) is not let go
 *     of: its dataset stays as the current version has it, also without its new files. That is
 *     possible only for a merge: a publish that must read the whole lake fails, naming the file;
 *   - but a file that can be read and has rows that must not be shown (DX_E_INVALID: published before rows
 *     were checked) is left out by publish --full. Not by one that must read the whole lake for another
 *     reason: a suffix list that was changed by mistake would empty the version.
 *
 * Every file that is left out is noted in left_out, and the command exits with 1. The files stay
 * new: each later publish looks at them again. One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_REFUSE_H
#define DX_BUILDER_PUBLISH_PUBLISH_REFUSE_H

#include "base/error.h"

#include <stdbool.h>

struct dx_left_out;
struct dx_publish_lake;
struct dx_scan_faults;

struct dx_publish_refusal {
    struct dx_publish_lake *lake; /* as it was scanned */
    struct dx_left_out *left_out;
    bool drops;  /* the user asked for the whole lake: published files may go, as said above */
    bool merges; /* the current version can be merged with, if the lake's files allow it */
    bool some;   /* refused: all datasets would stay as they are */
};

int dx_publish_refuse(const struct dx_publish_refusal *r, const struct dx_scan_faults *faults,
                      struct dx_error *err);

/* Files that are new, and replacements that no version has, stay out of a version that rewrites the
 * lake: it must not name them. */
int dx_publish_without_fresh(struct dx_publish_lake *lake, struct dx_error *err);

#endif
