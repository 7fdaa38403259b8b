/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/compact_merge.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "builder/lake/ingest_row.h"
#include "builder/lake/lake_files.h"
#include "builder/lake/lake_scan.h"
#include "builder/root/parallel.h"
#include "builder/scan/rule_redirects.h"
#include "builder/sort/spill_sort.h"
#include "canon/ids.h"
#include "canon/psl.h"
#include "canon/row_form.h"
#include "format/root/rules.h"
#include "format/text/locator.h"

#define LANE_MIN ((size_t)8 << 20) /* a quarter of it is the largest row */
#define COUNT_EVERY 4096

/* ---- files that are elsewhere ---- */

static int name_file(const struct dx_rewrite_in *in, uint32_t file, char path[PATH_MAX],
                     struct dx_error *err)
{
    return dx_path_format(path, PATH_MAX, err, "%s/%s", in->lake_dir, in->files[file].path);
}

static int fetch(const struct dx_rewrite_in *in, uint32_t file, char path[PATH_MAX],
                 struct dx_error *err)
{
    int rc = name_file(in, file, path, err);

    return rc < 0 || in->fetch == NULL ? rc : in->fetch->fetch(in->fetch->ctx, file, path, err);
}

static void drop(const struct dx_rewrite_in *in, uint32_t file)
{
    char path[PATH_MAX];

    if (in->fetch != NULL && name_file(in, file, path, NULL) == DX_OK)
        in->fetch->drop(in->fetch->ctx, file, path);
}

/* Of an error of one file. Returns its code. */
static int note_fault(struct dx_compact_merge *m, uint32_t file, const struct dx_error *fault,
                      struct dx_error *err)
{
    if (!dx_scan_of_machine((int)fault->code) &&
        dx_scan_faults_add(&m->faults, file, fault, err) < 0)
        return DX_E_NOMEM;
    if (err != NULL)
        *err = *fault;
    return (int)fault->code;
}

static int fetch_all(struct dx_compact_merge *m, struct dx_error *err)
{
    const struct dx_rewrite_in *in = m->in;
    uint64_t bytes = 0;
    int rc = DX_OK;

    for (size_t i = 0; i < m->file_count; i++)
        bytes += in->files[m->file[i]].size;
    if (in->fetch != NULL && bytes > in->fetch->disk_bytes)
        return dx_fail(err, DX_E_LIMIT,
                       "dataset '%s': %zu files of together %llu MiB are merged, and the work "
                       "folder has room for %llu MiB of them; give --work-dir one with more",
                       m->dataset_name, m->file_count, (unsigned long long)(bytes >> 20),
                       (unsigned long long)(in->fetch->disk_bytes >> 20));
    m->fetched = true;
    for (size_t i = 0; rc == DX_OK && i < m->file_count; i++) {
        struct dx_error fault = DX_ERROR_INIT;
        char path[PATH_MAX];

        if (fetch(in, m->file[i], path, &fault) < 0)
            rc = note_fault(m, m->file[i], &fault, err);
    }
    return rc;
}

void dx_compact_merge_release(struct dx_compact_merge *m)
{
    for (size_t i = 0; m->fetched && i < m->file_count; i++)
        drop(m->in, m->file[i]);
    m->fetched = false;
    for (size_t i = 0; i < m->extra_count; i++)
        free(m->extra[i]);
    m->extra_count = 0;
    dx_scan_faults_release(&m->faults);
}

/* ---- columns ---- */

static int extra_index(const struct dx_compact_merge *m, struct dx_span name)
{
    for (size_t i = 0; i < m->extra_count; i++)
        if (dx_span_equal(dx_span_str(m->extra[i]), name))
            return (int)i;
    return -1;
}

static bool is_locator(struct dx_span name)
{
    return dx_span_equal(name, dx_span_str(DX_LOCATOR_COLUMN));
}

/* 1 it can be carried, 0 not. */
static int add_extra(struct dx_compact_merge *m, struct dx_span name, struct dx_error *err)
{
    if (is_locator(name))
        m->has_locator = true;
    if (is_locator(name) || extra_index(m, name) >= 0)
        return 1;
    if (name.size == 0 || memchr(name.data, 0, name.size) != NULL)
        return 0;
    if (m->extra_count == DX_LAKE_EXTRA_MAX)
        return 0;
    m->extra[m->extra_count] = strndup((const char *)name.data, name.size);
    if (m->extra[m->extra_count] == NULL)
        return dx_no_memory(err, "compact");
    m->extra_count++;
    return 1;
}

