/* SPDX-License-Identifier: Apache-2.0 */
#include "base/put.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

const char dx_put_pairs[200] = { "00010203040506070809101112131415161718192021222324"
                                 "25262728293031323334353637383940414243444546474849"
                                 "50515253545556575859606162636465666768697071727374"
                                 "75767778798081828384858687888990919293949596979899" };

uint8_t *dx_put_long_u64(uint8_t *p, uint64_t v)
{
    DX_UNINITIALIZED char digits[DX_PUT_U64_MAX];
    size_t n = sizeof digits;

    if (v < 10000) { /* without the copy: most ranks, ids and counts */
        uint32_t low = (uint32_t)v % 100;
        uint32_t high = (uint32_t)v / 100;

        if (v >= 1000)
            *p++ = (uint8_t)dx_put_pairs[2 * high];
        if (v >= 100)
            *p++ = (uint8_t)dx_put_pairs[2 * high + 1];
        if (v >= 10)
            *p++ = (uint8_t)dx_put_pairs[2 * low];
        *p = (uint8_t)dx_put_pairs[2 * low + 1];
        return p + 1;
    }
    for (; v >= 100; v /= 100) {
        n -= 2;
        memcpy(digits + n, dx_put_pairs + 2 * (v % 100), 2);
    }
    if (v >= 10) {
        n -= 2;
        memcpy(digits + n, dx_put_pairs + 2 * v, 2);
    } else {
        digits[--n] = (char)('0' + v);
    }
    return dx_put(p, digits + n, sizeof digits - n);
}

/* glibc has it: nothing is allocated, and there is nothing to free. */
static locale_t plain_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

uint8_t *dx_put_real(uint8_t *p, int digits, double v)
{
    char text[DX_PUT_REAL_MAX];
    locale_t before = uselocale(plain_locale());
    int n = snprintf(text, sizeof text, "%.*g", digits, v);

    (void)uselocale(before);
    return dx_put(p, text, n > 0 ? (size_t)n : 0);
}

double dx_real_read(const char *text, char **end)
{
    return strtod_l(text, end, plain_locale());
}

float dx_real_read_float(const char *text)
{
    return strtof_l(text, NULL, plain_locale());
}
