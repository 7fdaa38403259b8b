/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/value_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/civil_time.h"
#include "base/put.h"
#include "base/utf8.h"

#define DAY_US INT64_C(86400000000)
#define DECIMAL_BYTES_MAX 32 /* 76 digits, as Arrow's largest */
#define DECIMAL_DIGITS_MAX 80

bool dx_pq_text_is_null(const struct dx_pq_node *node, const struct dx_pq_values *v, uint32_t i)
{
    return node->logical == DX_PQ_LOGICAL_NULL || dx_pq_is_null(v, i);
}

bool dx_pq_text_is_plain(const struct dx_pq_node *node)
{
    return node->type == DX_PQ_BYTE_ARRAY && node->logical != DX_PQ_LOGICAL_DECIMAL;
}

int dx_pq_text_check(const struct dx_pq_footer *f, uint32_t leaf, struct dx_error *err)
{
    const struct dx_pq_node *n = &f->node[f->leaf[leaf]];
    bool bad_decimal = n->logical == DX_PQ_LOGICAL_DECIMAL &&
                       (n->scale >= DECIMAL_DIGITS_MAX || /* with the 0 before the point */
                        (n->type == DX_PQ_FIXED && n->type_length > DECIMAL_BYTES_MAX));
    char path[160];

    if (!bad_decimal)
        return DX_OK;
    return dx_fail(err, DX_E_UNSUPPORTED, "column %s: values of %s have no text here",
                   dx_pq_footer_path(f, leaf, path, sizeof path), dx_pq_logical_name(n->logical));
}

static void put_float(double value, int digits, int digits_max, struct dx_buf *out)
{
    char text[DX_PUT_REAL_MAX];

    if (isnan(value)) {
        dx_buf_str(out, "nan");
        return;
    }
    do
        *dx_put_real((uint8_t *)text, digits, value) = '\0';
    while (digits++ < digits_max && (digits_max > 9 ? dx_real_read(text, NULL) != value
                                                    : dx_real_read_float(text) != (float)value));
    dx_buf_str(out, text);
}

static double half_to_double(unsigned h)
{
    int exponent = (int)(h >> 10 & 31);
    double fraction = h & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction > 0 ? (double)NAN : (double)INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);

    return (h & 0x8000) != 0 ? -value : value;
}

/* Big-endian two's complement to decimal digits, the last one first. */
static size_t big_digits(struct dx_span s, bool negative, char digit[DECIMAL_DIGITS_MAX])
{
    uint8_t n[DECIMAL_BYTES_MAX];
    size_t count = 0;
    unsigned carry = 1;
    bool any = true;

    memcpy(n, s.data, s.size);
    for (size_t i = s.size; negative && i-- > 0;) {
        carry += (uint8_t)~n[i];
        n[i] = (uint8_t)carry;
        carry >>= 8;
    }
    while (any && count < DECIMAL_DIGITS_MAX) {
        unsigned rest = 0;

        any = false;
        for (size_t i = 0; i < s.size; i++) {
            rest = rest << 8 | n[i];
            n[i] = (uint8_t)(rest / 10);
            rest %= 10;
            any = any || n[i] != 0;
        }
        digit[count++] = (char)('0' + rest);
    }
    return count;
}

static void put_decimal(const struct dx_pq_node *node, struct dx_span s, struct dx_buf *out)
{
    bool negative = s.size > 0 && (s.data[0] & 0x80) != 0;
    char digit[DECIMAL_DIGITS_MAX];
    size_t count;

    if (s.size > DECIMAL_BYTES_MAX) {
        dx_buf_str(out, "a decimal of more than 32 bytes");
        return;
    }
    count = big_digits(s, negative, digit);
    while (count <= node->scale && count < DECIMAL_DIGITS_MAX)
        digit[count++] = '0';
    if (negative)
        dx_buf_u8(out, '-');
    while (count-- > 0) {
        dx_buf_u8(out, (uint8_t)digit[count]);
        if (count == node->scale && count > 0)
            dx_buf_u8(out, '.');
    }
}

static void put_int_decimal(const struct dx_pq_node *node, int64_t value, struct dx_buf *out)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> (56 - 8 * i));
    put_decimal(node, dx_span_of(bytes, 8), out);
}

static void put_time(const struct dx_pq_node *node, const struct dx_pq_values *v, uint32_t i,
                     struct dx_buf *out)
{
    char text[DX_CIVIL_TEXT];
    bool ok;
    int64_t us = 0;

    if (node->type == DX_PQ_INT96)
        ok = dx_pq_int96_us(v->spans[i].data, &us);
    else if (node->logical == DX_PQ_LOGICAL_DATE)
        ok = !__builtin_mul_overflow(v->ints[i], DAY_US, &us) && dx_civil_is_stored(us);
    else
        ok = dx_pq_time_us(node->time_unit, v->ints[i], &us);
    if (ok) {
        size_t n = dx_civil_text_us(us, text);

        dx_buf_append(out, text, node->logical == DX_PQ_LOGICAL_DATE ? strlen("2024-06-14") : n);
    } else if (node->type == DX_PQ_INT96) {
        dx_buf_str(out, "a time out of range");
    } else {
        dx_buf_fmt(out, "%" PRId64 " out of range", v->ints[i]);
    }
}

static void put_time_of_day(const struct dx_pq_node *node, int64_t value, struct dx_buf *out)
{
    int64_t us = 0;

    if (!dx_pq_time_us(node->time_unit, value, &us) || us < 0 || us >= DAY_US)
        dx_buf_fmt(out, "%" PRId64 " out of range", value);
    else
        dx_buf_fmt(out, "%02d:%02d:%02d.%06d", (int)(us / 3600000000), (int)(us / 60000000 % 60),
                   (int)(us / 1000000 % 60), (int)(us % 1000000));
}

