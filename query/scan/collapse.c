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
        parse_digits(dx_span_from(text, n), digits))
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

/* ---- the row that was taken last ---- */

void dx_collapse_last_init(struct dx_collapse_last *l, size_t bytes_max)
{
    *l = (struct dx_collapse_last){ .has_value = false };
    dx_buf_init(&l->value, bytes_max);
}

void dx_collapse_last_release(struct dx_collapse_last *l)
{
    dx_buf_release(&l->value);
}

void dx_collapse_last_go_on(struct dx_collapse_last *l, const uint8_t sum[DX_CURSOR_VALUE])
{
    l->has_value = l->is_sum = true;
    dx_buf_clear(&l->value);
    dx_buf_append(&l->value, sum, DX_CURSOR_VALUE);
}

int dx_collapse_last_like(const struct dx_collapse_last *l, bool has_value, struct dx_span value,
                          struct dx_error *err)
{
    uint8_t sum[DX_CURSOR_VALUE];

    if (l->value.failed)
        return dx_buf_fail(&l->value, err, "row");
    if (!has_value || !l->has_value)
        return 0;
    if (l->is_sum && !dx_collapse_sum(value, sum))
        return dx_no_memory(err, "row");
    return dx_span_equal(l->is_sum ? dx_span_of(sum, sizeof sum) : value,
                         dx_span_of(l->value.data, l->value.size));
}

int dx_collapse_last_take(struct dx_collapse_last *l, bool has_value, struct dx_span value,
                          struct dx_error *err)
{
    l->has_value = has_value;
    l->is_sum = false;
    dx_buf_clear(&l->value);
    if (has_value && value.size > 0)
        dx_buf_append(&l->value, value.data, value.size);
    return l->value.failed ? dx_buf_fail(&l->value, err, "row") : DX_OK;
}

int dx_collapse_last_put(const struct dx_collapse_last *l, struct dx_cursor_position *p,
                         struct dx_error *err)
{
    p->has_value = l->has_value;
    if (l->has_value && l->is_sum)
        memcpy(p->value, l->value.data, sizeof p->value);
    else if (l->has_value && !dx_collapse_sum(dx_span_of(l->value.data, l->value.size), p->value))
        return dx_no_memory(err, "cursor");
    return DX_OK;
}
