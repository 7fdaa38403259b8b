/* SPDX-License-Identifier: Apache-2.0
 * cdx_host.h - where the rows of one host lie among those of its domain, so that the others need not be looked at.
 *
 *   struct dx_cdx_host h;
 *   dx_cdx_host_init(&h, v, part, ordinal, host, alone, deadline_ms);
 *   ... dx_domain_rows_add(&h.rows, ...) ...                       the pairs of the domain
 *   rc = dx_cdx_host_begin(&h, &err);
 *   while (rc >= 0 && (rc = dx_cdx_host_step(&h, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_cdx_host_reading(&h), &err);
 *       rc = dx_cdx_host_fetched(&h, rc, &err);
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       rc = dx_domain_rows_narrow(&rows, h.ranges, h.count, &err);      of the same pairs, any number of times
 *   h.total                                                        so many visible ones, once it is DONE
 *   h.exact                                                        all rows there are of the host; else there are some of other ones
 *   dx_cdx_host_release(&h);                                       also after a failure, and of one that is all zero
 *
 * Hosts are those with one key: of "example.com" www.example.com, www2.example.com and "example.com." too; with their ports, unless `alone`. A search in
 * each file (query/scan/row_streams.h), of which DX_E_LIMIT and DX_E_UNSUPPORTED say that it cannot be: then all rows have to be looked
 * at. host is held by the caller. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_HOST_H
#define DX_QUERY_CDX_CDX_HOST_H

#include "query/scan/row_streams.h"

struct dx_cdx_host {
    struct dx_domain_rows_range *ranges;
    size_t count;
    bool exact;
    uint64_t total;
    struct dx_domain_rows rows;    /* of the domain */
    struct dx_row_streams streams; /* of these, once it is DONE: what was found is places of them */

    /* private */
    struct dx_span host;
    bool alone;
    bool begun, searching;
    unsigned kind; /* of hosts that are looked for */
    size_t capacity;
};

/* Whether its rows can be searched for at all. */
bool dx_cdx_host_can(struct dx_span host);
void dx_cdx_host_init(struct dx_cdx_host *h, struct dx_version *v, const struct dx_part *part,
                      uint64_t ordinal, struct dx_span host, bool alone, uint64_t deadline_ms);
int dx_cdx_host_begin(struct dx_cdx_host *h, struct dx_error *err);
int dx_cdx_host_step(struct dx_cdx_host *h, struct dx_error *err);
/* Visible rows of a range of these places. */
uint64_t dx_cdx_host_visible(const struct dx_cdx_host *h, const struct dx_domain_rows_range *r);
struct dx_read_batch *dx_cdx_host_reading(struct dx_cdx_host *h);
int dx_cdx_host_fetched(struct dx_cdx_host *h, int rc, struct dx_error *err);
void dx_cdx_host_release(struct dx_cdx_host *h);

#endif
