/* SPDX-License-Identifier: Apache-2.0
 * parquet_row.h - one row of a Parquet file, all columns, as JSON.
 *
 *   rc = dx_parquet_row_read(ranges, &locator, &limits, &json, seen, ctx, &err);
 *
 * Read are the footer and, of each column, the pages of the row group up to that of the row. Structs
 * become objects, lists and repeated columns arrays, maps arrays of {"key", "value"}; numbers and
 * booleans stay what they are where JSON can hold them, everything else is text as value_text.h has
 * it. seen(ctx, text) gets each string of the row. A column that cannot be decoded, and a group or row
 * that the file does not have, is an error with the file's name; so is a file that is not the one that the locator
 * was made of (parquet_footer.h). The locator is of a row. Any thread.
 */
#ifndef DX_BUILDER_INPUT_PARQUET_PARQUET_ROW_H
#define DX_BUILDER_INPUT_PARQUET_PARQUET_ROW_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

struct dx_input_ranges;
struct dx_locator;
struct dx_pq_limits;

int dx_parquet_row_read(struct dx_input_ranges *ranges, const struct dx_locator *locator,
                        const struct dx_pq_limits *limits, struct dx_buf *json,
                        void (*seen)(void *ctx, struct dx_span text), void *ctx,
                        struct dx_error *err);

#endif
