/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/merged_page.h"

#include <assert.h>

#include "loader/version.h"

static struct dx_page_cache *kept_of(const struct dx_merged_page *p)
{
    return p->rows->version->caches->pages;
}

/* ---- which stretches ---- */

static bool has_stretches(const struct dx_domain_rows *rows, const struct dx_merged_ask *ask)
{
    if (ask->order != DX_MERGED_URL || ask->collapse != DX_COLLAPSE_NONE ||
        dx_row_filter_any(&ask->filter) ||
        !dx_row_streams_sliceable(ask->fields, ask->extra_count) ||
        rows->pair_count > DX_DOMAIN_ROWS_RUNS)
        return false;
    for (size_t i = 0; i < rows->pair_count; i++)
        if (rows->pairs[i].hidden != NULL)
            return false;
    return true;
}

int dx_merged_page_init(struct dx_merged_page *p, struct dx_domain_rows *rows,
                        const struct dx_merged_ask *ask, struct dx_error *err)
{
    uint64_t limit = (ask->limit + DX_MERGED_STRETCH - 1) / DX_MERGED_STRETCH * DX_MERGED_STRETCH;

    assert(ask->limit > 0);
    *p = (struct dx_merged_page){ .rows = rows, .ask = *ask };
    p->by_stretches = has_stretches(rows, ask);
    if (!p->by_stretches) {
        p->merging = true;
        return dx_merged_rows_init(&p->merged, rows, ask, err);
    }
    p->question = (struct dx_row_stretch_question){ rows, ask->range, ask->reverse, limit };
    p->found.last = ask->after;
    p->has_start = ask->goes_on && ask->has_kept;
    p->start = ask->kept;
    return DX_OK;
}

void dx_merged_page_release(struct dx_merged_page *p)
{
    for (size_t i = 0; i < p->part_count; i++)
        dx_row_stretch_put(&p->parts[i].stretch, kept_of(p));
    p->part_count = 0;
    dx_row_stretch_maker_release(&p->maker);
    if (p->merging)
        dx_merged_rows_release(&p->merged);
    p->merging = false;
}

/* ---- the rows of one ---- */

static bool is_at(const struct dx_merged_page *p, const struct dx_stretch_row *r,
                  const struct dx_domain_rows_place *place)
{
    return r->row.place == place->row && p->rows->pairs[r->pair].dataset_id == place->dataset_id;
}

/* Where the page goes on in its first stretch; count + 1: that has not the row `after`. */
static uint64_t row_behind_after(const struct dx_merged_page *p, const struct dx_row_stretch *s)
{
    const struct dx_domain_rows_place *after = &p->ask.after;
    uint64_t i = 0;

    if (!p->ask.goes_on ||
        (p->has_start && p->start.dataset_id == after->dataset_id && p->start.row == after->row))
        return 0;
    while (i < s->head.count && !is_at(p, &s->rows[i], after))
        i++;
    return i + 1;
}

static void count_seen(struct dx_merged_page *p, const struct dx_row_stretch_head *h)
{
    p->found.range_datasets = h->range_datasets;
    p->found.range_rows = h->range_rows;
    p->found.rows_seen += h->rows_seen;
    p->found.pages_seen += h->pages_seen;
    p->found.bytes_seen += h->bytes_seen;
}

/* The stretch that comes next begins behind this row. */
static void start_behind(struct dx_merged_page *p, const struct dx_domain_rows_place *place)
{
    p->has_start = true;
    p->start = *place;
}

static struct dx_domain_rows_place place_of(const struct dx_merged_page *p,
                                            const struct dx_stretch_row *r)
{
    return (struct dx_domain_rows_place){ p->rows->pairs[r->pair].dataset_id, r->row.place };
}

/* Whether the page has its rows, or those that one request may look for, is said by `done`. */
static void take_rows(struct dx_merged_page *p, struct dx_merged_page_part *part)
{
    const struct dx_row_stretch_head *h = &part->stretch.head;
    uint64_t left = h->count - part->first;

    part->count = left < p->ask.limit - p->found.row_count ? left
                                                           : p->ask.limit - p->found.row_count;
    p->found.row_count += part->count;
    p->found.more = part->count < left || h->more;
    if (part->count < left) {
        p->found.last = place_of(p, &part->stretch.rows[part->first + part->count - 1]);
    } else {
        p->found.last = h->last;
        start_behind(p, &h->last);
    }
    p->done = !p->found.more || p->found.row_count == p->ask.limit ||
              h->count < p->question.limit || p->part_count == DX_MERGED_PAGE_PARTS;
    p->found.has_kept = p->has_start;
    p->found.kept = p->start;
}

/* Of the stretch in the next part, which is at hand. */
static void take_part(struct dx_merged_page *p)
{
    struct dx_merged_page_part *part = &p->parts[p->part_count];
    uint64_t first = p->part_count == 0 ? row_behind_after(p, &part->stretch) : 0;

    count_seen(p, &part->stretch.head);
    if (first > part->stretch.head.count) {
        dx_row_stretch_put(&part->stretch, kept_of(p));
        start_behind(p, &p->ask.after);
        return;
    }
    part->first = first;
    p->part_count++;
    take_rows(p, part);
}

/* ---- merging one that is not kept ---- */

static bool has_row(const struct dx_domain_rows *r, const struct dx_domain_rows_place *place)
{
    for (size_t i = 0; i < r->pair_count; i++)
        if (r->pairs[i].dataset_id == place->dataset_id)
            return place->row < r->pairs[i].rows;
    return false;
}