static bool is_finer(const struct dx_lake_scan *scan, const struct dx_lake_scan_column *c)
{
    const struct dx_pq_node *node = &scan->footer.node[scan->footer.leaf[c->leaf]];

    return c->role == DX_LAKE_TS &&
           (node->type == DX_PQ_INT96 || node->time_unit != DX_PQ_TIME_MILLIS);
}

static int columns_of(struct dx_compact_merge *m, const struct dx_lake_scan *scan, const char *path,
                      struct dx_error *err)
{
    if (scan->skipped_count > 0) {
        (void)snprintf(m->why, sizeof m->why, "%.100s: column '%.*s' is not a plain string", path,
                       scan->skipped.size > 60 ? 60 : (int)scan->skipped.size,
                       (const char *)scan->skipped.data);
        return 0;
    }
    for (size_t i = 0; i < scan->column_count; i++) {
        const struct dx_lake_scan_column *c = &scan->column[i];
        int rc = c->role == DX_LAKE_EXTRA ? add_extra(m, c->name, err) : 1;

        if (rc == 0)
            (void)snprintf(m->why, sizeof m->why,
                           "%.100s: with it the files have over %d further columns, or one without "
                           "a name",
                           path, DX_LAKE_EXTRA_MAX);
        if (rc <= 0)
            return rc;
        m->ts_micros = m->ts_micros || is_finer(scan, c);
    }
    return 1;
}

/* Behind all others: the key that rows are sorted by does not hold it. */
static int add_locator(struct dx_compact_merge *m, struct dx_error *err)
{
    if (m->extra_count == DX_LAKE_EXTRA_MAX) {
        (void)snprintf(m->why, sizeof m->why, "with '%s' the files have over %d further columns",
                       DX_LOCATOR_COLUMN, DX_LAKE_EXTRA_MAX);
        return 0;
    }
    m->extra[m->extra_count] = strdup(DX_LOCATOR_COLUMN);
    if (m->extra[m->extra_count] == NULL)
        return dx_no_memory(err, "compact");
    m->extra_count++;
    return 1;
}

int dx_compact_merge_columns(struct dx_compact_merge *m, struct dx_error *err)
{
    int rc = fetch_all(m, err);

    if (rc == DX_OK)
        rc = 1;
    for (size_t i = 0; rc == 1 && i < m->file_count; i++) {
        struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
        struct dx_error fault = DX_ERROR_INIT;
        char path[PATH_MAX];

        rc = name_file(m->in, m->file[i], path, err);
        if (rc == DX_OK && dx_lake_scan_open(&scan, path, &fault) < 0)
            rc = note_fault(m, m->file[i], &fault, err);
        if (rc == DX_OK)
            rc = columns_of(m, &scan, m->in->files[m->file[i]].path, err);
        dx_lake_scan_close(&scan);
    }
    if (rc == 1 && m->has_locator)
        rc = add_locator(m, err);
    return rc;
}

/* ---- rows into the sort ---- */

struct reading {
    struct dx_compact_merge *m;
    struct dx_spill_sort *sort;
    unsigned lanes;
    _Atomic uint64_t rows_read;
    _Atomic uint64_t rows_left_out;
    pthread_mutex_t lock; /* of m->faults */
};

struct lane {
    struct reading *r;
    unsigned number;
    struct dx_buf key;
    struct dx_buf value;
    struct dx_rule_redirects led;
    struct dx_psl *psl;
    struct dx_row_form *form;   /* faulty rows are left out by it; NULL: they are not */
    int to[DX_LAKE_COLUMN_MAX]; /* where each extra of the file stands */
    struct dx_span extra[DX_LAKE_EXTRA_MAX];
    struct dx_buf last; /* domain of the row before */
    unsigned range;     /* and its range */
};

/* The file may be another one than that whose columns were looked at. */
static int map_extras(struct lane *l, const struct dx_lake_scan *scan, struct dx_error *err)
{
    size_t k = 0;

    for (size_t i = 0; i < scan->column_count; i++) {
        if (scan->column[i].role != DX_LAKE_EXTRA)
            continue;
        l->to[k] = extra_index(l->r->m, scan->column[i].name);
        if (l->to[k++] < 0)
            return dx_fail(err, DX_E_CORRUPT, "it changed: column %.*s was not there",
                           (int)scan->column[i].name.size, (const char *)scan->column[i].name.data);
    }
    return DX_OK;
}

