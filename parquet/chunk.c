/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/chunk.h"

#include <inttypes.h>

/* parquet-mr up to 1.2.8 left the header of the dictionary page out of the chunk's size. */
#define SIZE_SLACK 100

#define HEADER_GUESS 1024

static void begin_walk(struct dx_pq_walk *w, const struct dx_pq_footer *footer,
                       const struct dx_pq_chunk *c)
{
    w->at = c->data_page_offset;
    if (c->has_dictionary_offset && c->dictionary_offset < w->at)
        w->at = c->dictionary_offset;
    w->end = w->at + c->compressed_size;
    w->chunk_end = w->end;
    w->data_end = footer->offset;
    w->row = 0;
    w->any = false;
}

int dx_pq_walk_open(struct dx_pq_walk *w, struct dx_span file, const struct dx_pq_footer *footer,
                    uint32_t group, uint32_t leaf, struct dx_error *err)
{
    int rc;

    *w = (struct dx_pq_walk){ .file = file, .row_count = footer->group[group].row_count };
    rc = dx_pq_footer_column(footer, group, leaf, &w->column, err);
    if (rc == DX_OK)
        begin_walk(w, footer, &footer->group[group].chunk[leaf]);
    return rc;
}

/* Bytes [at, at + size) of the file, which lie before w->end. */
static int read_window(struct dx_pq_walk *w, uint64_t at, size_t size, struct dx_span *bytes,
                       struct dx_error *err)
{
    uint64_t kept;
    size_t want;
    int rc;

    if (w->fetch != NULL && (at < w->file_at || at - w->file_at > w->file.size ||
                             size > w->file.size - (size_t)(at - w->file_at))) {
        kept = at >= w->file_at && at - w->file_at < w->file.size
                   ? w->file.size - (size_t)(at - w->file_at)
                   : 0;
        want = size > w->fetch->window ? size : w->fetch->window;
        if (want > w->end - at)
            want = (size_t)(w->end - at);
        if (kept > 0)
            memmove(w->window.data, w->file.data + (at - w->file_at), (size_t)kept);
        w->window.size = (size_t)kept;
        w->window.max = want;
        if (dx_buf_reserve(&w->window, want - (size_t)kept) == NULL)
            return dx_no_memory(err, "column chunk");
        rc = w->fetch->read(w->fetch->ctx, at + kept, want - (size_t)kept, w->window.data + kept,
                            err);
        if (rc < 0) {
            w->file.size = 0;
            return rc;
        }
        w->window.size = want;
        w->file = dx_span_of(w->window.data, want);
        w->file_at = at;
    }
    *bytes = dx_span_of(w->file.data + (at - w->file_at), size);
    return DX_OK;
}

/* The header at w->at; where the file is read by windows, more is read until it is whole. */
static int read_header(struct dx_pq_walk *w, uint64_t end, struct dx_pq_page_header *h,
                       struct dx_error *err)
{
    uint64_t left = end - w->at;
    size_t size = w->fetch != NULL && left > HEADER_GUESS ? HEADER_GUESS : (size_t)left;
    struct dx_span rest;
    int rc;

    for (;; size = size > left / 8 ? (size_t)left : size * 8) {
        rc = read_window(w, w->at, size, &rest, err);
        if (rc < 0)
            return rc;
        rc = dx_pq_page_header_parse(rest, h, err);
        if (rc == DX_OK || size == left || size >= DX_PQ_PAGE_HEADER_MAX)
            return rc;
    }
}

static int fail_in_page(const struct dx_pq_walk *w, struct dx_error *err)
{
    return dx_fail_in(err, "page at %" PRIu64 " (row %" PRIu64 ")", w->at, w->row);
}

/* The page at w->at; a page that is neither data nor dictionary has row_count 0. */
static int read_place(struct dx_pq_walk *w, struct dx_pq_page_place *p, struct dx_error *err)
{
    const struct dx_pq_page_header *h = &p->header;
    uint64_t size;
    int rc;

    if (w->at >= w->end)
        return dx_fail(err, DX_E_TRUNCATED,
                       "column chunk ends at %" PRIu64 " with %" PRIu64 " of %" PRIu64 " rows",
                       w->at, w->row, w->row_count);
    rc = read_header(w, w->end, &p->header, err);
    if (rc < 0)
        return fail_in_page(w, err);
    size = (uint64_t)h->header_size + h->compressed_size;
    if (size > w->end - w->at || size > UINT32_MAX) {
        (void)dx_fail(err, DX_E_TRUNCATED,
                      "%" PRIu64 " bytes, %" PRIu64 " are left of its column chunk", size,
                      w->end - w->at);
        return fail_in_page(w, err);
    }
    p->offset = w->at;
    p->first_row = w->row;
    p->size = (uint32_t)size;
    p->row_count = h->value_count;
    p->is_dictionary = h->type == DX_PQ_PAGE_DICTIONARY;
    return DX_OK;
}

