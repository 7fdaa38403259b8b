/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/key_number.h"

#define TEXT_MAX 64 /* characters: with more zeros in front than that it is a mistake */

__extension__ typedef unsigned __int128 wide;

static int digit_of(uint8_t c, unsigned base)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits alone, of a value up to 2^64. */
static bool parse(struct dx_span text, unsigned base, wide *value)
{
    wide v = 0;

    for (size_t i = 0; i < text.size; i++) {
        int digit = digit_of(text.data[i], base);

        if (digit < 0)
            return false;
        v = v * base + (unsigned)digit;
        if (v > (wide)UINT64_MAX + 1)
            return false;
    }
    *value = v;
    return text.size > 0;
}

static bool parse_any(struct dx_span text, wide *value)
{
    bool hex = text.size > 1 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x';

    if (text.size > TEXT_MAX)
        return false;
    if (text.size > 0 && text.data[0] == '-') {
        if (!parse(dx_span_of(text.data + 1, text.size - 1), 10, value) || *value > (wide)1 << 63)
            return false;
        *value = (uint64_t)0 - (uint64_t)*value;
        return true;
    }
    return hex ? parse(dx_span_of(text.data + 2, text.size - 2), 16, value)
               : parse(text, 10, value);
}

bool dx_key_number(struct dx_span text, uint64_t *key)
{
    wide value;

    if (!parse_any(text, &value) || value > UINT64_MAX)
        return false;
    *key = (uint64_t)value;
    return true;
}

bool dx_key_number_end(struct dx_span text, uint64_t *end)
{
    wide value;

    if (dx_span_equal(text, dx_span_str("MAXVALUE"))) {
        *end = UINT64_C(1) << 63;
        return true;
    }
    if (!parse_any(text, &value))
        return false;
    *end = (uint64_t)value; /* 2^64 is 0 */
    return true;
}