static unsigned range_of(struct lane *l, struct dx_span domain)
{
    if (l->last.size == 0 || !dx_span_equal(dx_span_of(l->last.data, l->last.size), domain)) {
        dx_buf_clear(&l->last);
        dx_buf_append(&l->last, domain.data, domain.size);
        l->range = dx_domain_prefix(dx_domain_id(domain)) / (256 / l->r->m->ranges);
    }
    return l->range;
}

static int take_row(struct lane *l, const struct dx_lake_row *row, size_t extra_count,
                    struct dx_error *err)
{
    struct dx_compact_merge *m = l->r->m;
    struct dx_ingest_row mine = { .dataset = range_of(l, row->domain),
                                  .domain = row->domain,
                                  .host = row->host,
                                  .path_query = row->path_query,
                                  .scheme = row->scheme,
                                  .has_ts = row->has_ts,
                                  .ts_us = row->ts_us,
                                  .extra = l->extra,
                                  .raw_url = row->raw_url };
    struct dx_rule_redirects_hits hits;
    int rc;

    if (dx_rules_match(m->in->rules, row->domain, row->scheme, row->host, row->path_query) != 0) {
        atomic_fetch_add_explicit(&l->r->rows_left_out, 1, memory_order_relaxed);
        return DX_OK;
    }
    for (size_t i = 0; i < m->extra_count; i++)
        l->extra[i] = (struct dx_span){ NULL, 0 };
    for (size_t k = 0; k < extra_count; k++)
        l->extra[l->to[k]] = row->extra[k];
    if (m->has_locator)
        mine.locator = l->extra[m->extra_count - 1];
    rc = dx_rule_redirects_row(&l->led, row, &hits, err);
    if (rc < 0)
        return rc;
    if (hits.requested != 0)
        l->extra[l->to[hits.extra]] = (struct dx_span){ NULL, 0 };
    if (hits.raw != 0)
        mine.raw_url = (struct dx_span){ NULL, 0 };
    if (hits.requested != 0 || hits.raw != 0) /* it would lead to the page that was requested */
        mine.locator = (struct dx_span){ NULL, 0 };
    dx_ingest_row_put(&l->key, &l->value, &mine, m->extra_count - m->has_locator);
    if (l->key.no_memory || l->value.no_memory || l->last.no_memory)
        return dx_no_memory(err, "a row");
    if (l->key.failed || l->value.failed || l->last.failed)
        return dx_fail(err, DX_E_LIMIT, "a row of over %u bytes", 2 * DX_LAKE_ROW_BYTES_MAX);
    return dx_spill_sort_add(l->r->sort, l->number, dx_span_of(l->key.data, l->key.size),
                             dx_span_of(l->value.data, l->value.size), err);
}

static int check_row(const struct lane *l, const struct dx_lake_scan *scan,
                     const struct dx_lake_row *row, struct dx_error *err)
{
    const struct dx_span *text[] = { &row->domain, &row->scheme, &row->host, &row->path_query };

    if (scan->has_dataset_id && row->dataset_id != l->r->m->dataset_id)
        return dx_fail(err, DX_E_CORRUPT, "a row of dataset %u in a folder of dataset %u",
                       row->dataset_id, l->r->m->dataset_id);
    /* Zeros end the parts of a key; a canonical URL has none. */
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        if (text[i]->size > 0 && memchr(text[i]->data, 0, text[i]->size) != NULL)
            return dx_fail(err, DX_E_INVALID, "a URL with a zero byte");
    return DX_OK;
}

static void count_rows(const struct dx_rewrite_in *in, uint64_t rows)
{
    if (in->rows_done != NULL)
        atomic_fetch_add_explicit(in->rows_done, rows, memory_order_relaxed);
}

static int read_file(struct lane *l, uint32_t file, struct dx_error *err)
{
    struct dx_compact_merge *m = l->r->m;
    struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
    struct dx_lake_row row;
    char path[PATH_MAX];
    uint64_t rows = 0;
    int rc = name_file(m->in, file, path, err);

    if (rc == DX_OK)
        rc = dx_lake_scan_open(&scan, path, err);
    if (rc == DX_OK) {
        scan.skip_by = l->form;
        dx_rule_redirects_file(&l->led, &scan);
        rc = map_extras(l, &scan, err);
        if (rc < 0)
            rc = dx_fail_in(err, "%s", path);
    }
    while (rc >= 0 && (rc = dx_lake_scan_group(&scan, err)) == 1)
        while (rc >= 0 && (rc = dx_lake_scan_row(&scan, &row, err)) == 1) {
            rc = check_row(l, &scan, &row, err);
            if (rc == DX_OK)
                rc = take_row(l, &row, scan.extra_count, err);
            if (rc < 0)
                rc = dx_fail_in(err, "%s", path);
            if (++rows % COUNT_EVERY != 0)
                continue;
            count_rows(m->in, COUNT_EVERY);
            if (rc >= 0 && m->stopped != NULL && m->stopped())
                rc = dx_fail(err, DX_E_IO, "interrupted; nothing was changed");
        }
    dx_lake_scan_close(&scan);
    atomic_fetch_add_explicit(&l->r->rows_read, rows, memory_order_relaxed);
    return rc < 0 ? rc : DX_OK;
}

