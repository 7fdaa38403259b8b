/* SPDX-License-Identifier: Apache-2.0
 * lookup.h - from what a client typed to a domain of a version.
 *
 *   rc = dx_lookup_domain(&view, canon, asked, &found, &problem);
 *     1 found, in a dataset that the view shows; 0 no such domain, or nothing that could be one;
 *    <0 failed: see problem
 *   rc = dx_lookup_name(canon, asked, &domain, &problem);            1; 0: it cannot be a domain
 *   return dx_lookup_no_name(why, &problem);                         0: why it cannot be one
 *   rc = dx_lookup_dataset(&view, dataset_id, &dataset, &problem);       1 or 0
 *   rc = dx_lookup_url(canon, asked, &url, &problem);                1; 0: it cannot be a URL
 *   return dx_lookup_no_domain(&view, domain, &problem);                 0: the problem of an absent one
 *   return dx_lookup_no_pair(&view, &found, dataset_id, &problem);       0
 *   return dx_lookup_counts_only(what, &problem);                      0: `what` has counts, and no URLs (dx_view_urls)
 *
 * A domain that suppressions withhold, or make absent, as a whole is not found either. What they
 * hide of a domain that is found is query/suppression/suppression_view.h's.
 *
 * `found` is a plain value; `dataset` is borrowed from the version.
 * Any thread, each with a canon of its own.
 */
#ifndef DX_QUERY_VIEW_LOOKUP_H
#define DX_QUERY_VIEW_LOOKUP_H

#include "base/bytes.h"
#include "canon/reject.h"
#include "format/root/rules.h"
#include "query/view/problem.h"

struct dx_canon;
struct dx_dataset;
struct dx_part;
struct dx_url;
struct dx_version;
struct dx_view;

struct dx_found {
    const struct dx_part *part; /* that has the domain */
    uint64_t ordinal;           /* in the part */
    uint64_t domain_id;
    size_t domain_size;
    uint8_t domain[256];
};

int dx_lookup_domain(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                     struct dx_found *found, struct dx_problem *problem);
/* domain: borrowed from canon until its next use. */
int dx_lookup_name(struct dx_canon *canon, struct dx_span asked, struct dx_span *domain,
                   struct dx_problem *problem);
int dx_lookup_no_name(enum dx_reject why, struct dx_problem *problem);
/* url: borrowed likewise. */
int dx_lookup_url(struct dx_canon *canon, struct dx_span asked, struct dx_url *url,
                  struct dx_problem *problem);
int dx_lookup_dataset(const struct dx_view *view, uint32_t dataset_id,
                      const struct dx_dataset **dataset, struct dx_problem *problem);
int dx_lookup_no_domain(const struct dx_view *view, struct dx_span domain,
                        struct dx_problem *problem);
int dx_lookup_no_pair(const struct dx_view *view, const struct dx_found *found, uint32_t dataset_id,
                      struct dx_problem *problem);

/* what: the subject of a sentence. */
int dx_lookup_counts_only(const char *what, struct dx_problem *problem);

/* The problem of a domain that rules hide as a whole: 0. */
int dx_lookup_without(const struct dx_view *view, struct dx_span domain, enum dx_effect effect,
                      struct dx_problem *problem);
/* 1: no rule is for the whole domain. 0: the problem. */
int dx_lookup_allowed(const struct dx_view *view, struct dx_span domain,
                      struct dx_problem *problem);

#endif