static void put_hex(struct dx_span s, bool uuid, struct dx_buf *out)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < s.size; i++) {
        if (uuid && (i == 4 || i == 6 || i == 8 || i == 10))
            dx_buf_u8(out, '-');
        dx_buf_u8(out, (uint8_t)digit[s.data[i] >> 4]);
        dx_buf_u8(out, (uint8_t)digit[s.data[i] & 15]);
    }
}

void dx_pq_text_hex(struct dx_span bytes, struct dx_buf *out)
{
    put_hex(bytes, false, out);
}

bool dx_pq_text_is_hex(const struct dx_pq_node *node, struct dx_span bytes)
{
    return node->type == DX_PQ_BYTE_ARRAY && node->logical == DX_PQ_LOGICAL_NONE &&
           !dx_utf8_is_valid(bytes);
}

/* Months, days and milliseconds, of which none holds for the others; little-endian, unsigned. */
static void put_interval(const uint8_t *p, struct dx_buf *out)
{
    uint32_t months = dx_load_u32(p), days = dx_load_u32(p + 4), ms = dx_load_u32(p + 8);

    dx_buf_fmt(out, "P%" PRIu32 "M%" PRIu32 "DT%" PRIu32 ".%03" PRIu32 "S", months, days, ms / 1000,
               ms % 1000);
}

static void put_fixed(const struct dx_pq_node *node, struct dx_span s, struct dx_buf *out)
{
    if (node->logical == DX_PQ_LOGICAL_DECIMAL)
        put_decimal(node, s, out);
    else if (node->logical == DX_PQ_LOGICAL_INTERVAL && s.size == 12)
        put_interval(s.data, out);
    else if (node->logical == DX_PQ_LOGICAL_FLOAT16 && s.size == 2)
        put_float(half_to_double(s.data[0] | (unsigned)s.data[1] << 8), 3, 9, out);
    else if (node->logical == DX_PQ_LOGICAL_STRING || node->logical == DX_PQ_LOGICAL_ENUM ||
             node->logical == DX_PQ_LOGICAL_JSON)
        dx_buf_append(out, s.data, s.size);
    else
        put_hex(s, node->logical == DX_PQ_LOGICAL_UUID && s.size == 16, out);
}

/* parquet-mr stores what it is given; readers see as many bits as the type has. */
static int64_t narrow(const struct dx_pq_node *node, int64_t value)
{
    if (node->logical != DX_PQ_LOGICAL_INTEGER)
        return value;
    if (node->bit_width == 8)
        return node->is_unsigned ? (int64_t)(uint8_t)value : (int64_t)(int8_t)value;
    if (node->bit_width == 16)
        return node->is_unsigned ? (int64_t)(uint16_t)value : (int64_t)(int16_t)value;
    return value;
}

static void put_number(const struct dx_pq_node *node, int64_t value, struct dx_buf *out)
{
    float single;
    double wide;
    uint32_t bits = (uint32_t)value;

    switch (node->type) {
    case DX_PQ_BOOLEAN:
        dx_buf_str(out, value != 0 ? "true" : "false");
        break;
    case DX_PQ_FLOAT:
        memcpy(&single, &bits, sizeof single);
        put_float((double)single, 6, 9, out);
        break;
    case DX_PQ_DOUBLE:
        memcpy(&wide, &value, sizeof wide);
        put_float(wide, 15, 17, out);
        break;
    default:
        value = narrow(node, value);
        if (node->logical == DX_PQ_LOGICAL_INTEGER && node->is_unsigned)
            dx_buf_fmt(out, "%" PRIu64, (uint64_t)value);
        else
            dx_buf_fmt(out, "%" PRId64, value);
    }
}

void dx_pq_value_text(const struct dx_pq_node *node, const struct dx_pq_values *v, uint32_t i,
                      struct dx_buf *out)
{
    if (dx_pq_text_is_plain(node))
        dx_buf_append(out, v->spans[i].data, v->spans[i].size);
    else if (node->logical == DX_PQ_LOGICAL_TIMESTAMP || node->logical == DX_PQ_LOGICAL_DATE)
        put_time(node, v, i, out);
    else if (node->logical == DX_PQ_LOGICAL_TIME)
        put_time_of_day(node, v->ints[i], out);
    else if (node->type == DX_PQ_BYTE_ARRAY || node->type == DX_PQ_FIXED)
        put_fixed(node, v->spans[i], out);
    else if (node->logical == DX_PQ_LOGICAL_DECIMAL)
        put_int_decimal(node, v->ints[i], out);
    else
        put_number(node, v->ints[i], out);
}

bool dx_pq_text_is_number(const struct dx_pq_node *node, struct dx_span text)
{
    if (node->logical != DX_PQ_LOGICAL_NONE && node->logical != DX_PQ_LOGICAL_INTEGER)
        return false;
    switch (node->type) {
    case DX_PQ_BOOLEAN:
    case DX_PQ_INT32:
    case DX_PQ_INT64:
        return node->time_unit == DX_PQ_TIME_NONE;
    case DX_PQ_FLOAT:
    case DX_PQ_DOUBLE: /* JSON has no inf and nan */
        return text.size > 0 && memchr(text.data, 'n', text.size) == NULL &&
               memchr(text.data, 'N', text.size) == NULL;
    default:
        return false;
    }
}