/* All rows are there. A further page of rows in the chunk's bytes means that a page before
 * lied about its own; other bytes there are ignored. */
static int end_walk(struct dx_pq_walk *w, struct dx_error *err)
{
    struct dx_pq_page_header h;

    if (w->at >= w->chunk_end || read_header(w, w->chunk_end, &h, NULL) < 0 ||
        (h.type != DX_PQ_PAGE_DATA && h.type != DX_PQ_PAGE_DATA_V2) || h.value_count == 0)
        return 0;
    return dx_fail(err, DX_E_CORRUPT,
                   "page at %" PRIu64 ": %u rows behind all %" PRIu64 " of the row group", w->at,
                   h.value_count, w->row_count);
}

int dx_pq_walk_next(struct dx_pq_walk *w, struct dx_pq_page_place *page, struct dx_error *err)
{
    int rc;

    do {
        if (w->row == w->row_count)
            return end_walk(w, err);
        rc = read_place(w, page, err);
        if (rc < 0)
            return rc;
        w->at += page->size;
    } while (page->header.type == DX_PQ_PAGE_INDEX);
    if (page->is_dictionary) {
        if (w->any)
            return dx_fail(err, DX_E_CORRUPT,
                           "page at %" PRIu64 ": a dictionary behind the first page of its chunk",
                           page->offset);
        w->end = w->data_end - w->end < SIZE_SLACK ? w->data_end : w->end + SIZE_SLACK;
    } else if (page->row_count > w->row_count - w->row) {
        return dx_fail(err, DX_E_CORRUPT,
                       "page at %" PRIu64 ": %u rows, the row group has %" PRIu64 " left",
                       page->offset, page->row_count, w->row_count - w->row);
    } else {
        w->row += page->row_count;
    }
    w->any = true;
    return 1;
}

int dx_pq_reader_open(struct dx_pq_reader *r, struct dx_span file,
                      const struct dx_pq_footer *footer, uint32_t group, uint32_t leaf,
                      const struct dx_pq_limits *limits, struct dx_error *err)
{
    int rc = dx_pq_walk_open(&r->walk, file, footer, group, leaf, err);

    r->limits = *limits;
    r->dictionary.present = false;
    return rc < 0 ? rc : dx_pq_column_check(&r->walk.column, err);
}

int dx_pq_reader_open_fetch(struct dx_pq_reader *r, const struct dx_pq_fetch *fetch,
                            const struct dx_pq_footer *footer, uint32_t group, uint32_t leaf,
                            const struct dx_pq_limits *limits, struct dx_error *err)
{
    struct dx_buf window = r->walk.window;
    int rc;

    r->limits = *limits;
    r->dictionary.present = false;
    r->walk = (struct dx_pq_walk){ .fetch = fetch, .window = window };
    rc = dx_pq_footer_nested_column(footer, group, leaf, &r->walk.column, err);
    if (rc == DX_OK)
        rc = dx_pq_column_check(&r->walk.column, err);
    if (rc < 0)
        return rc;
    begin_walk(&r->walk, footer, &footer->group[group].chunk[leaf]);
    r->walk.row_count = footer->group[group].chunk[leaf].value_count;
    return DX_OK;
}

/* A page over the limit is refused before it is read. */
static int view_page(struct dx_pq_reader *r, struct dx_span *bytes, struct dx_error *err)
{
    if (r->walk.fetch != NULL && r->page.header.compressed_size > r->limits.page_bytes)
        return dx_fail(err, DX_E_LIMIT, "page at %" PRIu64 ": %u bytes, limit %u", r->page.offset,
                       r->page.header.compressed_size, r->limits.page_bytes);
    return read_window(&r->walk, r->page.offset, r->page.size, bytes, err);
}

int dx_pq_reader_next(struct dx_pq_reader *r, struct dx_pq_values *values, struct dx_error *err)
{
    const struct dx_pq_column *column = &r->walk.column;
    struct dx_span bytes;
    int rc;

    values->row_count = 0;
    for (;;) {
        rc = dx_pq_walk_next(&r->walk, &r->page, err);
        if (rc <= 0)
            return rc;
        rc = view_page(r, &bytes, err);
        if (rc < 0)
            return rc;
        if (!r->page.is_dictionary)
            break;
        rc = dx_pq_dictionary_decode(column, bytes, &r->limits, &r->dictionary, err);
        if (rc < 0)
            return dx_fail_in(err, "dictionary at %" PRIu64, r->page.offset);
    }
    rc = dx_pq_page_decode(column, bytes, &r->dictionary, &r->limits, values, err);
    if (rc < 0)
        return dx_fail_in(err, "page at %" PRIu64 " (row %" PRIu64 ")", r->page.offset,
                          r->page.first_row);
    return 1;
}

void dx_pq_reader_release(struct dx_pq_reader *r)
{
    dx_pq_dictionary_release(&r->dictionary);
    dx_buf_release(&r->walk.window);
}
