/* SPDX-License-Identifier: Apache-2.0
 * version_diff.h - what two versions say differently, domain by domain.
 *
 *   struct dx_version_diff d;
 *   dx_version_diff_begin(&d, &before, &after, 0, 0);          views, of one scope
 *   while ((rc = dx_version_diff_next(&d, look_max, &err)) == DX_DIFF_FOUND) {
 *       ... d.key, d.change, d.before, d.after ...      counts of both sides; in order of keys
 *   }
 *   DX_DIFF_END, DX_DIFF_PAUSE (look_max domains looked at since begin), or <0
 *   rc = dx_version_diff_places(&d, &next_before, &next_after, &err);   where a later begin goes on
 *   dx_version_diff_end(&d);
 *
 *   dx_pairs_diff_begin(&p, &side_before, &side_after);      the datasets of one domain
 *   while (dx_pairs_diff_next(&p)) ... p.dataset_id, p.before, p.after ...   NULL: not on that side
 *
 * A domain differs if it is in one version only, or in other datasets, or with other numbers of
 * URLs or rows in one of them. Rows that were replaced by as many others do not show, nor times.
 * Domain and dataset are compared by name and id, so versions from anywhere can be compared.
 * Datasets that the views hide are in neither: a domain that only they have is passed over, and one
 * that a dataset of theirs had before a visible one was added. look_max counts hidden domains all
 * the same: it bounds work.
 *
 * Memory: the datasets of one domain on either side. What the views have stays held by the caller.
 * One thread at a time.
 */
#ifndef DX_QUERY_CHANGES_VERSION_DIFF_H
#define DX_QUERY_CHANGES_VERSION_DIFF_H

#include "loader/version_walk.h"
#include "query/view/view.h"

enum { DX_DIFF_END = 0, DX_DIFF_FOUND = 1, DX_DIFF_PAUSE = 2 };

enum dx_change { DX_CHANGE_SAME, DX_CHANGE_ADDED, DX_CHANGE_REMOVED, DX_CHANGE_CHANGED };

/* "added"... */
const char *dx_change_name(enum dx_change change);

/* The datasets of a domain in one version; ids ascend. count 0: it is not there. */
struct dx_diff_side {
    const uint32_t *ids;
    const struct dx_pair_count *pairs;
    size_t count;
};

struct dx_version_diff {
    enum dx_change change; /* never SAME */
    struct dx_span key;
    const struct dx_part *part; /* of `after`, or of `before` if it was removed */
    uint64_t ordinal;           /* in the part */
    struct dx_diff_side before, after;

    /* private */
    const struct dx_scope *scope_before, *scope_after;
    struct dx_version_walk walk_before, walk_after;
    int has_before, has_after; /* a domain is at hand: 1, 0 at the end, -1 not yet looked */
    uint64_t looked;
};

/* From these places on, which are both 0, or what places said of the same two versions. */
void dx_version_diff_begin(struct dx_version_diff *d, const struct dx_view *before,
                           const struct dx_view *after, uint64_t next_before, uint64_t next_after);
int dx_version_diff_next(struct dx_version_diff *d, uint64_t look_max, struct dx_error *err);
int dx_version_diff_places(struct dx_version_diff *d, uint64_t *next_before, uint64_t *next_after,
                           struct dx_error *err);
void dx_version_diff_end(struct dx_version_diff *d);

struct dx_pairs_diff {
    uint32_t dataset_id;
    const struct dx_pair_count *before, *after;

    /* private */
    struct dx_diff_side left_before, left_after;
};

void dx_pairs_diff_begin(struct dx_pairs_diff *p, const struct dx_diff_side *before,
                         const struct dx_diff_side *after);
bool dx_pairs_diff_next(struct dx_pairs_diff *p);

enum dx_change dx_sides_change(const struct dx_diff_side *before, const struct dx_diff_side *after);

#endif
