/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/collapse.h"

#include "base/civil_time.h"
#include "base/crypto/sha256.h"

#include <stdio.h>

#define TIME_PREFIX "time:"

static bool parse_digits(struct dx_span s, unsigned *digits)
{
    unsigned v = 0;

    if (s.size == 0 || s.size > 2 || s.data[0] == '0')
        return false;
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
        v = v * 10 + (unsigned)(s.data[i] - '0');
    }
    *digits = v;
    return v >= DX_COLLAPSE_DIGITS_MIN && v <= DX_COLLAPSE_DIGITS_MAX;
}

bool dx_collapse_parse(struct dx_span text, enum dx_collapse *kind, unsigned *digits)
{
    size_t n = sizeof TIME_PREFIX - 1;

    *digits = 0;
    *kind = dx_span_equal(text, dx_span_str("url"))      ? DX_COLLAPSE_URL
            : dx_span_equal(text, dx_span_str("host"))   ? DX_COLLAPSE_HOST
            : dx_span_equal(text, dx_span_str("digest")) ? DX_COLLAPSE_DIGEST
                                                         : DX_COLLAPSE_NONE;
    if (*kind == DX_COLLAPSE_NONE && text.size > n && memcmp(text.data, TIME_PREFIX, n) == 0 &&
        parse_digits(dx_span_of(text.data + n, text.size - n), digits))
        *kind = DX_COLLAPSE_TIME;
    return *kind != DX_COLLAPSE_NONE;
}

static bool time_value(int64_t us, unsigned digits, struct dx_buf *value)
{
    char text[DX_CIVIL_TEXT];
    size_t n = dx_civil_text_us(us, text);

    for (size_t i = 0; i < n && digits > 0; i++)
        if (text[i] >= '0' && text[i] <= '9') {
            dx_buf_u8(value, (uint8_t)text[i]);
            digits--;
        }
    return true;
}

bool dx_collapse_value(enum dx_collapse kind, unsigned digits, const struct dx_collapse_of *row,
                       struct dx_buf *value)
{
    switch (kind) {
    case DX_COLLAPSE_URL:
        dx_buf_append(value, row->host.data, row->host.size);
        dx_buf_append(value, row->path_query.data, row->path_query.size);
        return true;
    case DX_COLLAPSE_HOST:
        dx_buf_append(value, row->host.data, row->host.size);
        return true;
    case DX_COLLAPSE_DIGEST:
        if (row->digest.data != NULL && row->digest.size > 0)
            dx_buf_append(value, row->digest.data, row->digest.size);
        return row->digest.data != NULL;
    case DX_COLLAPSE_TIME:
        return row->ts_us != NULL && time_value(*row->ts_us, digits, value);
    default:
        return false;
    }
}

bool dx_collapse_sum(struct dx_span value, uint8_t sum[DX_CURSOR_VALUE])
{
    uint8_t whole[DX_SHA256_SIZE];
    bool ok = dx_sha256(value, whole);

    memcpy(sum, whole, DX_CURSOR_VALUE);
    return ok;
}
