/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/url_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/core/zseek.h"
#include "format/version/url_ids.h"
#include "loader/version_parts.h"
#include "query/rows/listing_parts.h"

/* What a brief one may plan and walk: a few dozen microseconds. The rows of a unit count as one: of a URL mostly one is walked. */
#define BRIEF_PLACES 32
#define BRIEF_ROWS 256

enum { TAKE_PAGES, TAKE_ROWS, DONE };

void dx_url_rows_init(struct dx_url_rows *u, const struct dx_view *view, uint64_t url_id,
                      unsigned fields, uint64_t deadline_ms)
{
    *u = (struct dx_url_rows){ .view = *view, .url_id = url_id, .deadline_ms = deadline_ms };
    dx_listing_init(&u->listing, view->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 }, fields,
                    deadline_ms);
}

static void release_pages(struct dx_url_rows *u)
{
    for (size_t i = 0; i < u->page_count; i++)
        dx_cold_page_release(&u->pages[i]);
    u->page_count = 0;
}

void dx_url_rows_release(struct dx_url_rows *u)
{
    release_pages(u);
    dx_zstd_decoder_free(&u->decoder);
    dx_read_batch_release(&u->ids);
    dx_listing_release(&u->listing);
    free(u->places);
    *u = (struct dx_url_rows){ .view = u->view, .state = DONE };
}

static int too_many(const struct dx_url_rows *u, struct dx_error *err)
{
    return dx_fail(err, DX_E_LIMIT,
                   "url_id 0x%016llx stands in over %d places of the lake; list the URLs of its "
                   "domain in one dataset instead",
                   (unsigned long long)u->url_id, DX_URL_PLACES_MAX);
}

/* ---- the ids ---- */

/* Of the next part: its pages are those from next_page on. */
static int find_pages(struct dx_url_rows *u, struct dx_error *err)
{
    uint32_t first;
    uint32_t count;
    int rc;

    u->part = u->view.version->parts[u->next_part++].part;
    rc = dx_url_ids_pages(&u->part->cold, u->url_id, &first, &count, err);
    if (rc < 1)
        return rc;
    if (count > DX_URL_ROWS_PAGES && !dx_view_restricted(&u->view))
        return too_many(u, err);
    u->next_page = first;
    u->end_page = first + count;
    return DX_OK;
}

static bool has_more(const struct dx_url_rows *u)
{
    return u->next_page < u->end_page || u->next_part < u->view.version->part_count;
}

/* As many pages as are there at once, of parts that have one source. */
static int next_pages(struct dx_url_rows *u, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && has_more(u) && u->page_count < DX_URL_ROWS_PAGES) {
        struct dx_source *source;

        if (u->next_page == u->end_page) {
            rc = find_pages(u, err);
            continue;
        }
        source = dx_part_cold_source(u->part, DX_COLD_URL_IDS);
        if (u->page_count > 0 && source != u->source)
            break;
        rc = dx_cold_page_at(&u->pages[u->page_count], u->part, u->view.version->caches,
                             DX_COLD_URL_IDS, u->next_page++, err);
        if (rc == 1)
            rc = dx_url_ids_on_page(&u->part->cold, &u->pages[u->page_count].page, u->url_id, err);
        if (rc == 1)
            u->source = source;
        u->page_count += rc == 1;
        rc = rc < 0 ? rc : DX_OK;
    }
    return rc;
}

static int add_place(struct dx_url_rows *u, const struct dx_part *part,
                     const struct dx_url_place *place, struct dx_error *err)
{
    struct dx_url_rows_place at = { .place = *place };
    struct dx_url_rows_place *to;
    int rc = dx_pages_of_group(&part->pages, place->group, &at.file, &at.row_group, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s/%s: there is no row group %llu", part->directory,
                     dx_cold_file_name(DX_COLD_URL_IDS), (unsigned long long)place->group);
    if (rc < 0 || dx_version_is_gone(u->view.version, at.file.file_id) ||
        !dx_view_shows(&u->view, at.file.dataset_id))
        return rc < 0 ? rc : DX_OK;
    if (u->place_count == DX_URL_PLACES_MAX)
        return too_many(u, err);
    to = dx_array_room(u->places, u->place_count, &u->capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "places of a URL");
    u->places = to;
    u->places[u->place_count++] = at;
    return DX_OK;
}

