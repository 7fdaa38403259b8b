/* SPDX-License-Identifier: Apache-2.0
 * distinct_urls.h - how many distinct URLs a domain has in some of its datasets: the union of their
 * sketches.
 *
 *   rc = dx_distinct_urls_begin(&d, v, part, ordinal, ids, count, &withheld, deadline_ms, &err);
 *   d.brief = ...                                                      as query/answers/task.h
 *   while ((rc = dx_distinct_urls_step(&d, &err)) == DX_LISTING_WAITS)         as query/rows/listing.h
 *       rc = dx_read_batch_perform(&d.pages.reading, &err), rc = dx_domain_pages_fetched(&d.pages, rc, &err);
 *   if (rc == DX_LISTING_DONE)
 *       n = dx_url_sketch_clip(dx_url_sketch_count(&d.all), largest, sum);     d.all.dense: an estimate
 *   dx_distinct_urls_release(&d);                                      at the end, on every path
 *
 * The number that an index of these datasets alone has stored (docs/notes/aggregates.md). Of a pair
 * of which suppressions hide something the sketch is of what is left. Pages of sketches are read
 * some at a time, so memory does not grow with the datasets, but for the hashes: 8 MiB, twice that
 * while they are sorted. ids: ascending, each of a dataset that has the domain; they and withheld
 * are borrowed until release. One thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_DISTINCT_URLS_H
#define DX_QUERY_ANSWERS_DISTINCT_URLS_H

#include "format/version/url_sketch.h"
#include "query/rows/domain_pages.h"

struct dx_suppression_view;

struct dx_distinct_urls {
    struct dx_domain_pages pages;
    struct dx_url_sketch all;
    bool brief;

    /* private */
    struct dx_url_sketch one;
    const struct dx_suppression_view *withheld;
    size_t at; /* of ids: those that are in */
};

int dx_distinct_urls_begin(struct dx_distinct_urls *d, struct dx_version *v,
                           const struct dx_part *part, uint64_t ordinal, const uint32_t *ids,
                           size_t count, const struct dx_suppression_view *withheld,
                           uint64_t deadline_ms, struct dx_error *err);
int dx_distinct_urls_step(struct dx_distinct_urls *d, struct dx_error *err);
void dx_distinct_urls_release(struct dx_distinct_urls *d);

#endif
