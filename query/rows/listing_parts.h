/* SPDX-License-Identifier: Apache-2.0
 * listing_parts.h - what a planned listing consists of; for listing.c, which plans and reads,
 * listing_rows.c, which walks the rows, and listing_url.c, which keeps those of one URL.
 *
 *   pieces   runs of rows of one row group, in the order of the listing
 *   columns  of a piece: [first_column, first_column + column_count) of l->columns
 *   pages    of a column: [first_page, first_page + page_count) of l->pages, by rows
 */
#ifndef DX_QUERY_ROWS_LISTING_PARTS_H
#define DX_QUERY_ROWS_LISTING_PARTS_H

#include "format/version/pages.h"
#include "query/view/block_request.h"

struct dx_listing_page {
    struct dx_block_request want;
    struct dx_pages_file file;
    size_t column; /* in l->columns */
    struct dx_page_location place;
    struct dx_page_location dictionary; /* size 0: none */
};

struct dx_listing_column {
    struct dx_span name;
    uint32_t type_length;
    uint8_t role;
    uint8_t physical_type;
    uint8_t codec;
    uint8_t max_def;
    uint8_t time_unit;
    size_t first_page;
    size_t page_count;
};

/* Rows [first_row, first_row + row_count) of one row group. */
struct dx_listing_piece {
    uint64_t first_row, row_count;
    size_t first_column;
    size_t column_count;
};

struct dx_listing;
struct dx_url;

/* Once its pages are there: each piece is then from the first row that is of the URL's host and path_query, or was led to by the
 * URL (the column requested_url), to the last one; it may have none. Rows of a file stand by (domain, host, path_query), so
 * those of one page of a site lie side by side, of whatever scheme; what lies between rows that were led to may be of other URLs.
 * A piece whose pages are not as the directory says is left as it is: a walk of its rows finds that. */
void dx_listing_keep_url(struct dx_listing *l, const struct dx_url *url);

#endif
