/* SPDX-License-Identifier: Apache-2.0
 * hex.h - hexadecimal digits, and escapes made of two of them ("%2F").
 *
 *   high = dx_hex_digit(text[0]);      0 to 15, in either case; -1: not a digit
 *   ok = dx_hex_number(at, 16, &v);    digits that are there, at most 16
 *   c = dx_hex_escape(at, end);        the byte that the three bytes at `at` stand for; -1: not an escape
 *   ok = dx_hex_unescape(text);        all escapes of a string, in place
 *
 * Nothing at end or behind it is read. Any thread.
 */
#ifndef DX_BASE_HEX_H
#define DX_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline int dx_hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static inline bool dx_hex_number(const uint8_t *at, size_t digits, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = dx_hex_digit(at[i]);

        if (digit < 0)
            return false;
        *v = *v << 4 | (uint64_t)digit;
    }
    return true;
}

static inline int dx_hex_escape(const void *at, const void *end)
{
    const uint8_t *byte = at;
    int high = (const uint8_t *)end - byte > 2 && *byte == '%' ? dx_hex_digit(byte[1]) : -1;
    int low = high < 0 ? -1 : dx_hex_digit(byte[2]);

    return low < 0 ? -1 : high << 4 | low;
}

/* false: there was "%00" or a "%" without two digits behind it, which stay as they are. */
bool dx_hex_unescape(char *text);

#endif
