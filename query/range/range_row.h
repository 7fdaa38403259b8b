/* SPDX-License-Identifier: Apache-2.0
 * range_row.h - one row that a cursor names by its domain, dataset and place, without I/O.
 *
 *   struct dx_range_row_at r;
 *   rc = dx_range_row_begin(&r, &view, &of, deadline_ms, &problem);         1, 0 problem, <0
 *   while ((rc = dx_listing_step(&r.listing, &err)) == DX_LISTING_WAITS) ...      as query/rows/listing.h
 *   rc = dx_listing_rows(&r.listing, &taker, &err);
 *   dx_range_row_release(&r);                                               also after a begin that failed
 *
 * For cursors without a position (query/rows/cursor.h). of: the domain by its number in the version (loader/version_parts.h). A row that
 * suppressions have hidden since is DX_PROBLEM_GONE "cursor-expired", and is not read: where it stands in an order says what it is. A place
 * that the view does not have is "bad-cursor". What the view has is held by the caller. One thread at a time.
 */
#ifndef DX_QUERY_RANGE_RANGE_ROW_H
#define DX_QUERY_RANGE_RANGE_ROW_H

#include "query/range/range_order.h"
#include "query/rows/listing.h"
#include "query/view/view.h"

struct dx_range_row_at {
    struct dx_listing listing;

    /* private */
    bool begun;
};

int dx_range_row_begin(struct dx_range_row_at *r, const struct dx_view *view,
                       const struct dx_range_order_at *of, uint64_t deadline_ms,
                       struct dx_problem *problem);
void dx_range_row_release(struct dx_range_row_at *r);

#endif
