/* SPDX-License-Identifier: Apache-2.0
 * parquet_rows.h - the rows of a Parquet file as records of an input.
 *
 *   rc = dx_parquet_rows_is(path, &err);                           1 Parquet, 0 another format
 *   rc = dx_parquet_rows_open(&p, path, &want, memory, &err);
 *   do
 *       rc = dx_parquet_rows_fill(p, &batch, &err);                as dx_records_fill
 *   while (rc > 0);
 *   dx_parquet_rows_close(&p);
 *
 *   rc = dx_parquet_rows_schema(path, on_column, ctx, &err);       the columns of a file, whatever they hold
 *
 *   cols = dx_parquet_rows_columns(p);                             for dx_columns_pick, labels and names
 *   dx_row_record_text(record, &text);                             a record for people
 *
 * Only the pages of the columns that are wanted are read, by ranges, row group after row group. A
 * column is a dotted path (parquet/column_path.h), the number of a top-level column from 1, or a
 * key of a Hive partition folder of the path (crawl=2024-10/); below a column of strings the path
 * goes on in their JSON, and below a map it is a key, whose value counts: of equal keys the first, as in DuckDB. Without a URL column the first usual name counts, and likewise for the
 * time.
 *
 * Where the URL's column is repeated each element is a record. Columns that are not repeated hold
 * for all elements; columns of the same list go along, element by element. Extras that are repeated
 * otherwise, or within it, are arrays of JSON without blanks: ["a",null], [] of an empty list, null of
 * a list that is null; another repeated time or dataset is refused. A null URL is a record without a URL, an empty list
 * none. A FIXED without a logical type is text as URL, time or dataset, without the NULs and blanks at its
 * end, and hexadecimal as an extra, as are bytes without a logical type that are not UTF-8. The line number of a record is that of its row, from 1.
 *
 * A wanted column that is encrypted (Parquet modular encryption) is an error, also one that files may
 * lack; others may be. No key is taken, so the signature of the footer is not checked.
 *
 * Several threads, each with a handle of its own on the file:
 *
 *   rc = dx_parquet_rows_split(p, memory, &split, &err);           1 worth it, 0 not
 *   rc = dx_parquet_rows_only(q, &split, i, &err);                 q then fills the rows of part i alone
 *   dx_parquet_split_release(&split);
 *
 * A part is some row groups that follow each other, of 16,384 rows at least if there are so many. Parts have
 * the same rows, in the same order, with the same numbers and places, whatever reads them. `only`
 * refuses a handle whose file has another footer than the one that was split. split.bytes is what the largest page
 * and the footer of a handle take, as the footer says: no chunk of a wanted column has more. At most half
 * of `memory`, so that two handles fit. Where a footer is wrong about it fill fails with DX_E_LIMIT; with
 * is_large `only` allows what dx_parquet_rows_open does.
 *
 * Errors name file, row group and column. Memory: for each column a window, a page as it is stored
 * and decoded, and a dictionary; pages over an eighth of `memory` are refused, and pages
 * whose values, 24 bytes each with nulls among them, have over a quarter of it in all columns together. One
 * thread at a time.
 */
#ifndef DX_BUILDER_INPUT_PARQUET_PARQUET_ROWS_H
#define DX_BUILDER_INPUT_PARQUET_PARQUET_ROWS_H

#include "builder/input/records/input_columns.h"

struct dx_parquet_rows;

struct dx_pq_chunk;
struct dx_pq_node;

bool dx_parquet_rows_named(const char *path); /* by its ending, in any case */
int dx_parquet_rows_is(const char *path, struct dx_error *err);
int dx_parquet_rows_open(struct dx_parquet_rows **p, const char *path, struct dx_columns_want *want,
                         uint64_t memory, struct dx_error *err);
void dx_parquet_rows_close(struct dx_parquet_rows **p);
/* chunk: of the first row group; NULL of a file without one. */
typedef void dx_parquet_rows_on_column(void *ctx, const char *path, const struct dx_pq_node *node,
                                       const struct dx_pq_chunk *chunk);
int dx_parquet_rows_schema(const char *path, dx_parquet_rows_on_column *on_column, void *ctx,
                           struct dx_error *err);
int dx_parquet_rows_fill(struct dx_parquet_rows *p, struct dx_batch *batch, struct dx_error *err);
const struct dx_columns *dx_parquet_rows_columns(const struct dx_parquet_rows *p);

struct dx_parquet_split {
    uint32_t *end; /* of part i: the row group behind its last */
    size_t count;
    uint64_t bytes;
    uint32_t page_bytes;
    uint64_t value_bytes; /* of the pages of all columns */
    uint64_t rows;        /* private, as is the rest: what the file is known by */
    uint64_t size;
    uint64_t footer;
};

int dx_parquet_rows_split(const struct dx_parquet_rows *p, uint64_t memory,
                          struct dx_parquet_split *split, struct dx_error *err);
int dx_parquet_rows_only(struct dx_parquet_rows *p, const struct dx_parquet_split *split, size_t i,
                         bool is_large, struct dx_error *err);
void dx_parquet_split_release(struct dx_parquet_split *split);

/* What the file is known by: its size, and XXH3 of its footer's metadata (format/text/locator.h). */
void dx_parquet_rows_known(const struct dx_parquet_rows *p, uint64_t *size, uint64_t *hash);

/* Bytes of the file, and of them those that lie before the row reached, by the share of rows. */
uint64_t dx_parquet_rows_size(const struct dx_parquet_rows *p);
uint64_t dx_parquet_rows_consumed(const struct dx_parquet_rows *p);

#endif
