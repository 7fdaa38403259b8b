/* SPDX-License-Identifier: Apache-2.0
 * verdict.h - what one of our parsers makes of an input, as text that other programs can be compared with.
 *
 *   dx_verdict_url(input, &out);      appended to out: "ok ...", or why the input is refused
 *
 * A value that may hold any byte is written in hexadecimal. The form of each verdict stands before its function, and again where it is
 * read: tests/e2e/differential.py. Inputs that are accepted have at most DX_VERDICT_MAX bytes of text. One thread.
 */
#ifndef DX_TESTS_DIFFERENTIAL_VERDICT_H
#define DX_TESTS_DIFFERENTIAL_VERDICT_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_VERDICT_MAX ((size_t)64 << 20)

static inline void dx_verdict_hex(struct dx_buf *out, struct dx_span bytes)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.size; i++) {
        dx_buf_u8(out, (uint8_t)digits[bytes.data[i] >> 4]);
        dx_buf_u8(out, (uint8_t)digits[bytes.data[i] & 15]);
    }
}

/* The Public Suffix List of the URLs; false: it cannot be read, and why is printed. */
bool dx_verdict_suffixes(const char *path);

void dx_verdict_url(struct dx_span input, struct dx_buf *out);
void dx_verdict_head(struct dx_span input, struct dx_buf *out);
void dx_verdict_json(struct dx_span input, struct dx_buf *out);
void dx_verdict_row(struct dx_span input, struct dx_buf *out);
void dx_verdict_zseek(struct dx_span input, struct dx_buf *out);
void dx_verdict_parquet(struct dx_span input, struct dx_buf *out);
void dx_verdict_regex(struct dx_span input, struct dx_buf *out);

#endif
