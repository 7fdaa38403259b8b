/* SPDX-License-Identifier: Apache-2.0
 * segment_journal.h - which segments of a transfer are on disk: the file beside its bytes.
 *
 *   dx_segment_journal_head_write(&head, &buf, &err);       once, before the first record
 *   dx_segment_journal_record_write(&record, sequence, out);   one a segment, in order
 *
 *   rc = dx_segment_journal_head_read(&head, &size, bytes, &err);    size: where the records begin
 *   if (!dx_segment_journal_record_read(&record, sequence, bytes))
 *       ... the journal ends here: what was written last did not reach the disk ...
 *
 *   head    "DXSEG001", u32 count, u32 flags (1: sha256 is known), sha256 (32), u16 size of the
 *           dataset's name, the name, u64 XXH3-64 of all before it
 *   record  u64 end of the segment's payload in the bytes, XXH3-128 of it (16), u64 XXH3-64 of the
 *           24 bytes before it, seeded with the sequence
 *
 * Behind the records of all segments come two more: at `count` that the rows are in the lake, at
 * count + 1 that the sender's queue is known to have forgotten the last segment; both with the end
 * of the last segment and a hash of zeros. Behind them comes one for each segment that has come
 * again since, with its sequence as the end and a hash of zeros. Numbers are little-endian. No I/O.
 * Any thread.
 */
#ifndef DX_FORMAT_EXCHANGE_SEGMENT_JOURNAL_H
#define DX_FORMAT_EXCHANGE_SEGMENT_JOURNAL_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"

#define DX_SEGMENT_DATASET_MAX 1024
#define DX_SEGMENT_JOURNAL_HEAD_MAX (8 + 4 + 4 + 32 + 2 + DX_SEGMENT_DATASET_MAX + 8)
#define DX_SEGMENT_JOURNAL_RECORD 32

struct dx_segment_journal_head {
    uint32_t count; /* of segments, not 0 */
    bool has_sum;
    uint8_t sum[32]; /* SHA-256 of all bytes, as sent */
    char dataset[DX_SEGMENT_DATASET_MAX + 1];
};

struct dx_segment_journal_record {
    uint64_t end;
    struct dx_hash128 hash;
};

int dx_segment_journal_head_write(const struct dx_segment_journal_head *head, struct dx_buf *out,
                                  struct dx_error *err);
int dx_segment_journal_head_read(struct dx_segment_journal_head *head, size_t *size,
                                 struct dx_span bytes, struct dx_error *err);

void dx_segment_journal_record_write(const struct dx_segment_journal_record *record,
                                     uint64_t sequence, uint8_t out[DX_SEGMENT_JOURNAL_RECORD]);
bool dx_segment_journal_record_read(struct dx_segment_journal_record *record, uint64_t sequence,
                                    const uint8_t bytes[DX_SEGMENT_JOURNAL_RECORD]);

#endif
