/* SPDX-License-Identifier: Apache-2.0
 * Segments, the journal of a transfer and arrays as lines: nothing is read beyond its bytes, what
 * is accepted is written the same, and lines do not depend on how the bytes came.
 */
#include "format/exchange/segment.h"
#include "format/exchange/segment_journal.h"
#include "format/text/json_lines.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void segment(struct dx_span in)
{
    struct dx_segment_join join = DX_SEGMENT_JOIN_INIT;
    struct dx_segment s;

    if (dx_segment_read(&s, in, NULL) < 0)
        return;
    if (s.payload.size != in.size - DX_SEGMENT_HEADER || s.sequence >= s.count)
        abort();
    if (dx_segment_join_judge(&join, &s) == DX_SEGMENT_NEXT)
        dx_segment_join_add(&join, &s);
}

static void journal(struct dx_span in)
{
    struct dx_segment_journal_head head;
    struct dx_segment_journal_record record;
    struct dx_buf made = DX_BUF_INIT(in.size + 8);
    struct dx_buf again = DX_BUF_INIT(DX_SEGMENT_JOURNAL_HEAD_MAX);
    size_t size;

    /* With a true checksum: a fuzzer finds none. */
    dx_buf_append(&made, in.data, in.size);
    dx_buf_u64(&made, dx_hash64(in));
    if (dx_segment_journal_head_read(&head, &size, dx_span_of(made.data, made.size), NULL) == DX_OK)
        if (dx_segment_journal_head_write(&head, &again, NULL) < 0 || again.size != size ||
            memcmp(again.data, made.data, size) != 0)
            abort();
    if (in.size >= DX_SEGMENT_JOURNAL_RECORD)
        (void)dx_segment_journal_record_read(&record, in.size, in.data);
    dx_buf_release(&made);
    dx_buf_release(&again);
}

static bool lines(struct dx_span in, size_t piece, struct dx_buf *out)
{
    struct dx_json_lines f = DX_JSON_LINES_INIT;
    uint8_t *copy = malloc(in.size + 1);
    bool ok = copy != NULL;

    if (ok && in.size > 0)
        memcpy(copy, in.data, in.size);
    for (size_t at = 0; ok && at < in.size; at += piece) {
        size_t n = in.size - at < piece ? in.size - at : piece;

        ok = dx_json_lines_push(&f, copy + at, &n, NULL) == DX_OK;
        if (ok)
            dx_buf_append(out, copy + at, n);
    }
    free(copy);
    return ok && dx_json_lines_end(&f, NULL) == DX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span in = dx_span_of(data, size);
    struct dx_buf a = DX_BUF_INIT(size + 1);
    struct dx_buf b = DX_BUF_INIT(size + 1);

    segment(in);
    journal(in);
    if (lines(in, size + 1, &a) != lines(in, 3, &b))
        abort();
    dx_buf_release(&a);
    dx_buf_release(&b);
    return 0;
}
