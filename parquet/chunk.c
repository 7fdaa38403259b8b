/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/chunk.h"

#include <inttypes.h>

/* parquet-mr up to 1.2.8 left the header of the dictionary page out of the chunk's size. */
#define SIZE_SLACK 100

int dx_pq_walk_open(struct dx_pq_walk *w, struct dx_span file, const struct dx_pq_footer *footer,
                    uint32_t group, uint32_t leaf, struct dx_error *err)
{
    const struct dx_pq_chunk *c = &footer->group[group].chunk[leaf];
    int rc;

    *w = (struct dx_pq_walk){ .file = file, .row_count = footer->group[group].row_count };
    rc = dx_pq_footer_column(footer, group, leaf, &w->column, err);
    if (rc < 0)
        return rc;
    w->at = c->data_page_offset;
    if (c->has_dictionary_offset && c->dictionary_offset < w->at)
        w->at = c->dictionary_offset;
    w->end = w->at + c->compressed_size;
    w->chunk_end = w->end;
    w->data_end = footer->offset;
    return DX_OK;
}

static int fail_in_page(const struct dx_pq_walk *w, struct dx_error *err)
{
    return dx_fail_in(err, "page at %" PRIu64 " (row %" PRIu64 ")", w->at, w->row);
}

/* The page at w->at; a page that is neither data nor dictionary has row_count 0. */
static int read_place(struct dx_pq_walk *w, struct dx_pq_page_place *p, struct dx_error *err)
{
    const struct dx_pq_page_header *h = &p->header;
    struct dx_span rest;
    uint64_t size;
    int rc;

    if (w->at >= w->end)
        return dx_fail(err, DX_E_TRUNCATED,
                       "column chunk ends at %" PRIu64 " with %" PRIu64 " of %" PRIu64 " rows",
                       w->at, w->row, w->row_count);
    rest = dx_span_of(w->file.data + w->at, (size_t)(w->end - w->at));
    rc = dx_pq_page_header_parse(rest, &p->header, err);
    if (rc < 0)
        return fail_in_page(w, err);
    size = (uint64_t)h->header_size + h->compressed_size;
    if (size > rest.size || size > UINT32_MAX) {
        (void)dx_fail(err, DX_E_TRUNCATED, "%" PRIu64 " bytes, %zu are left of its column chunk",
                      size, rest.size);
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
 * lied about its own; other bytes there are nobody's concern. */
static int end_walk(const struct dx_pq_walk *w, struct dx_error *err)
{
    struct dx_pq_page_header h;

    if (w->at >= w->chunk_end ||
        dx_pq_page_header_parse(dx_span_of(w->file.data + w->at, (size_t)(w->chunk_end - w->at)),
                                &h, NULL) < 0 ||
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
        bytes = dx_span_of(r->walk.file.data + r->page.offset, r->page.size);
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
}
