/* SPDX-License-Identifier: Apache-2.0
 * domain_rows.h - the rows of one domain over several datasets as one listing, a window at a time, without I/O.
 *
 *   struct dx_domain_rows r;
 *   dx_domain_rows_init(&r, v, part, ordinal, fields, deadline_ms);
 *   rc = dx_domain_rows_add(&r, dataset_id, &counts, hidden, &err);       its pairs, by ascending dataset_id
 *   ... dx_domain_rows_total(&r); place = dx_domain_rows_place(&r, n); n = dx_domain_rows_before(&r, &place) ...
 *   rc = dx_domain_rows_begin(&r, offset, limit, &err);
 *   while ((rc = dx_domain_rows_step(&r, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_domain_rows_reading(&r), &err);
 *       rc = dx_domain_rows_fetched(&r, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       ... r.next; dx_domain_rows_each(&r, &taker, &err) ...
 *   dx_domain_rows_rewind(&r);                         and begin again, with another window of the same pairs
 *   rc = dx_domain_rows_begin_runs(&r, &err);          instead of begin: r.segments and r.runs of all pairs, and no pages
 *   rc = dx_domain_rows_narrow(&r, ranges, count, &err);     after a rewind: of the pairs only these places count
 *   dx_domain_rows_release(&r);                        once, after init, on every path
 *
 * Rows come by dataset_id, then in the order of that dataset's listing (query/rows/listing.h). Offsets and totals
 * count visible rows; they follow from the counts of the index and what suppressions hide, so nothing is read
 * for them and a deep offset costs what the first one costs. Places hold physical rows, as cursors do.
 *
 * Reading takes two batches with cold postings, one with warm ones: all posting lists of the window, then all its
 * pages. A window may end early: after DX_DOMAIN_ROWS_PAIRS datasets, where its pages are more than one listing
 * may read, or behind a long hidden stretch. `next` is where it ended. At least one visible row is in it if
 * there is one at the offset. DX_E_LIMIT: the rows of one dataset alone lie on too many pages.
 *
 * How much a window has does not depend on which pairs are kept: the pages of those count as if they were read.
 *
 * A posting list whose number of rows is not that of the counts is DX_E_CORRUPT. v and what `hidden` points to must
 * stay until release. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_DOMAIN_ROWS_H
#define DX_QUERY_SCAN_DOMAIN_ROWS_H

#include "format/core/counts.h"
#include "loader/domain_pairs.h"
#include "query/rows/listing.h"
#include "query/rows/pair_rows.h"

#define DX_DOMAIN_ROWS_PAIRS 1024   /* of a window; a posting list each */
#define DX_DOMAIN_ROWS_RUNS 262144u /* of begin_runs; 6 MB */

struct dx_suppression_pair;

struct dx_domain_rows_place {
    uint32_t dataset_id;
    uint64_t row; /* physical, in the listing of the dataset */
};

#define DX_DOMAIN_ROWS_FIRST ((struct dx_domain_rows_place){ 0, 0 })        /* before all rows */
#define DX_DOMAIN_ROWS_END ((struct dx_domain_rows_place){ UINT32_MAX, 0 }) /* behind all */

struct dx_domain_rows_pair {
    uint32_t dataset_id;
    uint64_t rows;                            /* physical, of the whole listing */
    uint64_t first, end;                      /* places of it that count: all, unless narrowed */
    uint64_t before;                          /* visible rows of the pairs before it */
    const struct dx_suppression_pair *hidden; /* NULL: no row is */
    bool has_ts; /* some row has a time: these are the first and the last */
    int64_t first_us, last_us;
};

/* Places [first, end) of the pair. */
struct dx_domain_rows_range {
    size_t pair;
    uint64_t first, end;
};

/* Physical rows of one pair that are in the window. */
struct dx_domain_rows_segment {
    size_t pair;
    struct dx_page_of window;
    size_t first_run, run_count;
    struct dx_pair_rows kept; /* with a block: the rows are there, and no run is planned */
    bool may_keep;
};

struct dx_domain_rows {
    struct dx_domain_rows_pair *pairs;
    size_t pair_count;
    struct dx_domain_rows_place next; /* once it is DONE: behind the last row of the window */
    uint64_t row_count;               /* visible rows of the window */
    struct dx_domain_rows_segment *segments;
    size_t segment_count;
    /* Steps end when it is known which pages are to be read (listing.reads of listing.read_bytes); false again: they go on
     * from there. */
    bool plan_only;
    /* Set after init, where URL, URL_ID and TS alone are wanted: pairs with few rows are looked for among those that are kept
     * (query/rows/pair_rows.h), and kept once their rows came without waiting. */
    bool keeps;

