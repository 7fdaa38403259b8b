/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_scan.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "builder/lake/lake_scan.h"
#include "builder/scan/index_base.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/index_strays.h"
#include "builder/scan/index_tags.h"
#include "builder/scan/index_urls.h"
#include "builder/scan/scan_faults.h"
#include "builder/scan/scan_merge.h"
#include "builder/scan/scan_pages.h"
#include "builder/sort/blob_spill.h"
#include "builder/sort/spill_sort.h"
#include "cache/page_cache.h"
#include "canon/row_form.h"
#include "format/root/registry_json.h"
#include "format/version/pair_tally.h"
#include "format/version/tag_list.h"
#include "loader/version.h"

#define CURSOR_COST_MAX (6u << 20) /* most that an open file of our own layout holds */
#define CURSOR_COST_MIN (256u << 10)
#define LANE_MIN ((size_t)32 << 20) /* a pair may have a quarter of it: 2 million runs */
#define THREADS_MAX 64

/* A part of the lake that one worker reads: files of one dataset whose prefix ranges
 * overlap, so that no domain is in two parts. */
struct part {
    size_t first; /* in scan.order */
    size_t count;
    uint64_t bytes; /* of its files, if they are to be fetched */
};

struct scan {
    struct dx_index_lake *lake;
    const struct dx_index_scan_options *options;
    size_t *order; /* file_ids of what is read: by dataset, then part, then path */
    size_t order_count;
    struct part *parts;
    size_t part_count;
    atomic_size_t next_part;
    atomic_bool stop;
    size_t part_memory;   /* what the open files of a worker may hold */
    unsigned lanes;       /* of the pairs' sorter: one a worker, or one for all under the lock */
    pthread_mutex_t lock; /* of all below, the groups' sorter, the registry and the lake's totals */
    struct dx_error err;
    size_t failed_part;
    pthread_cond_t room;            /* on_disk has become smaller, or stop is set */
    uint64_t on_disk;               /* bytes of files that were fetched, or are being fetched */
    struct dx_page_cache *postings; /* of the base; NULL without one */
};

static void note_skipped(struct dx_index_lake *lake, const struct dx_lake_scan *s,
                         const struct dx_index_file *file)
{
    if (s->skipped_count == 0)
        return;
    if (lake->skipped_columns == 0)
        (void)snprintf(lake->skipped, sizeof lake->skipped, "%.*s in %s", (int)s->skipped.size,
                       (const char *)s->skipped.data, file->path);
    lake->skipped_columns += s->skipped_count;
}

struct worker {
    struct scan *scan;
    unsigned lane;
    struct dx_index_urls_lane *urls;
    struct dx_pair_tally *tally;
    struct dx_row_form *form;
};

static int add_group(struct scan *scan, uint32_t file_id, uint32_t group,
                     const struct dx_buf *record, struct dx_error *err)
{
    uint8_t key[8];
    int rc;

    for (size_t i = 0; i < 4; i++) {
        key[i] = (uint8_t)(file_id >> (24 - 8 * i));
        key[4 + i] = (uint8_t)(group >> (24 - 8 * i));
    }
    (void)pthread_mutex_lock(&scan->lock);
    rc = dx_spill_sort_add(scan->lake->groups, 0, dx_span_of(key, sizeof key),
                           dx_span_of(record->data, record->size), err);
    (void)pthread_mutex_unlock(&scan->lock);
    return rc;
}

/* Memory that the rows of this file need while it is open, from what its footer says. */
static size_t cursor_cost(const struct dx_lake_scan *s)
{
    uint64_t most = 0;

    for (uint32_t g = 0; g < s->footer.group_count; g++)
        if (s->footer.group[g].total_size > most)
            most = s->footer.group[g].total_size;
    return most > CURSOR_COST_MAX   ? CURSOR_COST_MAX
           : most < CURSOR_COST_MIN ? CURSOR_COST_MIN
                                    : (size_t)most;
}

static bool has_tags(const struct dx_lake_scan *s)
{
    for (size_t i = 0; i < s->column_count; i++)
        if (s->column[i].role == DX_LAKE_EXTRA &&
            dx_span_equal(s->column[i].name, dx_span_str(DX_TAGS_COLUMN)))
            return true;
    return false;
}

