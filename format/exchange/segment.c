/* SPDX-License-Identifier: Apache-2.0 */
#include "format/exchange/segment.h"

#include <assert.h>

int dx_segment_read(struct dx_segment *s, struct dx_span bytes, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(bytes);

    s->sequence = dx_bytes_u32(&r);
    s->count = dx_bytes_u32(&r);
    if (r.failed)
        return dx_fail(err, DX_E_TRUNCATED, "a segment of %zu bytes, its header alone has %d",
                       bytes.size, DX_SEGMENT_HEADER);
    if (s->sequence >= s->count)
        return dx_fail(err, DX_E_CORRUPT, "a segment with sequence %u of %u: it is below the count",
                       s->sequence, s->count);
    s->payload = dx_bytes_take(&r, dx_bytes_left(&r));
    return DX_OK;
}

int dx_segment_cut_init(struct dx_segment_cut *cut, uint64_t size, uint64_t mss,
                        struct dx_error *err)
{
    if (mss == 0)
        return dx_fail(err, DX_E_INVALID, "segments of 0 bytes");
    if (size / mss >= DX_SEGMENT_COUNT_MAX)
        return dx_fail(err, DX_E_LIMIT, "%llu bytes are more than %u segments of %llu",
                       (unsigned long long)size, DX_SEGMENT_COUNT_MAX, (unsigned long long)mss);
    *cut = (struct dx_segment_cut){ .left = size, .mss = mss, .count = (uint32_t)(size / mss) + 1 };
    return DX_OK;
}

bool dx_segment_cut_next(struct dx_segment_cut *cut, uint8_t header[DX_SEGMENT_HEADER],
                         uint64_t *payload_size)
{
    if (cut->sequence == cut->count)
        return false;
    dx_store_u32(header, cut->sequence++);
    dx_store_u32(header + 4, cut->count);
    *payload_size = cut->left < cut->mss ? cut->left : cut->mss;
    cut->left -= *payload_size;
    return true;
}

enum dx_segment_verdict dx_segment_join_judge(const struct dx_segment_join *join,
                                              const struct dx_segment *s)
{
    if (join->count != 0 && s->count != join->count)
        return DX_SEGMENT_OTHER;
    if (s->sequence < join->expected)
        return DX_SEGMENT_BEHIND;
    return s->sequence == join->expected ? DX_SEGMENT_NEXT : DX_SEGMENT_AHEAD;
}

void dx_segment_join_add(struct dx_segment_join *join, const struct dx_segment *s)
{
    assert(dx_segment_join_judge(join, s) == DX_SEGMENT_NEXT);
    join->count = s->count;
    join->expected++;
    join->size += s->payload.size;
}

bool dx_segment_join_whole(const struct dx_segment_join *join)
{
    return join->count != 0 && join->expected == join->count;
}
