/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/page.h"
#include "query/rows/column_block.h"
#include "query/rows/listing.h"
#include "query/rows/listing_parts.h"

#include <assert.h>

/* A column while rows are walked: the page that the row is in. */
struct walk {
    const struct dx_listing_column *column;
    const struct dx_listing_page *page, *end;
    struct dx_column_block block;
};

/* A block in the cache may stem from another record of the same page (of another version, or of
 * another column): it is believed only for as many rows as this record says. */
static int walk_enter(struct walk *w, struct dx_error *err)
{
    w->block = dx_column_block_of(w->page->want.block->bytes);
    if (w->block.row_count == w->page->place.rows)
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT,
                   "column %.*s: the page at offset %llu holds %u rows, pages.dxp says %llu",
                   (int)w->column->name.size, (const char *)w->column->name.data,
                   (unsigned long long)w->page->place.offset, (unsigned)w->block.row_count,
                   (unsigned long long)w->page->place.rows);
}

static int walk_to(struct walk *w, uint64_t row, uint32_t *in_page, struct dx_error *err)
{
    while (w->page < w->end && row >= w->page->place.first_row + w->page->place.rows) {
        int rc = ++w->page < w->end ? walk_enter(w, err) : DX_OK;

        if (rc < 0)
            return rc;
    }
    if (w->page == w->end || row < w->page->place.first_row)
        return dx_fail(err, DX_E_CORRUPT, "no page of column %.*s holds row %llu",
                       (int)w->column->name.size, (const char *)w->column->name.data,
                       (unsigned long long)row);
    *in_page = (uint32_t)(row - w->page->place.first_row);
    return DX_OK;
}

/* A null is an answer, a number where text belongs is not. */
static int not_text(const struct walk *w, struct dx_error *err)
{
    return dx_fail(err, DX_E_UNSUPPORTED, "column %.*s holds numbers, not text",
                   (int)w->column->name.size, (const char *)w->column->name.data);
}

static int fill_role(struct dx_listing_row *out, const struct walk *w, uint32_t row,
                     struct dx_error *err)
{
    struct dx_span text = dx_column_block_text(&w->block, row);
    int64_t value;

    switch (w->column->role) {
    case DX_ROLE_SCHEME:
        out->scheme = text;
        break;
    case DX_ROLE_HOST:
        out->host = text;
        break;
    case DX_ROLE_PATH_QUERY:
        out->path_query = text;
        break;
    case DX_ROLE_RAW_URL:
        out->raw_url = text;
        return w->block.ints != NULL ? not_text(w, err) : DX_OK;
    case DX_ROLE_TS:
        if (w->block.ints != NULL ? !dx_column_block_int(&w->block, row, &value)
                                  : text.data == NULL)
            return DX_OK;
        out->has_ts = w->block.ints != NULL
                          ? dx_pq_time_us(w->column->time_unit, value, &out->ts_us)
                          : text.size == 12 && dx_pq_int96_us(text.data, &out->ts_us);
        return DX_OK;
    default:
        out->extra[out->extra_count].name = w->column->name;
        out->extra[out->extra_count++].value = text;
        return w->block.ints != NULL ? not_text(w, err) : DX_OK;
    }
    if (text.data == NULL)
        return dx_fail(err, DX_E_CORRUPT, "column %.*s has a null", (int)w->column->name.size,
                       (const char *)w->column->name.data);
    return DX_OK;
}

/* Rows [first, end) of the piece that lie in the page. */
static uint64_t page_text_bytes(const struct dx_listing_page *page,
                                const struct dx_listing_piece *piece)
{
    struct dx_column_block b = dx_column_block_of(page->want.block->bytes);
    uint64_t first = page->place.first_row;
    uint64_t begin = piece->first_row > first ? piece->first_row - first : 0;
    uint64_t end = piece->first_row + piece->row_count - first;

    end = end < b.row_count ? end : b.row_count;
    return b.offsets == NULL || begin >= end ? 0 : b.offsets[end] - b.offsets[begin];
}

uint64_t dx_listing_text_bytes(const struct dx_listing *l)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->piece_count; i++)
        for (size_t c = 0; c < l->pieces[i].column_count; c++) {
            const struct dx_listing_column *column = &l->columns[l->pieces[i].first_column + c];

            for (size_t p = 0; p < column->page_count; p++)
                bytes += page_text_bytes(&l->pages[column->first_page + p], &l->pieces[i]);
        }
    return bytes;
}

