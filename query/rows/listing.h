/* SPDX-License-Identifier: Apache-2.0
 * listing.h - the rows of one domain in one dataset, a window at a time, without I/O.
 *
 *   struct dx_listing l;
 *   dx_listing_init(&l, v, part, ordinal, dataset_id, window, fields, deadline_ms);
 *   while ((rc = dx_listing_step(&l, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(&l.reading, &err);         or any other way: query/view/read_batch.h
 *       rc = dx_listing_fetched(&l, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE) ... l.total, l.found; dx_listing_rows() ...
 *   dx_listing_release(&l);
 *
 * Each step names one batch of reads, all independent of each other, or a block that another
 * listing is reading already. With postings cached there is one batch (pages of the lake), cold
 * there are two (postings idx and dat together, then pages); a dictionary page of a foreign file
 * is read with the pages that need it. A page whose sum is wrong is read once more.
 *
 * A step never decodes what it did not wait for: with all blocks cached the first step is the last.
 *
 * Rows come in the order of the postings: `offset` counts through them, so every window
 * costs the same. Everything read is checked before use; what cannot be read or checked
 * is an error, never a shorter list. The version must stay pinned until release. One
 * thread at a time.
 */
#ifndef DX_QUERY_ROWS_LISTING_H
#define DX_QUERY_ROWS_LISTING_H

#include "fetch/source.h"
#include "format/version/manifest.h"
#include "format/version/payload.h"
#include "format/version/postings.h"
#include "query/rows/column_block.h"
#include "query/rows/posting_frames.h"
#include "query/view/block_request.h"
#include "query/view/fields.h"

struct dx_listing_column;
struct dx_listing_page;
struct dx_listing_piece;
struct dx_url;
struct dx_zstd_decoder;

enum { DX_LISTING_DONE = 0, DX_LISTING_WAITS = 1 };

/* A window needs at most DX_LISTING_READ_MAX bytes of lake pages (base/limits.h). */

/* And how many of them: each may be a request. A window of DX_LIMIT_MAX rows that lie together in
 * files of ours needs about 25; this many are rows of a thousand small files. */
#define DX_LISTING_PAGES_MAX 4096

struct dx_listing {
    struct dx_version *version;
    const struct dx_part *part; /* that has the domain; NULL: rows by their place */
    uint64_t ordinal;
    uint32_t dataset_id;
    struct dx_pair_place pair; /* in the postings */
    struct dx_page_of window;
    unsigned fields;

    bool found;         /* the pair exists; else total is 0 and there are no rows */
    uint64_t total;     /* rows of the pair */
    uint64_t row_count; /* rows in the window */

    struct dx_read_batch reading; /* what the last step waits for */

    /* Set after init by a thread that must not be held: where more is to be walked or written than
     * takes a few hundred microseconds, a step ends with DX_LISTING_WAITS and a reading that is
     * DX_READ_BATCH_DONE, for another thread to go on. */
    bool brief;

    /* Set after init: not the rows are wanted but where they are. Of the window the first so many
     * runs are put into `runs`, cut to it, row_count is that of them, and no page of the lake is
     * read. 0: rows. */
    size_t runs_max;
    struct dx_run *runs;
    size_t run_count;

    /* Set after init: of each run only the rows from the first to the last one that is of this URL, or was led to by it
     * (listing_parts.h); row_count is then that of these. Borrowed until the listing is DONE. */
    const struct dx_url *url;

    /* Set after init: extras of these names are read besides the fields. Borrowed until release. */
    const struct dx_span *extras;
    size_t extra_count;

    /* private */
    unsigned state;
    uint64_t deadline_ms;
    struct dx_posting_frames frames;
    struct dx_zstd_decoder *decoder;
    struct dx_listing_page *pages;
    size_t page_count, page_capacity;
    size_t run_capacity;
    struct dx_listing_column *columns;
    size_t column_count, column_capacity;
    struct dx_listing_piece *pieces;
    size_t piece_count, piece_capacity;
    char **objects; /* names of lake files */
    size_t object_count, object_capacity;
    uint64_t read_bytes;
    unsigned reads;
    uint64_t run_bytes; /* of the run that was planned last, as if it stood alone */
    unsigned run_reads;
};

/* deadline_ms: on the clock of dx_clock_ms, for all waits; 0: the source's own for a batch. */
void dx_listing_init(struct dx_listing *l, struct dx_version *v, const struct dx_part *part,
                     uint64_t ordinal, uint32_t dataset_id, struct dx_page_of window,
                     unsigned fields, uint64_t deadline_ms);
int dx_listing_step(struct dx_listing *l, struct dx_error *err);

/* Rows that are known by their place: after an init with part NULL and ordinal 0, any number of runs instead of
 * a posting, in the order in which they are wanted; the window is all of them. At least one. */
int dx_listing_run(struct dx_listing *l, const struct dx_run *run, struct dx_error *err);

/* Whether the runs so far have so many pages of the lake, or bytes of them. */
static inline bool dx_listing_planned_over(const struct dx_listing *l, unsigned pages,
                                           uint64_t bytes)
{
    return l->reads >= pages || l->read_bytes >= bytes;
}

/* rc: of the batch that was performed; returned. After an error there is only release. */
int dx_listing_fetched(struct dx_listing *l, int rc, struct dx_error *err);
void dx_listing_release(struct dx_listing *l);

/* Bytes of text that the rows of the window have, all columns together; once it is DONE. */
uint64_t dx_listing_text_bytes(const struct dx_listing *l);

#define DX_LISTING_EXTRAS_MAX 64

struct dx_listing_row {
    struct dx_span scheme, host, path_query;
    struct dx_span raw_url; /* data == NULL: as the canonical URL, or not asked for */
    bool has_ts;
    int64_t ts_us;
    size_t extra_count;
    struct {
        struct dx_span name, value; /* value.data == NULL: null */
    } extra[DX_LISTING_EXTRAS_MAX];
};

/* The value of the first extra of this name; data NULL: null, or the row has none. */
static inline struct dx_span dx_listing_extra(const struct dx_listing_row *row, struct dx_span name)
{
    for (size_t i = 0; i < row->extra_count; i++)
        if (dx_span_equal(row->extra[i].name, name))
            return row->extra[i].value;
    return dx_span_of(NULL, 0);
}

/* Rows of which each column lies in one page: the usual ones, with texts that are there and plain
 * (query/rows/column_block.h) and times that are numbers, for writers of many rows at once. */
struct dx_listing_stretch {
    uint32_t row_count;
    struct dx_column_block scheme, host, path_query; /* rows from `first` of each on */
    struct dx_column_block ts;                       /* ints NULL: no such column */
    uint32_t first_scheme, first_host, first_path_query, first_ts;
    uint8_t time_unit;
};

struct dx_listing_taker {
    void *ctx;
    int (*row)(void *ctx, const struct dx_listing_row *row, struct dx_error *err);
    /* 1 taken, 0 not: its rows are given one by one. NULL: all are. */
    int (*stretch)(void *ctx, const struct dx_listing_stretch *s, struct dx_error *err);
};

/* Gives the rows of the window in order; stops at the first negative result. */
int dx_listing_rows(struct dx_listing *l, const struct dx_listing_taker *taker,
                    struct dx_error *err);
/* The same of some of the runs that dx_listing_run was called with: from the first-th on. */
int dx_listing_rows_of(struct dx_listing *l, size_t first, size_t count,
                       const struct dx_listing_taker *taker, struct dx_error *err);

#endif
