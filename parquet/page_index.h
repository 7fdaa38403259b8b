/* SPDX-License-Identifier: Apache-2.0
 * page_index.h - ColumnIndex and OffsetIndex: what each page of a chunk holds and where.
 *
 *   struct dx_pq_page_entry e = { offset, first_row, size, row_count, null_count };
 *   e.bounds = dx_pq_bounds_of(&column, &values);             smallest and largest value
 *   dx_pq_bounds_merge(&column, &chunk_bounds, &e.bounds);    and of the whole chunk
 *   ok = dx_pq_column_index_write(&column, entries, n, &buf); false: no index is possible
 *   dx_pq_offset_index_write(entries, n, &buf);
 *
 * Bounds are bytes as statistics hold them: integers PLAIN, strings cut to at most
 * DX_PQ_BOUND_MAX bytes and still bounds: a minimum is a prefix cut between characters, a
 * maximum is a prefix whose last byte was made greater by one and stays ASCII. A maximum
 * without such a byte is given up (has_max false). Plain values, nothing is owned.
 * No state; any thread.
 */
#ifndef DX_PARQUET_PAGE_INDEX_H
#define DX_PARQUET_PAGE_INDEX_H

#include "base/buf.h"
#include "parquet/page.h"

#define DX_PQ_BOUND_MAX 64

struct dx_pq_bounds {
    bool has_min; /* there is a value that is not null */
    bool has_max;
    bool min_is_exact, max_is_exact;
    uint8_t min_size, max_size;
    uint8_t min[DX_PQ_BOUND_MAX], max[DX_PQ_BOUND_MAX];
};

struct dx_pq_page_entry {
    uint64_t offset;    /* of the header, in the file */
    uint64_t first_row; /* in the row group */
    uint32_t size;      /* header and body */
    uint32_t row_count;
    uint32_t null_count;
    struct dx_pq_bounds bounds;
};

/* Of INT32, INT64 and BYTE_ARRAY columns: no other is written. Integers compare signed, or
 * unsigned if the column is. */
struct dx_pq_bounds dx_pq_bounds_of(const struct dx_pq_column *c, const struct dx_pq_values *v);
void dx_pq_bounds_merge(const struct dx_pq_column *c, struct dx_pq_bounds *into,
                        const struct dx_pq_bounds *from);

bool dx_pq_column_index_write(const struct dx_pq_column *c, const struct dx_pq_page_entry *page,
                              uint32_t count, struct dx_buf *out);
void dx_pq_offset_index_write(const struct dx_pq_page_entry *page, uint32_t count,
                              struct dx_buf *out);

#endif
