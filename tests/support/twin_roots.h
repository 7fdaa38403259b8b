/* SPDX-License-Identifier: Apache-2.0
 * twin_roots.h - the same lake twice: whole, and without the datasets that a principal may not see.
 *
 *   struct twin_roots t;
 *   twin_roots_make(&t, 60, 6, 1u << 2 | 1u << 5);      60 domains, datasets 1 to 6; 2 and 5 are visible
 *   ... t.whole.path, t.shown.path, t.first ...         both published, under the same name
 *   twin_roots_more(&t, 1u << 5);                       rows more everywhere, dataset 5 gone; published again
 *   ... t.whole.version, t.shown.version ...            the same name again
 *   twin_roots_suppress(&t, kind, policy, value);       the same rule in both
 *   ... t.scope ...                                     what the principal sees
 *   twin_roots_remove(&t);
 *
 *   twin_roots_make_places(&t, 4100);                   instead of make: one domain with one URL, number 0, in
 *                                                       datasets 1 and 2, which are visible, and 4100 others
 *
 * Datasets have the same ids and names in both. Rows are made by a fixed rule: URLs come in several
 * datasets, with both schemes, in two hosts of each domain, up to three times; some domains are in
 * hidden datasets only. twin_roots_url(i, n, url): URL n of TWIN_URLS that domain i may have
 * somewhere. An error ends the program with a message.
 */
#ifndef DX_TESTS_SUPPORT_TWIN_ROOTS_H
#define DX_TESTS_SUPPORT_TWIN_ROOTS_H

#include "format/root/scope.h"
#include "format/root/suppressions.h"
#include "tests/support/small_root.h"

#define TWIN_PATHS 6
#define TWIN_URLS (4 * TWIN_PATHS) /* of a domain: two hosts, two schemes */

struct twin_roots {
    struct dx_test_root whole, shown;
    char first[32]; /* the version that was published first */
    unsigned datasets;
    unsigned visible; /* bit d: dataset d is seen */
    const struct dx_scope *scope;
};

void twin_roots_make(struct twin_roots *t, unsigned domains, unsigned datasets, unsigned visible);
void twin_roots_make_places(struct twin_roots *t, unsigned hidden);
void twin_roots_more(struct twin_roots *t, unsigned gone);
void twin_roots_suppress(const struct twin_roots *t, enum dx_suppress_kind kind,
                         enum dx_suppress_policy policy, const char *value);
void twin_roots_remove(struct twin_roots *t);

void twin_roots_url(unsigned i, unsigned n, char url[128]);

#endif
