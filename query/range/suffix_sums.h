/* SPDX-License-Identifier: Apache-2.0
 * suffix_sums.h - domains, URLs, rows and times of a name and all names below it, of all visible datasets or one.
 *
 *   struct dx_suffix_sums s;
 *   rc = dx_suffix_sums_begin(&s, &view, canon, name, look_max, &problem);       1, <0
 *   s.icann = name;                                          of the names below it only those that ICANN's rules make part of it
 *   place = 0;
 *   rc = dx_suffix_sums_add(&s, NULL, &place, &sum, each, &problem);             to sum, and to each[i] of the i-th dataset
 *   rc = dx_suffix_sums_add(&s, dataset, &place, &sum, NULL, &problem);          of this dataset alone
 *     1   all domains are added
 *     0   as many were examined as may be: goes on at `place`, which is a number of a domain (loader/version_parts.h)
 *    <0   problem
 *   rc = dx_suffix_sums_nothing(&s, name, &problem);         where nothing was added: 0 with the problem, absent or withheld; <0
 *   dx_suffix_sum_json(&sum, dataset, &j);                   "url_count":…, …, "last_ts":…; dataset NULL: of several
 *   dx_suffix_sums_release(&s);                                                  also after an error
 *
 * name: in lower case and A-labels; of names that are suffixes or domains all is alike. A domain counts if something of
 * it is shown, and of it what is shown. What a call leaves of look_max the next one has. One thread at a time; the view,
 * canon and what `icann` points to are held until release.
 */
#ifndef DX_QUERY_RANGE_SUFFIX_SUMS_H
#define DX_QUERY_RANGE_SUFFIX_SUMS_H

#include "format/core/surt.h"
#include "format/version/manifest.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/view.h"

struct dx_dataset;
struct dx_json;
struct roaring_bitmap_s;

struct dx_suffix_sum {
    uint64_t domains;
    struct dx_pair_count counts; /* of datasets of URLs */
    uint64_t pages;              /* of datasets of counts */
};

struct dx_suffix_sums {
    struct dx_view view;
    struct dx_canon *canon;
    struct dx_span icann; /* size 0: all names of the range */
    uint64_t line;        /* of the log of suppressions: all sums are by it */
    uint64_t left;        /* domains that may be examined still */
    uint64_t first[DX_PARTS_MAX], end[DX_PARTS_MAX]; /* numbers of the range, in each part */
    struct roaring_bitmap_s *numbers;                /* of domains at hand */
    struct dx_suppression_domains hidden;
    struct dx_domain_pairs pairs;
    /* The public suffix of the name before, and whether what is registered below it is part of `icann`. */
    uint8_t parent[DX_SURT_MAX];
    size_t parent_size;
    bool is_parent;
};

int dx_suffix_sums_begin(struct dx_suffix_sums *s, const struct dx_view *view,
                         struct dx_canon *canon, struct dx_span name, uint64_t look_max,
                         struct dx_problem *problem);
int dx_suffix_sums_add(struct dx_suffix_sums *s, const struct dx_dataset *dataset, uint64_t *place,
                       struct dx_suffix_sum *sum, struct dx_suffix_sum *each,
                       struct dx_problem *problem);
int dx_suffix_sums_nothing(struct dx_suffix_sums *s, struct dx_span name,
                           struct dx_problem *problem);
void dx_suffix_sum_json(const struct dx_suffix_sum *sum, const struct dx_dataset *dataset,
                        struct dx_json *j);
void dx_suffix_sums_release(struct dx_suffix_sums *s);

#endif
