/* SPDX-License-Identifier: Apache-2.0
 * overlap.h - what two datasets of a version share, in steps of 50 us or so.
 *
 *   struct dx_overlap *o;
 *   rc = dx_overlap_new(&o, &view, canon, a, b, &problem);        1; 0: there is no such dataset
 *   while ((rc = dx_overlap_step(o, &problem)) == 0)          1: dx_overlap_sums_of is all of it
 *       ;
 *   dx_overlap_free(&o);
 *
 * Both lists are in order of ordinals, so one pass over both finds what they share; where one is
 * much shorter the other is searched, not read. Numbers are of what may be shown: the lists are
 * taken as they are, and of each domain that a suppression concerns what the index counts is
 * exchanged for what is visible. The suppressions are those of new; if others come while
 * it is looked up what they hide, the step fails and the question is to be asked again.
 *
 * The view is held until free. One thread at a time, but any for each step.
 */
#ifndef DX_QUERY_ANSWERS_OVERLAP_H
#define DX_QUERY_ANSWERS_OVERLAP_H

#include "query/view/problem.h"

#include <stdint.h>

struct dx_canon;
struct dx_dataset;
struct dx_overlap;
struct dx_version;
struct dx_view;

struct dx_overlap_sums {
    uint64_t domains[2];     /* of a, of b */
    uint64_t urls[2];        /* of all their domains */
    uint64_t shared;         /* domains in both */
    uint64_t shared_urls[2]; /* URLs that a has, that b has of shared domains */
    uint64_t min;            /* sum over shared domains of the lesser count of URLs */
};

int dx_overlap_new(struct dx_overlap **o, const struct dx_view *view, struct dx_canon *canon,
                   uint32_t a, uint32_t b, struct dx_problem *problem);
int dx_overlap_step(struct dx_overlap *o, struct dx_problem *problem);
const struct dx_overlap_sums *dx_overlap_sums_of(const struct dx_overlap *o);
const struct dx_dataset *dx_overlap_dataset(const struct dx_overlap *o, int which); /* 0: a */
void dx_overlap_free(struct dx_overlap **o);

#endif
