/* SPDX-License-Identifier: Apache-2.0
 * domain_text.h - the datasets of a domain as the JSON of /v1/domain.
 *
 *   struct dx_domain_text t = { .domain = ..., .ids = ids, .pairs = pairs, .count = n, ... };
 *   rc = dx_domain_text_write(&t, &heads, &body, &err);    DX_OK, or why not: body is not to be used
 *
 * A popular domain is in a thousand datasets, so their objects are written in one piece each: the
 * beginning as the version has it ready (loader/dataset_heads.h), numbers and times behind it.
 * base/json_out.h would write the same bytes (tests/unit/query/answers/test_domain_text.c). A pair
 * with more URLs than its dataset has is DX_E_CORRUPT. Any thread.
 */
#ifndef DX_QUERY_ANSWERS_DOMAIN_TEXT_H
#define DX_QUERY_ANSWERS_DOMAIN_TEXT_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/core/counts.h"
#include "query/answers/dataset_order.h"

struct dx_answer_summary;
struct dx_dataset_heads;
struct dx_registry;
struct dx_suppression_view;

struct dx_domain_text {
    struct dx_span domain;
    uint64_t domain_id;
    const uint32_t *ids; /* of the datasets that are shown */
    const struct dx_pair_count *pairs;
    size_t count;
    unsigned fields;             /* DX_DOMAIN_FIELD_... */
    uint64_t distinct_url_count; /* over all that are shown */
    bool distinct_dense;         /* it is an estimate (format/version/url_sketch.h) */
    /* 1 + domains of the dataset with more URLs than pairs[i] has. NULL: not with
     * DX_DOMAIN_FIELD_RANK. */
    int (*rank)(void *ctx, size_t i, uint64_t *rank, struct dx_error *err);
    void *rank_ctx;
    const struct dx_registry *registry; /* says which datasets are of counts */
    const struct dx_suppression_view *withheld;
    uint64_t withheld_rows;        /* of all datasets, also of those of which nothing is shown */
    struct dx_span version;        /* its name: plain characters */
    struct dx_dataset_order order; /* all zero: all of them, by id */
    struct dx_answer_summary *summary; /* NULL: not wanted */
};

/* The domain that such a text, or a listing, is about; empty if it has characters that were
 * escaped. */
struct dx_span dx_domain_text_subject(struct dx_span text);

int dx_domain_text_write(const struct dx_domain_text *t, const struct dx_dataset_heads *heads,
                         struct dx_buf *body, struct dx_error *err);

/* Between a domain that is written to body as a JSON string, and the quote behind it: domain_unicode, of names that have A-labels. */
void dx_domain_text_unicode(struct dx_span domain, struct dx_buf *body);

#endif
