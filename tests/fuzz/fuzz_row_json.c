/* SPDX-License-Identifier: Apache-2.0
 * Rows of a whole foreign file as JSON: some of each row group at once, all columns and one. What is written must be
 * JSON, and the same row alone must be the same text.
 */
#include "parquet/row_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "parquet/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GROUPS_MAX 3
#define TEXT_MAX ((size_t)4 << 20)

static int read_range(void *file, uint64_t offset, size_t size, uint8_t *to, struct dx_error *err)
{
    const struct dx_span *f = file;

    if (offset > f->size || size > f->size - offset)
        return dx_fail(err, DX_E_TRUNCATED, "behind the end");
    memcpy(to, f->data + offset, size);
    return DX_OK;
}

static void check(const struct dx_buf *text)
{
    struct dx_json_in in;

    /* A name that stands twice in a struct, and NUL in a text, are in such files, and not taken by our reader. */
    (void)dx_json_in_open(&in, dx_span_of(text->data, text->size), TEXT_MAX, "row");
    (void)dx_json_in_close(&in, NULL);
    if (text->size < 2 || text->data[0] != '{' || text->data[text->size - 1] != '}')
        abort();
}

/* Into text; false: it cannot be read. */
static bool put_row(struct dx_pq_rows *rows, size_t i, struct dx_buf *text)
{
    struct dx_json j;

    dx_buf_clear(text);
    dx_json_open(&j, text);
    if (dx_pq_rows_json(rows, i, &j, NULL, NULL, NULL) < 0 || text->failed)
        return false;
    check(text);
    return true;
}

static void read_group(const struct dx_pq_footer *footer, const struct dx_pq_fetch *fetch,
                       uint32_t group, const struct dx_span *name, size_t names)
{
    const struct dx_pq_limits limits = { .page_bytes = 1u << 20, .page_rows = 1u << 16 };
    uint64_t row[] = { 0, 1, 2, 5 };
    uint64_t count = footer->group[group].row_count;
    size_t n = 0;
    struct dx_pq_rows all = DX_PQ_ROWS_INIT;
    struct dx_pq_rows one = DX_PQ_ROWS_INIT;
    struct dx_buf text = DX_BUF_INIT(TEXT_MAX);
    struct dx_buf again = DX_BUF_INIT(TEXT_MAX);
    unsigned chunks;

    while (n < sizeof row / sizeof *row && row[n] < count)
        n++;
    all.text_max = one.text_max = TEXT_MAX;
    if (n > 0 && dx_pq_rows_columns(&all, footer, name, names, NULL) == DX_OK &&
        dx_pq_rows_columns(&one, footer, name, names, NULL) == DX_OK) {
        (void)dx_pq_rows_stored(&all, group, &chunks);
        if (dx_pq_rows_read(&all, fetch, group, row, n, &limits, NULL) == DX_OK)
            for (size_t i = 0; i < n; i++)
                if (dx_pq_rows_read(&one, fetch, group, &row[i], 1, &limits, NULL) == DX_OK &&
                    put_row(&all, i, &text) && put_row(&one, 0, &again) &&
                    !dx_span_equal(dx_span_of(text.data, text.size),
                                   dx_span_of(again.data, again.size)))
                    abort();
    }
    dx_pq_rows_release(&all);
    dx_pq_rows_release(&one);
    dx_buf_release(&text);
    dx_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span file = dx_span_of(data, size);
    const struct dx_pq_fetch fetch = { read_range, &file, 4096 };
    struct dx_pq_footer footer = { .node = NULL };

    if (dx_pq_footer_open(&footer, file, NULL) == DX_OK)
        for (uint32_t g = 0; g < footer.group_count && g < GROUPS_MAX; g++) {
            read_group(&footer, &fetch, g, NULL, 0);
            if (footer.node_count > 1)
                read_group(&footer, &fetch, g, &footer.node[1].name, 1);
        }
    dx_pq_footer_release(&footer);
    return 0;
}
