/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/hash_wide.h"

#include <assert.h>
#define XXH_INLINE_ALL /* a call per hash would cost as much as hashing a domain */
#include <xxhash.h>

uint64_t dx_hash64(struct dx_span s)
{
    return dx_hash64_seeded(s, 0); /* which is what no seed means */
}

uint64_t dx_hash64_seeded(struct dx_span s, uint64_t seed)
{
#ifdef DX_HASH_WIDE
    if (s.size > DX_HASH_WIDE_MIN && dx_hash_wide_works())
        return dx_hash_wide_64(s.data, s.size, seed);
#endif
    return XXH3_64bits_withSeed(s.data, s.size, seed);
}

static struct dx_hash128 canonical(XXH128_hash_t h)
{
    XXH128_canonical_t c;
    struct dx_hash128 out;

    XXH128_canonicalFromHash(&c, h);
    memcpy(out.bytes, c.digest, sizeof out.bytes);
    return out;
}

struct dx_hash128 dx_hash128_of(struct dx_span s)
{
#ifdef DX_HASH_WIDE
    if (s.size > DX_HASH_WIDE_MIN && dx_hash_wide_works()) {
        struct dx_hash_wide h = dx_hash_wide_128(s.data, s.size);

        return canonical((XXH128_hash_t){ .low64 = h.low, .high64 = h.high });
    }
#endif
    return canonical(XXH3_128bits(s.data, s.size));
}

bool dx_hash128_equal(const struct dx_hash128 *a, const struct dx_hash128 *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void dx_hash128_text(const struct dx_hash128 *h, char out[DX_HASH128_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof h->bytes; i++) {
        out[2 * i] = digits[h->bytes[i] >> 4];
        out[2 * i + 1] = digits[h->bytes[i] & 15];
    }
    out[32] = '\0';
}

static int nibble(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool dx_hash128_parse(struct dx_span text, struct dx_hash128 *out)
{
    if (text.size != 32)
        return false;
    for (size_t i = 0; i < 16; i++) {
        int hi = nibble(text.data[2 * i]);
        int lo = nibble(text.data[2 * i + 1]);

        if (hi < 0 || lo < 0)
            return false;
        out->bytes[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

uint64_t dx_checksum(const struct dx_identity *id, struct dx_span s)
{
    uint8_t seed[40];

    memcpy(seed, id->build.bytes, 16);
    dx_store_u32(seed + 16, id->kind);
    dx_store_u32(seed + 20, 0);
    dx_store_u64(seed + 24, id->key);
    dx_store_u64(seed + 32, s.size);
    return dx_hash64_seeded(s, XXH3_64bits(seed, sizeof seed));
}

struct dx_hash_state *dx_hash_state_new(void)
{
    XXH3_state_t *st = XXH3_createState();

    if (st != NULL)
        (void)XXH3_128bits_reset(st);
    return (struct dx_hash_state *)st;
}

void dx_hash_state_update(struct dx_hash_state *st, struct dx_span s)
{
    if (s.size > 0)
        (void)XXH3_128bits_update((XXH3_state_t *)st, s.data, s.size);
}

struct dx_hash128 dx_hash_state_digest(const struct dx_hash_state *st)
{
    return canonical(XXH3_128bits_digest((const XXH3_state_t *)st));
}

void dx_hash_state_free(struct dx_hash_state **st)
{
    if (*st != NULL)
        (void)XXH3_freeState((XXH3_state_t *)*st);
    *st = NULL;
}
