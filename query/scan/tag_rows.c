/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/tag_rows.h"

#include <roaring/roaring.h>
#include <stdlib.h>

#include "loader/version.h"
#include "query/rows/pair_runs.h"

/* Rows that are no more apart than this are read as one stretch: walking over a row costs less than
 * finding the pages of another stretch. */
#define GAP 64

/* Where a page ends that has rows enough apart: a quarter of what a listing may read. */
#define PAGES_MAX (DX_LISTING_PAGES_MAX / 4)
#define BYTES_MAX (DX_LISTING_READ_MAX / 4)

static void listing_of_runs(struct dx_tag_rows *r, unsigned fields, uint64_t deadline_ms)
{
    dx_listing_init(&r->listing, r->sets->view.version, NULL, 0, 0, (struct dx_page_of){ 0, 0 },
                    fields, deadline_ms);
}

void dx_tag_rows_init(struct dx_tag_rows *r, const struct dx_tag_sets *sets,
                      const struct dx_suppression_tags *hidden, unsigned fields,
                      uint64_t deadline_ms)
{
    *r = (struct dx_tag_rows){ .sets = sets, .hidden = hidden };
    listing_of_runs(r, fields, deadline_ms);
}

void dx_tag_rows_release(struct dx_tag_rows *r)
{
    dx_listing_release(&r->listing);
    free(r->rows);
    free(r->first);
    r->rows = r->first = NULL;
    r->row_count = r->run_count = 0;
}

/* ---- which rows ---- */

static void set_next(struct dx_tag_rows *r, size_t file, uint64_t row)
{
    r->more = true;
    r->next_file = (uint32_t)file;
    r->next_row = row;
}

/* Rows of one file from `row` on, as many as the page has room for; what follows them is the next
 * page's. */
static int take_file(struct dx_tag_rows *r, size_t file, uint64_t row, uint64_t limit,
                     struct dx_error *err)
{
    roaring_uint32_iterator_t it;
    roaring_bitmap_t *rows;
    int rc = dx_tag_sets_rows(r->sets, &r->sets->files[file], r->hidden, &rows, err);

    if (rc < 0)
        return rc;
    roaring_init_iterator(rows, &it);
    if (row <= UINT32_MAX && roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)row))
        while (it.has_value && r->row_count < limit) {
            r->rows[r->row_count++] = (struct dx_tag_row){ (uint32_t)file, it.current_value };
            (void)roaring_advance_uint32_iterator(&it);
        }
    if (it.has_value && r->row_count == limit)
        set_next(r, file, it.current_value);
    roaring_bitmap_free(rows);
    return DX_OK;
}

/* ---- where they lie ---- */

struct groups {
    uint64_t *bases;
    size_t count;
    size_t at; /* of the row before */
};

/* Rows [first, first + rows) of a row group: a run of the listing. */
static int plan_run(struct dx_tag_rows *r, const struct dx_tag_row *first, uint64_t rows,
                    const struct groups *g, struct dx_error *err)
{
    const struct dx_run run = { .file_id = r->sets->files[first->file].at.file_id,
                                .row_group = (uint32_t)g->at,
                                .first_row = first->row - g->bases[g->at],
                                .row_count = rows };

    r->first[r->run_count++] = *first;
    return dx_listing_run(&r->listing, &run, err);
}

/* rows[from .. end) are of one file: in runs, until the page may read no more. *done: how many were
 * planned. */
static int plan_file(struct dx_tag_rows *r, size_t from, size_t end, size_t *done,
                     struct dx_error *err)
{
    const struct dx_tag_row *rows = r->rows;
    struct groups g = { .bases = NULL };
    size_t i = from;
    int rc = dx_file_group_rows(r->sets->view.version, r->sets->files[rows[from].file].at.file_id,
                                &g.bases, &g.count, err);