static int take_page(struct dx_url_rows *u, const struct dx_cold_page_wanted *p,
                     struct dx_error *err)
{
    struct dx_url_page page;
    struct dx_url_place place;
    int rc = dx_url_page_open(&page, &p->part->cold, &p->page, dx_cold_page_bytes(p),
                              dx_cold_file_name(DX_COLD_URL_IDS), err);

    if (rc >= 0)
        rc = dx_url_page_only(&page, u->url_id, err);
    while (rc >= 0 && (rc = dx_url_page_next(&page, &place, err)) == 1)
        rc = add_place(u, p->part, &place, err);
    return rc < 0 ? rc : DX_OK;
}

/* ---- the rows ---- */

static int by_listing(const void *a, const void *b)
{
    const struct dx_url_rows_place *x = a;
    const struct dx_url_rows_place *y = b;
    int c;

    if (x->file.dataset_id != y->file.dataset_id)
        return x->file.dataset_id < y->file.dataset_id ? -1 : 1;
    c = dx_span_compare(x->file.path, y->file.path);
    return c != 0 ? c : dx_url_place_compare(&x->place, &y->place);
}

/* Rows from where place a begins to where b does, which is not before it in the same file: exact,
 * if they are fewer than `most`. */
static int rows_between(const struct dx_url_rows *u, const struct dx_url_rows_place *a,
                        const struct dx_url_rows_place *b, uint64_t most, uint64_t *rows,
                        struct dx_error *err)
{
    const struct dx_part *part = dx_version_part_of_file(u->view.version, a->file.file_id);
    uint64_t first = a->place.row;
    uint32_t g = a->row_group;

    for (*rows = 0; g < b->row_group && *rows < most; g++, first = 0) {
        struct dx_page_group group;
        int rc = dx_pages_group(&part->pages, &a->file, g, &group, err);

        if (rc == 0 || (rc == 1 && first > group.rows))
            rc = dx_fail(err, DX_E_CORRUPT, "%s: %.*s has no row %llu in row group %lu",
                         dx_cold_file_name(DX_COLD_URL_IDS), (int)a->file.path.size,
                         (const char *)a->file.path.data, (unsigned long long)first,
                         (unsigned long)g);
        if (rc < 0)
            return rc;
        *rows += group.rows - first;
    }
    if (g == b->row_group)
        *rows += b->place.row - first;
    return DX_OK;
}

static int read_group(const struct dx_url_rows *u, const struct dx_url_rows_place *p,
                      uint32_t row_group, uint64_t first_row, struct dx_page_group *group,
                      struct dx_error *err)
{
    const struct dx_part *part = dx_version_part_of_file(u->view.version, p->file.file_id);
    int rc = dx_pages_group(&part->pages, &p->file, row_group, group, err);

    if (rc == 0 || (rc == 1 && first_row >= group->rows && group->rows > 0))
        return dx_fail(err, DX_E_CORRUPT, "%s: %.*s has no row %llu in row group %lu",
                       dx_cold_file_name(DX_COLD_URL_IDS), (int)p->file.path.size,
                       (const char *)p->file.path.data, (unsigned long long)first_row,
                       (unsigned long)row_group);
    return rc < 0 ? rc : DX_OK;
}

static uint64_t rows_of_unit(const struct dx_url_place *place, const struct dx_page_group *group)
{
    uint64_t left = group->rows - place->row;

    return left < DX_URL_UNIT ? left : DX_URL_UNIT;
}

