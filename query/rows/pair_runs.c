/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/pair_runs.h"

#include "base/array.h"
#include "format/core/zseek.h"
#include "loader/domain_pairs.h"
#include "loader/version_parts.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#define BATCH 256 /* pairs that are read at once: two frames of some kB each */

void dx_pair_runs_init(struct dx_pair_runs *p, struct dx_version *v, uint64_t deadline_ms)
{
    *p = (struct dx_pair_runs){ .version = v, .deadline_ms = deadline_ms };
}

static void release_frames(struct dx_pair_runs *p)
{
    for (size_t i = p->first; p->frames != NULL && i < p->end; i++)
        dx_posting_frames_release(&p->frames[i - p->first]);
    free(p->frames);
    free(p->places);
    p->frames = NULL;
    p->places = NULL;
}

void dx_pair_runs_release(struct dx_pair_runs *p)
{
    release_frames(p);
    dx_zstd_decoder_free(&p->decoder);
    dx_read_batch_release(&p->reading);
    free(p->pairs);
    free(p->runs);
    free(p->bases);
    dx_pair_runs_init(p, p->version, p->deadline_ms);
}

int dx_pair_runs_add(struct dx_pair_runs *p, uint64_t number, uint32_t dataset_id,
                     struct dx_error *err)
{
    struct dx_pair_runs_pair *pairs = dx_array_room(p->pairs, p->pair_count, &p->pair_capacity,
                                                    sizeof *pairs);

    if (pairs == NULL)
        return dx_no_memory(err, "posting lists");
    p->pairs = pairs;
    p->pairs[p->pair_count++] = (struct dx_pair_runs_pair){ number, dataset_id, 0 };
    p->sorted = false;
    return DX_OK;
}

static int by_pair(const void *a, const void *b)
{
    const struct dx_pair_runs_pair *x = a;
    const struct dx_pair_runs_pair *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->dataset_id > y->dataset_id) - (x->dataset_id < y->dataset_id);
}

void dx_pair_runs_distinct(struct dx_pair_runs *p)
{
    size_t n = 0;

    if (p->pair_count > 1)
        qsort(p->pairs, p->pair_count, sizeof *p->pairs, by_pair);
    for (size_t i = 0; i < p->pair_count; i++)
        if (n == 0 || by_pair(&p->pairs[n - 1], &p->pairs[i]) != 0)
            p->pairs[n++] = p->pairs[i];
    p->pair_count = n;
    p->sorted = true;
}

/* ---- rows of a file, from rows of its row groups ---- */

int dx_file_group_rows(const struct dx_version *v, uint32_t file_id, uint64_t **bases,
                       size_t *row_groups, struct dx_error *err)
{
    struct dx_pages_file file;
    const struct dx_part *part;
    uint64_t *to;
    int rc = dx_version_file(v, file_id, &part, &file, err);

    *bases = NULL;
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: version %s has no file %lu", DX_FILE_PAGES,
                     dx_version_name(v), (unsigned long)file_id);
    if (rc < 0)
        return rc;
    to = malloc(((size_t)file.row_groups + 1) * sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "posting lists");
    to[0] = 0;
    for (uint32_t g = 0; rc >= 0 && g < file.row_groups; g++) {
        struct dx_page_group group;

        rc = dx_pages_group(&part->pages, &file, g, &group, err);
        if (rc == 1)
            to[g + 1] = to[g] + group.rows;
    }
    if (rc >= 0 && to[file.row_groups] != file.rows)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: %.*s has %llu rows, its row groups %llu",
                     DX_FILE_PAGES, (int)file.path.size, (const char *)file.path.data,
                     (unsigned long long)file.rows, (unsigned long long)to[file.row_groups]);
    if (rc < 0) {
        free(to);
        return rc;
    }
    *bases = to;
    *row_groups = file.row_groups;
    return DX_OK;
}

