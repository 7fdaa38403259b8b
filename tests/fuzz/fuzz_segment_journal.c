/* SPDX-License-Identifier: Apache-2.0
 * The journal of a transfer: any bytes as one, and any damage to a true one. What is read is
 * bounded by what is there, its ends never fall, and a damaged record ends it.
 */
#include "format/exchange/segment_journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

/* Records from the front, as far as they are good. */
static uint64_t count_records(struct dx_span bytes)
{
    struct dx_segment_journal_record r;
    uint64_t n = 0;

    while ((n + 1) * DX_SEGMENT_JOURNAL_RECORD <= bytes.size &&
           dx_segment_journal_record_read(&r, n, bytes.data + n * DX_SEGMENT_JOURNAL_RECORD))
        n++;
    return n;
}

static void any_bytes(struct dx_span in)
{
    struct dx_segment_journal_head head;
    size_t size;

    if (dx_segment_journal_head_read(&head, &size, in, NULL) < 0)
        return;
    require(size <= in.size && size <= DX_SEGMENT_JOURNAL_HEAD_MAX && head.count > 0, "a head");
    (void)count_records(dx_span_of(in.data + size, in.size - size));
}

/* The first byte: how many records; the second and third: where it is damaged; the rest: what the
 * records say. */
static void a_true_one(struct dx_span in)
{
    struct dx_segment_journal_head head = { .count = 1 + in.data[0], .has_sum = in.data[1] % 2 };
    struct dx_segment_journal_head back;
    struct dx_buf made = DX_BUF_INIT(1 << 16);
    size_t at = 3;
    size_t begin;
    size_t hit;
    size_t size;

    (void)snprintf(head.dataset, sizeof head.dataset, "%.*s", (int)(in.size % 30),
                   "a name of a dataset, or of two");
    memset(head.sum, in.data[1], sizeof head.sum);
    require(dx_segment_journal_head_write(&head, &made, NULL) == DX_OK, "write");
    begin = made.size;
    for (uint32_t i = 0; i < head.count; i++) {
        struct dx_segment_journal_record r = { .end = i * UINT64_C(1000) + in.data[at % in.size] };
        uint8_t bytes[DX_SEGMENT_JOURNAL_RECORD];

        memset(r.hash.bytes, in.data[(at + 1) % in.size], sizeof r.hash.bytes);
        at += 2;
        dx_segment_journal_record_write(&r, i, bytes);
        dx_buf_append(&made, bytes, sizeof bytes);
    }
    require(dx_segment_journal_head_read(&back, &size, dx_span_of(made.data, made.size), NULL) ==
                    0 &&
                size == begin && back.count == head.count,
            "read back");
    require(count_records(dx_span_of(made.data + begin, made.size - begin)) == head.count, "all");
    hit = (size_t)(in.data[1] | in.data[2] << 8) % made.size;
    made.data[hit] ^= (uint8_t)(1u << in.data[2] % 8);
    if (hit < begin)
        require(dx_segment_journal_head_read(&back, &size, dx_span_of(made.data, made.size), NULL) <
                    0,
                "a damaged head");
    else
        require(count_records(dx_span_of(made.data + begin, made.size - begin)) ==
                    (hit - begin) / DX_SEGMENT_JOURNAL_RECORD,
                "a damaged record");
    dx_buf_release(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    any_bytes(dx_span_of(data, size));
    if (size > 3)
        a_true_one(dx_span_of(data, size));
    return 0;
}