static int read_noting(struct lane *l, uint32_t file, struct dx_error *err)
{
    struct dx_error fault = DX_ERROR_INIT;
    int rc = read_file(l, file, &fault);

    if (rc == DX_OK)
        return rc;
    (void)pthread_mutex_lock(&l->r->lock);
    rc = note_fault(l->r->m, file, &fault, err);
    (void)pthread_mutex_unlock(&l->r->lock);
    return rc;
}

static int read_lane(void *ctx, size_t number, struct dx_error *err)
{
    struct reading *r = ctx;
    struct lane *l = calloc(1, sizeof *l);
    int rc = DX_OK;

    if (l == NULL)
        return dx_no_memory(err, "compact");
    l->r = r;
    l->number = (unsigned)number;
    l->led = (struct dx_rule_redirects){ .rules = r->m->in->rules, .psl_text = r->m->in->psl_text };
    dx_buf_init(&l->key, 2 * DX_LAKE_ROW_BYTES_MAX);
    dx_buf_init(&l->value, 2 * DX_LAKE_ROW_BYTES_MAX);
    dx_buf_init(&l->last, 1u << 16);
    if (r->m->in->skip_rows)
        rc = dx_psl_new(&l->psl, r->m->in->psl_text, err);
    if (rc == DX_OK && l->psl != NULL)
        rc = dx_row_form_new(&l->form, l->psl, err);
    for (size_t i = number; rc == DX_OK && i < r->m->file_count; i += r->lanes)
        rc = read_noting(l, r->m->file[i], err);
    if (rc == DX_OK)
        rc = dx_spill_sort_end(r->sort, l->number, err);
    dx_buf_release(&l->key);
    dx_buf_release(&l->value);
    dx_buf_release(&l->last);
    dx_rule_redirects_release(&l->led);
    dx_row_form_free(&l->form);
    dx_psl_free(&l->psl);
    free(l);
    return rc;
}

/* Of a dataset of counts equal rows are added up by their readers (docs/FORMAT.md, 12.5): all of them stay. */
static int new_sort(struct reading *r, struct dx_error *err)
{
    struct dx_spill_sort_options o = { .dir = r->m->in->tmp_dir,
                                       .memory_bytes = r->m->in->memory / 2,
                                       .distinct = !dx_registry_of_counts(r->m->in->registry,
                                                                          r->m->dataset_id) };
    size_t lanes = r->m->in->threads == 0 ? 1 : r->m->in->threads;

    if (lanes > o.memory_bytes / LANE_MIN)
        lanes = o.memory_bytes / LANE_MIN;
    if (lanes > r->m->file_count)
        lanes = r->m->file_count;
    if (lanes > DX_PARALLEL_MAX)
        lanes = DX_PARALLEL_MAX;
    r->lanes = lanes == 0 ? 1 : (unsigned)lanes;
    o.lanes = r->lanes;
    return dx_spill_sort_new(&r->sort, &o, err);
}

/* ---- rows out of it ---- */

struct writing {
    struct dx_compact_merge *m;
    struct dx_lake_path where;
    char path[PATH_MAX];
    dx_compact_made *made;
    void *ctx;
    uint64_t rows;
};

static int open_part(void *ctx, char path[PATH_MAX], struct dx_error *err)
{
    struct writing *w = ctx;
    int rc = dx_path_format(w->path, sizeof w->path, err, "%s/compacted", w->m->in->tmp_dir);

    memcpy(path, w->path, sizeof w->path);
    return rc;
}

static int part_closed(void *ctx, const struct dx_lake_stats *stats, struct dx_error *err)
{
    struct writing *w = ctx;

    w->rows += stats->rows;
    return w->made(w->ctx, w->path, &w->where, err);
}

static void enter_range(struct writing *w, unsigned range)
{
    unsigned width = 256 / w->m->ranges;

    w->where = (struct dx_lake_path){ .dataset_id = w->m->dataset_id,
                                      .first = (uint8_t)(width * range),
                                      .last = (uint8_t)(width * (range + 1) - 1) };
}

