/* SPDX-License-Identifier: Apache-2.0
 * suppression_tags.h - rows with tags that suppressions hide, without I/O.
 *
 *   rc = dx_suppression_tags_begin(&h, &view, canon, numbers, deadline_ms, &problem);    numbers: those domains that
 *     1   or <0: problem                                  matter; what is not among them is not asked about
 *   rc = dx_suppression_tags_want(&h, numbers, dataset_id, &err);      of which it hides something; 1, 0 too many
 *   while ((rc = dx_pair_runs_step(&h.runs, &err)) == DX_LISTING_WAITS) ...         query/rows/pair_runs.h
 *   dx_suppression_tags_remove(&h, file_id, rows);            takes hidden rows out of a set of rows of a file
 *   dx_suppression_tags_release(&h);
 *
 * All of it is of one state of the suppressions. Which rows of a domain are hidden is known by
 * their positions in listings (query/suppression/suppression_view.h), and the posting lists of its
 * pairs say where in which file these are. A domain that is hidden as a whole is all of its rows.
 * The same pair may be wanted again; DX_TAG_HIDDEN_PAIRS different ones are looked at, and never
 * many more. What the view has must be held until release, and h must not move while its runs are
 * read. One thread at a time.
 */
#ifndef DX_QUERY_SUPPRESSION_SUPPRESSION_TAGS_H
#define DX_QUERY_SUPPRESSION_SUPPRESSION_TAGS_H

#include "query/rows/pair_runs.h"
#include "query/suppression/suppression_domains.h"

struct dx_canon;
struct dx_view;
struct roaring_bitmap_s;

#define DX_TAG_HIDDEN_PAIRS 65536 /* two frames of postings each; at most twice as many */

struct dx_suppression_tags {
    struct dx_suppression_domains domains;
    struct dx_pair_runs runs;
};

/* Whether any suppression is in force; else there is nothing to begin. */
bool dx_suppression_tags_any(struct dx_version *v);

int dx_suppression_tags_begin(struct dx_suppression_tags *h, const struct dx_view *view,
                              struct dx_canon *canon, const struct roaring_bitmap_s *numbers,
                              uint64_t deadline_ms, struct dx_problem *problem);
int dx_suppression_tags_want(struct dx_suppression_tags *h, const struct roaring_bitmap_s *numbers,
                             uint32_t dataset_id, struct dx_error *err);
void dx_suppression_tags_remove(const struct dx_suppression_tags *h, uint32_t file_id,
                                struct roaring_bitmap_s *rows);
void dx_suppression_tags_release(struct dx_suppression_tags *h);

#endif
