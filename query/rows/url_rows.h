/* SPDX-License-Identifier: Apache-2.0
 * url_rows.h - the rows at all places that a version has for a url_id, without I/O.
 *
 *   struct dx_url_rows u;
 *   dx_url_rows_init(&u, &view, url_id, fields, deadline_ms);
 *   while ((rc = dx_url_rows_step(&u, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_url_rows_reading(&u), &err);
 *       rc = dx_url_rows_fetched(&u, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       rc = dx_url_rows_each(&u, each, ctx, &err);               again and again
 *   dx_url_rows_release(&u);
 *
 * Two batches: the page of url_ids.dat.zst of each part that may have the id (several, where many
 * places have it), and all pages of the lake that have rows of its places. An id that is not there takes one at
 * most, and mostly none (format/version/url_id_list.h).
 *
 * each is called for the rows of every place, place by place: by dataset, then as listings go, by
 * path of the file and row. Most of them are of other URLs (format/version/url_place.h): the text of the row decides. Where `url` is
 * set, only those between its first and last row are given, if it has any; rows that it led to are among these.
 *
 * A unit of a version that leaves rows out may have such rows beside that of the URL, with the same text: where a place would give
 * more than one row, that is DX_E_LIMIT. Without `url` the caller asks for it: dx_url_rows_are_known.
 *
 * Places in datasets that the view hides are not counted and not read; only the pages of ids that
 * have them among others are.
 *
 * Bounded: over DX_URL_PLACES_MAX places, or more pages than a listing may read, is DX_E_LIMIT.
 * What the view has must be held until release. One thread at a time.
 */
#ifndef DX_QUERY_ROWS_URL_ROWS_H
#define DX_QUERY_ROWS_URL_ROWS_H

#include "format/version/pages.h"
#include "format/version/url_ids.h"
#include "query/rows/cold_page.h"
#include "query/rows/listing.h"
#include "query/view/view.h"

#define DX_URL_PLACES_MAX 4096 /* each is some pages of a file: no more are read in one answer */

/* Of ids, that are there at once. Three pages may have so many places; one more where they begin
 * and end within pages. With hidden places among them they may be any number. */
#define DX_URL_ROWS_PAGES 8

/* Places of one file that reach over each other, of URLs that share the id, are one. */
struct dx_url_rows_place {
    struct dx_url_place place;
    struct dx_pages_file file;
    uint32_t row_group; /* in the file */
    size_t pieces;      /* of the listing */
    uint64_t rows;      /* that each gives */
};

struct dx_url_rows {
    struct dx_url_rows_place *places; /* once it is DONE */
    size_t place_count;

    /* Set after init: the URL whose id it is; NULL: whatever has the id. Borrowed until DONE. */
    const struct dx_url *url;

    /* Set after init by a thread that must not be held, as of query/rows/listing.h: with more than a
     * few places or rows a step ends with DX_LISTING_WAITS and a reading that is DX_READ_BATCH_DONE,
     * for another thread to go on. */
    bool brief;

    /* private */
    struct dx_view view;
    uint64_t url_id;
    unsigned state;
    size_t next_part;
    const struct dx_part *part;   /* at hand */
    uint32_t next_page, end_page; /* of its ids; those of `pages` come before */
    struct dx_source *source;     /* of `pages` */
    uint64_t deadline_ms;
    struct dx_cold_page_wanted pages[DX_URL_ROWS_PAGES];
    size_t page_count;
    struct dx_zstd_decoder *decoder;
    struct dx_read_batch ids;
    struct dx_listing listing;
    size_t capacity;
};

void dx_url_rows_init(struct dx_url_rows *u, const struct dx_view *view, uint64_t url_id,
                      unsigned fields, uint64_t deadline_ms);
int dx_url_rows_are_known(const struct dx_url_rows *u, size_t place, struct dx_error *err);
int dx_url_rows_step(struct dx_url_rows *u, struct dx_error *err);
struct dx_read_batch *dx_url_rows_reading(struct dx_url_rows *u);
int dx_url_rows_fetched(struct dx_url_rows *u, int rc, struct dx_error *err);

typedef int dx_url_rows_take(void *ctx, size_t place, const struct dx_listing_row *row,
                             struct dx_error *err);
int dx_url_rows_each(struct dx_url_rows *u, dx_url_rows_take *take, void *ctx,
                     struct dx_error *err);
void dx_url_rows_release(struct dx_url_rows *u);

#endif