static int file_pages(struct scan *scan, uint32_t file_id, size_t *cost, struct dx_error *err)
{
    struct dx_index_file *file = &scan->lake->files[file_id];
    struct dx_lake_scan *s = malloc(sizeof *s); /* too large for a small stack */
    struct dx_buf record = DX_BUF_INIT(DX_SCAN_GROUP_MAX);
    char path[PATH_MAX];
    uint64_t rows = 0;
    uint32_t groups = 0;
    struct dx_hash128 hash = file->hash;
    int rc;

    if (s == NULL)
        return dx_no_memory(err, "%s", file->path);
    *s = (struct dx_lake_scan)DX_LAKE_SCAN_INIT;
    rc = dx_index_file_path(scan->lake, file, path, err);
    if (rc == DX_OK)
        rc = dx_lake_scan_open(s, path, err);
    if (rc == DX_OK)
        rc = dx_lake_scan_hash(s, &hash, err);
    if (rc == DX_OK && file->known && !dx_hash128_equal(&file->hash, &hash))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: was replaced in place since version %s, or damaged: its bytes have "
                     "another hash; lake files are never written again",
                     file->path, dx_version_name(scan->lake->base));
    if (rc == DX_OK) {
        file->hash = hash;
        file->size = s->map.bytes.size;
        *cost += cursor_cost(s);
    }
    while (rc == DX_OK && (rc = dx_lake_scan_group(s, err)) == 1) {
        dx_buf_clear(&record);
        rc = dx_scan_pages(s, file, &record, err);
        if (rc == DX_OK && !file->known)
            rc = add_group(scan, file_id, s->group.number, &record, err);
        rows += s->group.row_count;
        groups++;
    }
    file->rows = rows;
    file->row_groups = groups;
    file->tagged = groups > 0 && has_tags(s);
    file->tags_unread = file->tags_unfit = 0;
    if (rc == DX_OK) {
        (void)pthread_mutex_lock(&scan->lock);
        scan->lake->files_scanned++;
        note_skipped(scan->lake, s, file);
        (void)pthread_mutex_unlock(&scan->lock);
    }
    dx_lake_scan_close(s);
    free(s);
    dx_buf_release(&record);
    return rc;
}

/* The times of a dataset come to include those of another record of it. */
static void add_times(struct dx_dataset *to, const struct dx_dataset *from)
{
    if (!from->has_ts)
        return;
    if (!to->has_ts || from->first_us < to->first_us)
        to->first_us = from->first_us;
    if (!to->has_ts || from->last_us > to->last_us)
        to->last_us = from->last_us;
    to->has_ts = true;
}

static void add_totals(struct scan *scan, const struct dx_scan_merge *m)
{
    struct dx_index_lake *lake = scan->lake;
    struct dx_dataset *d;

    (void)pthread_mutex_lock(&scan->lock);
    d = dx_registry_by_id(lake->registry, m->dataset_id);
    d->files += m->count;
    d->rows += m->totals.rows;
    d->urls += m->totals.urls;
    d->domains += m->totals.domains;
    add_times(d, &m->totals);
    lake->rows += m->totals.rows;
    lake->rows_scanned += m->rows;
    if (m->twice.count > 0 && lake->rows_twice == 0)
        memcpy(lake->twice, m->twice.first, sizeof lake->twice);
    lake->rows_twice += m->twice.count;
    if (m->suppressed_first != 0 &&
        (lake->suppressed_first == 0 || m->suppressed_first < lake->suppressed_first))
        lake->suppressed_first = m->suppressed_first;
    lake->urls += m->totals.urls;
    lake->times_left_out += m->times_left_out;
    if (m->rows_left_out > 0 && lake->rows_left_out == 0)
        memcpy(lake->first_left_out, m->first_left_out, sizeof lake->first_left_out);
    lake->rows_left_out += m->rows_left_out;
    (void)pthread_mutex_unlock(&scan->lock);
}

static int add_pair(void *ctx, struct dx_span key, struct dx_span value, struct dx_error *err)
{
    struct worker *w = ctx;
    struct scan *scan = w->scan;
    int rc;

    if (scan->lanes > 1)
        return dx_spill_sort_add(scan->lake->pairs, w->lane, key, value, err);
    (void)pthread_mutex_lock(&scan->lock);
    rc = dx_spill_sort_add(scan->lake->pairs, 0, key, value, err);
    (void)pthread_mutex_unlock(&scan->lock);
    return rc;
}

