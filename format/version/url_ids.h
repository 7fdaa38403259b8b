/* SPDX-License-Identifier: Apache-2.0
 * url_ids.h - url_ids.dat.zst: from a url_id to the places of the rows of its URL.
 *
 *   rc = dx_url_ids_pages(&cold, url_id, &first, &count, &err);    1: pages [first, first + count) may
 *                                                                  have it; 0: no page does
 *   rc = dx_url_page_open(&u, &page, plain, name, &err);           page and bytes of format/version/cold.h
 *   dx_url_page_jump(&u, marks, url_id);                           to a mark before it; NULL: there are none
 *   rc = dx_url_page_seek(&u, url_id, &err);                       passes over those before it
 *   while ((rc = dx_url_page_next(&u, &place, &err)) == 1)         ascending by id, group, row
 *       if (place.id == dx_url_id_kept(url_id)) ...
 *
 * A place is the first row that a lake file has of a URL, and how many rows it is from there to the
 * last one. Rows of a file stand by (host, path_query), so those between are of the same page of a
 * site, but may be of another scheme: which are of the URL is for their text to say. It is that too
 * because DX_URL_ID_KEPT bits of the id are kept: the others would cost two bytes a URL, and save
 * one look at a row in some ten thousand million.
 *
 * The directory's key of a page is the id that it begins with, sub is 0, and one more than that of
 * the page before where that begins with the same id.
 *
 * plain is borrowed until the last next. Whatever the bytes are, next gives at most as many places
 * as the page says, and an error if they are not in order. seek, before the first next, reads the
 * gaps alone of what it passes over. Threads may share what they read.
 *
 *   size = dx_url_page_marks_size(page.entries);
 *   rc = dx_url_page_mark(&u, marks, &err);                        marks: so many bytes; behind open
 *
 * Marks are the places of every DX_URL_PAGE_MARK-th entry, for who looks into a page again and again: they are made by one
 * pass over all of it, which fails as seek and next do, and are not stored in the file. A jump is before the first seek and
 * next, with the marks of the same page.
 *
 *   rc = dx_url_page_encode(&buf, places, n, &err);               a page, replaces what buf has
 *
 * places ascend; n is 1 to DX_URL_PAGE_MAX, of a writer that means well DX_URL_PAGE_PLACES.
 */
#ifndef DX_FORMAT_VERSION_URL_IDS_H
#define DX_FORMAT_VERSION_URL_IDS_H

#include "base/bits.h"
#include "base/buf.h"
#include "format/version/cold.h"

#define DX_URL_ID_KEPT 48

/* The column of the lake that keeps which URL led to the row, in canonical form. A row that has it
 * has a place under the id of that URL too. */
#define DX_REQUESTED_URL "requested_url"
#define DX_URL_PAGE_PLACES 2048 /* 13 kB */
#define DX_URL_PAGE_MAX (1u << 20)
#define DX_URL_PAGE_MARK 64
#define DX_URL_PAGE_MARK_SIZE 12

struct dx_url_place {
    uint64_t id;    /* the lower 16 bits are zero */
    uint64_t group; /* row group, among all of the version: pages.h */
    uint64_t row;   /* in the row group */
    uint64_t rows;  /* at least 1; they may go on in the next row groups of the same file */
};

static inline uint64_t dx_url_id_kept(uint64_t url_id)
{
    return url_id >> (64 - DX_URL_ID_KEPT) << (64 - DX_URL_ID_KEPT);
}

/* Below 0, 0, above: as a stands to b. */
static inline int dx_url_place_compare(const struct dx_url_place *a, const struct dx_url_place *b)
{
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

int dx_url_ids_pages(const struct dx_cold *c, uint64_t url_id, uint32_t *first, uint32_t *count,
                     struct dx_error *err);

struct dx_url_page {
    const char *name; /* of the file, for messages */
    uint32_t number;
    uint32_t count; /* places */

    /* private */
    struct dx_span places;
    struct dx_bits bits;
    unsigned gap_k, group_bits, row_bits, rows_k;
    uint32_t taken;
    struct dx_url_place last;
};

int dx_url_page_open(struct dx_url_page *u, const struct dx_cold_page *page, struct dx_span plain,
                     const char *name, struct dx_error *err);
size_t dx_url_page_marks_size(uint32_t entries);
int dx_url_page_mark(const struct dx_url_page *u, uint8_t *marks, struct dx_error *err);
void dx_url_page_jump(struct dx_url_page *u, const uint8_t *marks, uint64_t url_id);
int dx_url_page_seek(struct dx_url_page *u, uint64_t url_id, struct dx_error *err);
int dx_url_page_next(struct dx_url_page *u, struct dx_url_place *place, struct dx_error *err);

int dx_url_page_encode(struct dx_buf *out, const struct dx_url_place *places, size_t count,
                       struct dx_error *err);

#endif