static int begin_merge(struct dx_merged_page *p, struct dx_error *err)
{
    struct dx_merged_ask ask = p->ask;

    ask.limit = p->question.limit;
    ask.goes_on = p->has_start;
    ask.after = p->start;
    ask.has_kept = false;
    /* All rows are visible: what reading this one takes is part of what the stretch took, from whichever page it is made. */
    if (p->has_start && has_row(p->rows, &p->start))
        ask.position = NULL;
    dx_domain_rows_rewind(p->rows);
    p->merging = true;
    return dx_merged_rows_init(&p->merged, p->rows, &ask, err);
}

static int keep_row(void *ctx, size_t pair, uint64_t place, const struct dx_listing_row *row,
                    struct dx_error *err)
{
    struct dx_merged_page *p = ctx;

    return dx_row_stretch_add(&p->maker, pair, place, row, err);
}

static int keep_merged(struct dx_merged_page *p, struct dx_error *err)
{
    const struct dx_merged_found *f = &p->merged.found;
    const struct dx_row_stretch_head head = { .more = f->more,
                                              .last = f->last,
                                              .range_datasets = f->range_datasets,
                                              .range_rows = f->range_rows,
                                              .rows_seen = f->rows_seen,
                                              .pages_seen = f->pages_seen,
                                              .bytes_seen = f->bytes_seen };
    int rc = dx_merged_rows_each(&p->merged, keep_row, p, err);

    if (rc == DX_OK)
        rc = dx_row_stretch_make(&p->maker, &head, kept_of(p), &p->key,
                                 &p->parts[p->part_count].stretch, err);
    dx_merged_rows_release(&p->merged);
    p->merging = false;
    return rc;
}

static int step_stretches(struct dx_merged_page *p, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && !p->done) {
        if (p->merging) {
            rc = dx_merged_rows_step(&p->merged, err);
            if (rc == DX_LISTING_DONE)
                rc = keep_merged(p, err);
            if (rc == DX_OK)
                take_part(p);
            continue;
        }
        if (p->has_start && !has_row(p->rows, &p->start)) /* its dataset is not visible any more */
            start_behind(p, &p->ask.after);
        rc = dx_row_stretch_key(&p->key, &p->question, p->has_start ? &p->start : NULL, err);
        if (rc < 0)
            break;
        if (dx_row_stretch_find(&p->parts[p->part_count].stretch, kept_of(p), &p->key))
            take_part(p);
        else
            rc = begin_merge(p, err);
    }
    return rc;
}

int dx_merged_page_step(struct dx_merged_page *p, struct dx_error *err)
{
    int rc;

    if (p->by_stretches)
        return step_stretches(p, err);
    rc = dx_merged_rows_step(&p->merged, err);
    p->found = p->merged.found;
    return rc;
}

struct dx_read_batch *dx_merged_page_reading(struct dx_merged_page *p)
{
    return dx_merged_rows_reading(&p->merged);
}

int dx_merged_page_fetched(struct dx_merged_page *p, int rc, struct dx_error *err)
{
    return dx_merged_rows_fetched(&p->merged, rc, err);
}

/* ---- its rows ---- */

struct giver {
    struct dx_merged_page *page;
    dx_merged_page_take *take;
    void *ctx;
};

static int give_row(void *ctx, size_t pair, uint64_t place, const struct dx_listing_row *row,
                    struct dx_error *err)
{
    const struct giver *g = ctx;

    (void)place;
    return g->take(g->ctx, g->page->rows->pairs[pair].dataset_id, row, err);
}

int dx_merged_page_each(struct dx_merged_page *p, dx_merged_page_take *take, void *ctx,
                        struct dx_error *err)
{
    struct giver g = { p, take, ctx };
    int rc = DX_OK;

    assert(p->done || !p->by_stretches);
    if (!p->by_stretches)
        return dx_merged_rows_each(&p->merged, give_row, &g, err);
    for (size_t i = 0; i < p->part_count; i++) {
        const struct dx_merged_page_part *part = &p->parts[i];

        for (uint64_t k = part->first; rc >= 0 && k < part->first + part->count; k++) {
            dx_merged_row_get(&part->stretch.rows[k].row, part->stretch.text, &p->row);
            rc = give_row(&g, part->stretch.rows[k].pair, 0, &p->row, err);
        }
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_merged_page_position(const struct dx_merged_page *p, struct dx_cursor_position *position,
                            struct dx_error *err)
{
    const struct dx_merged_page_part *part;
    const struct dx_stretch_row *last;

    *position = (struct dx_cursor_position){ .given = false };
    if (!p->by_stretches)
        return dx_merged_rows_position(&p->merged, position, err);
    part = p->part_count > 0 ? &p->parts[p->part_count - 1] : NULL;
    if (part == NULL || part->count == 0)
        return DX_OK;
    last = &part->stretch.rows[part->first + part->count - 1];
    if (is_at(p, last, &p->found.last))
        dx_cursor_position_set(position, last->row.has_ts, last->row.ts_us,
                               dx_merged_row_host(&last->row, part->stretch.text),
                               dx_merged_row_path(&last->row, part->stretch.text));
    return DX_OK;
}

void dx_merged_page_pairs(const struct dx_merged_page *p, bool *has)
{
    const struct dx_merged_rows *m = &p->merged;

    for (size_t i = 0; !p->by_stretches && i < m->found.row_count; i++)
        has[m->streams.streams[m->taken[i].stream].pair] = true;
    for (size_t i = 0; i < p->part_count; i++)
        for (uint64_t k = 0; k < p->parts[i].count; k++)
            has[p->parts[i].stretch.rows[p->parts[i].first + k].pair] = true;
}
