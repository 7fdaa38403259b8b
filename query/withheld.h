/* SPDX-License-Identifier: Apache-2.0
 * withheld.h - what the suppressions that hold now do to a domain of a version.
 *
 *   rc = dx_lookup_domain(&view, canon, asked, &found, &problem);       refuses whole domains itself
 *   struct dx_withheld w;
 *   rc = dx_withheld_of(&view, &found, &w, &problem);
 *     1   answer, less what w says is hidden
 *     0   problem: nothing of it may be shown (451, or the 404 of a domain that is not there)
 *    <0   problem: not known yet, or the rows could not be read (503, try again)
 *   pair = dx_withheld_pair(&w, dataset_id);                        NULL: nothing of it is hidden
 *   if (pair != NULL && pair->visible.row_count == 0)
 *       rc = dx_withheld_no_pair(&view, &found, pair, &problem);        0: the problem of this pair
 *   dx_withheld_release(&w);                                        pairs are borrowed from w
 *
 * A listing goes over physical positions (those of query/listing.h), which suppressions do not
 * change, so cursors may hold them; `offset` and `total` count visible rows:
 *
 *   physical = dx_withheld_window(pair, offset, limit);             the listing to read
 *   dx_withheld_hidden(pair, position)                              rows of it to leave out
 *   next = dx_withheld_visible_before(pair, physical.offset + physical.limit);   the next offset
 *
 * Which rows of a pair are hidden is found by reading all of them once for each set of rules that
 * concern the domain and each build; a thread of the overlay does it when an answer first needs
 * it, or is told to by dx_withheld_prepare. Until then the answer is 503. Where rows can be
 * waited for (DX_OVERLAY_WAIT) the caller's thread reads them. With no rules this costs the look at
 * an atomic.
 *
 * Whether anything may be shown is said of the datasets that the view shows, as of an index that has no
 * others. Which rows rules hide is found out for all of them at once, so an answer may be 503 for want of
 * rows of a dataset that is hidden from who asks. A pair is to be asked for only if the view shows it.
 *
 * All functions are safe from every thread. What the view has is held by the caller; w holds nothing of it.
 */
#ifndef DX_QUERY_WITHHELD_H
#define DX_QUERY_WITHHELD_H

#include "format/counts.h"
#include "format/rules.h"
#include "query/answer.h"
#include "query/lookup.h"

struct dx_withheld_entry;

struct dx_withheld {
    struct dx_withheld_entry *entry; /* NULL: nothing is hidden, and all below is 0 */

    /* Distinct visible URLs of the domain over all datasets, whatever the view shows: as the index counts
     * them, of what is visible. */
    uint64_t distinct_url_count;
    bool distinct_dense; /* an estimate (format/url_sketch.h), else exact */
};

/* Positions [first, end). */
struct dx_withheld_range {
    uint64_t first, end;
    uint64_t hidden; /* rows that are hidden before this range */
};

struct dx_withheld_pair {
    uint32_t dataset_id;
    struct dx_pair_count visible;     /* exact; no row: all is 0 */
    uint64_t row_count;               /* physical */
    uint64_t url_count;               /* physical */
    uint64_t withheld_rows;           /* hidden and said to be: policy "withheld" */
    struct dx_withheld_range *ranges; /* ascending, apart from each other, at least one */
    size_t range_count;
    struct dx_span sketch; /* of the visible URLs (format/url_sketch.h); empty: no row is */
    struct dx_span facts;  /* of the visible rows (format/facts.h); empty: they are over the caps of
                           * query/row_tally.h. Paths are in it if row_count is over DX_FACTS_ROWS */
};

/* 1: nothing is said of the whole domain. 0: the problem. */
int dx_withheld_whole(const struct dx_view *view, struct dx_span domain,
                      struct dx_problem *problem);

/* What the rules that hold now do to one URL, which is to all of its rows or to none. */
enum dx_effect dx_withheld_url(struct dx_version *v, struct dx_span domain, struct dx_span scheme,
                               struct dx_span host, struct dx_span path_query);

/* The problem of a policy "withheld": 0. */
int dx_withheld_said(struct dx_span domain, struct dx_problem *problem);

/* That of an answer which nobody asked of this domain for, so that it names none: rc, of dx_withheld_of,
 * or DX_E_BUSY for 0. */
int dx_withheld_unknown(int rc, struct dx_problem *problem);

/* Up to which line of the log suppressions are in force now. What is put together from several looks
 * is of one state only if this is the same before and after. */
uint64_t dx_withheld_number(struct dx_version *v);

/* A number that is another one whenever other suppressions are in force, and odd while they are being
 * exchanged: what was computed between two looks at the same even number is of one state. */
uint64_t dx_withheld_turn(struct dx_version *v);

int dx_withheld_of(const struct dx_view *view, const struct dx_found *found, struct dx_withheld *w,
                   struct dx_problem *problem);
void dx_withheld_release(struct dx_withheld *w);

const struct dx_withheld_pair *dx_withheld_pair(const struct dx_withheld *w, uint32_t dataset_id);

/* Of all pairs of the domain that the view shows: visible counts in place of the index's, and those without a visible row
 * go. How many are left; withheld_rows, unless NULL, is raised by the rows that are said to be
 * withheld. */
size_t dx_withheld_show(const struct dx_withheld *w, uint32_t *ids, struct dx_pair_count *counts,
                        size_t count, uint64_t *withheld_rows);

int dx_withheld_no_pair(const struct dx_view *view, const struct dx_found *found,
                        const struct dx_withheld_pair *pair, struct dx_problem *problem);

/* The rows to read for `limit` visible ones from the visible offset on. At least one visible row is
 * among them if there is one; fewer than limit where a long hidden stretch comes between. pair NULL:
 * the same numbers. */
struct dx_page_of dx_withheld_window(const struct dx_withheld_pair *pair, uint64_t offset,
                                     uint64_t limit);
bool dx_withheld_hidden(const struct dx_withheld_pair *pair, uint64_t position);

/* Visible rows at positions below this one. */
uint64_t dx_withheld_visible_before(const struct dx_withheld_pair *pair, uint64_t position);

/* Has all that the rules hide of v found out: at once in the thread of the overlay, which holds v
 * pinned meanwhile; waits for that until until_ms (dx_clock_ms; 0: not at all). 1: all is known,
 * 0: not yet, or some of it could not be read (answers of these domains are 503). */
int dx_withheld_prepare(struct dx_version *v, uint64_t until_ms, struct dx_error *err);

#endif
