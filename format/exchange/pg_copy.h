/* SPDX-License-Identifier: Apache-2.0
 * pg_copy.h - rows as PostgreSQL's COPY … (FORMAT binary) takes them.
 *
 *   dx_pg_copy_begin(&out);
 *   dx_pg_copy_row(&out, 4);                     then just so many fields
 *   dx_pg_copy_i64(&out, key);                   bigint
 *   dx_pg_copy_i32(&out, 7);                     integer
 *   mended = dx_pg_copy_text(&out, s);           text; data NULL: null
 *   held = dx_pg_copy_time(&out, unix_us);       timestamptz
 *   dx_pg_copy_null(&out);
 *   dx_pg_copy_end(&out);
 *
 * A text there is UTF-8 without a zero byte. What is not gets U+FFFD in the place of each byte that
 * does not belong, and text() says so; dx_pg_copy_is_text asks beforehand. PostgreSQL has no time
 * before 4713 BC: it becomes null, and time() is false. Appends only; out->failed is the caller's
 * to see. No state; any thread.
 */
#ifndef DX_FORMAT_EXCHANGE_PG_COPY_H
#define DX_FORMAT_EXCHANGE_PG_COPY_H

#include "base/buf.h"
#include "base/bytes.h"

void dx_pg_copy_begin(struct dx_buf *out);
void dx_pg_copy_end(struct dx_buf *out);

void dx_pg_copy_row(struct dx_buf *out, uint16_t fields);
void dx_pg_copy_null(struct dx_buf *out);
void dx_pg_copy_i32(struct dx_buf *out, int32_t v);
void dx_pg_copy_i64(struct dx_buf *out, int64_t v);
bool dx_pg_copy_text(struct dx_buf *out, struct dx_span s); /* true: it had to be mended */
bool dx_pg_copy_time(struct dx_buf *out, int64_t unix_us);  /* false: null was written */

bool dx_pg_copy_is_text(struct dx_span s);

#endif