/* One column into the stretch; false: it is none of the usual kind. */
static bool join_stretch(struct dx_listing_stretch *s, const struct walk *w, uint32_t row)
{
    const struct dx_column_block *b = &w->block;
    bool usual_text = b->offsets != NULL && b->valid == NULL && b->plain;

    switch (w->column->role) {
    case DX_ROLE_SCHEME:
        s->scheme = *b;
        s->first_scheme = row;
        return usual_text;
    case DX_ROLE_HOST:
        s->host = *b;
        s->first_host = row;
        return usual_text;
    case DX_ROLE_PATH_QUERY:
        s->path_query = *b;
        s->first_path_query = row;
        return usual_text;
    case DX_ROLE_TS:
        s->time_unit = w->column->time_unit;
        s->first_ts = row;
        if (s->ts.ints != NULL) /* a second one */
            return false;
        s->ts = *b;
        return b->ints != NULL;
    default:
        return false;
    }
}

/* Where a row lies in the page of each column, and how many rows on all pages go. */
static int stretch_at(struct walk *walks, size_t count, uint64_t row, uint64_t end,
                      uint32_t in_page[DX_PAGE_COLUMNS_MAX], uint32_t *rows, struct dx_error *err)
{
    uint64_t most = end - row < UINT32_MAX ? end - row : UINT32_MAX;
    int rc = DX_OK;

    for (size_t c = 0; c < count && rc == DX_OK; c++) {
        rc = walk_to(&walks[c], row, &in_page[c], err);
        if (rc == DX_OK && walks[c].page->place.rows - in_page[c] < most)
            most = walks[c].page->place.rows - in_page[c];
    }
    *rows = (uint32_t)most;
    return rc;
}

static int give_stretch(const struct dx_listing_taker *taker, const struct walk *walks,
                        size_t count, const uint32_t *in_page, uint32_t rows, struct dx_error *err)
{
    struct dx_listing_stretch s = { .row_count = rows };

    if (taker->stretch == NULL)
        return 0;
    for (size_t c = 0; c < count; c++)
        if (!join_stretch(&s, &walks[c], in_page[c]))
            return 0;
    if (s.scheme.offsets == NULL || s.host.offsets == NULL || s.path_query.offsets == NULL)
        return 0;
    return taker->stretch(taker->ctx, &s, err);
}

static int give_rows(const struct dx_listing_taker *taker, const struct walk *walks, size_t count,
                     const uint32_t *in_page, uint32_t rows, struct dx_error *err)
{
    /* here and not in the loop: where it begins it is zeroed, all 2 kB */
    struct dx_listing_row out;
    int rc = DX_OK;

    for (uint32_t i = 0; i < rows && rc >= 0; i++) {
        out.scheme = out.host = out.path_query = out.raw_url = dx_span_of(NULL, 0);
        out.has_ts = false;
        out.ts_us = 0;
        out.extra_count = 0;
        for (size_t c = 0; c < count && rc >= 0; c++)
            rc = fill_role(&out, &walks[c], in_page[c] + i, err);
        if (rc >= 0)
            rc = taker->row(taker->ctx, &out, err);
    }
    return rc;
}

static int piece_rows(const struct dx_listing *l, const struct dx_listing_piece *piece,
                      const struct dx_listing_taker *taker, struct dx_error *err)
{
    uint64_t end = piece->first_row + piece->row_count;
    struct walk walks[DX_PAGE_COLUMNS_MAX];
    uint32_t in_page[DX_PAGE_COLUMNS_MAX];
    uint32_t rows;

    for (size_t c = 0; c < piece->column_count; c++) {
        walks[c].column = &l->columns[piece->first_column + c];
        walks[c].page = &l->pages[walks[c].column->first_page];
        walks[c].end = walks[c].page + walks[c].column->page_count;
        if (walks[c].page < walks[c].end) {
            int rc = walk_enter(&walks[c], err);

            if (rc < 0)
                return rc;
        }
    }
    for (uint64_t row = piece->first_row; row < end; row += rows) {
        int rc = stretch_at(walks, piece->column_count, row, end, in_page, &rows, err);

        if (rc == DX_OK)
            rc = give_stretch(taker, walks, piece->column_count, in_page, rows, err);
        if (rc == 0)
            rc = give_rows(taker, walks, piece->column_count, in_page, rows, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

int dx_listing_rows_of(struct dx_listing *l, size_t first, size_t count,
                       const struct dx_listing_taker *taker, struct dx_error *err)
{
    int rc = DX_OK;

    assert(first <= l->piece_count && count <= l->piece_count - first);
    for (size_t i = first; i < first + count && rc == DX_OK; i++)
        rc = piece_rows(l, &l->pieces[i], taker, err);
    return rc;
}

int dx_listing_rows(struct dx_listing *l, const struct dx_listing_taker *taker,
                    struct dx_error *err)
{
    return dx_listing_rows_of(l, 0, l->piece_count, taker, err);
}
