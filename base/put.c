/* SPDX-License-Identifier: Apache-2.0 */
#include "base/put.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

const char dx_put_pairs[200] = { "00010203040506070809101112131415161718192021222324"
                                 "25262728293031323334353637383940414243444546474849"
                                 "50515253545556575859606162636465666768697071727374"
                                 "75767778798081828384858687888990919293949596979899" };

/* Below 10,000: most ranks, ids and counts. */
static uint8_t *put_small(uint8_t *p, uint32_t v)
{
    uint32_t high = v / 100;

    if (high >= 10)
        p = dx_put_two(p, high);
    else if (high > 0)
        *p++ = (uint8_t)('0' + high);
    v -= 100 * high;
    if (high > 0 || v >= 10)
        return dx_put_two(p, v);
    *p = (uint8_t)('0' + v);
    return p + 1;
}

uint8_t *dx_put_long_u64(uint8_t *p, uint64_t v)
{
    const uint32_t four = 10000;
    uint64_t high;

    if (v < four)
        return put_small(p, (uint32_t)v);
    high = v / four;
    return dx_put_four(dx_put_long_u64(p, high), (uint32_t)(v - high * four));
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
