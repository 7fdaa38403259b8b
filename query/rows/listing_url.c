/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/listing_parts.h"

#include "canon/url.h"
#include "format/version/url_ids.h"
#include "query/rows/column_block.h"
#include "query/rows/listing.h"

#define TAIL sizeof(uint64_t) /* bytes that are compared at once */

/* Columns of a piece; NULL: it has none. */
struct url_columns {
    const struct dx_listing_column *host, *path_query, *requested;
};

static struct url_columns columns_of(const struct dx_listing *l,
                                     const struct dx_listing_piece *piece)
{
    struct url_columns of = { 0 };

    for (size_t i = 0; i < piece->column_count; i++) {
        const struct dx_listing_column *c = &l->columns[piece->first_column + i];

        if (c->role == DX_ROLE_HOST)
            of.host = c;
        else if (c->role == DX_ROLE_PATH_QUERY)
            of.path_query = c;
        else if (c->role == DX_ROLE_EXTRA && dx_span_equal(c->name, dx_span_str(DX_REQUESTED_URL)))
            of.requested = c;
    }
    return of;
}

/* c NULL: the piece has no such column. */
static bool is_sound(const struct dx_listing *l, const struct dx_listing_column *c)
{
    bool sound = true;

    for (size_t p = 0; c != NULL && p < c->page_count; p++) {
        const struct dx_listing_page *page = &l->pages[c->first_page + p];

        sound = sound && dx_column_block_of(page->want.block->bytes).row_count == page->place.rows;
    }
    return sound;
}

/* The page that has a row of the row group; NULL: none does. */
static const struct dx_listing_page *page_of(const struct dx_listing *l,
                                             const struct dx_listing_column *c, uint64_t row)
{
    for (size_t p = c->first_page; p < c->first_page + c->page_count; p++)
        if (row - l->pages[p].place.first_row < l->pages[p].place.rows)
            return &l->pages[p];
    return NULL;
}

static bool row_has(const struct dx_listing *l, const struct dx_listing_column *c, uint64_t row,
                    struct dx_span text)
{
    const struct dx_listing_page *page = page_of(l, c, row);
    struct dx_column_block b;

    if (page == NULL)
        return false;
    b = dx_column_block_of(page->want.block->bytes);
    return dx_span_equal(dx_column_block_text(&b, (uint32_t)(row - page->place.first_row)), text);
}

/* The next of rows [from, end) of the block that has the text; end if none does. Paths of a site begin alike, and are often of
 * one length: their ends are compared first. */
static uint32_t find_text(const struct dx_column_block *b, uint32_t from, uint32_t end,
                          struct dx_span text)
{
    uint64_t tail = text.size < TAIL ? 0 : dx_load_u64(text.data + text.size - TAIL);

    for (; b->offsets != NULL && from < end; from++) {
        const uint8_t *behind = b->text + b->offsets[from + 1];

        if (b->offsets[from + 1] - b->offsets[from] == text.size &&
            (text.size < TAIL || dx_load_u64(behind - TAIL) == tail) &&
            dx_span_equal(dx_column_block_text(b, from), text))
            break;
    }
    return b->offsets == NULL ? end : from;
}

/* The first row of [from, end) with this path_query; end if none has it. */
static uint64_t find_path(const struct dx_listing *l, const struct dx_listing_column *c,
                          uint64_t from, uint64_t end, struct dx_span path_query)
{
    const struct dx_listing_page *page;

    while (from < end && (page = page_of(l, c, from)) != NULL) {
        struct dx_column_block b = dx_column_block_of(page->want.block->bytes);
        uint64_t first = page->place.first_row;
        uint32_t last = (uint32_t)(end - first < b.row_count ? end - first : b.row_count);
        uint32_t at = find_text(&b, (uint32_t)(from - first), last, path_query);

        from = first + at;
        if (at < last)
            return from;
    }
    return end;
}

/* Rows [*first, *last) are of the URL's page. */
static void find_page_rows(const struct dx_listing *l, const struct url_columns *of,
                           const struct dx_url *url, uint64_t *first, uint64_t *last)
{
    uint64_t end = *last;
    uint64_t row = *first;

    for (; (row = find_path(l, of->path_query, row, end, url->path_query)) < end; row++)
        if (row_has(l, of->host, row, url->host))
            break;
    *first = row;
    while (row < end && row_has(l, of->path_query, row, url->path_query) &&
           row_has(l, of->host, row, url->host))
        row++;
    *last = row;
}

/* [*first, *last), and what the URL led to among rows [begin, end). */
static void join_requested(const struct dx_listing *l, const struct url_columns *of,
                           const struct dx_url *url, uint64_t begin, uint64_t end, uint64_t *first,
                           uint64_t *last)
{
    for (uint64_t row = begin; row < end; row++) {
        if (!row_has(l, of->requested, row, url->url))
            continue;
        *last = *first == *last || row >= *last ? row + 1 : *last;
        *first = row < *first ? row : *first;
    }
}

static void keep_url(const struct dx_listing *l, struct dx_listing_piece *piece,
                     const struct dx_url *url)
{
    struct url_columns of = columns_of(l, piece);
    uint64_t begin = piece->first_row;
    uint64_t end = begin + piece->row_count;
    uint64_t first = begin;
    uint64_t last = end;

    if (of.host == NULL || of.path_query == NULL || !is_sound(l, of.host) ||
        !is_sound(l, of.path_query) || !is_sound(l, of.requested))
        return;
    find_page_rows(l, &of, url, &first, &last);
    if (of.requested != NULL)
        join_requested(l, &of, url, begin, end, &first, &last);
    piece->first_row = first;
    piece->row_count = last - first;
}

void dx_listing_keep_url(struct dx_listing *l, const struct dx_url *url)
{
    l->row_count = 0;
    for (size_t i = 0; i < l->piece_count; i++) {
        keep_url(l, &l->pieces[i], url);
        l->row_count += l->pieces[i].row_count;
    }
}