/* p begins `apart` rows behind `to`, which reaches over it. */
static int join_place(const struct dx_url_rows *u, struct dx_url_rows_place *to,
                      const struct dx_url_rows_place *p, uint64_t apart, struct dx_error *err)
{
    struct dx_page_group group;
    uint64_t rows = p->place.rows;
    int rc;

    if (rows == 0 && to->place.rows == 0) /* the same unit */
        return DX_OK;
    if (rows == 0) {
        rc = read_group(u, p, p->row_group, p->place.row, &group, err);
        if (rc != DX_OK)
            return rc;
        rows = rows_of_unit(&p->place, &group);
    }
    if (to->place.rows < apart + rows)
        to->place.rows = apart + rows;
    return DX_OK;
}

/* URLs that share the id may share rows, too: one place then, so that no row comes twice. They are in order of files and
 * rows. */
static int join_places(struct dx_url_rows *u, struct dx_error *err)
{
    size_t kept = 0;

    for (size_t i = 1; i < u->place_count; i++) {
        struct dx_url_rows_place *last = &u->places[kept];
        const struct dx_url_rows_place *p = &u->places[i];
        uint64_t reach = last->place.rows > 0 ? last->place.rows : 1;
        uint64_t apart = reach;
        int rc = DX_OK;

        if (p->file.file_id == last->file.file_id)
            rc = rows_between(u, last, p, reach, &apart, err);
        if (rc == DX_OK && apart >= reach)
            u->places[++kept] = *p;
        else if (rc == DX_OK)
            rc = join_place(u, last, p, apart, err);
        if (rc != DX_OK)
            return rc;
    }
    if (u->place_count > 0)
        u->place_count = kept + 1;
    return DX_OK;
}

/* The rows of a place may go on in the next row groups. */
static int plan_place(struct dx_url_rows *u, struct dx_url_rows_place *p, struct dx_error *err)
{
    struct dx_run run = { .file_id = p->file.file_id,
                          .row_group = p->row_group,
                          .first_row = p->place.row };
    size_t before = u->listing.piece_count;
    uint64_t left = p->place.rows;
    bool is_unit = left == 0;
    int rc = DX_OK;

    for (; rc == DX_OK && (left > 0 || is_unit); run.row_group++, run.first_row = 0) {
        struct dx_page_group group;

        rc = read_group(u, p, run.row_group, run.first_row, &group, err);
        if (rc != DX_OK)
            return rc;
        left = is_unit ? rows_of_unit(&p->place, &group) : left;
        is_unit = false;
        run.row_count = group.rows - run.first_row < left ? group.rows - run.first_row : left;
        left -= run.row_count;
        if (run.row_count > 0)
            rc = dx_listing_run(&u->listing, &run, err);
    }
    p->pieces = u->listing.piece_count - before;
    return rc;
}

/* The places of the next pages. */
static int take_some_pages(struct dx_url_rows *u, struct dx_error *err)
{
    int rc = u->page_count == 0 ? next_pages(u, err) : DX_OK;

    if (rc < 0 || u->page_count == 0)
        return rc;
    if (u->decoder == NULL && (u->decoder = dx_zstd_decoder_new()) == NULL)
        return dx_no_memory(err, "places of a URL");
    dx_read_batch_begin(&u->ids, u->view.version, u->source, u->deadline_ms);
    for (size_t i = 0; rc == DX_OK && i < u->page_count; i++)
        rc = dx_cold_page_advance(&u->pages[i], &u->ids, u->decoder, err);
    if (rc < 0)
        return rc;
    if (dx_read_batch_state(&u->ids) != DX_READ_BATCH_DONE)
        return DX_LISTING_WAITS;
    for (size_t i = 0; rc == DX_OK && i < u->page_count; i++)
        rc = take_page(u, &u->pages[i], err);
    release_pages(u);
    return rc;
}

/* Whether a brief one ends here; the next step goes on. */
static bool leave_to_others(struct dx_url_rows *u)
{
    uint64_t rows = 0;
    bool leave;

    for (size_t i = 0; i < u->place_count && rows <= BRIEF_ROWS; i++)
        rows += u->places[i].place.rows < BRIEF_ROWS ? u->places[i].place.rows + 1 : BRIEF_ROWS + 1;
    leave = u->brief && (u->place_count > BRIEF_PLACES || rows > BRIEF_ROWS);
    u->listing.brief = u->brief && !leave;
    u->brief = false;
    return leave;
}

