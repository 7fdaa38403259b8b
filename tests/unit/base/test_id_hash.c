/* SPDX-License-Identifier: Apache-2.0
 * test_id_hash.c - ids are for ever: known values, and hashes in pieces and of every length against libxxhash.
 */
#include "base/id_hash.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Ids stand in files and in answers: they are these for ever. From xxhsum -H3 (seed 0). */
static const struct {
    const char *text;
    uint64_t id;
} rows[] = {
    { "", 0x2d06800538d394c2u },
    { "example.com", 0x8b66107e8045bb73u },
};

/* The hash of a text of any length is that of libxxhash, which is hashed in pieces there. */
static int check_long(void)
{
    enum { LONGEST = 3000 };
    static uint8_t bytes[LONGEST];
    int failed = 0;

    for (size_t i = 0; i < LONGEST; i++)
        bytes[i] = (uint8_t)(i * i >> 3 ^ i);
    for (size_t size = 0; size <= LONGEST; size++) {
        struct dx_span text = dx_span_of(bytes, size);
        struct dx_hash_state *state = dx_hash_state_new();
        struct dx_hash128 whole = dx_hash128_of(text);
        struct dx_hash128 pieces;

        dx_hash_state_update(state, dx_span_of(bytes, size / 3));
        dx_hash_state_update(state, dx_span_of(bytes + size / 3, size - size / 3));
        pieces = dx_hash_state_digest(state);
        dx_hash_state_free(&state);
        if (!dx_hash128_equal(&whole, &pieces) || dx_hash64(text) != XXH3_64bits(bytes, size) ||
            dx_hash64_seeded(text, 7) != XXH3_64bits_withSeed(bytes, size, 7))
            failed += printf("hash of %zu bytes is another one\n", size) > 0;
    }
    return failed;
}

/* All bits that some id has: the leading ones that the build keeps. */
static uint64_t kept_bits(void)
{
    uint64_t bits = 0;

    for (uint64_t i = 0; i < 1000; i++)
        bits |= dx_id64(dx_span_of(&i, sizeof i));
    return bits;
}

int main(void)
{
    uint64_t mask = kept_bits();
    int failed = (~mask & (~mask + 1)) != 0 &&
                 printf("bits %016llx\n", (unsigned long long)mask) > 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_span text = dx_span_str(rows[i].text);

        if (dx_id64(text) != (rows[i].id & mask) || dx_id64_seeded(text, 0) != dx_id64(text) ||
            dx_id64_seeded(text, 7) != (dx_hash64_seeded(text, 7) & mask))
            failed += printf("'%s': %016llx\n", rows[i].text, (unsigned long long)dx_id64(text)) >
                      0;
    }
    if ((mask == UINT64_MAX) != (strcmp(dx_id_warning(), "") == 0))
        failed += printf("bits %016llx, but --version says '%s'\n", (unsigned long long)mask,
                         dx_id_warning()) > 0;
    failed += check_long();
    return failed > 0;
}
