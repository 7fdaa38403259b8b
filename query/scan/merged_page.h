/* SPDX-License-Identifier: Apache-2.0
 * merged_page.h - one page of the visible rows of a domain over several datasets in one order: of rows that are kept in that order
 * (query/scan/row_stretch.h), or merged (query/scan/merged_rows.h), without I/O.
 *
 *   struct dx_merged_page p;
 *   rc = dx_merged_page_init(&p, &rows, &ask, &err);            as of dx_merged_rows
 *   while (rc >= 0 && (rc = dx_merged_page_step(&p, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_merged_page_reading(&p), &err);
 *       rc = dx_merged_page_fetched(&p, rc, &err);
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       rc = dx_merged_page_each(&p, take, ctx, &err);          take(ctx, dataset_id, row, err), in order
 *   p.found                                                     what there is, and what the ask of the next page begins with, and
 *   rc = dx_merged_page_position(&p, &position, &err);          the position of found.last
 *   dx_merged_page_release(&p);                                 also after an init that failed
 *
 * All rows of URL order alone, with no filter, no collapse, no hidden row among them and no fields but URL_ID, URL and TS, come from
 * stretches: of as many rows as the limit, rounded up to DX_MERGED_STRETCH. The first one of a listing begins with it, each
 * other one behind the one before, so a page of whatever rows needs one or two. One that is not kept is merged whole. `kept` of
 * the found is the row that the stretch of the next row begins behind (without has_kept: none); where no stretch from there has
 * the row `after`, as other rows are visible now, one begins behind `after`. What is counted as seen is what merging the stretches took.
 *
 * One thread at a time.
 */
#ifndef DX_QUERY_SCAN_MERGED_PAGE_H
#define DX_QUERY_SCAN_MERGED_PAGE_H

#include "query/scan/merged_rows.h"
#include "query/scan/row_stretch.h"

#define DX_MERGED_STRETCH 1000u /* rows, 130 kB with the usual URLs */
#define DX_MERGED_PAGE_PARTS 2u /* stretches that a page has rows of */

struct dx_merged_page_part {
    struct dx_row_stretch stretch;
    uint64_t first, count; /* of its rows */
};

struct dx_merged_page {
    struct dx_merged_found found;

    /* private */
    struct dx_domain_rows *rows;
    struct dx_merged_ask ask;
    bool by_stretches, merging, done;
    struct dx_row_stretch_question question;
    bool has_start; /* the stretch that comes next begins behind: */
    struct dx_domain_rows_place start;
    struct dx_cache_key key; /* its */
    struct dx_row_stretch_maker maker;
    struct dx_merged_page_part parts[DX_MERGED_PAGE_PARTS];
    size_t part_count;
    struct dx_merged_rows merged;
    struct dx_listing_row row; /* 2 kB that are not on the stack of a loop */
};

int dx_merged_page_init(struct dx_merged_page *p, struct dx_domain_rows *rows,
                        const struct dx_merged_ask *ask, struct dx_error *err);
int dx_merged_page_step(struct dx_merged_page *p, struct dx_error *err);
struct dx_read_batch *dx_merged_page_reading(struct dx_merged_page *p);
int dx_merged_page_fetched(struct dx_merged_page *p, int rc, struct dx_error *err);
void dx_merged_page_release(struct dx_merged_page *p);

typedef int dx_merged_page_take(void *ctx, uint32_t dataset_id, const struct dx_listing_row *row,
                                struct dx_error *err);
int dx_merged_page_each(struct dx_merged_page *p, dx_merged_page_take *take, void *ctx,
                        struct dx_error *err);

int dx_merged_page_position(const struct dx_merged_page *p, struct dx_cursor_position *position,
                            struct dx_error *err);

/* Of each pair, whether a row of the page is of it. */
void dx_merged_page_pairs(const struct dx_merged_page *p, bool *has);

#endif