static int write_rows(struct writing *w, struct dx_spill_sort *sort, struct dx_error *err)
{
    const struct dx_lake_schema schema = { .extra_names = (const char *const *)w->m->extra,
                                           .extra_count = w->m->extra_count,
                                           .dataset_name = w->m->dataset_name,
                                           .ts_micros = w->m->ts_micros,
                                           .url_id = true };
    const struct dx_lake_parts_options o = {
        .rows_a_file = w->m->rows_a_file, .ctx = w, .open = open_part, .closed = part_closed
    };
    struct dx_lake_parts parts;
    unsigned range = UINT32_MAX;
    struct dx_span key;
    struct dx_span value;
    uint64_t rows = 0;
    int rc = DX_OK;

    dx_lake_parts_init(&parts, &o);
    dx_lake_parts_begin(&parts, &schema, w->m->dataset_id);
    while (rc >= 0 && (rc = dx_spill_sort_next(sort, &key, &value, err)) == 1) {
        if (dx_ingest_row_dataset(key) != range) {
            rc = dx_lake_parts_end(&parts, err);
            if (rc < 0)
                break;
            range = dx_ingest_row_dataset(key);
            enter_range(w, range);
        }
        rc = dx_lake_parts_add(&parts, key, value, err);
        if (rc >= 0 && ++rows % COUNT_EVERY == 0 && w->m->stopped != NULL && w->m->stopped())
            rc = dx_fail(err, DX_E_IO, "interrupted; nothing was changed");
    }
    if (rc == 0)
        rc = dx_lake_parts_end(&parts, err);
    dx_lake_parts_release(&parts);
    return rc;
}

int dx_compact_merge_run(struct dx_compact_merge *m, dx_compact_made *made, void *ctx,
                         struct dx_error *err)
{
    struct writing w = { .m = m, .made = made, .ctx = ctx };
    struct reading r = { .m = m };
    int rc = new_sort(&r, err);

    assert(m->fetched && m->ranges > 0 && 256 % m->ranges == 0);
    (void)pthread_mutex_init(&r.lock, NULL);
    if (rc == DX_OK)
        rc = dx_parallel(r.lanes, r.lanes, read_lane, &r, err);
    (void)pthread_mutex_destroy(&r.lock);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(r.sort, err);
    if (rc == DX_OK)
        rc = write_rows(&w, r.sort, err);
    dx_spill_sort_free(&r.sort);
    m->rows_read = r.rows_read;
    m->rows_left_out = r.rows_left_out;
    m->rows_equal = r.rows_read - r.rows_left_out - w.rows;
    return rc;
}

/* ---- suppressions ---- */

static int find_hit(const struct dx_rewrite_in *in, const char *path, bool first, uint64_t *number,
                    struct dx_error *err)
{
    struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
    struct dx_rule_redirects led = { .rules = in->rules, .psl_text = in->psl_text };
    struct dx_lake_row row;
    uint64_t rows = 0;
    int rc = dx_lake_scan_open(&scan, path, err);

    if (rc == DX_OK)
        dx_rule_redirects_file(&led, &scan);
    while (rc >= 0 && (rc = dx_lake_scan_group(&scan, err)) == 1)
        while (rc >= 0 && (rc = dx_lake_scan_row(&scan, &row, err)) == 1) {
            uint64_t hit = dx_rules_match(in->rules, row.domain, row.scheme, row.host,
                                          row.path_query);
            struct dx_rule_redirects_hits hits;

            rc = dx_rule_redirects_row(&led, &row, &hits, err);
            if (rc < 0)
                goto out;
            hit = dx_rule_redirects_first(hit, dx_rule_redirects_first(hits.requested, hits.raw));
            *number = dx_rule_redirects_first(*number, hit);
            if (hit != 0 && first)
                goto out;
            if (++rows % COUNT_EVERY == 0)
                count_rows(in, COUNT_EVERY);
        }
out:
    dx_rule_redirects_release(&led);
    dx_lake_scan_close(&scan);
    return rc < 0 ? rc : DX_OK;
}

int dx_compact_hit(const struct dx_rewrite_in *in, uint32_t file, bool first, uint64_t *number,
                   struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = fetch(in, file, path, err);

    assert(file < in->file_count);
    *number = 0;
    if (rc == DX_OK)
        rc = find_hit(in, path, first, number, err);
    drop(in, file);
    return rc;
}
