/* SPDX-License-Identifier: Apache-2.0
 * chunk.h - the pages of one column in one row group.
 *
 *   dx_pq_walk_open(&w, file, &footer, group, leaf, &err);      page headers only
 *   while ((rc = dx_pq_walk_next(&w, &page, &err)) == 1)
 *       ... page.is_dictionary, page.offset, page.size, page.first_row, page.row_count ...
 *
 *   dx_pq_reader_open(&r, file, &footer, group, leaf, &limits, &err);    and decoded
 *   while ((rc = dx_pq_reader_next(&r, &values, &err)) == 1)
 *       ... r.page is where the values come from ...
 *   dx_pq_reader_release(&r);
 *
 * next: 1 a page, 0 the end, <0 error. The walk begins where the chunk begins and trusts
 * the types of pages that it finds, not the offsets that the footer gives for them: writers
 * err there. It gives dictionary and data pages; index pages are passed over. At the end
 * the rows of the data pages must add up to the rows of the row group. The reader keeps
 * the dictionary (one page) and no more. Values follow the rules of parquet/page.h.
 *
 *   struct dx_pq_fetch fetch = { read, ctx, 1 << 20 };
 *   dx_pq_reader_open_fetch(&r, &fetch, &footer, group, leaf, &limits, &err);
 *
 * reads a file that is not in memory, a window at a time, nested and repeated columns included
 * (with levels, see parquet/page.h; "rows" are then slots, one for each pair of levels).
 *
 * file, fetch and footer are borrowed. One thread at a time for one walk or reader.
 */
#ifndef DX_PARQUET_CHUNK_H
#define DX_PARQUET_CHUNK_H

#include "parquet/footer.h"
#include "parquet/page.h"

struct dx_pq_page_place {
    uint64_t offset;    /* of the header, in the file */
    uint64_t first_row; /* within the row group */
    uint32_t size;      /* header and body */
    uint32_t row_count; /* dictionary: its values */
    bool is_dictionary;
    struct dx_pq_page_header header;
};

/* Where the bytes come from: all of [offset, offset + size), or an error. */
struct dx_pq_fetch {
    dx_pq_read *read;
    void *ctx;
    uint32_t window; /* bytes to read at once, where a page is not larger */
};

struct dx_pq_walk {
    struct dx_span file; /* or, with fetch, its bytes from file_at on */
    uint64_t file_at;
    const struct dx_pq_fetch *fetch; /* NULL: file is the whole file */
    struct dx_buf window;            /* that file points into */
    struct dx_pq_column column;
    uint64_t at, end;        /* end: no page may reach behind it */
    uint64_t chunk_end;      /* where the footer says that the chunk ends */
    uint64_t data_end;       /* of the pages of the file: where the footer begins */
    uint64_t row, row_count; /* of data pages so far; of the row group */
    bool any;                /* a page was found */
};

int dx_pq_walk_open(struct dx_pq_walk *w, struct dx_span file, const struct dx_pq_footer *footer,
                    uint32_t group, uint32_t leaf, struct dx_error *err);
int dx_pq_walk_next(struct dx_pq_walk *w, struct dx_pq_page_place *page, struct dx_error *err);

struct dx_pq_reader {
    struct dx_pq_walk walk;
    struct dx_pq_limits limits;
    struct dx_pq_dictionary dictionary;
    struct dx_pq_page_place page; /* of the values given last */
};

#define DX_PQ_READER_INIT                   \
    {                                       \
        .dictionary = DX_PQ_DICTIONARY_INIT \
    }

/* Releases nothing: a reader that is used again keeps its storage. */
int dx_pq_reader_open(struct dx_pq_reader *r, struct dx_span file,
                      const struct dx_pq_footer *footer, uint32_t group, uint32_t leaf,
                      const struct dx_pq_limits *limits, struct dx_error *err);
int dx_pq_reader_open_fetch(struct dx_pq_reader *r, const struct dx_pq_fetch *fetch,
                            const struct dx_pq_footer *footer, uint32_t group, uint32_t leaf,
                            const struct dx_pq_limits *limits, struct dx_error *err);
int dx_pq_reader_next(struct dx_pq_reader *r, struct dx_pq_values *values, struct dx_error *err);
void dx_pq_reader_release(struct dx_pq_reader *r);

#endif