static int add_stray(void *ctx, const struct dx_page_stray *stray, struct dx_error *err)
{
    struct scan *scan = ((struct worker *)ctx)->scan;
    uint8_t key[DX_INDEX_STRAY_KEY];
    int rc;

    dx_index_stray_key(stray, key);
    (void)pthread_mutex_lock(&scan->lock);
    rc = dx_spill_sort_add(scan->lake->strays, 0, dx_span_of(key, sizeof key), dx_span_of(NULL, 0),
                           err);
    (void)pthread_mutex_unlock(&scan->lock);
    return rc;
}

static int merge_part(struct worker *w, const struct part *part, bool grew, struct dx_error *err)
{
    struct scan *scan = w->scan;
    struct dx_scan_merge m = { .lake = scan->lake,
                               .file_ids = scan->order + part->first,
                               .count = part->count,
                               .options = scan->options,
                               .stop = &scan->stop,
                               .pair_found = add_pair,
                               .stray_found = add_stray,
                               .ctx = w,
                               .urls = w->urls,
                               .twice = DX_ROWS_TWICE_INIT,
                               .tally = w->tally,
                               .form = w->form,
                               .postings = grew ? scan->postings : NULL,
                               .known_bytes = scan->part_memory / 2 };
    int rc = dx_scan_merge(&m, err);

    if (rc == DX_OK && !atomic_load(&scan->stop))
        add_totals(scan, &m);
    return rc;
}

static int scan_part(struct worker *w, const struct part *part, struct dx_error *err)
{
    struct scan *scan = w->scan;
    uint32_t dataset_id = scan->lake->files[scan->order[part->first]].dataset_id;
    size_t free_bytes;
    size_t cost = 0;
    bool grew;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < part->count && !atomic_load(&scan->stop); i++)
        rc = file_pages(scan, (uint32_t)scan->order[part->first + i], &cost, err);
    if (rc != DX_OK || atomic_load(&scan->stop))
        return rc;
    grew = scan->lake->base != NULL && dx_index_change_of(scan->lake, dataset_id) == DX_INDEX_GROWN;
    free_bytes = grew ? scan->part_memory / 2 : scan->part_memory;
    if (part->count > 1 && cost > free_bytes)
        return dx_fail(err, DX_E_LIMIT,
                       "dataset_id=%lu: %zu files with overlapping prefixes must be merged, for "
                       "which about %zu MiB are needed and %zu MiB are free: raise --memory",
                       (unsigned long)dataset_id, part->count, cost >> 20, free_bytes >> 20);
    return merge_part(w, part, grew, err);
}

/* ---- files that are elsewhere ---- */

static void stop(struct scan *scan)
{
    (void)pthread_mutex_lock(&scan->lock);
    atomic_store(&scan->stop, true);
    (void)pthread_cond_broadcast(&scan->room);
    (void)pthread_mutex_unlock(&scan->lock);
}

/* No part is larger than the whole room, so a waiting thread gets room at the latest when the
 * others are done. */
static void take_room(struct scan *scan, const struct part *part)
{
    assert(part->bytes <= scan->options->fetch->disk_bytes);
    (void)pthread_mutex_lock(&scan->lock);
    while (!atomic_load(&scan->stop) &&
           part->bytes > scan->options->fetch->disk_bytes - scan->on_disk)
        (void)pthread_cond_wait(&scan->room, &scan->lock);
    scan->on_disk += part->bytes;
    (void)pthread_mutex_unlock(&scan->lock);
}

static void give_room(struct scan *scan, const struct part *part)
{
    (void)pthread_mutex_lock(&scan->lock);
    assert(scan->on_disk >= part->bytes);
    scan->on_disk -= part->bytes;
    (void)pthread_cond_broadcast(&scan->room);
    (void)pthread_mutex_unlock(&scan->lock);
}

static int add_fault(struct scan *scan, uint32_t file_id, const struct dx_error *fault,
                     struct dx_error *err)
{
    int rc;

