/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_samples.h"

#include <assert.h>
#include <stdio.h>

#include "base/utf8.h"

void dx_ingest_samples_clear(struct dx_ingest_samples *s)
{
    memset(s->reject_count, 0, sizeof s->reject_count);
    s->row_count = 0;
}

/* Escaped, and cut at a character: "..." says so. */
static void put_text(char out[DX_SAMPLE_TEXT], struct dx_span s)
{
    static const char more[] = "...";
    struct dx_buf b = DX_BUF_INIT(8 * DX_SAMPLE_TEXT);
    size_t n = 0;

    dx_rejects_text(&b, dx_span_of(s.data, s.size < DX_SAMPLE_TEXT ? s.size : DX_SAMPLE_TEXT));
    while (n < b.size) {
        size_t size = dx_utf8_size(b.data + n, b.size - n);

        size = size == 0 ? 1 : size;
        if (n + size + sizeof more > DX_SAMPLE_TEXT)
            break;
        n += size;
    }
    (void)snprintf(out, DX_SAMPLE_TEXT, "%.*s%s", (int)n, n == 0 ? "" : (const char *)b.data,
                   n < b.size || s.size > DX_SAMPLE_TEXT ? more : "");
    dx_buf_release(&b);
}

void dx_ingest_samples_reject(struct dx_ingest_samples *s, int why, const char *input,
                              uint64_t line, struct dx_span record)
{
    struct dx_reject_sample *to;

    assert(why > 0 && why < DX_ROW_REJECT_COUNT);
    if (s->reject_count[why] == DX_SAMPLE_REJECTS)
        return;
    to = &s->reject[why][s->reject_count[why]++];
    to->input = input;
    to->line = line;
    put_text(to->text, record);
}

void dx_ingest_samples_row(struct dx_ingest_samples *s, struct dx_span text)
{
    if (s->row_count < DX_SAMPLE_ROWS)
        put_text(s->row[s->row_count++], text);
}

void dx_ingest_samples_add(struct dx_ingest_samples *all, const struct dx_ingest_samples *more)
{
    for (int why = 0; why < DX_ROW_REJECT_COUNT; why++)
        for (uint8_t i = 0;
             i < more->reject_count[why] && all->reject_count[why] < DX_SAMPLE_REJECTS; i++)
            all->reject[why][all->reject_count[why]++] = more->reject[why][i];
    for (size_t i = 0; i < more->row_count && all->row_count < DX_SAMPLE_ROWS; i++)
        memcpy(all->row[all->row_count++], more->row[i], DX_SAMPLE_TEXT);
}
