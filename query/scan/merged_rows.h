/* SPDX-License-Identifier: Apache-2.0
 * merged_rows.h - the visible rows of one domain over several datasets in one order, a page at a time, without I/O.
 *
 *   struct dx_merged_rows m;
 *   rc = dx_merged_rows_init(&m, &rows, &ask, &err);            rows: its pairs (query/scan/domain_rows.h)
 *   while (rc >= 0 && (rc = dx_merged_rows_step(&m, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_merged_rows_reading(&m), &err);
 *       rc = dx_merged_rows_fetched(&m, rc, &err);
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       rc = dx_merged_rows_each(&m, take, ctx, &err);          take(ctx, pair, place, row, err), in order
 *   m.found.more, .last, .has_kept, .kept                       what the ask of the next page begins with, and
 *   rc = dx_merged_rows_position(&m, &position, &err);          the position of `last`; before the release
 *   dx_merged_rows_release(&m);                                 also after an init that failed
 *
 * Orders, of which each is one of all rows, without ties (a row without a time comes before those with one):
 *
 *   DX_MERGED_URL       host, path_query, time, dataset_id, place in the listing of the dataset
 *   DX_MERGED_TIME      time, dataset_id, place
 *   DX_MERGED_CLOSEST   nearest to closest_us first, of two as near the earlier one; those without a time last
 *
 * and `reverse` of URL and TIME. By URL the files of all datasets are merged, some rows of each held at a time, and a page
 * costs its rows and a look into each file. The other two look at all rows of the range: over DX_MERGED_SORT_MAX of them,
 * or where what is looked at lies on over DX_MERGED_SORT_PAGES pages or DX_MERGED_SORT_BYTES of them, is DX_E_LIMIT before one is read.
 *
 * A page goes on behind the row `after`, the `last` of the page before: behind its position where that is given, and the row is not
 * looked for; else behind where the row stands, which must be shown. Of rows in order that have the same value of `collapse` the first one is
 * taken; the position says the value of the one that was taken last.
 *
 * A page by URL may be short, and even empty, where it has looked at DX_FILTERED_LOOK_MAX rows or read so many bytes:
 * only without `more` it is the last one. Files that are merged by URL must have the rows of one URL in order of time, as those of ours
 * have; one that is read and has not is DX_E_UNSUPPORTED.
 *
 * A tag is not looked for in its column: tags.dxt says which places have it (query/scan/tag_places.h), and of each file only these are
 * looked at, with what lies between two that are near each other; by URL in reverse all rows of a file that has it.
 *
 * rows must have been given its pairs, nothing of it begun; it is used up, and both are released by their owners. What the
 * ask points to must stay until release. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_MERGED_ROWS_H
#define DX_QUERY_SCAN_MERGED_ROWS_H

#include "query/rows/cursor.h"
#include "query/rows/row_filter.h"
#include "query/scan/collapse.h"
#include "query/scan/kept_rows.h"
#include "query/scan/merged_window.h"
#include "query/scan/row_streams.h"
#include "query/scan/tag_places.h"
#include "query/scan/url_range.h"

#define DX_MERGED_SORT_MAX 262144u /* rows of a range that are put in order of time */
#define DX_MERGED_SORT_PAGES 32768 /* four columns of as many files as can be merged */
#define DX_MERGED_SORT_BYTES (UINT64_C(256) << 20)

enum dx_merged_order { DX_MERGED_URL, DX_MERGED_TIME, DX_MERGED_CLOSEST };

struct dx_merged_ask {
    enum dx_merged_order order;
    bool reverse;
    int64_t closest_us;
    enum dx_collapse collapse;
    unsigned collapse_digits; /* 4 to 14 */
    struct dx_url_range range;
    struct dx_row_filter filter; /* checked; nothing set: all rows */
    uint64_t limit;              /* at least 1 */
    unsigned fields; /* DX_FIELD_..., of rows that are given; their URL is there always */
    const struct dx_span *extras; /* of these names besides */
    size_t extra_count;
    bool goes_on, has_kept;
    struct dx_domain_rows_place after, kept;   /* with goes_on; with has_kept */
    const struct dx_cursor_position *position; /* of `after`; NULL: the cursor has none */
};

