/* SPDX-License-Identifier: Apache-2.0
 * decimal.h - whole numbers in decimal.
 *
 *   ok = dx_decimal(text, UINT64_MAX, &v);          digits alone, at least one, and no more than that
 *   ok = dx_decimal_plain(text, UINT32_MAX, &v);    likewise, and no zero in front: one text for each number
 *
 * No sign, no blank. v means nothing after false. No state; any thread.
 */
#ifndef DX_BASE_DECIMAL_H
#define DX_BASE_DECIMAL_H

#include "base/bytes.h"

static inline bool dx_decimal(struct dx_span text, uint64_t max, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';

        if (digit > 9 || digit > max || *v > (max - digit) / 10)
            return false;
        *v = *v * 10 + digit;
    }
    return text.size > 0;
}

static inline bool dx_decimal_plain(struct dx_span text, uint64_t max, uint64_t *v)
{
    return dx_decimal(text, max, v) && (text.data[0] != '0' || text.size == 1);
}

#endif
