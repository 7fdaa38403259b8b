/* SPDX-License-Identifier: Apache-2.0
 * domain_pages.h - what facts.dat.zst or sketches.dat.zst has of some pairs of a domain, as pages
 * that an answer waits for.
 *
 *   struct dx_domain_pages_of of = { v, part, DX_COLD_FACTS, ordinal, ids, count };
 *   rc = dx_domain_pages_init(&p, &of, bytes_max, deadline_ms, &err);
 *   do {
 *       while ((rc = dx_domain_pages_step(&p, &err)) == DX_LISTING_WAITS)       as query/rows/listing.h
 *           rc = dx_read_batch_perform(&p.reading, &err), rc = dx_domain_pages_fetched(&p, rc, &err);
 *       if (rc == DX_LISTING_DONE)
 *           while ((rc = dx_domain_pages_next(&p, &dataset_id, &bytes, &err)) == 1) ...
 *   } while (rc == 0 && (rc = dx_domain_pages_more(&p, &err)) == 1);
 *   dx_domain_pages_release(&p);                                        at the end, on every path
 *
 * ids: of datasets that have the domain, ascending; borrowed until release. Pages in which none of
 * them lies are not read. next gives each pair of the domain that lies in those that were,
 * ascending, also of other datasets; bytes are borrowed until more or release. A domain's pages lie
 * side by side, and as many as have bytes_max together, decoded, are one batch (at least one is);
 * dx_domain_pages_left: there are more. One thread at a time.
 */
#ifndef DX_QUERY_ROWS_DOMAIN_PAGES_H
#define DX_QUERY_ROWS_DOMAIN_PAGES_H

#include "format/version/pair_pages.h"
#include "loader/domain_pairs.h"
#include "query/rows/cold_page.h"
#include "query/view/read_batch.h"

struct dx_version;
struct dx_zstd_decoder;

struct dx_domain_pages_of {
    struct dx_version *version;
    const struct dx_part *part; /* that has the domain */
    enum dx_cold_file file;
    uint64_t ordinal;
    const uint32_t *ids;
    size_t count;
};

struct dx_domain_pages {
    struct dx_domain_pages_of of;
    struct dx_read_batch reading;

    /* private */
    uint64_t bytes_max;
    uint64_t bytes; /* of the pages at hand, decoded */
    size_t found;   /* of ids: those whose pages were found */
    struct dx_pair_places places;
    struct dx_cold_page_wanted *pages; /* at hand */
    size_t count, capacity;
    uint64_t deadline_ms;
    struct dx_zstd_decoder *decoder;
    size_t at; /* the page that is walked */
    bool entered;
    struct dx_pair_page walk;
};

int dx_domain_pages_init(struct dx_domain_pages *p, const struct dx_domain_pages_of *of,
                         uint64_t bytes_max, uint64_t deadline_ms, struct dx_error *err);
int dx_domain_pages_step(struct dx_domain_pages *p, struct dx_error *err);
int dx_domain_pages_fetched(struct dx_domain_pages *p, int rc, struct dx_error *err);
int dx_domain_pages_next(struct dx_domain_pages *p, uint32_t *dataset_id, struct dx_span *bytes,
                         struct dx_error *err);
bool dx_domain_pages_left(const struct dx_domain_pages *p);
int dx_domain_pages_more(struct dx_domain_pages *p,
                         struct dx_error *err); /* 1, 0: these were all */
void dx_domain_pages_release(struct dx_domain_pages *p);

#endif
