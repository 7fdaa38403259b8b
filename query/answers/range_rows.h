/* SPDX-License-Identifier: Apache-2.0
 * range_rows.h - the visible rows whose domain64 lies in a range, a page of them, without I/O.
 *
 *   struct dx_range_rows r;
 *   dx_range_rows_init(&r, &view, numbers, &what, &taker, deadline_ms);
 *   while ((rc = dx_range_rows_step(&r, &problem)) == DX_TASK_WAITS) {
 *       rc = dx_read_batch_perform(dx_range_rows_reading(&r), &err);
 *       rc = dx_range_rows_fetched(&r, rc, &err);
 *       if (rc < 0) break;
 *   }
 *     1   the page ended: r.more says whether there may be another one, and r.next where it begins
 *    <0   problem
 *   dx_range_rows_release(&r);
 *
 * In order of the numbers of domains, then of datasets, then as listings go: what the numbers of
 * subdomains and paths say is looked at row by row, and rows without a number are left out. The
 * taker gets each row with its number; it returns 1 where the page shall end behind it.
 *
 * A page ends after what.limit rows, and sooner where it has looked at DX_RANGE_DOMAINS domains of
 * the registry, read DX_RANGE_ROWS rows, or waited for DX_RANGE_BATCHES batches of reads; or where half
 * of its time is over; or before a domain of which it is not known yet what suppressions hide. A
 * step ends after half a millisecond or so.
 *
 * What the view has, and numbers, must be held until release. One thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_RANGE_ROWS_H
#define DX_QUERY_ANSWERS_RANGE_ROWS_H

#include "loader/domain64_registry.h"
#include "query/rows/listing.h"
#include "query/rows/row_number.h"
#include "query/suppression/suppression_view.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#define DX_RANGE_DOMAINS 20000
#define DX_RANGE_ROWS 50000
#define DX_RANGE_BATCHES 256

struct dx_range_place {
    uint64_t number; /* of a domain, or where one may follow */
    uint32_t dataset_id;
    uint64_t row; /* a place in the payload */
};

struct dx_range_what {
    struct dx_domain64_range range;
    bool one_dataset;
    uint32_t dataset_id;
    unsigned fields; /* of rows */
    uint64_t limit;
    unsigned look_max; /* 0: DX_RANGE_DOMAINS */
};

struct dx_range_row {
    const struct dx_listing_row *row;
    uint64_t number;
    struct dx_span domain;
    const struct dx_dataset *dataset;
};

typedef int dx_range_take(void *ctx, const struct dx_range_row *row, struct dx_error *err);

struct dx_range_rows {
    struct dx_range_place next; /* where to begin, from init on; where to go on, at the end */
    bool more;
    uint64_t count; /* rows that were taken */

    /* private */
    struct dx_view view;
    const struct dx_domain64_registry *numbers;
    struct dx_range_what what;
    dx_range_take *take;
    void *take_ctx;
    uint64_t deadline_ms;
    uint64_t half_ms;
    unsigned state;
    bool full;
    unsigned looked, batches;
    uint64_t rows;
    /* the domain at hand */
    struct dx_found found;
    struct dx_suppression_view withheld;
    struct dx_domain_pairs pairs;
    struct dx_row_number row_number;
    /* the pair at hand */
    const struct dx_dataset *dataset;
    const struct dx_suppression_pair *hidden;
    struct dx_listing listing;
    uint64_t place;
    struct dx_read_batch nothing;
};

/* From the beginning of the range; r.next may be set to a place where a page before it ended. */
void dx_range_rows_init(struct dx_range_rows *r, const struct dx_view *view,
                        const struct dx_domain64_registry *numbers,
                        const struct dx_range_what *what, dx_range_take *take, void *take_ctx,
                        uint64_t deadline_ms);
int dx_range_rows_step(struct dx_range_rows *r, struct dx_problem *problem);
struct dx_read_batch *dx_range_rows_reading(struct dx_range_rows *r);
int dx_range_rows_fetched(struct dx_range_rows *r, int rc, struct dx_error *err);
void dx_range_rows_release(struct dx_range_rows *r);

#endif
