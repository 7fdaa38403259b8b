/* SPDX-License-Identifier: Apache-2.0
 * row_streams.h - the files that have rows of one domain, each in order of (host, path_query): places in them are searched for and
 * rows of them read, of many at once, without I/O.
 *
 *   dx_row_streams_init(&s, &rows);                         rows: its pairs (query/scan/domain_rows.h)
 *   rc = dx_row_streams_open(&s, &err);                     posting lists. As a step: DX_LISTING_WAITS, DX_LISTING_DONE
 *   dx_row_streams_search(&s, &question);                   then
 *   rc = dx_row_streams_find(&s, &err);                     a step: of each stream [low, high) becomes what is WITHIN
 *
 *   if (dx_row_streams_full(&s)) ...                        a batch of rows has all that it may have
 *   rc = dx_row_streams_want(&s, stream, place, count, &err);     rows of a batch, any number of times
 *   rc = dx_row_streams_read(&s, &err);                     a step
 *   rc = dx_row_streams_each(&s, &taker, &err);             the rows that were wanted, in that order; spans until done
 *   dx_row_streams_done(&s);                                the batch is over
 *
 *   reading = dx_row_streams_reading(&s);  rc = dx_row_streams_fetched(&s, rc, &err);      between steps that wait
 *   dx_row_streams_release(&s);
 *
 * A stream is the rows of one pair that lie in one file. Places are those of the pair's listing; streams stand in order of
 * dataset, then place. At first [low, high) is all of it that counts: rows.pairs[].first to end.
 *
 * A question says of a row whether it stands before what is looked for, within it, or behind: for the rows of a file first all before, then
 * all within, then all behind. A search reads some pages of each file, of all files at once: of one with n rows about
 * log(n / 2048). Where the answers contradict that, the file is not in order: DX_E_UNSUPPORTED.
 *
 * Memory: one batch (some MB of pages or slices), and 160 bytes a stream. Over DX_ROW_STREAMS_MAX: DX_E_LIMIT. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_ROW_STREAMS_H
#define DX_QUERY_SCAN_ROW_STREAMS_H

#include "query/scan/domain_rows.h"
#include "query/scan/row_slice.h"

#define DX_ROW_STREAMS_MAX 8192

struct dx_row_stream {
    size_t pair; /* in rows->pairs */
    size_t first_run, run_count;
    uint64_t first, end; /* places */
    uint64_t low, high;  /* that are looked at */

    /* private: of a search, where `low` lies, and `high` */
    uint64_t low_from, low_to, high_from, high_to;
    bool has_hash; /* of the file; and its part */
    struct dx_hash128 hash;
    const struct dx_part *part;
};

struct dx_row_streams_question {
    void *ctx;
    /* Of a row with URL and time. */
    int (*side)(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row);
    bool low_stays, high_stays; /* nothing is before, or behind */
};

struct dx_row_streams_taker {
    void *ctx;
    /* 1: no more rows of what was wanted by this call. NULL: slice takes all */
    int (*row)(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row,
               struct dx_error *err);
    /* Rows [first, first + count) of a slice at once: 1 taken, and counted in rows_seen by the taker; 0: they are given
     * one by one. NULL: all are. */
    int (*slice)(void *ctx, size_t stream, uint64_t place, const struct dx_row_slice *slice,
                 uint32_t first, uint32_t count, struct dx_error *err);
};

struct dx_row_streams_wanted {
    size_t stream;
    uint64_t place, rows;

    /* by slices: */
    struct dx_cache_key key;
    uint32_t first, slice_rows; /* of the slice: where these rows begin in it, and all it has */
    bool same;                  /* the slice of the one before */
    bool planned;               /* it is read */
    uint32_t pages;
    uint64_t bytes;
    struct dx_row_slice slice;
};

struct dx_row_streams {
    struct dx_row_stream *streams;
    size_t count;
    uint64_t rows_seen, pages_seen, bytes_seen;

    /* Of rows that are wanted: set before the first of a batch. Borrowed. */
    unsigned fields;
    const struct dx_span *extras;
    size_t extra_count;
    /* With URL, URL_ID and TS alone: rows are read and kept by slices (row_slice.h), which costs pages of a slice for a row. A
     * search sets it, and clears it at its end. */
    bool by_slices;

    /* private */
    struct dx_domain_rows *rows;
    uint64_t *run_places; /* of the first row of each run */
    bool open;
    struct dx_listing listing; /* of the batch */
    struct dx_row_streams_wanted *wanted;
    size_t wanted_count, wanted_capacity;
    size_t planned_count; /* of wanted: slices that are read */
    uint64_t slice_bytes; /* of wanted: that are pinned */
    size_t making;        /* of wanted: the slice that rows are of */
    struct dx_row_slice_maker maker;
    struct dx_listing_row row; /* 2 kB that are not on the stack of a loop */
    struct dx_row_streams_question question;
    size_t at;      /* of a search: the stream that comes next */
    bool unsettled; /* some stream before it was asked */
    bool asked;     /* a batch of the search is being read */
};

void dx_row_streams_init(struct dx_row_streams *s, struct dx_domain_rows *rows);
int dx_row_streams_open(struct dx_row_streams *s, struct dx_error *err);
void dx_row_streams_search(struct dx_row_streams *s,
                           const struct dx_row_streams_question *question);
int dx_row_streams_find(struct dx_row_streams *s, struct dx_error *err);

/* Whether rows with these fields and so many extras can be had by slices. */
bool dx_row_streams_sliceable(unsigned fields, size_t extra_count);
bool dx_row_streams_full(const struct dx_row_streams *s);
int dx_row_streams_want(struct dx_row_streams *s, size_t stream, uint64_t place, uint64_t count,
                        struct dx_error *err);
int dx_row_streams_read(struct dx_row_streams *s, struct dx_error *err);
int dx_row_streams_each(struct dx_row_streams *s, const struct dx_row_streams_taker *taker,
                        struct dx_error *err);
void dx_row_streams_done(struct dx_row_streams *s);

struct dx_read_batch *dx_row_streams_reading(struct dx_row_streams *s);
int dx_row_streams_fetched(struct dx_row_streams *s, int rc, struct dx_error *err);
void dx_row_streams_release(struct dx_row_streams *s);

/* The stream that has a place; s->count: none has. */
size_t dx_row_streams_with(const struct dx_row_streams *s,
                           const struct dx_domain_rows_place *place);

/* Its rows whose keys stray (format/version/pages.h): 1 these are all that there are, 0 there are others, or over
 * `room`. places: of so many as *count says. */
int dx_row_streams_strays(const struct dx_row_streams *s, size_t stream, uint64_t *places,
                          size_t room, size_t *count, struct dx_error *err);

/* The error of a stream that is not in order. */
int dx_row_streams_disorder(const struct dx_row_streams *s, size_t stream, struct dx_error *err);

static inline uint32_t dx_row_streams_dataset(const struct dx_row_streams *s, size_t stream)
{
    return s->rows->pairs[s->streams[stream].pair].dataset_id;
}

#endif
