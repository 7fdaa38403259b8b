/* SPDX-License-Identifier: Apache-2.0
 * lake_page.h - the rows between two cuts of a lake file: columns filled row by row, then encoded.
 *
 *   rc = dx_lake_page_begin(p, columns, count, &options, &err);   empty; storage is kept from before
 *   while (dx_lake_page_has_room(p, size)) ...                    size: strings of the next row
 *       dx_lake_page_int(p, i, v); dx_lake_page_text(p, i, s);    each column once,
 *       dx_lake_page_null(p, i);   dx_lake_page_again(p, i);
 *       p->rows++;                                                then the row is complete
 *   rc = dx_lake_page_encode(p, &page_writer, &err);              p->out, p->column[i].info and .bounds
 *   dx_lake_page_release(p);
 *
 * Text is copied: spans in values[i] point into the page and stay until begin or release. `columns`
 * is borrowed until the page was encoded. Filling and encoding may be the work of two threads, one
 * after the other.
 */
#ifndef DX_BUILDER_LAKE_LAKE_PAGE_H
#define DX_BUILDER_LAKE_LAKE_PAGE_H

#include "base/error.h"
#include "builder/lake/lake_row.h"
#include "parquet/page_index.h"
#include "parquet/page_write.h"

#define DX_LAKE_COLUMNS_MAX (DX_LAKE_EXTRA_MAX + 9)

struct dx_lake_column {
    char *name;
    struct dx_pq_column type;
    uint8_t encoding;
    uint8_t logical;
    int level_max;      /* of zstd: a higher one finds nothing more here */
    bool plain_repeats; /* PLAIN where most rows of a page have the text of the row before */
    bool mostly_unique; /* numbers without any pattern but that of the row before, seldom */
};

struct dx_lake_page_column {
    struct dx_pq_values values;
    uint8_t *valid; /* storage for values.valid */
    uint32_t span_room, int_room, valid_room;
    uint32_t repeats; /* rows with the text of the row before, put by dx_lake_page_again */
    struct dx_pq_page_info info; /* from here on: by encode */
    struct dx_pq_bounds bounds;
    size_t at;         /* in out */
    unsigned encoding; /* of these bytes */
};

struct dx_lake_page {
    const struct dx_lake_column *columns;
    size_t column_count;
    int zstd_level;
    uint32_t rows;
    uint8_t *text;
    size_t text_size; /* of all strings, those that stand here once for many rows too */
    size_t text_room;
    struct dx_lake_page_column column[DX_LAKE_COLUMNS_MAX];
    struct dx_buf out;    /* the pages of all columns, one behind the other */
    uint64_t first_row;   /* the filler's: in its row group, */
    uint64_t group;       /* which is this one, */
    uint64_t bytes_bound; /* and what out cannot be larger than */
};

struct dx_lake_page *dx_lake_page_new(void); /* NULL: out of memory */
void dx_lake_page_free(struct dx_lake_page **p);

int dx_lake_page_begin(struct dx_lake_page *p, const struct dx_lake_column *columns, size_t count,
                       const struct dx_lake_options *options, struct dx_error *err);

/* Room for `size` more bytes of text; only an empty page grows. */
int dx_lake_page_need(struct dx_lake_page *p, size_t size, const struct dx_lake_options *options,
                      struct dx_error *err);

int dx_lake_page_encode(struct dx_lake_page *p, struct dx_pq_page_writer *w, struct dx_error *err);

/* What encode cannot exceed, from the rows that are there. */
uint64_t dx_lake_page_bound(const struct dx_lake_page *p);

static inline void dx_lake_page_valid(struct dx_lake_page *p, size_t i)
{
    if (p->column[i].valid != NULL)
        p->column[i].valid[p->rows] = 1;
}

static inline void dx_lake_page_int(struct dx_lake_page *p, size_t i, uint64_t v)
{
    p->column[i].values.ints[p->rows] = (int64_t)v;
    dx_lake_page_valid(p, i);
}

static inline void dx_lake_page_text(struct dx_lake_page *p, size_t i, struct dx_span s)
{
    uint8_t *to = p->text + p->text_size;

    if (s.size > 0)
        memcpy(to, s.data, s.size);
    p->text_size += s.size;
    p->column[i].values.spans[p->rows] = dx_span_of(to, s.size);
    dx_lake_page_valid(p, i);
}

/* The text of the row before once more: its span, and no bytes. text_size counts them all the same,
 * because pages are cut by it. */
static inline void dx_lake_page_again(struct dx_lake_page *p, size_t i)
{
    struct dx_span *spans = p->column[i].values.spans;

    spans[p->rows] = spans[p->rows - 1];
    p->text_size += spans[p->rows].size;
    p->column[i].repeats++;
    dx_lake_page_valid(p, i);
}

void dx_lake_page_null(struct dx_lake_page *p, size_t i);

#endif