    (void)pthread_mutex_lock(&scan->lock);
    rc = dx_scan_faults_add(scan->options->faults, file_id, fault, err);
    (void)pthread_mutex_unlock(&scan->lock);
    return rc;
}

/* Each file of the part alone; *found: some of them cannot be taken. */
static int check_alone(struct worker *w, const struct part *part, bool *found, struct dx_error *err)
{
    struct dx_index_lake *lake = w->scan->lake;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < part->count && !atomic_load(&w->scan->stop); i++) {
        uint32_t id = (uint32_t)w->scan->order[part->first + i];
        struct dx_error fault = DX_ERROR_INIT;
        char path[PATH_MAX];

        rc = dx_index_file_path(lake, &lake->files[id], path, err);
        if (rc < 0 ||
            dx_scan_check_file(path, &lake->files[id], w->form, w->scan->options->skip_rows,
                               dx_registry_of_counts(lake->registry, lake->files[id].dataset_id),
                               &fault) >= 0)
            continue;
        *found = true;
        rc = add_fault(w->scan, id, &fault, err);
    }
    return rc;
}

/* What the failed part has left in them is of no use: the next part begins with new ones. */
static int renew_worker(struct worker *w, struct dx_error *err)
{
    int rc;

    dx_index_urls_lane_free(&w->urls);
    dx_pair_tally_free(&w->tally);
    rc = dx_index_urls_lane_new(&w->urls, w->scan->lake->url_places, err);
    return rc == DX_OK ? dx_pair_tally_new(&w->tally, err) : rc;
}

/* The part could not be scanned: its faulty files are noted, and the scan goes on to find those of
 * the other parts. With a base a limit is not yet a fault: to read all files may need less. */
static int note_faults(struct worker *w, const struct part *part, struct dx_error *err)
{
    const struct dx_error why = *err;
    struct scan *scan = w->scan;
    bool found = false;
    int rc = check_alone(w, part, &found, err);

    if (rc == DX_OK && !found &&
        (dx_scan_of_machine(why.code) || (why.code == DX_E_LIMIT && scan->lake->base != NULL))) {
        *err = why;
        return why.code;
    }
    for (size_t i = 0; rc == DX_OK && !found && i < part->count; i++) {
        uint32_t id = (uint32_t)scan->order[part->first + i];

        if (scan->lake->files[id].fresh)
            rc = add_fault(scan, id, &why, err);
    }
    if (rc == DX_OK && scan->options->faults->count == 0) {
        *err = why;
        return why.code;
    }
    return rc == DX_OK ? renew_worker(w, err) : rc;
}

static int scan_noting(struct worker *w, const struct part *part, struct dx_error *err)
{
    int rc = scan_part(w, part, err);

    return rc == DX_OK || w->scan->options->faults == NULL || atomic_load(&w->scan->stop)
               ? rc
               : note_faults(w, part, err);
}

/* 1 it is there, 0 it cannot be had and is noted, <0 error. */
static int fetch_file(struct scan *scan, uint32_t id, struct dx_error *err)
{
    const struct dx_index_fetch *fetch = scan->options->fetch;
    struct dx_error fault = DX_ERROR_INIT;
    char path[PATH_MAX];
    int rc = dx_index_file_path(scan->lake, &scan->lake->files[id], path, err);

    if (rc == DX_OK)
        rc = fetch->fetch(fetch->ctx, id, path, &fault);
    if (rc == DX_OK)
        return 1;
    if (scan->options->faults != NULL && fault.code != DX_OK && !dx_scan_of_machine(rc))
        return add_fault(scan, id, &fault, err);
    if (fault.code != DX_OK && err != NULL)
        *err = fault;
    return rc;
}

static int fetch_part(struct worker *w, const struct part *part, struct dx_error *err)
{
    struct scan *scan = w->scan;
    const struct dx_index_fetch *fetch = scan->options->fetch;
    bool complete = true;
    size_t fetched = 0;
    int rc = DX_OK;

    take_room(scan, part);
    while (rc >= 0 && fetched < part->count && !atomic_load(&scan->stop)) {
        rc = fetch_file(scan, (uint32_t)scan->order[part->first + fetched++], err);
        complete = complete && rc == 1;
    }
    rc = rc < 0 ? rc : DX_OK;
    if (rc == DX_OK && complete && !atomic_load(&scan->stop))
        rc = scan_noting(w, part, err);
    while (fetched-- > 0) {
        uint32_t id = (uint32_t)scan->order[part->first + fetched];
        char path[PATH_MAX];

        if (dx_index_file_path(scan->lake, &scan->lake->files[id], path, NULL) == DX_OK)
            fetch->drop(fetch->ctx, id, path);
    }
    give_room(scan, part);
    return rc;
}