static int enter_file(struct dx_pair_runs *p, uint32_t file_id, struct dx_error *err)
{
    if (p->bases != NULL && p->file_id == file_id)
        return DX_OK;
    free(p->bases);
    p->file_id = file_id;
    return dx_file_group_rows(p->version, file_id, &p->bases, &p->base_count, err);
}

/* ---- reading ---- */

static int find_frames(struct dx_pair_runs *p, const struct dx_pair_runs_pair *pair,
                       struct dx_posting_frames *f, struct dx_pair_place *place,
                       struct dx_error *err)
{
    const struct dx_version *v = p->version;
    const struct dx_version_part *of = &v->parts[dx_version_part_at(v, pair->number)];
    uint64_t ordinal = pair->number - of->first;
    int rc = dx_pair_place(of->part, ordinal, pair->dataset_id, place, err);

    dx_posting_frames_init(f, of->part, v->caches);
    if (rc == 1)
        rc = dx_posting_frames_find(f, *place, err);
    if (rc == 0)
        rc = dx_fail(
            err, DX_E_CORRUPT, "%s: a tag is of domain %llu in dataset %lu, which has none",
            of->part->directory, (unsigned long long)ordinal, (unsigned long)pair->dataset_id);
    return rc;
}

static int begin_batch(struct dx_pair_runs *p, struct dx_error *err)
{
    size_t n = p->pair_count - p->end < BATCH ? p->pair_count - p->end : BATCH;
    int rc = 1;

    p->frames = calloc(n, sizeof *p->frames);
    p->places = calloc(n, sizeof *p->places);
    p->first = p->end;
    if (p->frames == NULL || p->places == NULL)
        return dx_no_memory(err, "posting lists");
    for (size_t i = 0; rc == 1 && i < n; i++)
        rc = find_frames(p, &p->pairs[p->end++], &p->frames[i], &p->places[i], err);
    return rc < 0 ? rc : DX_OK;
}

static int add_run(struct dx_pair_runs *p, size_t pair, const struct dx_run *run,
                   struct dx_error *err)
{
    struct dx_pair_run *to;
    int rc = enter_file(p, run->file_id, err);

    if (rc < 0)
        return rc;
    if (run->row_group >= p->base_count ||
        run->first_row + run->row_count > p->bases[run->row_group + 1] - p->bases[run->row_group])
        return dx_fail(
            err, DX_E_CORRUPT, "posting of file %u row group %u rows %llu+%llu: not in %s",
            (unsigned)run->file_id, (unsigned)run->row_group, (unsigned long long)run->first_row,
            (unsigned long long)run->row_count, DX_FILE_PAGES);
    if (p->run_count == DX_PAIR_RUNS_MAX)
        return dx_fail(err, DX_E_LIMIT, "rows of these domains lie in over %u places",
                       DX_PAIR_RUNS_MAX);
    to = dx_array_room(p->runs, p->run_count, &p->run_capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "posting lists");
    p->runs = to;
    p->runs[p->run_count++] = (struct dx_pair_run){
        .file_id = run->file_id,
        .pair = (uint32_t)pair,
        .row = p->bases[run->row_group] + run->first_row,
        .rows = run->row_count,
        .position = p->pairs[pair].rows,
    };
    p->pairs[pair].rows += run->row_count;
    return DX_OK;
}

static int take_pair(struct dx_pair_runs *p, size_t i, struct dx_error *err)
{
    const struct dx_posting_frames *f = &p->frames[i];
    struct dx_payload payload;
    struct dx_span bytes;
    struct dx_run run;
    const struct dx_pair_runs_pair *pair = &p->pairs[p->first + i];
    int rc = dx_posting_frames_payload(f, p->places[i], &bytes, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: domain %llu has no posting in dataset %lu",
                     f->dat_object, (unsigned long long)p->places[i].domain,
                     (unsigned long)pair->dataset_id);
    if (rc >= 0)
        rc = dx_postings_list(&f->part->postings, p->places[i].domain, pair->dataset_id, bytes,
                              f->dat_object, &payload, err);
    while (rc >= 0 && dx_payload_next(&payload, &run) == 1)
        rc = add_run(p, p->first + i, &run, err);
    return rc < 0 ? rc : DX_OK;
}

