/* SPDX-License-Identifier: Apache-2.0
 * answer_suffix.h - GET /v1/suffix/{suffix}: the datasets of all domains of a suffix, with counts.
 *
 *   struct dx_suffix_ask ask = { .asked = text, .limit = 1000, .paging = ... };
 *   rc = dx_answer_suffix(&view, canon, &ask, &body, &problem);         as query/answers/answer.h
 *
 * A suffix is any name: a TLD, a public suffix, a domain. `asked` is read as the host of a URL is, dots at its ends do not
 * count. A page may be short, and even empty, and go on all the same: what a request may examine is bounded. What is added
 * up at its end the cursor carries. Sums of the suffix are there as soon as they are complete, and then on each page.
 * Any thread, each with a canon of its own.
 */
#ifndef DX_QUERY_RANGE_ANSWER_SUFFIX_H
#define DX_QUERY_RANGE_ANSWER_SUFFIX_H

#include "query/answers/answer.h"
#include "query/answers/dataset_order.h"
#include "query/range/range_ask.h"

struct dx_suffix_ask {
    struct dx_span asked;
    bool one_dataset; /* of dataset_id alone */
    uint32_t dataset_id;
    uint64_t limit; /* datasets of a page */
    struct dx_paging paging;
    uint64_t look_max; /* domains that it may examine; 0: the usual cap */
};

int dx_answer_suffix(const struct dx_view *view, struct dx_canon *canon,
                     const struct dx_suffix_ask *ask, struct dx_buf *body,
                     struct dx_problem *problem);

/* GET /v1/suffix/{suffix}/urls: the rows of all its domains (query/range/range_rows.h). A page may be short, and even
 * empty, and go on all the same. */
struct dx_suffix_urls_ask {
    struct dx_span asked;
    struct dx_range_ask page;
};

int dx_task_suffix_urls(const struct dx_view *view, struct dx_canon *canon,
                        const struct dx_suffix_urls_ask *ask, struct dx_task **task,
                        struct dx_buf *body, struct dx_problem *problem);

/* GET /v1/domain/{d}?view=icann: the datasets of a domain as ICANN's section of the suffix list alone has it, so of all
 * domains that private rules make of names below it. Over a million of them are the problem "too-much". */
struct dx_icann_ask {
    struct dx_span asked;
    unsigned
        fields; /* DX_DOMAIN_FIELD_...: members of items; domain_count is always there, and rank null */
    struct dx_dataset_order order; /* not by rank */
};

int dx_answer_icann(const struct dx_view *view, struct dx_canon *canon,
                    const struct dx_icann_ask *ask, struct dx_answer_summary *summary,
                    struct dx_buf *body, struct dx_problem *problem);

#endif
