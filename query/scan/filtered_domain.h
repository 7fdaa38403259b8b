/* SPDX-License-Identifier: Apache-2.0
 * filtered_domain.h - the rows of one domain over several datasets that a filter takes, a page at a time, without I/O.
 *
 *   struct dx_filtered_domain f;
 *   dx_filtered_domain_init(&f, &rows, &ask, &taker);
 *   while ((rc = dx_filtered_domain_step(&f, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_filtered_domain_reading(&f), &err);
 *       rc = dx_filtered_domain_fetched(&f, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE) ... f.next, f.rows_seen ...
 *   dx_filtered_domain_release(&f);
 *
 * rows: its pairs (query/scan/domain_rows.h), borrowed, nothing of it begun. Pairs are examined one after the other, each as
 * by query/scan/filtered_rows.h; those whose times in the index cannot match are not read. Where rows keeps pairs
 * (query/rows/pair_rows.h) and times alone are asked for, those that are kept are looked at there, and count as if they were read. The taker gets the rows
 * as they come; its `row` returns 1 where the page shall end.
 *
 *   f.hold = true;                                       before a step: it is DONE where the taker would get its first rows, or
 *                                                        there is nothing to read; false again: it goes on there
 *   ok = dx_filtered_domain_limit(&f, limit);            while it is held: fewer rows than ask.limit; false: it has taken more
 *
 *   f.brief = true;                                      before the first step: where a pair comes that is not kept it ends with
 *                                                        DX_LISTING_WAITS and nothing to read, for another thread to go on
 *
 * A page ends after ask.limit rows, and sooner where it has examined DX_FILTERED_LOOK_MAX rows, DX_LISTING_READ_MAX bytes of pages, or
 * DX_FILTERED_DOMAIN_PAIRS datasets, or where half of its time is over. `next` is where to go on. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_FILTERED_DOMAIN_H
#define DX_QUERY_SCAN_FILTERED_DOMAIN_H

#include "query/scan/domain_rows.h"
#include "query/scan/filtered_rows.h"

#define DX_FILTERED_DOMAIN_PAIRS 256

struct dx_filtered_domain_ask {
    struct dx_row_filter filter; /* its texts are copied */
    struct dx_domain_rows_place first, end;
    uint64_t limit;
};

struct dx_filtered_domain {
    struct dx_domain_rows_place next;
    uint64_t rows_seen, pages_seen, bytes_seen; /* as of dx_filtered_rows */
    bool hold, brief;

    /* private */
    const struct dx_domain_rows *rows;
    struct dx_filtered_domain_ask ask;
    struct dx_domain_rows_taker taker;
    uint8_t text[DX_ROW_FILTER_MAX];
    uint64_t half_ms;
    uint64_t count; /* taken */
    unsigned pairs; /* examined */
    size_t at;      /* in rows->pairs */
    bool busy;      /* with the pair at hand */
    bool may_keep;  /* that pair, if nothing was waited for */
    bool named;     /* the taker knows the dataset of the last row */
    uint32_t named_dataset;
    bool full;
    struct dx_filtered_rows pair;
    struct dx_read_batch nothing;
};

void dx_filtered_domain_init(struct dx_filtered_domain *f, const struct dx_domain_rows *rows,
                             const struct dx_filtered_domain_ask *ask,
                             const struct dx_domain_rows_taker *taker);
int dx_filtered_domain_step(struct dx_filtered_domain *f, struct dx_error *err);
bool dx_filtered_domain_limit(struct dx_filtered_domain *f, uint64_t limit);
struct dx_read_batch *dx_filtered_domain_reading(struct dx_filtered_domain *f);
int dx_filtered_domain_fetched(struct dx_filtered_domain *f, int rc, struct dx_error *err);
void dx_filtered_domain_release(struct dx_filtered_domain *f);

#endif