/* Part by part: the files of each may have a source of their own. */
static int advance_frames(struct dx_pair_runs *p, size_t n, struct dx_error *err)
{
    const struct dx_part *part = NULL;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < n; i++) {
        if (p->frames[i].part != part) {
            if (part != NULL && dx_read_batch_state(&p->reading) != DX_READ_BATCH_DONE)
                return DX_LISTING_WAITS;
            part = p->frames[i].part;
            dx_read_batch_begin(&p->reading, p->version, part->paged, p->deadline_ms);
        }
        rc = dx_posting_frames_advance(&p->frames[i], &p->reading, &p->decoder, err);
    }
    if (rc < 0)
        return rc;
    return n > 0 && dx_read_batch_state(&p->reading) != DX_READ_BATCH_DONE ? DX_LISTING_WAITS
                                                                           : DX_LISTING_DONE;
}

static int batch(struct dx_pair_runs *p, struct dx_error *err)
{
    size_t n;
    int rc = p->frames == NULL ? begin_batch(p, err) : DX_OK;

    n = p->end - p->first;
    if (rc == DX_OK)
        rc = advance_frames(p, n, err);
    if (rc != DX_LISTING_DONE)
        return rc;
    for (size_t i = 0; rc == DX_OK && i < n; i++)
        rc = take_pair(p, i, err);
    release_frames(p);
    return rc;
}

static int by_place(const void *a, const void *b)
{
    const struct dx_pair_run *x = a;
    const struct dx_pair_run *y = b;

    if (x->file_id != y->file_id)
        return x->file_id < y->file_id ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

int dx_pair_runs_step(struct dx_pair_runs *p, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    if (!p->sorted)
        dx_pair_runs_distinct(p);
    while (rc == DX_LISTING_DONE && (p->frames != NULL || p->end < p->pair_count)) {
        rc = batch(p, err);
        if (rc == DX_LISTING_DONE && p->end == p->pair_count && p->run_count > 1)
            qsort(p->runs, p->run_count, sizeof *p->runs, by_place);
    }
    return rc;
}

int dx_pair_runs_fetched(struct dx_pair_runs *p, int rc, struct dx_error *err)
{
    rc = dx_read_batch_fetched(&p->reading, rc, err);
    if (rc < 0)
        dx_block_request_failed(&p->reading, err);
    return rc;
}

size_t dx_pair_runs_from(const struct dx_pair_runs *p, size_t from, uint64_t number)
{
    size_t low = from;
    size_t high = p->pair_count;

    assert((p->sorted || p->pair_count == 0) && from <= p->pair_count);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->pairs[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t dx_pair_runs_of_file(const struct dx_pair_runs *p, uint32_t file_id, size_t *end)
{
    size_t low = 0;
    size_t high = p->run_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->runs[middle].file_id < file_id)
            low = middle + 1;
        else
            high = middle;
    }
    for (*end = low; *end < p->run_count && p->runs[*end].file_id == file_id;)
        ++*end;
    return low;
}

/* Of the runs [low, high) of one file, the first that ends behind the row. */
static size_t run_behind(const struct dx_pair_runs *p, size_t low, size_t high, uint64_t row)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->runs[middle].row + p->runs[middle].rows <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t dx_pair_runs_with(const struct dx_pair_runs *p, size_t i, size_t end,
                         const roaring_bitmap_t *rows)
{
    roaring_uint32_iterator_t it;

    assert(i <= end && end <= p->run_count);
    roaring_init_iterator(rows, &it);
    while (i < end && p->runs[i].row <= UINT32_MAX &&
           roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)p->runs[i].row)) {
        i = run_behind(p, i, end, it.current_value);
        if (i < end && p->runs[i].row <= it.current_value)
            return i;
    }
    return end;
}
