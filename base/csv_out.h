/* SPDX-License-Identifier: Apache-2.0
 * csv_out.h - fields of CSV text (RFC 4180) into a dx_buf.
 *
 *   dx_csv_text(&b, name);  dx_buf_u8(&b, ',');  dx_csv_u64(&b, n);  dx_csv_end(&b);
 *
 * A text is quoted when it holds a quote, a comma, CR or LF, else it stands as it is; lines end
 * with CRLF. Bytes are not looked at otherwise. Errors are those of the buffer.
 * A buffer is for one thread at a time.
 */
#ifndef DX_BASE_CSV_OUT_H
#define DX_BASE_CSV_OUT_H

#include "base/buf.h"
#include "base/bytes.h"

void dx_csv_text(struct dx_buf *b, struct dx_span s);
void dx_csv_u64(struct dx_buf *b, uint64_t v);

static inline void dx_csv_end(struct dx_buf *b)
{
    dx_buf_append(b, "\r\n", 2);
}

#endif
