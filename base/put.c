/* SPDX-License-Identifier: Apache-2.0 */
#include "base/put.h"

const char dx_put_pairs[200] = { "00010203040506070809101112131415161718192021222324"
                                 "25262728293031323334353637383940414243444546474849"
                                 "50515253545556575859606162636465666768697071727374"
                                 "75767778798081828384858687888990919293949596979899" };

uint8_t *dx_put_long_u64(uint8_t *p, uint64_t v)
{
    char digits[DX_PUT_U64_MAX];
    size_t n = sizeof digits;

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

/* Eight bytes at a time: nibbles are spread to bytes, and those above 9 moved up to the letters. */
static uint64_t hex_of_u32(uint32_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = v;
    uint64_t letters;

    x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    letters = ((x + ones * 6) >> 4) & ones;
    return x + ones * '0' + letters * ('a' - '0' - 10);
}

static void store_high_first(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (56 - 8 * i));
}

uint8_t *dx_put_hex64(uint8_t *p, uint64_t v)
{
    store_high_first(p, hex_of_u32((uint32_t)(v >> 32)));
    store_high_first(p + 8, hex_of_u32((uint32_t)v));
    return p + DX_PUT_HEX64_SIZE;
}
