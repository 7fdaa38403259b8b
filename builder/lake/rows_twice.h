/* SPDX-License-Identifier: Apache-2.0
 * rows_twice.h - equal rows in files that are merged: those that a lake has more than once.
 *
 *   struct dx_rows_twice t = DX_ROWS_TWICE_INIT;
 *   rc = dx_rows_twice_add(&t, &scan, &row, &err);     in order of (domain, host, path_query)
 *   dx_rows_twice_end(&t);
 *   t.count     more than there should be; t.first: URL of the first that was found
 *   dx_rows_twice_release(&t);
 *
 * Equal are rows of one URL with the same time and extras but for the locator; an extra that is null
 * counts as missing, and columns may stand in any order. Costs a hash of each row, and 16 bytes for
 * each row of the URL at hand. One thread at a time.
 */
#ifndef DX_BUILDER_LAKE_ROWS_TWICE_H
#define DX_BUILDER_LAKE_ROWS_TWICE_H

#include "base/buf.h"
#include "base/hash.h"
#include "builder/lake/lake_scan.h"

#define DX_ROWS_TWICE_TEXT 200

struct dx_rows_twice {
    struct dx_hash128 page; /* (host, path_query) of the rows at hand */
    struct dx_buf rows;     /* struct dx_hash128 of each of them */
    struct dx_buf scratch;
    uint64_t count;
    char first[DX_ROWS_TWICE_TEXT];
    char at[DX_ROWS_TWICE_TEXT];
};

#define DX_ROWS_TWICE_BYTES (64u << 20) /* rows of one URL beyond that are compared in parts */
#define DX_ROWS_TWICE_INIT                                                                      \
    {                                                                                           \
        .rows = DX_BUF_INIT(DX_ROWS_TWICE_BYTES), .scratch = DX_BUF_INIT(DX_LAKE_ROW_BYTES_MAX) \
    }

int dx_rows_twice_add(struct dx_rows_twice *t, const struct dx_lake_scan *scan,
                      const struct dx_lake_row *row, struct dx_error *err);
void dx_rows_twice_end(struct dx_rows_twice *t);
void dx_rows_twice_release(struct dx_rows_twice *t);

#endif
