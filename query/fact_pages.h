/* SPDX-License-Identifier: Apache-2.0
 * fact_pages.h - what facts.dat.zst has of a domain, or of one of its pairs, as pages that an answer waits for.
 *
 *   rc = dx_fact_pages_init(&p, v, ordinal, deadline_ms, &err);                 all pairs; or
 *   rc = dx_fact_pages_init_pair(&p, v, ordinal, dataset_id, deadline_ms, &err);
 *   while ((rc = dx_fact_pages_step(&p, &err)) == DX_LISTING_WAITS)             as query/listing.h
 *       rc = dx_reading_perform(&p.reading, &err), rc = dx_fact_pages_fetched(&p, rc, &err);
 *   if (rc == DX_LISTING_DONE)
 *       while ((rc = dx_fact_pages_next(&p, &dataset_id, &bytes, &err)) == 1) ...   ascending; borrowed
 *   dx_fact_pages_release(&p);                                                  at the end, on every path
 *
 * A domain's pages lie side by side and are one wave. DX_E_LIMIT: they are more than
 * DX_FACT_PAGES_BYTES. One thread at a time.
 */
#ifndef DX_QUERY_FACT_PAGES_H
#define DX_QUERY_FACT_PAGES_H

#include "format/pair_pages.h"
#include "query/cold_page.h"
#include "query/reading.h"

struct dx_version;
struct dx_zstd_decoder;

/* Of all pages of an answer, decoded: a few million hosts. One of the pairs alone may have
 * DX_COLD_PAGE_PLAIN_MAX. */
#define DX_FACT_PAGES_BYTES (128u << 20)

struct dx_fact_pages {
    struct dx_version *version;
    uint64_t ordinal;
    bool one_pair;
    uint32_t dataset_id; /* of it */
    struct dx_reading reading;
    uint64_t plain_bytes;

    /* private */
    struct dx_cold_page_wanted *pages;
    size_t count, capacity;
    uint64_t deadline_ms;
    struct dx_zstd_decoder *decoder;
    size_t at; /* the page that is walked */
    bool entered;
    struct dx_pair_page walk;
};

int dx_fact_pages_init(struct dx_fact_pages *p, struct dx_version *v, uint64_t ordinal,
                       uint64_t deadline_ms, struct dx_error *err);
int dx_fact_pages_init_pair(struct dx_fact_pages *p, struct dx_version *v, uint64_t ordinal,
                            uint32_t dataset_id, uint64_t deadline_ms, struct dx_error *err);
int dx_fact_pages_step(struct dx_fact_pages *p, struct dx_error *err);
int dx_fact_pages_fetched(struct dx_fact_pages *p, int rc, struct dx_error *err);
int dx_fact_pages_next(struct dx_fact_pages *p, uint32_t *dataset_id, struct dx_span *bytes,
                       struct dx_error *err);
void dx_fact_pages_release(struct dx_fact_pages *p);

#endif
