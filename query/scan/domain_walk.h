/* SPDX-License-Identifier: Apache-2.0
 * domain_walk.h - the domains of a suffix, or of a range of domain64, one after the other, with what may be shown of each.
 *
 *   struct dx_domain_walk w;
 *   rc = dx_domain_walk_init(&w, &view, dataset, suffix, &err);     as dx_domain_set_init
 *   rc = dx_domain_walk_from(&w, number, &err);                     before the first step: begins with the domain of this number
 *   rc = dx_domain_walk_to(&w, number, &err);                       the same: ends before the domain of this number
 *   rc = dx_domain_walk_between(&w, low, high, &err);               the same: of those with keys in this range (domain_set.h)
 *   dx_domain_walk_numbers(&w, &view, numbers, &range);             instead of init
 *   while ((rc = dx_domain_walk_next(&w, &problem)) == 1)
 *       ... w.number, w.found; w.pairs, dx_suppression_view_pair(&w.withheld, id) ...
 *     1   the next one; pairs.count 0: nothing of it may be shown, and of `found` nothing is said
 *     0   behind the last one
 *    <0   problem; DX_E_BUSY: it is not known yet what suppressions hide of w.number. The next call goes on behind it
 *   dx_domain_walk_keep(&w, &withheld);                             it is the caller's from then on; pairs stay
 *   dx_domain_walk_release(&w);                                     also after a failure
 *
 * In order of their keys; those of a range in order of their numbers, and w.number is then that of the registry: domains that have it and
 * are not in the version are walked over as those of which nothing may be shown.
 *
 * What the view has, and numbers, are held by the caller. Mapped memory; lists of datasets may be read where not all is visible. One thread.
 */
#ifndef DX_QUERY_SCAN_DOMAIN_WALK_H
#define DX_QUERY_SCAN_DOMAIN_WALK_H

#include "canon/domain64.h"
#include "query/scan/domain_set.h"
#include "query/suppression/suppression_view.h"
#include "query/view/number_walk.h"

struct dx_domain64_registry;

struct dx_domain_walk {
    uint64_t number;
    struct dx_found found;
    struct dx_domain_pairs pairs;
    struct dx_suppression_view withheld;

    /* private */
    struct dx_view view;
    struct dx_domain_set set;
    bool begun;
    struct dx_number_walk walk; /* over the set */
    /* Instead of a set. */
    const struct dx_domain64_registry *numbers;
    struct dx_domain64_range range; /* what is left of it */
    bool over;
};

int dx_domain_walk_init(struct dx_domain_walk *w, const struct dx_view *view,
                        const struct dx_dataset *dataset, struct dx_span suffix,
                        struct dx_error *err);
void dx_domain_walk_numbers(struct dx_domain_walk *w, const struct dx_view *view,
                            const struct dx_domain64_registry *numbers,
                            const struct dx_domain64_range *range);
int dx_domain_walk_from(struct dx_domain_walk *w, uint64_t number, struct dx_error *err);
int dx_domain_walk_to(struct dx_domain_walk *w, uint64_t number, struct dx_error *err);
int dx_domain_walk_between(struct dx_domain_walk *w, struct dx_span low, struct dx_span high,
                           struct dx_error *err);
int dx_domain_walk_next(struct dx_domain_walk *w, struct dx_problem *problem);
void dx_domain_walk_keep(struct dx_domain_walk *w, struct dx_suppression_view *withheld);
void dx_domain_walk_release(struct dx_domain_walk *w);

#endif
