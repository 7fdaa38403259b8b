/* SPDX-License-Identifier: Apache-2.0
 * hex.h - one hexadecimal digit.
 *
 *   high = dx_hex_digit(text[0]);      0 to 15, in either case; -1: not a digit
 *
 * Any thread.
 */
#ifndef DX_BASE_HEX_H
#define DX_BASE_HEX_H

#include <stdint.h>

static inline int dx_hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

#endif
