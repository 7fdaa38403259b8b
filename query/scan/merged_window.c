/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/merged_window.h"

#include "base/array.h"

#include <assert.h>
#include <string.h>

#define TEXT_MAX ((size_t)128 << 20)

int dx_merged_row_copy(struct dx_merged_row *to, struct dx_buf *text,
                       const struct dx_listing_row *row, uint64_t place,
                       const struct dx_span *digest, struct dx_error *err)
{
    *to = (struct dx_merged_row){ .at = text->size,
                                  .scheme = (uint32_t)row->scheme.size,
                                  .host = (uint32_t)row->host.size,
                                  .path_query = (uint32_t)row->path_query.size,
                                  .digest = (uint32_t)digest->size,
                                  .has_digest = digest->data != NULL,
                                  .has_ts = row->has_ts,
                                  .ts_us = row->ts_us,
                                  .place = place };
    text->max = TEXT_MAX;
    dx_buf_append(text, row->scheme.data, row->scheme.size);
    dx_buf_append(text, row->host.data, row->host.size);
    dx_buf_append(text, row->path_query.data, row->path_query.size);
    if (digest->size > 0)
        dx_buf_append(text, digest->data, digest->size);
    return text->failed ? dx_buf_fail(text, err, "rows of a listing") : DX_OK;
}

int dx_merged_row_compare(const struct dx_merged_row *a, const uint8_t *a_text,
                          const struct dx_merged_row *b, const uint8_t *b_text)
{
    int c = dx_span_compare(dx_merged_row_host(a, a_text), dx_merged_row_host(b, b_text));

    if (c == 0)
        c = dx_span_compare(dx_merged_row_path(a, a_text), dx_merged_row_path(b, b_text));
    if (c == 0)
        c = (int)a->has_ts - (int)b->has_ts;
    if (c == 0 && a->has_ts)
        c = (a->ts_us > b->ts_us) - (a->ts_us < b->ts_us);
    return c;
}

int dx_merged_window_add(struct dx_merged_window *w, const struct dx_listing_row *row,
                         uint64_t place, const struct dx_span *digest, struct dx_error *err)
{
    struct dx_merged_row *to = dx_array_room(w->rows, w->count, &w->capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "rows of a listing");
    w->rows = to;
    return dx_merged_row_copy(&w->rows[w->count++], &w->text, row, place, digest, err);
}

static bool has_room(struct dx_merged_window *w, size_t count)
{
    struct dx_merged_row *rows;

    if (w->capacity - w->count >= count)
        return true;
    rows = realloc(w->rows, (w->count + count) * sizeof *rows);
    if (rows == NULL)
        return false;
    w->rows = rows;
    w->capacity = w->count + count;
    return true;
}

int dx_merged_window_add_rows(struct dx_merged_window *w, const struct dx_merged_row *rows,
                              const uint8_t *text, size_t count, uint64_t place,
                              struct dx_error *err)
{
    const struct dx_merged_row *last = &rows[count - 1];
    size_t from = rows[0].at;
    size_t end = last->at + last->scheme + last->host + last->path_query + last->digest;
    size_t to = w->text.size;

    assert(count > 0);
    if (!has_room(w, count))
        return dx_no_memory(err, "rows of a listing");
    w->text.max = TEXT_MAX;
    dx_buf_append(&w->text, text + from, end - from);
    if (w->text.failed)
        return dx_buf_fail(&w->text, err, "rows of a listing");
    for (size_t i = 0; i < count; i++) {
        struct dx_merged_row *r = &w->rows[w->count++];

        *r = rows[i];
        r->at = rows[i].at - from + to;
        r->place = place + i;
    }
    return DX_OK;
}

void dx_merged_window_clear(struct dx_merged_window *w)
{
    w->count = w->next = 0;
    w->edge_in_rows = false;
    dx_buf_clear(&w->text);
}

void dx_merged_window_release(struct dx_merged_window *w)
{
    free(w->rows);
    dx_buf_release(&w->text);
    dx_buf_release(&w->edge_text);
    *w = (struct dx_merged_window){ .rows = NULL };
}
