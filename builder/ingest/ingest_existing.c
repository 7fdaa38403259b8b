/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_existing.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <unistd.h>

#include "base/hash.h"
#include "base/path.h"
#include "builder/ingest/ingest_datasets.h"
#include "builder/ingest/ingest_replaced.h"
#include "builder/lake/ingest_row.h"
#include "builder/lake/lake_membership.h"
#include "builder/lake/lake_scan.h"
#include "builder/root/progress.h"
#include "builder/root/root.h"
#include "builder/sort/spill_sort.h"
#include "canon/row_form.h"
#include "fetch/download.h"
#include "format/text/locator.h"

#define BITS_A_ROW 10 /* with 6 probes in one block about 1 % of strangers pass */
#define PROBES 6
#define BLOCK_WORDS 8 /* 512 bits: one cache line */

/* A blocked Bloom filter of the run's row keys. */
struct filter {
    uint64_t *word;
    size_t blocks;
};

struct finding {
    struct dx_row_form *form;
    struct dx_ingest_existing *e;
    struct dx_ingest_dataset **by_id; /* sorted */
    size_t count;
    struct filter filter;
    struct dx_ingest_replaced replaced;
    struct dx_buf key;
    struct dx_buf value;
};

static int filter_new(struct filter *f, uint64_t rows, size_t max_bytes, struct dx_error *err)
{
    uint64_t bytes = rows / 8 * BITS_A_ROW + 64;

    if (bytes > max_bytes)
        bytes = max_bytes;
    f->blocks = (size_t)(bytes / 64) + 1;
    f->word = calloc(f->blocks * BLOCK_WORDS, sizeof *f->word);
    return f->word == NULL ? dx_no_memory(err, "ingest: filter") : DX_OK;
}

static uint64_t *block_of(const struct filter *f, uint64_t hash)
{
    return f->word + (size_t)(((unsigned __int128)hash * f->blocks) >> 64) * BLOCK_WORDS;
}

static void filter_add(struct filter *f, struct dx_span key)
{
    uint64_t hash = dx_hash64(key);
    uint64_t *block = block_of(f, hash);

    hash *= 0x9E3779B97F4A7C15u;
    for (int i = 0; i < PROBES; i++, hash >>= 9)
        block[hash >> 6 & 7] |= (uint64_t)1 << (hash & 63);
}

static bool filter_has(const struct filter *f, struct dx_span key)
{
    uint64_t hash = dx_hash64(key);
    const uint64_t *block = block_of(f, hash);

    hash *= 0x9E3779B97F4A7C15u;
    for (int i = 0; i < PROBES; i++, hash >>= 9)
        if ((block[hash >> 6 & 7] >> (hash & 63) & 1) == 0)
            return false;
    return true;
}

static int add_key(void *ctx, struct dx_span key, struct dx_span value, struct dx_error *err)
{
    struct finding *f = ctx;

    (void)value;
    (void)err;
    if (dx_ingest_datasets_at(f->e->datasets, dx_ingest_row_dataset(key))->in_lake)
        filter_add(&f->filter, key);
    return DX_OK;
}

#define IGNORED (-2)

static struct dx_span locator_of(const struct dx_lake_row *row, size_t extras, const int *to)
{
    for (size_t k = 0; k < extras; k++)
        if (to[k] == IGNORED)
            return row->extra[k];
    return (struct dx_span){ NULL, 0 };
}

/* Where each extra column of the file stands among the run's; -1: the run has none such. The
 * locator does not distinguish rows. */
static void map_extras(const struct dx_lake_scan *scan, const struct dx_columns_want *want, int *to)
{
    size_t k = 0;

    for (size_t i = 0; i < scan->column_count; i++) {
        if (scan->column[i].role != DX_LAKE_EXTRA)
            continue;
        to[k] = dx_span_equal(scan->column[i].name, dx_span_str(DX_LOCATOR_COLUMN)) ? IGNORED : -1;
        for (size_t w = 0; w < want->extra_count; w++)
            if (to[k] != IGNORED && want->extra_name[w] != NULL &&
                dx_span_equal(scan->column[i].name, dx_span_str(want->extra_name[w])))
                to[k] = (int)w;
        k++;
    }
}

/* A null extra counts as missing: files with other columns hold equal rows if only nulls differ. */
static bool project(const struct dx_lake_row *row, size_t file_extras, const int *to,
                    struct dx_span *extra, size_t extra_count)
{
    for (size_t i = 0; i < extra_count; i++)
        extra[i] = (struct dx_span){ NULL, 0 };
    for (size_t k = 0; k < file_extras; k++) {
        if (row->extra[k].data == NULL || to[k] == IGNORED)
            continue;
        if (to[k] < 0)
            return false;
        extra[to[k]] = row->extra[k];
    }
    return true;
}

