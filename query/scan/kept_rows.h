/* SPDX-License-Identifier: Apache-2.0
 * kept_rows.h - copies of rows of listings, to be given again in another order.
 *
 *   dx_kept_rows_init(&k);
 *   rc = dx_kept_rows_add(&k, &row, &at, &err);        at: its number
 *   dx_kept_rows_get(&k, at, &row);                    spans into k, until the next add
 *   dx_kept_rows_url(&k, at, &host, &path_query);      of it these alone
 *   dx_kept_rows_release(&k);
 *
 * k.bytes say all of them: a copy may be read at any other address, by the numbers that they have here. Over DX_KEPT_ROWS_BYTES:
 * DX_E_LIMIT. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_KEPT_ROWS_H
#define DX_QUERY_SCAN_KEPT_ROWS_H

#include "base/buf.h"
#include "query/rows/listing.h"

#define DX_KEPT_ROWS_BYTES ((size_t)64 << 20)

struct dx_kept_rows {
    struct dx_buf bytes;
};

void dx_kept_rows_init(struct dx_kept_rows *k);
void dx_kept_rows_release(struct dx_kept_rows *k);
int dx_kept_rows_add(struct dx_kept_rows *k, const struct dx_listing_row *row, size_t *at,
                     struct dx_error *err);
void dx_kept_rows_get(const struct dx_kept_rows *k, size_t at, struct dx_listing_row *row);
void dx_kept_rows_url(const struct dx_kept_rows *k, size_t at, struct dx_span *host,
                      struct dx_span *path_query);

#endif
