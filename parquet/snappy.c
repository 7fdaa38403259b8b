/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/snappy.h"

enum {
    LITERAL,
    COPY_1,
    COPY_2,
    COPY_4
}; /* the low bits of a tag: how many bytes the distance has */

#define WIDE 16        /* bytes that are copied at once where there is room, needed or not */
#define ELEMENT_MAX 64 /* bytes of a copy, and over those of a literal with its size in the tag */
#define SHORT_MAX 60   /* bytes of such a literal */

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
static bool literal(struct output *out, const uint8_t **at, const uint8_t *end, uint8_t tag)
{
    size_t size = (size_t)(tag >> 2) + 1;

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

/* May overlap itself. */
static void copy_bytes(uint8_t *to, size_t distance, size_t size)
{
    if (distance == 1)
        memset(to, to[-1], size);
    else
        for (size_t i = 0; i < size; i++)
            to[i] = (to + i)[-(ptrdiff_t)distance];
}

/* What is behind a tag of a copy, in four bytes. */
static inline size_t distance_of(uint8_t tag, uint32_t bytes)
{
    static const uint32_t mask[] = { [COPY_1] = 0xff, [COPY_2] = 0xffff, [COPY_4] = UINT32_MAX };

    return (bytes & mask[tag & 3]) | ((tag & 3) == COPY_1 ? (size_t)(tag >> 5) << 8 : 0);
}

static inline size_t copy_size(uint8_t tag)
{
    return (tag & 3) == COPY_1 ? (size_t)(tag >> 2 & 7) + 4 : (size_t)(tag >> 2) + 1;
}

static const uint8_t distance_bytes[] = { [COPY_1] = 1, [COPY_2] = 2, [COPY_4] = 4 };

static bool reaches(const struct output *out, size_t distance)
{
    return distance - 1 < (size_t)(out->at - out->begin); /* 0 does not */
}

/* Behind its tag. */
static bool copy(struct output *out, const uint8_t **at, const uint8_t *end, uint8_t tag)
{
    unsigned bytes = distance_bytes[tag & 3];
    size_t size = copy_size(tag), distance;

    if (end - *at < (ptrdiff_t)bytes)
        return false;
    distance = distance_of(tag, read_number(*at, bytes));
    *at += bytes;
    if (!reaches(out, distance) || size > (size_t)(out->end - out->at))
        return false;
    copy_bytes(out->at, distance, size);
    out->at += size;
    return true;
}

/* With room behind both: whole words, which may be more than size bytes. */
static inline void copy_wide(uint8_t *to, const uint8_t *from, size_t size)
{
    memcpy(to, from, WIDE);
    for (size_t i = WIDE; i < size; i += WIDE)
        memcpy(to + i, from + i, WIDE);
}

static inline void copy_back(uint8_t *to, size_t distance, size_t size)
{
    if (distance >= WIDE)
        copy_wide(to, to - distance, size);
    else if (distance >= 8)
        for (size_t i = 0; i < size; i += 8)
            memcpy(to + i, to + i - distance, 8);
    else
        copy_bytes(to, distance, size);
}

/* Elements as long as the longest that begins here would fit into what is left of either side: nothing needs a check
 * then but the distance. Ends before a longer literal; false: a copy from before the beginning. */
static bool decode_middle(struct output *out, const uint8_t **from, const uint8_t *end)
{
    const uint8_t *at = *from;

    while (end - at > ELEMENT_MAX && out->end - out->at >= ELEMENT_MAX) {
        uint8_t tag = *at;
        size_t size;

        if ((tag & 3) == LITERAL) {
            size = (size_t)(tag >> 2) + 1;
            if (size > SHORT_MAX)
                break;
            copy_wide(out->at, at + 1, size);
            at += 1 + size;
        } else {
            size_t distance = distance_of(tag, dx_load_u32(at + 1));

            if (!reaches(out, distance))
                return false;
            size = copy_size(tag);
            copy_back(out->at, distance, size);
            at += 1 + distance_bytes[tag & 3];
        }
        out->at += size;
    }
    *from = at;
    return true;
}

bool dx_snappy_decode(struct dx_span from, uint8_t *to, size_t size)
{
    const uint8_t *at = from.data;
    const uint8_t *end = from.data + from.size;
    struct output out = { to, to, to + size };
    size_t said;

    if (!read_size(&at, end, &said) || said != size)
        return false;
    while (decode_middle(&out, &at, end)) {
        uint8_t tag;

        if (at == end)
            return out.at == out.end;
        tag = *at++;
        if (!((tag & 3) == LITERAL ? literal(&out, &at, end, tag) : copy(&out, &at, end, tag)))
            return false;
    }
    return false;
}