static int compare_row(struct finding *f, const struct dx_lake_scan *scan,
                       const struct dx_lake_row *row, uint32_t dataset, const struct dx_span *extra,
                       struct dx_error *err)
{
    struct dx_ingest_row mine = { .dataset = dataset,
                                  .domain = row->domain,
                                  .host = row->host,
                                  .path_query = row->path_query,
                                  .scheme = row->scheme,
                                  .has_ts = row->has_ts,
                                  .ts_us = row->ts_us,
                                  .extra = extra,
                                  .existing = true };
    struct dx_span key;

    dx_ingest_row_put(&f->key, &f->value, &mine, f->e->options->want.extra_count);
    if (f->key.failed || f->value.failed)
        return DX_OK; /* longer than any row this run can have made */
    key = dx_span_of(f->key.data, f->key.size);
    if (!filter_has(&f->filter, key) || dx_lake_scan_fault(scan, f->form, row) != NULL)
        return DX_OK;
    return dx_spill_sort_add(f->e->sort, 0, key, dx_span_of(f->value.data, f->value.size), err);
}

/* The file's path on this machine; a download is to be removed. */
static int fetch_file(const struct finding *f, const struct dx_lake_entry *file,
                      char path[PATH_MAX], struct dx_error *err)
{
    const struct dx_ingest_existing *e = f->e;
    struct dx_download d = { .object = file->path,
                             .size = file->size,
                             .pin = { file->size, file->etag[0] == '\0' ? NULL : file->etag } };
    int rc;

    if (e->root->in_place)
        return dx_path_format(path, PATH_MAX, err, "%s/%s", e->options->root, file->path);
    rc = dx_path_format(path, PATH_MAX, err, "%s/existing.parquet", e->dir);
    if (rc < 0)
        return rc;
    d.source = e->root->source;
    rc = dx_download_run(&d, path, err);
    if (rc < 0)
        (void)unlink(path);
    return rc;
}

static int scan_file(struct finding *f, const struct dx_lake_entry *file,
                     const struct dx_ingest_dataset *set, uint64_t bytes_before, uint64_t *rows,
                     struct dx_error *err)
{
    struct dx_span extra[DX_EXTRA_COLUMNS_MAX];
    struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
    int to[DX_LAKE_COLUMN_MAX];
    char path[PATH_MAX];
    struct dx_lake_row row;
    int rc;

    rc = fetch_file(f, file, path, err);
    if (rc == DX_OK)
        rc = dx_lake_scan_open(&scan, path, err);
    if (rc == DX_OK)
        map_extras(&scan, &f->e->options->want, to);
    while (rc >= 0 && (rc = dx_lake_scan_group(&scan, err)) == 1)
        while (rc >= 0 && (rc = dx_lake_scan_row(&scan, &row, err)) == 1) {
            if (scan.has_dataset_id && row.dataset_id != set->id)
                rc = dx_fail(err, DX_E_CORRUPT, "%s: a row of dataset %u in a folder of dataset %u",
                             path, row.dataset_id, set->id);
            else
                rc = dx_ingest_replaced_check(&f->replaced, locator_of(&row, scan.extra_count, to),
                                              err);
            if (rc >= 0 &&
                project(&row, scan.extra_count, to, extra, f->e->options->want.extra_count))
                rc = compare_row(f, &scan, &row, set->number, extra, err);
            if ((++*rows & 0xfff) != 0)
                continue;
            if (f->e->options->progress != NULL)
                dx_progress_at(f->e->options->progress, bytes_before, *rows);
            if (rc >= 0 && f->e->options->stopped != NULL && f->e->options->stopped())
                rc = dx_fail(err, DX_E_IO, "interrupted; nothing was added to the lake");
        }
    dx_lake_scan_close(&scan);
    if (!f->e->root->in_place) {
        (void)unlink(path);
        if (rc < 0)
            return dx_fail_in(err, "%s/%s", f->e->options->root, file->path);
    }
    return rc < 0 ? rc : DX_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const struct dx_ingest_dataset *const *x = a;
    const struct dx_ingest_dataset *const *y = b;

    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static int sort_by_id(struct finding *f, struct dx_error *err)
{
    f->count = dx_ingest_datasets_count(f->e->datasets);
    f->by_id = malloc((f->count + 1) * sizeof *f->by_id);
    if (f->by_id == NULL)
        return dx_no_memory(err, "ingest");
    for (size_t i = 0; i < f->count; i++)
        f->by_id[i] = dx_ingest_datasets_at(f->e->datasets, i);
    qsort(f->by_id, f->count, sizeof *f->by_id, compare_ids);
    return DX_OK;
}

/* The run's dataset with that id, or NULL. */
static struct dx_ingest_dataset *find_id(const struct finding *f, uint32_t id)
{
    struct dx_ingest_dataset wanted = { .id = id };
    const struct dx_ingest_dataset *key = &wanted;
    struct dx_ingest_dataset **found = bsearch(&key, f->by_id, f->count, sizeof *f->by_id,
                                               compare_ids);