    /* private */
    bool waited;                     /* for what the window has */
    uint64_t kept_pages, kept_bytes; /* of the window: that would be read */
    struct dx_version *version;
    const struct dx_part *part;
    uint64_t ordinal;
    struct dx_pair_places places; /* of its datasets in the postings, once these are read */
    unsigned fields;
    uint64_t deadline_ms;
    size_t pair_capacity, segment_capacity;
    uint64_t total;
    unsigned state;
    size_t first, end; /* the segments whose postings are at hand */
    struct dx_posting_frames
        *frames; /* of these: a pair of them holds the lists of many datasets */
    size_t frame_count;
    size_t *frame_of; /* of each of these segments */
    struct dx_zstd_decoder *decoder;
    struct dx_run *runs;
    size_t run_count, run_capacity;
    bool runs_only;
    struct dx_read_batch reading; /* of postings */
    struct dx_listing listing;    /* of all runs */
};

void dx_domain_rows_init(struct dx_domain_rows *r, struct dx_version *v, const struct dx_part *part,
                         uint64_t ordinal, unsigned fields, uint64_t deadline_ms);
int dx_domain_rows_add(struct dx_domain_rows *r, uint32_t dataset_id,
                       const struct dx_pair_count *counts, const struct dx_suppression_pair *hidden,
                       struct dx_error *err);
void dx_domain_rows_release(struct dx_domain_rows *r);

/* ---- places, of visible rows over all pairs ---- */

static inline uint64_t dx_domain_rows_total(const struct dx_domain_rows *r)
{
    return r->total;
}

/* How many datasets have a visible row among these places. A dataset may be several pairs: of some files each. */
uint64_t dx_domain_rows_datasets(const struct dx_domain_rows *r);

/* Of the n-th visible row; behind the last one, the end of the last pair. With no pairs: zeros. */
struct dx_domain_rows_place dx_domain_rows_place(const struct dx_domain_rows *r, uint64_t n);
/* Visible rows before a place, of whatever dataset. false: the place is behind the end of its pair. */
bool dx_domain_rows_before(const struct dx_domain_rows *r, const struct dx_domain_rows_place *place,
                           uint64_t *n);

/* ---- a window ---- */

int dx_domain_rows_begin(struct dx_domain_rows *r, uint64_t offset, uint64_t limit,
                         struct dx_error *err);
/* Whether all rows of the window are at hand, with no posting list to be walked and no page to be looked at. */
bool dx_domain_rows_all_kept(const struct dx_domain_rows *r);
int dx_domain_rows_step(struct dx_domain_rows *r, struct dx_error *err);
struct dx_read_batch *dx_domain_rows_reading(struct dx_domain_rows *r);
int dx_domain_rows_fetched(struct dx_domain_rows *r, int rc, struct dx_error *err);

struct dx_domain_rows_taker {
    void *ctx;
    void (*dataset)(void *ctx, uint32_t dataset_id); /* before the first of its rows */
    int (*row)(void *ctx, const struct dx_listing_row *row, struct dx_error *err);
    int (*stretch)(void *ctx, const struct dx_listing_stretch *s,
                   struct dx_error *err); /* as of a listing */
};

/* The visible rows of the window, in order; stops at the first negative result. */
int dx_domain_rows_each(struct dx_domain_rows *r, const struct dx_domain_rows_taker *taker,
                        struct dx_error *err);

/* Bytes of text of the window, once it is DONE. */
uint64_t dx_domain_rows_text_bytes(const struct dx_domain_rows *r);

/* Lets go of the window; the pairs stay. */
void dx_domain_rows_rewind(struct dx_domain_rows *r);

/* Over DX_DOMAIN_ROWS_RUNS of them, or so many pairs: DX_E_LIMIT. */
int dx_domain_rows_begin_runs(struct dx_domain_rows *r, struct dx_error *err);

/* Ranges of the pairs as they are now, in order of their places and apart; several may be of one pair, which becomes as
 * many. Pairs without a visible row in their range go. */
int dx_domain_rows_narrow(struct dx_domain_rows *r, const struct dx_domain_rows_range *ranges,
                          size_t count, struct dx_error *err);
/* Brings ranges in the order of their places. */
void dx_domain_rows_sort(struct dx_domain_rows_range *ranges, size_t count);

#endif