static int check_part_room(const struct scan *scan, size_t i, struct dx_error *err)
{
    const struct dx_index_fetch *fetch = scan->options->fetch;

    return scan->parts[i].bytes <= fetch->disk_bytes
               ? DX_OK
               : dx_fail(
                     err, DX_E_LIMIT,
                     "dataset_id=%lu: %zu files with overlapping prefixes are read together; they "
                     "have "
                     "%llu MiB, and %llu MiB of the work folder are free for them: name a folder "
                     "with "
                     "more room (--work-dir)",
                     (unsigned long)scan->lake->files[scan->order[scan->parts[i].first]].dataset_id,
                     scan->parts[i].count, (unsigned long long)(scan->parts[i].bytes >> 20),
                     (unsigned long long)(fetch->disk_bytes >> 20));
}

/* The fresh files of a part that does not fit have the fault; 0: it has none of them. */
static int note_no_room(struct scan *scan, size_t part, const struct dx_error *fault,
                        struct dx_error *err)
{
    int found = 0;

    for (size_t i = 0; i < scan->parts[part].count; i++) {
        uint32_t id = (uint32_t)scan->order[scan->parts[part].first + i];

        if (!scan->lake->files[id].fresh)
            continue;
        found = 1;
        if (add_fault(scan, id, fault, err) < 0)
            return DX_E_NOMEM;
    }
    return found;
}

/* Before anything is fetched: a part that does not fit in the work folder never will. */
static int check_room(struct scan *scan, struct dx_error *err)
{
    bool noted = false;

    for (size_t i = 0; scan->options->fetch != NULL && i < scan->part_count; i++) {
        struct dx_error fault = DX_ERROR_INIT;
        int rc = check_part_room(scan, i, &fault);

        if (rc == DX_OK)
            continue;
        if (err != NULL)
            *err = fault;
        if (scan->options->faults == NULL || scan->lake->base != NULL)
            return rc;
        if (note_no_room(scan, i, &fault, err) <= 0)
            return err == NULL ? rc : err->code;
        noted = true;
    }
    return noted ? DX_INDEX_FAULTS : DX_OK;
}

static void fail_part(struct scan *scan, size_t part, const struct dx_error *err)
{
    (void)pthread_mutex_lock(&scan->lock);
    if (scan->err.code == DX_OK || part < scan->failed_part) {
        scan->err = *err;
        scan->failed_part = part;
    }
    (void)pthread_mutex_unlock(&scan->lock);
    stop(scan);
}

static bool has_faults(struct scan *scan)
{
    bool any;

    (void)pthread_mutex_lock(&scan->lock);
    any = scan->options->faults != NULL && scan->options->faults->count > 0;
    (void)pthread_mutex_unlock(&scan->lock);
    return any;
}

static void *run_worker(void *ctx)
{
    struct worker *w = ctx;
    struct scan *scan = w->scan;
    struct dx_error err = DX_ERROR_INIT;
    size_t i = scan->part_count;
    int rc = dx_index_urls_lane_new(&w->urls, scan->lake->url_places, &err);

    if (rc == DX_OK)
        rc = dx_pair_tally_new(&w->tally, &err);
    if (rc == DX_OK && scan->options->psl != NULL)
        rc = dx_row_form_new(&w->form, scan->options->psl, &err);
    while (rc == DX_OK && !atomic_load(&scan->stop) &&
           (i = atomic_fetch_add(&scan->next_part, 1)) < scan->part_count)
        rc = scan->options->fetch == NULL ? scan_noting(w, &scan->parts[i], &err)
                                          : fetch_part(w, &scan->parts[i], &err);
    if (rc == DX_OK && !atomic_load(&scan->stop) && !has_faults(scan))
        rc = dx_index_urls_lane_end(w->urls, &err);
    if (rc != DX_OK)
        fail_part(scan, i, &err);
    dx_index_urls_lane_free(&w->urls);
    dx_pair_tally_free(&w->tally);
    dx_row_form_free(&w->form);
    return NULL;
}

