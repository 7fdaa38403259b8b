/* SPDX-License-Identifier: Apache-2.0
 * segment.h - a stream of bytes as messages that a broker takes: cut on one side, joined on the
 * other.
 *
 *   u32 sequence, u32 count, little-endian, then the payload
 *
 *   rc = dx_segment_cut_init(&cut, size, mss, &err);     a stream of known size, which is not held
 *   while (dx_segment_cut_next(&cut, header, &payload_size))
 *       ... header, then the next payload_size bytes of the stream ...
 *
 *   rc = dx_segment_read(&segment, bytes, &err);         one message; payload is borrowed
 *   switch (dx_segment_join_judge(&join, &segment)) ...  join begins as DX_SEGMENT_JOIN_INIT
 *   dx_segment_join_add(&join, &segment);                a NEXT that was kept
 *
 * count is size / mss + 1, rounded down: a stream whose size is a multiple of mss ends with an
 * empty segment, and an empty stream is one empty segment. Numbers of a sender end at 2^31 - 1,
 * since the format's own writer knows signed ones only; a reader takes all of 32 bits. No thread of
 * its own, nothing is allocated.
 */
#ifndef DX_FORMAT_EXCHANGE_SEGMENT_H
#define DX_FORMAT_EXCHANGE_SEGMENT_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_SEGMENT_HEADER 8
#define DX_SEGMENT_COUNT_MAX UINT32_C(0x7fffffff)

struct dx_segment {
    uint32_t sequence; /* from 0 */
    uint32_t count;
    struct dx_span payload;
};

/* DX_E_TRUNCATED: no header; DX_E_CORRUPT: a count of 0, or a sequence that is not below it. */
int dx_segment_read(struct dx_segment *s, struct dx_span bytes, struct dx_error *err);

struct dx_segment_cut {
    uint64_t left;
    uint64_t mss;
    uint32_t sequence; /* of the next one */
    uint32_t count;
};

/* DX_E_INVALID: mss is 0; DX_E_LIMIT: more than DX_SEGMENT_COUNT_MAX segments. */
int dx_segment_cut_init(struct dx_segment_cut *cut, uint64_t size, uint64_t mss,
                        struct dx_error *err);
bool dx_segment_cut_next(struct dx_segment_cut *cut, uint8_t header[DX_SEGMENT_HEADER],
                         uint64_t *payload_size);

/* What has come of one stream, in order. */
struct dx_segment_join {
    uint32_t expected; /* sequence of the next one */
    uint32_t count;    /* 0: none came yet */
    uint64_t size;     /* of the payloads */
};

#define DX_SEGMENT_JOIN_INIT \
    {                        \
        0, 0, 0              \
    }

enum dx_segment_verdict {
    DX_SEGMENT_NEXT,   /* the expected one */
    DX_SEGMENT_BEHIND, /* one of those that came: whether it is the same tell its bytes */
    DX_SEGMENT_AHEAD,  /* others must come first */
    DX_SEGMENT_OTHER   /* its count is that of another stream */
};

enum dx_segment_verdict dx_segment_join_judge(const struct dx_segment_join *join,
                                              const struct dx_segment *s);
void dx_segment_join_add(struct dx_segment_join *join, const struct dx_segment *s);
bool dx_segment_join_whole(const struct dx_segment_join *join);

#endif
