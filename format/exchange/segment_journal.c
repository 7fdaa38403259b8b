/* SPDX-License-Identifier: Apache-2.0 */
#include "format/exchange/segment_journal.h"

#define MAGIC "DXSEG001"
#define HAS_SUM 1u

int dx_segment_journal_head_write(const struct dx_segment_journal_head *head, struct dx_buf *out,
                                  struct dx_error *err)
{
    size_t begin = out->size;

    dx_buf_append(out, MAGIC, 8);
    dx_buf_u32(out, head->count);
    dx_buf_u32(out, head->has_sum ? HAS_SUM : 0);
    dx_buf_append(out, head->sum, sizeof head->sum);
    dx_buf_u16(out, (uint16_t)strlen(head->dataset));
    dx_buf_str(out, head->dataset);
    if (!out->failed)
        dx_buf_u64(out, dx_hash64(dx_buf_from(out, begin)));
    return out->failed ? dx_buf_fail(out, err, "segment journal") : DX_OK;
}

int dx_segment_journal_head_read(struct dx_segment_journal_head *head, size_t *size,
                                 struct dx_span bytes, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(bytes);
    struct dx_span magic = dx_bytes_take(&r, 8);
    struct dx_span sum;
    struct dx_span name;
    uint32_t flags;
    uint64_t want;

    head->count = dx_bytes_u32(&r);
    flags = dx_bytes_u32(&r);
    sum = dx_bytes_take(&r, sizeof head->sum);
    name = dx_bytes_take(&r, dx_bytes_u16(&r));
    *size = dx_bytes_at(&r) + 8;
    want = r.failed ? 0 : dx_hash64(dx_span_of(bytes.data, dx_bytes_at(&r)));
    if (dx_bytes_u64(&r) != want || r.failed || memcmp(magic.data, MAGIC, 8) != 0 ||
        head->count == 0 || flags > HAS_SUM || name.size > DX_SEGMENT_DATASET_MAX ||
        (name.size > 0 && memchr(name.data, 0, name.size) != NULL))
        return dx_fail(err, DX_E_CORRUPT, "no head of a segment journal in %zu bytes", bytes.size);
    head->has_sum = flags == HAS_SUM;
    memcpy(head->sum, sum.data, sizeof head->sum);
    if (name.size > 0)
        memcpy(head->dataset, name.data, name.size);
    head->dataset[name.size] = '\0';
    return DX_OK;
}

void dx_segment_journal_record_write(const struct dx_segment_journal_record *record,
                                     uint64_t sequence, uint8_t out[DX_SEGMENT_JOURNAL_RECORD])
{
    dx_store_u64(out, record->end);
    memcpy(out + 8, record->hash.bytes, 16);
    dx_store_u64(out + 24, dx_hash64_seeded(dx_span_of(out, 24), sequence));
}

bool dx_segment_journal_record_read(struct dx_segment_journal_record *record, uint64_t sequence,
                                    const uint8_t bytes[DX_SEGMENT_JOURNAL_RECORD])
{
    record->end = dx_load_u64(bytes);
    memcpy(record->hash.bytes, bytes + 8, 16);
    return dx_load_u64(bytes + 24) == dx_hash64_seeded(dx_span_of(bytes, 24), sequence);
}