/* ---- parts ---- */

static int compare_files(const void *a, const void *b, void *ctx)
{
    const struct dx_index_file *files = ctx;
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;

    if (files[x].dataset_id != files[y].dataset_id)
        return files[x].dataset_id < files[y].dataset_id ? -1 : 1;
    if (files[x].prefix_first != files[y].prefix_first)
        return files[x].prefix_first < files[y].prefix_first ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_paths(const void *a, const void *b, void *ctx)
{
    const struct dx_index_file *files = ctx;

    return strcmp(files[*(const size_t *)a].path, files[*(const size_t *)b].path);
}

static int check_datasets(const struct dx_index_lake *lake, struct dx_error *err)
{
    for (size_t i = 0; i < lake->file_count; i++) {
        const struct dx_index_file *file = &lake->files[i];

        if (file->path != NULL && dx_registry_by_id(lake->registry, file->dataset_id) == NULL)
            return dx_fail(err, DX_E_CORRUPT, "%s: the registry has no dataset_id %lu", file->path,
                           (unsigned long)file->dataset_id);
    }
    return DX_OK;
}

static int make_parts(struct scan *scan, struct dx_error *err)
{
    struct dx_index_lake *lake = scan->lake;
    unsigned last = 0;

    scan->order = calloc(lake->file_count + 1, sizeof *scan->order);
    scan->parts = calloc(lake->file_count + 1, sizeof *scan->parts);
    if (scan->order == NULL || scan->parts == NULL)
        return dx_no_memory(err, "scan");
    for (size_t i = 0; i < lake->file_count; i++)
        if (lake->files[i].path != NULL && !dx_index_stays(lake, i))
            scan->order[scan->order_count++] = i;
    if (scan->order_count > 0)
        qsort_r(scan->order, scan->order_count, sizeof *scan->order, compare_files, lake->files);
    for (size_t i = 0; i < scan->order_count; i++) {
        const struct dx_index_file *file = &lake->files[scan->order[i]];
        const struct dx_index_file *before = i == 0 ? NULL : &lake->files[scan->order[i - 1]];

        if (before == NULL || before->dataset_id != file->dataset_id || file->prefix_first > last) {
            scan->parts[scan->part_count++] = (struct part){ i, 0, 0 };
            last = file->prefix_last;
        }
        if (file->prefix_last > last)
            last = file->prefix_last;
        scan->parts[scan->part_count - 1].count++;
        scan->parts[scan->part_count - 1].bytes += file->size;
    }
    /* Within a part by path: that is the order of runs. */
    for (size_t i = 0; i < scan->part_count; i++)
        qsort_r(scan->order + scan->parts[i].first, scan->parts[i].count, sizeof *scan->order,
                compare_paths, lake->files);
    return DX_OK;
}

static int run_workers(struct scan *scan, unsigned threads, struct dx_error *err)
{
    struct worker workers[THREADS_MAX];
    pthread_t others[THREADS_MAX];
    unsigned count = 0;

    for (unsigned i = 0; i < THREADS_MAX; i++)
        workers[i] = (struct worker){ .scan = scan, .lane = i };
    while (count + 1 < threads && count + 1 < scan->part_count &&
           pthread_create(&others[count], NULL, run_worker, &workers[count + 1]) == 0)
        count++;
    (void)run_worker(&workers[0]);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(others[i], NULL);
    if (scan->err.code != DX_OK && err != NULL)
        *err = scan->err;
    return scan->err.code != DX_OK ? (int)scan->err.code
           : has_faults(scan)      ? DX_INDEX_FAULTS
                                   : DX_OK;
}

/* A domain of a dataset is in one part, so no two pairs have one key, and each worker can have a
 * lane of its own. */
static int new_sorts(struct scan *scan, unsigned threads, struct dx_error *err)
{
    size_t memory = scan->options->memory;
    struct dx_spill_sort_options groups = { .dir = scan->options->tmp_dir,
                                            .memory_bytes = memory / 16,
                                            .lanes = 1 };
    struct dx_spill_sort_options strays = { .dir = scan->options->tmp_dir,
                                            .memory_bytes = memory / 128,
                                            .lanes = 1 };
    struct dx_spill_sort_options pairs = { .dir = scan->options->tmp_dir,
                                           .memory_bytes = memory / 32 * 9,
                                           .lanes = threads,
                                           .unique = true };
    int rc;

    if (pairs.memory_bytes / threads < LANE_MIN)
        pairs.lanes = 1;
    scan->lanes = pairs.lanes;
    rc = dx_spill_sort_new(&scan->lake->pairs, &pairs, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_new(&scan->lake->groups, &groups, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_new(&scan->lake->strays, &strays, err);
    if (rc == DX_OK)
        rc = dx_blob_spill_new(&scan->lake->facts, scan->options->tmp_dir, err);
    if (rc == DX_OK)
        rc = dx_index_tags_new(&scan->lake->tags, scan->options->tmp_dir, memory / 32, err);
    return rc == DX_OK ? dx_index_urls_new(&scan->lake->url_places, scan->options->tmp_dir,
                                           memory / 16, err)
                       : rc;
}

/* The datasets whose pairs stay, with or without new ones, fetch the base's totals. */
static void add_base(struct dx_index_lake *lake)
{
    const struct dx_registry *then = &lake->base->registry;

    for (size_t i = 0; i < lake->change_count; i++) {
        const struct dx_index_dataset *change = &lake->changes[i];
        const struct dx_dataset *from = dx_registry_by_id(then, change->dataset_id);
        struct dx_dataset *to = dx_registry_by_id(lake->registry, change->dataset_id);

        if (from == NULL || to == NULL ||
            (change->change != DX_INDEX_SAME && change->change != DX_INDEX_GROWN))
            continue;
        to->files += change->known;
        to->rows += from->rows;
        to->urls += from->urls;
        to->domains += from->domains;
        add_times(to, from);
        lake->rows += from->rows;
        lake->urls += from->urls;
    }
}

int dx_index_scan(struct dx_index_lake *lake, const struct dx_index_scan_options *options,
                  struct dx_error *err)
{
    unsigned threads = options->threads == 0            ? 1
                       : options->threads > THREADS_MAX ? THREADS_MAX
                                                        : options->threads;
    struct scan scan = { .lake = lake, .options = options };
    int rc;

    (void)pthread_mutex_init(&scan.lock, NULL);
    (void)pthread_cond_init(&scan.room, NULL);
    scan.part_memory = options->memory / 2 / threads;
    lake->rows = lake->urls = lake->skipped_columns = 0;
    lake->times_left_out = lake->rows_left_out = 0;
    lake->files_scanned = lake->rows_scanned = lake->suppressed_first = lake->rows_twice = 0;
    lake->pairs = lake->groups = lake->strays = NULL;
    lake->url_places = NULL;
    lake->facts = NULL;
    lake->tags = NULL;
    for (size_t i = 0; i < lake->registry->count; i++) {
        struct dx_dataset *d = &lake->registry->datasets[i];

        d->files = d->rows = d->urls = d->domains = 0;
        d->has_ts = false;
        d->first_us = d->last_us = 0;
    }
    rc = check_datasets(lake, err);
    if (rc == DX_OK)
        rc = make_parts(&scan, err);
    if (rc == DX_OK && lake->base != NULL)
        rc = dx_page_cache_new(&scan.postings, options->memory / 16, DX_EVICT_LRU, err);
    if (rc == DX_OK)
        rc = check_room(&scan, err);
    if (rc == DX_OK)
        rc = new_sorts(&scan, threads, err);
    if (rc == DX_OK)
        rc = run_workers(&scan, threads, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(lake->pairs, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(lake->groups, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(lake->strays, err);
    if (rc == DX_OK && lake->base != NULL)
        add_base(lake);
    if (rc != DX_OK)
        dx_index_lake_release(lake);
    dx_page_cache_free(&scan.postings);
    free(scan.order);
    free(scan.parts);
    (void)pthread_cond_destroy(&scan.room);
    (void)pthread_mutex_destroy(&scan.lock);
    return rc;
}
