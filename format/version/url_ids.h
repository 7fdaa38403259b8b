/* SPDX-License-Identifier: Apache-2.0
 * url_ids.h - url_ids.dat.zst: from a url_id to the places of the rows of its URL.
 *
 *   rc = dx_url_ids_pages(&cold, url_id, &first, &count, &err);    1: pages [first, first + count) may
 *                                                                  have it; 0: no page does
 *   rc = dx_url_ids_on_page(&cold, &page, url_id, &err);           of these: 1 it may have it, 0 it has not
 *   rc = dx_url_page_open(&u, &cold, &page, plain, name, &err);    page and bytes of format/version/cold.h
 *   rc = dx_url_page_only(&u, url_id, &err);                       next gives the places of this id alone
 *   while ((rc = dx_url_page_next(&u, &place, &err)) == 1)         ascending by id, group, row
 *       ...
 *
 * A place is the unit of rows in which a lake file has a URL (url_place.h); where it goes on behind it, so many rows from the unit's
 * first one on. Which of them are of the URL is for their text to say. It is that too
 * because DX_URL_ID_KEPT bits of the id are kept: of n URLs in a part one look-up in 2^32 / n meets another URL's place.
 * Both numbers are fixed, so that a part that is merged from others has the bytes of one made from their lake.
 *
 * The ids are in cold.dxp (format/version/url_id_list.h), the places in the page: an id that is absent reads no page, and
 * with dx_url_page_only nothing but its own places is looked at. Pages of DX_COLD_VERSION_OLD have both, one behind the
 * other (url_ids_old.c): any of them may have an id, their places have 48 bits of it, and they are passed over one by one.
 * Places there are exact: the first row of the URL, and at least 1 row.
 *
 * plain is borrowed until the last next. Whatever the bytes are, next gives at most as many places
 * as the page says, and an error if they are not in order. Threads may share what they read.
 *
 *   rc = dx_url_page_encode(&plain, &lists, &key, places, n, &err);    a page: replaces plain, its ids go behind those
 *                                                                  in lists (writer.url_ids); key of the page
 *
 * places ascend, and may be equal: two URLs of a unit, whose ids have the same bits; n is 1 to DX_URL_PAGE_MAX, of a writer that means well DX_URL_PAGE_PLACES.
 */
#ifndef DX_FORMAT_VERSION_URL_IDS_H
#define DX_FORMAT_VERSION_URL_IDS_H

#include "base/bits.h"
#include "base/buf.h"
#include "format/version/cold.h"
#include "format/version/url_id_list.h"
#include "format/version/url_place.h"

/* The column of the lake that keeps which URL led to the row, in canonical form. A row that has it
 * has a place under the id of that URL too. */
#define DX_REQUESTED_URL "requested_url"
#define DX_URL_PAGE_PLACES 4096 /* 7 kB */
#define DX_URL_PAGE_OLD_MAX (1u << 20)

int dx_url_ids_pages(const struct dx_cold *c, uint64_t url_id, uint32_t *first, uint32_t *count,
                     struct dx_error *err);
int dx_url_ids_on_page(const struct dx_cold *c, const struct dx_cold_page *page, uint64_t url_id,
                       struct dx_error *err);

struct dx_url_page {
    const char *name; /* of the file, for messages */
    uint32_t number;
    uint32_t count; /* places */

    /* private */
    struct dx_url_id_list ids;
    struct dx_span places;
    struct dx_span longer; /* those that go on behind their unit: number of the entry, rows - 2 */
    uint32_t longer_count;
    unsigned group_bits, row_bits, number_bits, rows_bits;
    uint32_t taken, end;
    bool only;
    uint64_t only_id;
    struct dx_url_place last;
    bool any; /* there is a last one */
    /* of DX_COLD_VERSION_OLD */
    bool is_old;
    struct dx_bits bits;
    unsigned gap_k, rows_k;
};

int dx_url_page_open(struct dx_url_page *u, const struct dx_cold *c,
                     const struct dx_cold_page *page, struct dx_span plain, const char *name,
                     struct dx_error *err);
int dx_url_page_only(struct dx_url_page *u, uint64_t url_id, struct dx_error *err);
int dx_url_page_next(struct dx_url_page *u, struct dx_url_place *place, struct dx_error *err);

/* For url_ids_old.c, and what it has for url_ids.c. */
int dx_url_page_corrupt(const struct dx_url_page *u, struct dx_error *err, const char *what);
int dx_url_page_old_open(struct dx_url_page *u, const struct dx_cold_page *page, struct dx_bytes *r,
                         struct dx_error *err);
int dx_url_page_old_next(struct dx_url_page *u, struct dx_url_place *place, struct dx_error *err);

int dx_url_page_encode(struct dx_buf *plain, struct dx_buf *lists, uint64_t *key,
                       const struct dx_url_place *places, size_t count, struct dx_error *err);

#endif
