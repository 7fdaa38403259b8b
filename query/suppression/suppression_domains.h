/* SPDX-License-Identifier: Apache-2.0
 * suppression_domains.h - which domains of a dataset the suppressions that hold now hide, wholly or
 * in part.
 *
 *   struct dx_suppression_domains h;
 *   rc = dx_suppression_domains_read(&h, &view, canon, dataset_id, &problem);
 *     1   all of one state of the suppressions
 *    <0   problem: what is hidden of one of them is not known yet, or could not be read. It does not name the domain, which was not requested
 *   rc = dx_suppression_domains_among(&h, &view, canon, numbers, &problem);      the same of a set of domains
 *   ... h.whole[i].first <= number < h.whole[i].end: nothing of the domain may be shown
 *   ... h.parts[i].number, dx_suppression_view_pair(&h.parts[i].withheld, dataset_id)
 *   dx_suppression_domains_release(&h);                       also after an error
 *
 * For answers that go over the domains of a dataset, where query/view/lookup.h does not come in
 * between. Numbers are the version's (loader/version_parts.h); both are in their order; ranges are apart from each other, and no part is in one.
 * Ranges hold a domain that is asked about, and may hold others; parts are of those alone, so that rows
 * of other datasets need not be there. Without rules it costs a look at an atomic, else memory and time go with the domains that
 * are asked about and concerned by rules, however many rules there are (query/suppression/ruled_domains.h). The view is held by the caller, canon is of its version. Any thread.
 */
#ifndef DX_QUERY_SUPPRESSION_SUPPRESSION_DOMAINS_H
#define DX_QUERY_SUPPRESSION_SUPPRESSION_DOMAINS_H

#include "query/suppression/ruled_domains.h"
#include "query/suppression/suppression_view.h"

struct roaring_bitmap_s;

struct dx_hidden_part {
    uint64_t number;
    struct dx_suppression_view withheld;
};

struct dx_suppression_domains {
    struct dx_hidden_range *whole;
    size_t whole_count;
    struct dx_hidden_part *parts;
    size_t part_count;
};

int dx_suppression_domains_read(struct dx_suppression_domains *h, const struct dx_view *view,
                                struct dx_canon *canon, uint32_t dataset_id,
                                struct dx_problem *problem);
int dx_suppression_domains_among(struct dx_suppression_domains *h, const struct dx_view *view,
                                 struct dx_canon *canon, const struct roaring_bitmap_s *numbers,
                                 struct dx_problem *problem);
/* The same, and takes out of the numbers those of which nothing may be shown. */
int dx_suppression_domains_take_out(struct dx_suppression_domains *h, const struct dx_view *view,
                                    struct dx_canon *canon, struct roaring_bitmap_s *numbers,
                                    struct dx_problem *problem);
/* The first part from this one on that is not below the number. */
size_t dx_suppression_domains_part_from(const struct dx_suppression_domains *h, size_t from,
                                        uint64_t number);
/* NULL: no part of it is hidden, or all is. */
const struct dx_hidden_part *dx_suppression_domains_part(const struct dx_suppression_domains *h,
                                                         uint64_t number);
void dx_suppression_domains_release(struct dx_suppression_domains *h);

#endif
