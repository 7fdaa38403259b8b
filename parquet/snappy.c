/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/snappy.h"

enum {
    LITERAL,
    COPY_1,
    COPY_2,
    COPY_4
}; /* the low bits of a tag: how many bytes the distance has */

#define WIDE 16     /* bytes that are copied at once where there is room, needed or not */
#define COPY_MAX 64 /* bytes of a copy */

struct output {
    uint8_t *begin;
    uint8_t *at;
    uint8_t *end;
};

/* The size in front: seven bits a byte, below 2^32. */
static bool read_size(const uint8_t **at, const uint8_t *end, size_t *size)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 35 && *at < end; shift += 7) {
        uint8_t c = *(*at)++;

        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            *size = (size_t)v;
            return v <= UINT32_MAX;
        }
    }
    return false;
}

bool dx_snappy_size(struct dx_span from, size_t *size)
{
    const uint8_t *at = from.data;

    return read_size(&at, from.data + from.size, size);
}

/* n bytes, little-endian, which are there. */
static inline uint32_t read_number(const uint8_t *p, unsigned n)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (uint32_t)p[i] << (8 * i);
    return v;
}

/* Behind its tag. */
static inline bool literal(struct output *out, const uint8_t **at, const uint8_t *end, uint8_t tag)
{
    enum { SHORT_MAX = 60 };
    size_t size = (size_t)(tag >> 2) + 1;

    if (size <= WIDE && end - *at >= WIDE && out->end - out->at >= WIDE) {
        memcpy(out->at, *at, WIDE);
        out->at += size;
        *at += size;
        return true;
    }
    if (size > SHORT_MAX) {
        unsigned bytes = (unsigned)size - SHORT_MAX;

        if (end - *at < (ptrdiff_t)bytes)
            return false;
        size = (size_t)read_number(*at, bytes) + 1;
        *at += bytes;
    }
    if (size > (size_t)(end - *at) || size > (size_t)(out->end - out->at))
        return false;
    memcpy(out->at, *at, size);
    out->at += size;
    *at += size;
    return true;
}

/* What overlaps itself, or comes near the end. */
static void copy_bytes(uint8_t *to, size_t distance, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (to + i)[-(ptrdiff_t)distance];
}

static inline bool copy(struct output *out, size_t distance, size_t size)
{
    const uint8_t *from = out->at - distance;
    size_t room = (size_t)(out->end - out->at);

    if (distance == 0 || distance > (size_t)(out->at - out->begin) || size > room)
        return false;
    if (distance >= WIDE && room >= COPY_MAX)
        for (size_t i = 0; i < size; i += WIDE)
            memcpy(out->at + i, from + i, WIDE);
    else if (distance == 1)
        memset(out->at, *from, size);
    else if (distance >= 8 && room >= COPY_MAX)
        for (size_t i = 0; i < size; i += 8)
            memcpy(out->at + i, from + i, 8);
    else
        copy_bytes(out->at, distance, size);
    out->at += size;
    return true;
}

/* Behind its tag. */
static inline bool read_copy(struct output *out, const uint8_t **at, const uint8_t *end,
                             uint8_t tag)
{
    static const uint8_t bytes[] = { [COPY_1] = 1, [COPY_2] = 2, [COPY_4] = 4 };
    unsigned n = bytes[tag & 3];
    bool is_short = (tag & 3) == COPY_1;
    size_t distance;

    if (end - *at < (ptrdiff_t)n)
        return false;
    distance = read_number(*at, n);
    *at += n;
    return is_short ? copy(out, distance | (size_t)(tag >> 5) << 8, (size_t)(tag >> 2 & 7) + 4)
                    : copy(out, distance, (size_t)(tag >> 2) + 1);
}

bool dx_snappy_decode(struct dx_span from, uint8_t *to, size_t size)
{
    const uint8_t *at = from.data;
    const uint8_t *end = from.data + from.size;
    struct output out = { to, to, to + size };
    bool ok;
    size_t said;

    if (!read_size(&at, end, &said) || said != size)
        return false;
    do {
        uint8_t tag;

        if (at == end)
            return out.at == out.end;
        tag = *at++;
        ok = (tag & 3) == LITERAL ? literal(&out, &at, end, tag) : read_copy(&out, &at, end, tag);
    } while (ok);
    return false;
}
