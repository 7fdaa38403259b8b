/* SPDX-License-Identifier: Apache-2.0
 * damage.h - what tests of readers do to bytes.
 *
 *   struct damaged d = damaged_copy(span);      writable, ends at a page that cannot be read
 *   damaged_flips(&d, 0, d.size, 1, try, ctx)   each bit in turn: calls try, counts verdicts; every DX_FLIP_STEP-th if that is set
 *   damaged_cuts(&d, try, ctx)                  each shorter length, from the end as well
 *   envelope_resum(d.bytes, d.size);            makes all sums of an enveloped file true again
 *   damaged_free(&d);
 *
 * The layout of the envelope is restated here from docs/FORMAT.md, not taken from its code.
 */
#ifndef DX_TESTS_DAMAGE_H
#define DX_TESTS_DAMAGE_H

#include "base/buf.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum verdict { REFUSED, SAME_ANSWERS, WRONG_ANSWER };

struct verdicts {
    size_t count[3];
    size_t all;
};

struct damaged {
    uint8_t *bytes;
    size_t size;
    uint8_t *base;
    size_t mapped;
};

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* 0 .. n-1 */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

static inline struct damaged damaged_copy(struct dx_span from)
{
    struct damaged d = { NULL, from.size, NULL, 0 };
    size_t room = (from.size + 4095) / 4096 * 4096;

    d.mapped = room + 4096;
    d.base = mmap(NULL, d.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (d.base == MAP_FAILED || mprotect(d.base + room, 4096, PROT_NONE) != 0)
        abort();
    d.bytes = d.base + room - from.size;
    if (from.size > 0)
        memcpy(d.bytes, from.data, from.size);
    return d;
}

static inline void damaged_free(struct damaged *d)
{
    (void)munmap(d->base, d->mapped);
    *d = (struct damaged){ NULL, 0, NULL, 0 };
}

static inline size_t damaged_step(void)
{
    const char *text = getenv("DX_FLIP_STEP");

    return text == NULL || atoi(text) < 1 ? 1 : (size_t)atoi(text);
}

static inline struct verdicts damaged_flips(struct damaged *d, size_t from_byte, size_t to_byte,
                                            size_t step,
                                            enum verdict (*attempt)(void *ctx, struct dx_span s),
                                            void *ctx)
{
    struct verdicts v = { { 0, 0, 0 }, 0 };

    step *= damaged_step();
    for (size_t bit = from_byte * 8; bit < to_byte * 8 && bit < d->size * 8; bit += step) {
        enum verdict got;

        d->bytes[bit / 8] ^= (uint8_t)(1u << (bit & 7));
        got = attempt(ctx, dx_span_of(d->bytes, d->size));
        d->bytes[bit / 8] ^= (uint8_t)(1u << (bit & 7));
        if (got == WRONG_ANSWER)
            fprintf(stderr, "wrong answer: bit %zu of byte %zu flipped\n", bit & 7, bit / 8);
        v.count[got]++;
        v.all++;
    }
    return v;
}

static inline struct verdicts damaged_cuts(struct damaged *d,
                                           enum verdict (*attempt)(void *ctx, struct dx_span s),
                                           void *ctx)
{
    struct verdicts v = { { 0, 0, 0 }, 0 };

    for (size_t n = 0; n < d->size; n++) {
        struct damaged shorter = damaged_copy(dx_span_of(d->bytes, n));
        enum verdict got = attempt(ctx, dx_span_of(shorter.bytes, n));

        if (got != REFUSED)
            fprintf(stderr, "cut to %zu of %zu bytes: not refused\n", n, d->size);
        v.count[got]++;
        v.all++;
        damaged_free(&shorter);
    }
    return v;
}

static inline void envelope_resum(uint8_t *bytes, size_t size)
{
    uint8_t *trailer = bytes + size - 72;
    uint64_t body = dx_load_u64(trailer + 32);
    uint64_t blocks = (body + 4095) / 4096;
    size_t tables = (size_t)blocks * 8 + dx_load_u32(trailer + 24) * (size_t)24;
    struct dx_identity id = { .kind = dx_load_u32(trailer + 16) };

    memcpy(id.build.bytes, trailer, 16);
    for (id.key = 0; id.key < blocks; id.key++) {
        size_t at = (size_t)id.key * 4096;
        size_t n = body - at < 4096 ? (size_t)(body - at) : 4096;

        dx_store_u64(bytes + body + 8 * id.key, dx_checksum(&id, dx_span_of(bytes + at, n)));
    }
    id.key = UINT64_MAX - 1;
    dx_store_u64(trailer + 48, dx_checksum(&id, dx_span_of(bytes + body, tables)));
    id.key = UINT64_MAX;
    dx_store_u64(trailer + 56, dx_checksum(&id, dx_span_of(trailer, 56)));
}

/* Where a section lies; NULL if there is none. */
static inline uint8_t *envelope_find(uint8_t *bytes, size_t size, const char *tag,
                                     uint64_t *section_size)
{
    const uint8_t *trailer = bytes + size - 72;
    uint64_t body = dx_load_u64(trailer + 32);
    const uint8_t *table = bytes + body + (body + 4095) / 4096 * 8;

    for (uint32_t i = 0; i < dx_load_u32(trailer + 24); i++, table += 24)
        if (memcmp(table, tag, 4) == 0) {
            *section_size = dx_load_u64(table + 16);
            return bytes + dx_load_u64(table + 8);
        }
    return NULL;
}

/* Counts a failed expectation and says where. */
#define EXPECT(ok, ...)                                              \
    do {                                                             \
        if (!(ok)) {                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #ok); \
            fprintf(stderr, __VA_ARGS__);                            \
            fputc('\n', stderr);                                     \
            failures++;                                              \
        }                                                            \
    } while (0)

#endif