    while (rc == DX_OK && i < end &&
           (i == 0 || !dx_listing_planned_over(&r->listing, PAGES_MAX, BYTES_MAX))) {
        size_t last = i;

        while (g.bases[g.at + 1] <= rows[i].row) /* the last one is that of all rows, and above */
            g.at++;
        while (last + 1 < end && rows[last + 1].row - rows[last].row <= GAP &&
               rows[last + 1].row < g.bases[g.at + 1])
            last++;
        rc = plan_run(r, &rows[i], rows[last].row - rows[i].row + 1, &g, err);
        i = last + 1;
    }
    free(g.bases);
    *done = i - from;
    return rc;
}

static int plan_page(struct dx_tag_rows *r, struct dx_error *err)
{
    size_t done = 0;
    size_t i = 0;
    int rc = DX_OK;

    while (rc == DX_OK && i < r->row_count) {
        size_t end = i + 1;

        while (end < r->row_count && r->rows[end].file == r->rows[i].file)
            end++;
        rc = plan_file(r, i, end, &done, err);
        i += done;
        if (i < end)
            break;
    }
    if (rc == DX_OK && i < r->row_count) {
        set_next(r, r->rows[i].file, r->rows[i].row);
        r->row_count = i;
    }
    return rc;
}

/* The first half of the rows is left, and nothing is planned. */
static void halve(struct dx_tag_rows *r)
{
    unsigned fields = r->listing.fields;
    uint64_t deadline_ms = r->listing.deadline_ms;

    r->row_count /= 2;
    set_next(r, r->rows[r->row_count].file, r->rows[r->row_count].row);
    r->run_count = 0;
    dx_listing_release(&r->listing);
    listing_of_runs(r, fields, deadline_ms);
}

static int plan(struct dx_tag_rows *r, struct dx_error *err)
{
    int rc;

    r->first = malloc((r->row_count + 1) * sizeof *r->first);
    if (r->first == NULL)
        return dx_no_memory(err, "rows of a tag");
    rc = plan_page(r, err);
    /* A stretch that lies on more pages than a listing may read. */
    while (rc == DX_E_LIMIT && r->row_count > 1) {
        halve(r);
        rc = plan_page(r, err);
    }
    return rc;
}

int dx_tag_rows_begin(struct dx_tag_rows *r, size_t file, uint64_t row, uint64_t limit,
                      struct dx_error *err)
{
    int rc = DX_OK;

    r->rows = malloc(((size_t)limit + 1) * sizeof *r->rows);
    if (r->rows == NULL)
        return dx_no_memory(err, "rows of a tag");
    for (; rc == DX_OK && file < r->sets->file_count && !r->more; file++, row = 0) {
        if (r->sets->files[file].row_count == 0)
            continue;
        if (r->row_count == limit)
            set_next(r, file, 0);
        else
            rc = take_file(r, file, row, limit, err);
    }
    return rc == DX_OK ? plan(r, err) : rc;
}

/* ---- reading them ---- */

int dx_tag_rows_step(struct dx_tag_rows *r, struct dx_error *err)
{
    return r->row_count == 0 ? DX_LISTING_DONE : dx_listing_step(&r->listing, err);
}

struct giver {
    struct dx_tag_rows *rows;
    dx_tag_rows_take *take;
    void *ctx;
    size_t next; /* in rows: that is waited for */
    size_t run;  /* of the row that comes next */
    uint32_t row;
};

/* A run ends with a wanted row, and the next one begins with the next wanted one. */
static int give(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct giver *g = ctx;
    const struct dx_tag_rows *r = g->rows;
    const struct dx_tag_row *want = &r->rows[g->next];

    if (g->run < r->run_count && want->file == r->first[g->run].file &&
        want->row == r->first[g->run].row)
        g->row = r->first[g->run++].row;
    if (g->row++ != want->row)
        return DX_OK;
    g->next++;
    return g->take(g->ctx, &r->sets->files[want->file], row, err);
}

int dx_tag_rows_each(struct dx_tag_rows *r, dx_tag_rows_take *take, void *ctx, struct dx_error *err)
{
    struct giver g = { .rows = r, .take = take, .ctx = ctx };

    if (r->row_count == 0)
        return DX_OK;
    return dx_listing_rows(&r->listing, &(struct dx_listing_taker){ &g, give, NULL }, err);
}
