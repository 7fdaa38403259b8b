/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/surt.h"

#include <string.h>

#include "base/few_bytes.h"

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

/* The n bytes of s that end at `at`, n at most 8, behind them anything. */
static uint64_t load_word(struct dx_span s, size_t at, size_t n)
{
    uint64_t w = 0;

    if (n == WORD)
        return dx_load_u64(s.data + at - WORD);
    if (s.size >= WORD) /* the first ones */
        return dx_load_u64(s.data);
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)s.data[i] << 8 * i;
    return w;
}

/* The parts of s between `from`, last one first, joined by `to`; false if one has `to` in it. A call of
 * memrchr and of memcpy a part took most of the time of a name, so it goes by words. */
static bool reverse_parts(struct dx_span s, uint8_t from, uint8_t to, uint8_t *out)
{
    size_t end = s.size; /* of the part */
    size_t n = 0;

    for (size_t at = s.size; at > 0;) {
        size_t size = at < WORD ? at : WORD;
        uint64_t w = load_word(s, at, size);
        uint64_t found = bytes_that_are(w, from) & UINT64_MAX >> 8 * (WORD - size);

        at -= size;
        if (has_byte(w, to)) /* also of what a word has behind the first ones: it is of s */
            return false;
        while (found != 0) {
            unsigned bit = 63 - (unsigned)__builtin_clzll(found);
            size_t begin = at + bit / 8 + 1;

            dx_few_copy(out + n, s.data + begin, end - begin);
            n += end - begin;
            out[n++] = to;
            end = begin - 1;
            found ^= UINT64_C(1) << bit;
        }
    }
    dx_few_copy(out + n, s.data, end);
    return true;
}

size_t dx_surt_key(struct dx_span domain, uint8_t out[DX_SURT_MAX])
{
    if (domain.size == 0 || domain.size > DX_DOMAIN_MAX)
        return 0;
    if (!is_ip_literal(domain))
        return reverse_parts(domain, '.', ' ', out) ? domain.size : 0;
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
    return !reverse_parts(key, ' ', '.', out) || is_ip_literal(domain) ? 0 : key.size;
}