static int take_pages(struct dx_url_rows *u, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && (u->page_count > 0 || has_more(u)))
        rc = take_some_pages(u, err);
    if (rc != DX_LISTING_DONE)
        return rc;
    if (u->place_count > 0)
        qsort(u->places, u->place_count, sizeof *u->places, by_listing);
    rc = join_places(u, err);
    u->listing.url = u->url;
    if (rc == DX_OK && leave_to_others(u))
        return DX_LISTING_WAITS;
    for (size_t i = 0; rc == DX_OK && i < u->place_count; i++)
        rc = plan_place(u, &u->places[i], err);
    u->state = u->place_count > 0 ? TAKE_ROWS : DONE;
    return rc;
}

static void count_rows(struct dx_url_rows *u)
{
    const struct dx_listing_piece *piece = u->listing.pieces;

    for (size_t i = 0; i < u->place_count; i++) {
        u->places[i].rows = 0;
        for (size_t n = 0; n < u->places[i].pieces; n++)
            u->places[i].rows += (piece++)->row_count;
    }
}

int dx_url_rows_are_known(const struct dx_url_rows *u, size_t place, struct dx_error *err)
{
    const struct dx_version *v = u->view.version;
    const struct dx_pages_file *file = &u->places[place].file;

    assert(place < u->place_count);
    if (v->entry.rows_left_out == 0 ||
        dx_cold_is_old(&dx_version_part_of_file(v, file->file_id)->cold))
        return DX_OK;
    return dx_fail(
        err, DX_E_LIMIT,
        "rows of the lake are left out of this version (publish --foreign-rows skip), and "
        "the index of URLs does not tell them from the rows of url_id 0x%016llx in dataset "
        "%lu; list the URLs of its domain in that dataset instead",
        (unsigned long long)u->url_id, (unsigned long)file->dataset_id);
}

static int take_rows(struct dx_url_rows *u, struct dx_error *err)
{
    int rc = dx_listing_step(&u->listing, err);

    if (rc != DX_LISTING_DONE)
        return rc;
    count_rows(u);
    for (size_t i = 0; rc == DX_LISTING_DONE && u->url != NULL && i < u->place_count; i++)
        if (u->places[i].rows > 1)
            rc = dx_url_rows_are_known(u, i, err);
    if (rc < 0)
        return rc;
    u->state = DONE;
    return rc;
}

int dx_url_rows_step(struct dx_url_rows *u, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && u->state != DONE)
        rc = u->state == TAKE_PAGES ? take_pages(u, err) : take_rows(u, err);
    return rc;
}

struct dx_read_batch *dx_url_rows_reading(struct dx_url_rows *u)
{
    return u->state == TAKE_ROWS ? &u->listing.reading : &u->ids;
}

int dx_url_rows_fetched(struct dx_url_rows *u, int rc, struct dx_error *err)
{
    if (u->state == TAKE_ROWS)
        return dx_listing_fetched(&u->listing, rc, err);
    rc = dx_read_batch_fetched(&u->ids, rc, err);
    if (rc < 0)
        dx_block_request_failed(&u->ids, err);
    return rc;
}

struct giver {
    struct dx_url_rows *rows;
    dx_url_rows_take *take;
    void *ctx;
    size_t place;
    uint64_t left; /* rows of it */
};

static int give(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct giver *g = ctx;

    while (g->left == 0)
        g->left = g->rows->places[++g->place].rows;
    g->left--;
    return g->take(g->ctx, g->place, row, err);
}

int dx_url_rows_each(struct dx_url_rows *u, dx_url_rows_take *take, void *ctx, struct dx_error *err)
{
    struct giver g = { .rows = u, .take = take, .ctx = ctx };

    assert(u->state == DONE);
    if (u->place_count == 0)
        return DX_OK;
    g.left = u->places[0].rows;
    return dx_listing_rows(&u->listing, &(struct dx_listing_taker){ &g, give, NULL }, err);
}
