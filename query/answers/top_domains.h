/* SPDX-License-Identifier: Apache-2.0
 * top_domains.h - the domains of a dataset, those with the most URLs first.
 *
 *   struct dx_top_domains t;
 *   rc = dx_top_domains_open(&t, &view, canon, dataset_id, &problem);       1, 0, <0 as query/answers/answer.h
 *   n = dx_share_select(&share, t.domain_count);                        share: dx_share_parse
 *   rc = dx_top_domains_read(&t, first, n, rows, &err);                 rows[0 .. n): first + n <= domain_count
 *   rc = dx_top_domains_name(&t, &rows[i], domain, &size, &err);        1
 *   dx_top_domains_release(&t);                                         also after an error
 *
 * Equal numbers stand in order of keys. What suppressions hide is not there: domains that are
 * hidden wholly are left out, those that are hidden in part stand where their visible URLs put
 * them, and domain_count, url_count, places and ranks are those of what is left. A rank is 1 +
 * domains of the list with more URLs: those with equal numbers have the same.
 *
 * Read costs a copy within the stored head of the ranking (format/version/dataset_domains.h),
 * beyond it a walk over the list; over several parts
 * a merge of their rankings from the place on. Memory: 32 bytes for each domain of the dataset of which
 * something is hidden (at most DX_TOP_HIDDEN_MAX, else 422), and 16 for each row of a read. the
 * view is held by the caller until release. One thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_TOP_DOMAINS_H
#define DX_QUERY_ANSWERS_TOP_DOMAINS_H

#include "format/core/surt.h"
#include "format/version/dataset_domains.h"
#include "format/version/manifest.h"
#include "query/view/problem.h"

#define DX_TOP_HIDDEN_MAX (1u << 22)

struct dx_canon;
struct dx_dataset;
struct dx_version;
struct dx_view;

struct dx_top_domain {
    uint64_t rank;
    uint64_t ordinal; /* its number in the version: loader/version_parts.h */
    uint64_t url_count;
};

struct dx_top_domains {
    const struct dx_dataset *dataset; /* borrowed from the version */
    uint64_t domain_count;
    uint64_t url_count;

    /* private */
    struct dx_version *version;
    uint32_t dataset_id;
    struct dx_domain_list list[DX_PARTS_MAX]; /* of the parts; domains 0: none */
    /* those of which something is hidden, as the index ranks them */
    struct dx_domain_count *stored;
    struct dx_domain_count *shown; /* those of them of which something is left, as they stand now */
    size_t stored_count, shown_count;
    struct dx_domain_count *window; /* scratch of read */
    size_t window_size;
};

int dx_top_domains_open(struct dx_top_domains *t, const struct dx_view *view,
                        struct dx_canon *canon, uint32_t dataset_id, struct dx_problem *problem);
int dx_top_domains_read(struct dx_top_domains *t, uint64_t first, size_t n,
                        struct dx_top_domain *rows, struct dx_error *err);
int dx_top_domains_name(const struct dx_top_domains *t, const struct dx_top_domain *row,
                        uint8_t domain[DX_SURT_MAX], size_t *size, struct dx_error *err);
void dx_top_domains_release(struct dx_top_domains *t);

/* "10%", "12.5%" (up to four decimals), "0.1" (up to six), "1": above 0, at most all. */
struct dx_share {
    uint32_t millionths;
};

bool dx_share_parse(struct dx_span text, struct dx_share *share);
uint64_t dx_share_select(struct dx_share share, uint64_t count); /* rounded up */

#endif
