/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_page.h"

#include <assert.h>
#include <stdlib.h>

#define OUT_MAX (1u << 30)

/* Of zstd, for what it cannot shorten: it passes over the bytes in long steps and stores them. */
#define UNIQUE_LEVEL (-100)
#define UNIQUE_SHARE 64 /* rows of which one at most repeats */

struct dx_lake_page *dx_lake_page_new(void)
{
    struct dx_lake_page *p = calloc(1, sizeof *p);

    if (p != NULL)
        dx_buf_init(&p->out, OUT_MAX);
    return p;
}

void dx_lake_page_free(struct dx_lake_page **handle)
{
    struct dx_lake_page *p = *handle;

    if (p == NULL)
        return;
    for (size_t i = 0; i < DX_LAKE_COLUMNS_MAX; i++) {
        free(p->column[i].values.spans);
        free(p->column[i].values.ints);
        free(p->column[i].valid);
    }
    free(p->text);
    dx_buf_release(&p->out);
    free(p);
    *handle = NULL;
}

/* Storage that is kept has at least the rows of the largest page so far. */
static bool need(void **store, uint32_t *room, uint32_t rows, size_t size)
{
    void *fresh;

    if (*room >= rows)
        return true;
    fresh = malloc(rows * size);
    if (fresh == NULL)
        return false;
    free(*store);
    *store = fresh;
    *room = rows;
    return true;
}

static bool need_column(struct dx_lake_page_column *c, const struct dx_lake_column *like,
                        uint32_t rows)
{
    void *valid = c->valid;
    bool ok;

    if (like->type.type == DX_PQ_BYTE_ARRAY) {
        void *spans = c->values.spans;

        ok = need(&spans, &c->span_room, rows, sizeof *c->values.spans);
        c->values.spans = spans;
    } else {
        void *ints = c->values.ints;

        ok = need(&ints, &c->int_room, rows, sizeof *c->values.ints);
        c->values.ints = ints;
    }
    if (like->type.max_def > 0) {
        ok = ok && need(&valid, &c->valid_room, rows, 1);
    } else {
        free(valid);
        valid = NULL;
        c->valid_room = 0;
    }
    c->valid = valid;
    return ok;
}

int dx_lake_page_begin(struct dx_lake_page *p, const struct dx_lake_column *columns, size_t count,
                       const struct dx_lake_options *options, struct dx_error *err)
{
    assert(count <= DX_LAKE_COLUMNS_MAX);
    p->columns = columns;
    p->column_count = count;
    p->zstd_level = options->zstd_level;
    p->rows = 0;
    p->text_size = 0;
    for (size_t i = 0; i < count; i++) {
        if (!need_column(&p->column[i], &columns[i], options->page_rows_max))
            return dx_no_memory(err, "lake file: page");
        p->column[i].values.null_count = 0;
        p->column[i].repeats = 0;
    }
    return DX_OK;
}

int dx_lake_page_need(struct dx_lake_page *p, size_t size, const struct dx_lake_options *options,
                      struct dx_error *err)
{
    size_t room = size > options->page_bytes_max ? size : options->page_bytes_max;

    /* An empty page may come from a file of smaller ones. */
    if (p->text != NULL &&
        (p->text_size == 0 ? room <= p->text_room : size <= p->text_room - p->text_size))
        return DX_OK;
    assert(p->text_size == 0); /* spans point into it */
    free(p->text);
    p->text_room = 0;
    p->text = malloc(room);
    if (p->text == NULL)
        return dx_no_memory(err, "lake file: page");
    p->text_room = room;
    return DX_OK;
}

void dx_lake_page_null(struct dx_lake_page *p, size_t i)
{
    struct dx_lake_page_column *c = &p->column[i];

    assert(p->columns[i].type.max_def > 0);
    if (p->columns[i].type.type == DX_PQ_BYTE_ARRAY)
        c->values.spans[p->rows] = (struct dx_span){ NULL, 0 };
    else
        c->values.ints[p->rows] = 0;
    c->valid[p->rows] = 0;
    c->values.null_count++;
}

/* A column's values take at most 8 bytes a row besides text, or twice 4 and the heads of blocks
 * where they are differences; then levels, the page header, and what zstd may add. */
uint64_t dx_lake_page_bound(const struct dx_lake_page *p)
{
    uint64_t plain = p->text_size + (uint64_t)p->rows * p->column_count * 9 + p->column_count * 512;

    return plain + plain / 128 + p->column_count * 512;
}

static bool is_unique(const struct dx_pq_values *v, uint32_t rows)
{
    uint32_t repeats = 0;

    for (uint32_t i = 1; i < rows; i++)
        repeats += v->ints[i] == v->ints[i - 1];
    return repeats <= rows / UNIQUE_SHARE;
}

static int encode_column(struct dx_lake_page *p, size_t i, struct dx_pq_page_writer *w,
                         struct dx_error *err)
{
    const struct dx_lake_column *like = &p->columns[i];
    struct dx_lake_page_column *c = &p->column[i];
    int rc;

    assert(!like->mostly_unique || like->type.type == DX_PQ_INT64);
    c->at = p->out.size;
    w->level = p->zstd_level < like->level_max ? p->zstd_level : like->level_max;
    if (like->mostly_unique && is_unique(&c->values, p->rows))
        w->level = UNIQUE_LEVEL;
    c->values.row_count = p->rows;
    c->values.valid = c->values.null_count > 0 ? c->valid : NULL;
    c->encoding = like->plain_repeats && c->repeats > p->rows / 2 ? DX_PQ_PLAIN : like->encoding;
    rc = dx_pq_page_write(w, &like->type, c->encoding, &c->values, &p->out, &c->info, err);
    if (rc < 0)
        return dx_fail_in(err, "column %s", like->name);
    c->bounds = dx_pq_bounds_of(&like->type, &c->values);
    return DX_OK;
}

int dx_lake_page_encode(struct dx_lake_page *p, struct dx_pq_page_writer *w, struct dx_error *err)
{
    int rc = DX_OK;

    dx_buf_clear(&p->out);
    for (size_t i = 0; rc == DX_OK && i < p->column_count; i++)
        rc = encode_column(p, i, w, err);
    return rc;
}
