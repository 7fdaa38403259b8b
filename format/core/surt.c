/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/surt.h"

#include <string.h>

static bool is_ip_literal(struct dx_span s)
{
    size_t i = s.size;

    if (s.data[0] == '[')
        return true;
    while (i > 0 && s.data[i - 1] >= '0' && s.data[i - 1] <= '9')
        i--;
    return i < s.size && (i == 0 || s.data[i - 1] == '.');
}

#define WORD 8

/* The top bit of each byte of w that is c. */
static uint64_t bytes_that_are(uint64_t w, uint8_t c)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t x = w ^ UINT64_C(0x0101010101010101) * c;

    return ~(((x & low) + low) | x | low);
}

static bool has_byte(uint64_t w, uint8_t c)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = w ^ ones * c;

    return ((x - ones) & ~x & ones << 7) != 0;
}

/* The first n < 8 bytes, behind them zeros. */
static uint64_t load_few(const uint8_t *p, size_t n)
{
    uint64_t w = 0;

    if (n >= 4)
        return dx_load_u32(p) | (uint64_t)dx_load_u32(p + n - 4) << 8 * (n - 4);
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)p[i] << 8 * i;
    return w;
}

/* As memcpy: up to 16 bytes are two words, which overlap. */
static void copy_part(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n > 2 * WORD) {
        memcpy(to, from, n);
    } else if (n >= WORD) {
        uint64_t first;
        uint64_t last;

        __builtin_memcpy(&first, from, WORD);
        __builtin_memcpy(&last, from + n - WORD, WORD);
        __builtin_memcpy(to, &first, WORD);
        __builtin_memcpy(to + n - WORD, &last, WORD);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

/* The parts of s between `from`, last one first, joined by `to`; false if one has `to` in it. A call of
 * memrchr and of memcpy a part took most of the time of a name, so it goes by words. */
static bool turn(struct dx_span s, uint8_t from, uint8_t to, uint8_t *out)
{
    size_t end = s.size; /* of the part */
    size_t n = 0;

    for (size_t at = s.size; at > 0;) {
        size_t size = at < WORD ? at : WORD;
        uint64_t w = size == WORD ? dx_load_u64(s.data + at - WORD) : load_few(s.data, at);
        uint64_t found = bytes_that_are(w, from);

        at -= size;
        if (has_byte(w, to))
            return false;
        while (found != 0) {
            unsigned bit = 63 - (unsigned)__builtin_clzll(found);
            size_t begin = at + bit / 8 + 1;

            copy_part(out + n, s.data + begin, end - begin);
            n += end - begin;
            out[n++] = to;
            end = begin - 1;
            found ^= UINT64_C(1) << bit;
        }
    }
    copy_part(out + n, s.data, end);
    return true;
}

size_t dx_surt_key(struct dx_span domain, uint8_t out[DX_SURT_MAX])
{
    if (domain.size == 0 || domain.size > DX_DOMAIN_MAX)
        return 0;
    if (!is_ip_literal(domain))
        return turn(domain, '.', ' ', out) ? domain.size : 0;
    if (memchr(domain.data, ' ', domain.size) != NULL)
        return 0;
    memcpy(out, domain.data, domain.size);
    return domain.size;
}

size_t dx_surt_domain(struct dx_span key, uint8_t out[DX_SURT_MAX])
{
    struct dx_span domain;

    if (key.size == 0 || key.size > DX_DOMAIN_MAX)
        return 0;
    domain = dx_span_of(out, key.size);
    if (is_ip_literal(key) && memchr(key.data, ' ', key.size) == NULL) {
        memcpy(out, key.data, key.size);
        return key.size;
    }
    return !turn(key, ' ', '.', out) || is_ip_literal(domain) ? 0 : key.size;
}