/* A row that is in the page. */
struct dx_merged_taken {
    size_t stream;
    uint64_t place;
    size_t at; /* in kept_rows */
};

/* Of a range that is put in order of time. */
struct dx_merged_entry {
    uint64_t rank; /* first what is smaller, then by stream and place */
    uint64_t rank_2;
    size_t stream;
    uint64_t place;
    size_t value_at; /* of the collapse, in `values` */
    size_t value_size;
    bool has_value;
};

struct dx_merged_found {
    bool more, has_kept;
    struct dx_domain_rows_place last, kept; /* `last`: of the last row that was looked at */
    uint64_t row_count;                     /* that were taken */
    uint64_t range_datasets;                /* that have such rows */
    uint64_t
        range_rows; /* visible rows of the range; unless it is SUBDOMAINS: of the domain then */
    uint64_t rows_seen, pages_seen, bytes_seen;
};

struct dx_merged_rows {
    struct dx_merged_found found;

    /* private */
    struct dx_domain_rows *rows;
    struct dx_merged_ask ask;
    unsigned state;
    struct dx_row_streams streams;
    struct dx_span extras[DX_ROW_FILTER_EXTRAS + 1]; /* that the filter and the collapse look at */
    size_t extra_count;
    unsigned look_fields;
    struct dx_buf scratch;
    bool by_tag; /* then the filter has none */
    struct dx_tag_places tags;
    struct dx_collapse_last taken_last;

    /* the row to go on behind */
    struct dx_merged_row after;
    struct dx_buf after_text;

    /* by URL */
    struct dx_merged_window *windows; /* one of each stream */
    size_t *heap;                     /* streams that are not at their end, the next one first */
    size_t heap_count;
    uint64_t chunk;
    uint64_t text_bytes;         /* of all windows */
    bool any;                    /* a row was merged: */
    struct dx_merged_row before; /* at the end: `last` */
    struct dx_buf before_text;

    /* by time */
    struct dx_merged_entry *entries;
    size_t entry_count, entry_capacity;
    struct dx_buf values;
    bool cut; /* entries were left out: there are more */
    struct dx_merged_entry last_entry;

    size_t filling; /* the stream that is asked for rows next */
    bool asked;     /* a batch of rows is being read */
    bool planned;   /* of an order by time: what is to be read was found to be within bounds */
    struct dx_merged_taken *taken;
    size_t taken_capacity;
    size_t *order; /* of taken, as they are read */
    size_t read;   /* of order: were read, or are being read */
    size_t given;  /* of order: came */
    struct dx_kept_rows kept_rows;
    struct dx_listing_row row; /* 2 kB that are not on the stack of a loop */
};

int dx_merged_rows_init(struct dx_merged_rows *m, struct dx_domain_rows *rows,
                        const struct dx_merged_ask *ask, struct dx_error *err);
int dx_merged_rows_step(struct dx_merged_rows *m, struct dx_error *err);
struct dx_read_batch *dx_merged_rows_reading(struct dx_merged_rows *m);
int dx_merged_rows_fetched(struct dx_merged_rows *m, int rc, struct dx_error *err);
void dx_merged_rows_release(struct dx_merged_rows *m);

int dx_merged_rows_position(const struct dx_merged_rows *m, struct dx_cursor_position *position,
                            struct dx_error *err);

typedef int dx_merged_take(void *ctx, size_t pair, uint64_t place, const struct dx_listing_row *row,
                           struct dx_error *err);
int dx_merged_rows_each(struct dx_merged_rows *m, dx_merged_take *take, void *ctx,
                        struct dx_error *err);

#endif