    return found == NULL ? NULL : *found;
}

/* Whether it is the file that cannot be read, which another try would not change. */
static bool is_of_file(int rc)
{
    return rc == DX_E_TRUNCATED || rc == DX_E_CORRUPT || rc == DX_E_UNSUPPORTED ||
           rc == DX_E_LIMIT || rc == DX_E_INVALID || rc == DX_E_NOT_FOUND ||
           rc == DX_E_DENIED; /* its owner closed it */
}

static bool has_rows(const struct finding *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->by_id[i]->rows > 0 && !f->by_id[i]->left_out)
            return true;
    return false;
}

/* The other datasets go on without this one, if there are any with rows. */
static int leave_out(struct finding *f, struct dx_ingest_dataset *set, struct dx_error *err)
{
    assert(err->code != DX_OK); /* the reason: that of the first one is reported */
    if (!is_of_file((int)err->code))
        return (int)err->code;
    set->left_out = true;
    f->e->left.all = !has_rows(f);
    if (f->e->left.all)
        return (int)err->code;
    if (f->e->left.sets++ == 0) {
        f->e->left.first = set;
        f->e->left.why = *err;
    }
    *err = (struct dx_error)DX_ERROR_INIT;
    return DX_OK;
}

/* What cannot be compared would stand there twice when the files are back. */
static int check_missing(struct finding *f, struct dx_error *err)
{
    const struct dx_lake_list *list = &f->e->lake->missing;

    for (size_t i = 0; i < list->count; i++) {
        struct dx_ingest_dataset *set = find_id(f, list->file[i].dataset_id);

        if (set == NULL || set->rows == 0 || set->left_out)
            continue;
        (void)dx_fail(err, DX_E_NOT_FOUND,
                      "%s/%s: is not there, but the current version has it, so new rows cannot "
                      "be compared with its rows; mount or restore it, or publish without it "
                      "first (publish --allow-missing)",
                      f->e->options->root, list->file[i].path);
        if (leave_out(f, set, err) < 0)
            return (int)err->code;
    }
    return DX_OK;
}

/* Marks the run's datasets that have files; their accepted rows, and the files' bytes. */
static uint64_t mark(struct finding *f, uint64_t *bytes)
{
    const struct dx_lake_list *list = &f->e->lake->list;
    uint64_t rows = 0;

    *bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct dx_ingest_dataset *set = find_id(f, list->file[i].dataset_id);

        if (set == NULL || set->rows == 0 || set->left_out || f->e->lake->naming[i] == DX_LAKE_OUT)
            continue;
        rows += set->in_lake ? 0 : set->rows;
        set->in_lake = true;
        *bytes += list->file[i].size;
    }
    return rows;
}

static int fail_file(struct finding *f, struct dx_ingest_dataset *set, struct dx_error *err)
{
    const struct dx_error cause = *err;

    if (is_of_file((int)cause.code))
        (void)dx_fail(err, cause.code,
                      "%s; new rows cannot be compared with those of this file: move it out of the "
                      "lake, or write it again",
                      cause.text);
    return leave_out(f, set, err);
}

static int scan_files(struct finding *f, struct dx_error *err)
{
    const struct dx_lake_list *list = &f->e->lake->list;
    uint64_t bytes = 0;
    uint64_t rows = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < list->count; i++) {
        struct dx_ingest_dataset *set = find_id(f, list->file[i].dataset_id);

        if (set == NULL || !set->in_lake || set->left_out || f->e->lake->naming[i] == DX_LAKE_OUT)
            continue;
        rc = scan_file(f, &list->file[i], set, bytes, &rows, err);
        if (rc < 0)
            rc = fail_file(f, set, err);
        bytes += list->file[i].size;
    }
    return rc;
}

int dx_ingest_existing(struct dx_ingest_existing *e, struct dx_error *err)
{
    struct finding f = { .e = e };
    uint64_t total = 0;
    uint64_t rows = 0;
    int rc = sort_by_id(&f, err);

    assert(!e->options->replace); /* then no row of the lake stays */
    dx_buf_init(&f.key, 1u << 19);
    dx_buf_init(&f.value, 1u << 10);
    if (rc == DX_OK)
        rc = check_missing(&f, err);
    if (rc == DX_OK)
        rows = mark(&f, &total);
    if (rc < 0 || rows == 0)
        goto out;
    if (e->options->progress != NULL)
        dx_progress_phase(e->options->progress, "comparing with the lake", "rows", total);
    rc = dx_row_form_new(&f.form, e->psl, err);
    if (rc == DX_OK)
        rc = filter_new(&f.filter, rows, e->filter_bytes, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_each(e->sort, add_key, &f, err);
    if (rc == DX_OK)
        rc = dx_ingest_replaced_init(&f.replaced, e->options, err);
    if (rc == DX_OK)
        rc = scan_files(&f, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_end(e->sort, 0, err);
    if (e->options->progress != NULL)
        dx_progress_end(e->options->progress);
out:
    dx_row_form_free(&f.form);
    dx_ingest_replaced_release(&f.replaced);
    free(f.filter.word);
    free(f.by_id);
    dx_buf_release(&f.key);
    dx_buf_release(&f.value);
    return rc;
}
