/* SPDX-License-Identifier: Apache-2.0
 * suppression_view.h - what the suppressions that hold now do to a domain of a version.
 *
 *   rc = dx_lookup_domain(&view, canon, asked, &found, &problem);       refuses whole domains itself
 *   struct dx_suppression_view w;
 *   rc = dx_suppression_view_of(&view, &found, &w, &problem);
 *     1   answer, less what w says is hidden
 *     0   problem: nothing of it may be shown (451, or the 404 of a domain that is not there)
 *    <0   problem: not known yet, or the rows could not be read (503, try again)
 *   pair = dx_suppression_view_pair(&w, dataset_id);                        NULL: nothing of it is hidden
 *   if (pair != NULL && pair->visible.row_count == 0)
 *       rc = dx_suppression_view_no_pair(&view, &found, pair, &problem);        0: the problem of this pair
 *   dx_suppression_view_release(&w);                                        pairs are borrowed from w
 *
 * A listing goes over physical positions (those of query/rows/listing.h), which suppressions do not
 * change, so cursors may hold them; `offset` and `total` count visible rows:
 *
 *   physical = dx_suppression_view_window(pair, offset, limit);             the listing to read
 *   dx_suppression_view_hidden(pair, position)                              rows of it to leave out
 *   next = dx_suppression_view_visible_before(pair, physical.offset + physical.limit);   the next offset
 *
 * Which rows of a pair are hidden is found by reading all of them once for each set of rules that
 * concern the domain and each build, by the thread of the rules, when an answer first needs it,
 * or at a call of dx_suppression_view_prepare. Until then the answer is 503. Where rows can be
 * waited for (DX_SUPPRESSIONS_LIVE_WAIT) the caller's thread reads them. With no rules this costs
 * the look at an atomic.
 *
 * Whether anything may be shown is said of the datasets that the view shows, as of an index that
 * has no others. The rows that rules hide are looked up for all of them at once, so an answer may
 * be 503 for want of rows of a dataset that is hidden from the caller. Ask for a pair only if the
 * view shows it.
 *
 * All functions are safe from every thread. What the view has is held by the caller; w holds
 * nothing of it.
 */
#ifndef DX_QUERY_SUPPRESSION_SUPPRESSION_VIEW_H
#define DX_QUERY_SUPPRESSION_SUPPRESSION_VIEW_H

#include "format/core/counts.h"
#include "format/root/rules.h"
#include "query/suppression/suppression_rows.h"
#include "query/view/fields.h"
#include "query/view/lookup.h"

struct dx_caches;
struct dx_canon;
struct dx_ruled_domains;
struct dx_suppression_entry;

struct dx_suppression_view {
    struct dx_suppression_entry *entry; /* NULL: nothing is hidden, and all below is 0 */

    /* Distinct visible URLs of the domain over all datasets, whatever the view shows: as the index
     * counts them, of what is visible. */
    uint64_t distinct_url_count;
    bool distinct_dense; /* an estimate (format/version/url_sketch.h), else exact */
};

/* The problem of an answer about other domains, which must not name this one: rc, of
 * dx_suppression_view_of, or DX_E_BUSY for 0. */
int dx_suppression_view_unknown(int rc, struct dx_problem *problem);

int dx_suppression_view_of(const struct dx_view *view, const struct dx_found *found,
                           struct dx_suppression_view *w, struct dx_problem *problem);
void dx_suppression_view_release(struct dx_suppression_view *w);

const struct dx_suppression_pair *dx_suppression_view_pair(const struct dx_suppression_view *w,
                                                           uint32_t dataset_id);

/* Of all pairs of the domain that the view shows: visible counts in place of the index's, and those
 * without a visible row go. How many are left; withheld_rows, unless NULL, is raised by the rows
 * that are said to be withheld. */
size_t dx_suppression_view_show(const struct dx_suppression_view *w, uint32_t *ids,
                                struct dx_pair_count *counts, size_t count,
                                uint64_t *withheld_rows);

int dx_suppression_view_no_pair(const struct dx_view *view, const struct dx_found *found,
                                const struct dx_suppression_pair *pair, struct dx_problem *problem);

/* The rows to read for `limit` visible ones from the visible offset on. At least one visible row is
 * among them if there is one; fewer than limit where a long hidden stretch comes between. pair
 * NULL: the same numbers. */
struct dx_page_of dx_suppression_view_window(const struct dx_suppression_pair *pair,
                                             uint64_t offset, uint64_t limit);
bool dx_suppression_view_hidden(const struct dx_suppression_pair *pair, uint64_t position);

/* Visible rows at positions below this one. */
uint64_t dx_suppression_view_visible_before(const struct dx_suppression_pair *pair,
                                            uint64_t position);

/* dx_ruled_domains_get for an answer: 1, r NULL if no rule is in force; <0 the problem. */
int dx_suppression_view_ruled(struct dx_ruled_domains **r, struct dx_version *v,
                              struct dx_canon *canon, struct dx_problem *problem);

/* Has all that the rules hide of v found out: at once in the thread of the rules, which holds v
 * pinned meanwhile; waits for that until until_ms (dx_clock_ms; 0: not at all). 1: all is known,
 * 0: not yet, or some of it could not be read (answers of these domains are 503). */
int dx_suppression_view_prepare(struct dx_version *v, uint64_t until_ms, struct dx_error *err);

/* Looks for other rules, and exchanges them when it has found which domains of the open versions they concern
 * (query/suppression/ruled_domains.h), so that no request waits for that; what could not be found (it is logged) does not
 * keep the rules back. 1 other rules, 0 the same, <0 kept the old ones. One thread at a time. */
int dx_suppression_view_follow(struct dx_caches *caches, struct dx_error *err);

#endif
