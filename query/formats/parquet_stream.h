/* SPDX-License-Identifier: Apache-2.0
 * parquet_stream.h - rows as a Parquet file that is written from its first byte to its last.
 *
 *   rc = dx_parquet_stream_new(&p, columns, count, &err);
 *   rc = dx_parquet_stream_add(p, &batch, &out, &err);     a page of each column; often nothing comes out yet
 *   rc = dx_parquet_stream_end(p, &out, &err);             the last row group, and the footer
 *   dx_parquet_stream_free(&p);
 *
 * A row group is held until it has GROUP_ROWS rows or GROUP_BYTES bytes as they are stored. TEXT is
 * STRING, JSON too, HEX64 and U64 are UINT_64, F64 is DOUBLE, TIME is a timestamp in microseconds,
 * UTC; all are optional. Pages are ZSTD, with CRC. Row groups are counted: after GROUPS_MAX the next
 * one is DX_E_LIMIT, as the footer holds them all. One thread at a time.
 */
#ifndef DX_QUERY_FORMATS_PARQUET_STREAM_H
#define DX_QUERY_FORMATS_PARQUET_STREAM_H

#include "query/formats/column_batch.h"

#define DX_PARQUET_GROUP_ROWS 65536
#define DX_PARQUET_GROUP_BYTES ((size_t)8 << 20)
#define DX_PARQUET_GROUPS_MAX 16384 /* a billion rows */

struct dx_parquet_stream;

int dx_parquet_stream_new(struct dx_parquet_stream **p, const struct dx_row_column *columns,
                          size_t count, struct dx_error *err);
int dx_parquet_stream_add(struct dx_parquet_stream *p, const struct dx_column_batch *batch,
                          struct dx_buf *out, struct dx_error *err);
int dx_parquet_stream_end(struct dx_parquet_stream *p, struct dx_buf *out, struct dx_error *err);
void dx_parquet_stream_free(struct dx_parquet_stream **p);

#endif
