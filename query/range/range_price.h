/* SPDX-License-Identifier: Apache-2.0
 * range_price.h - how many rows the domains of a suffix, or of a range of domain64, have, from mapped memory: before all of them are
 * read to put them in order.
 *
 *   struct dx_range_price p;
 *   rc = dx_range_price_init(&p, &view, &what, &err);
 *   while ((rc = dx_range_price_step(&p, &problem)) == 0)
 *       ... others have their turn ...
 *     1   within the limits: they may be read
 *    <0   problem; DX_E_LIMIT: over one of them
 *   dx_range_price_release(&p);                             also after an init that failed
 *
 * What counts is what the view shows: domains with visible rows, and of these the rows of datasets whose times the filter may
 * take. Of a range of domain64 all domains of the registry count, whatever is there of them, and all rows of each, also where
 * only some have a number in the range. It ends at the first domain that is over a limit.
 *
 * What the view and `what` have is held by the caller. One thread at a time.
 */
#ifndef DX_QUERY_RANGE_RANGE_PRICE_H
#define DX_QUERY_RANGE_RANGE_PRICE_H

#include "query/range/range_rows.h"

#define DX_RANGE_SORT_DOMAINS DX_RANGE_DOMAINS
#define DX_RANGE_SORT_PAIRS \
    65536u /* of a domain and a dataset: a posting list each, and pages of its own */
#define DX_RANGE_SORT_ROWS 262144u

struct dx_range_price {
    uint64_t domains, pairs, rows;

    /* private */
    const struct dx_range_what *what;
    struct dx_domain_walk walk;
};

int dx_range_price_init(struct dx_range_price *p, const struct dx_view *view,
                        const struct dx_range_what *what, struct dx_error *err);
int dx_range_price_step(struct dx_range_price *p, struct dx_problem *problem);
void dx_range_price_release(struct dx_range_price *p);

#endif
