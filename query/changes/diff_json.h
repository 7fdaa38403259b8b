/* SPDX-License-Identifier: Apache-2.0
 * diff_json.h - how one domain of two versions is found and written: the item of /v1/changes, of the diff and the
 * changes of a domain, and of `domaindex diff --json`.
 *
 *   rc = dx_diff_item_write(&item, before, after, &json, &err);   members, into an object that is open
 *   rc = dx_diff_change_write(...)                                the same without domain and domain_id
 *   rc = dx_diff_domain(&item, part, key, ordinal, &err);         domain and domain_id of a key
 *   rc = dx_diff_find(&item, &view, &walk, &side, &problem);      one side of the item's domain
 *   rc = dx_diff_show(&item, &before, &after, &diff, &problem);   both sides without what suppressions hide
 *   d = dx_diff_dataset(&pair, before, after, &err);              of a pair of dx_pairs_diff_next
 *
 * Both versions are pinned by the caller. No I/O; any thread.
 */
#ifndef DX_QUERY_CHANGES_DIFF_JSON_H
#define DX_QUERY_CHANGES_DIFF_JSON_H

#include "base/json_out.h"
#include "format/core/surt.h"
#include "query/changes/version_diff.h"
#include "query/view/problem.h"

struct dx_dataset;
struct dx_view;

struct dx_diff_item {
    size_t domain_size;
    uint8_t domain[DX_SURT_MAX];
    uint64_t domain_id;
    enum dx_change change;
    struct dx_diff_side before, after;
    bool withheld; /* all that a side has is, by a policy that says so */
};

/* part: one that has the domain, with this ordinal. */
int dx_diff_domain(struct dx_diff_item *item, const struct dx_part *part, struct dx_span key,
                   uint64_t ordinal, struct dx_error *err);
/* The diff is at the item's domain, whose sides become what may be shown, by the same suppressions: 1; 0: they do not differ
 * then; or <0 with a problem: not known yet. */
int dx_diff_show(struct dx_diff_item *item, const struct dx_view *before,
                 const struct dx_view *after, struct dx_version_diff *diff,
                 struct dx_problem *problem);
/* Looks the item's domain up and begins the walk: side has its datasets that may be shown, none if this version
 * has none. 1, or <0 with a problem. Either way the caller ends the walk, and the side with it. */
int dx_diff_find(struct dx_diff_item *item, const struct dx_view *view, struct dx_version_walk *w,
                 struct dx_diff_side *side, struct dx_problem *problem);
int dx_diff_item_write(const struct dx_diff_item *item, const struct dx_version *before,
                       const struct dx_version *after, struct dx_json *j, struct dx_error *err);
int dx_diff_change_write(const struct dx_diff_item *item, const struct dx_version *before,
                         const struct dx_version *after, struct dx_json *j, struct dx_error *err);

/* As the newer version has it, if it still does. NULL with the error: neither has it. */
const struct dx_dataset *dx_diff_dataset(const struct dx_pairs_diff *p,
                                         const struct dx_version *before,
                                         const struct dx_version *after, struct dx_error *err);
enum dx_change dx_pairs_change(const struct dx_pairs_diff *p); /* never SAME */

#endif
