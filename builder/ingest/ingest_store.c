/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "builder/ingest/ingest_datasets.h"
#include "builder/ingest/ingest_upload.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_row.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_parts.h"
#include "builder/lake/lake_pool.h"
#include "builder/root/progress.h"
#include "builder/sort/spill_file.h"
#include "builder/sort/spill_merge.h"
#include "builder/sort/spill_run.h"
#include "builder/sort/spill_sort.h"
#include "canon/ids.h"
#include "format/text/host_pages.h"

#define RANGES_MAX 256

/* A seventh of an ingest's time less than level 3, for files that are 2 to 3 % larger and as quick to read;
 * compaction, whose files stay, takes level 6 (docs/notes/ingest-speed.md). */
#define ZSTD_LEVEL 1

/* More new files than this: one flush of the file system for all, which takes what one
 * fsync takes and what others have written besides. For fewer that may be a bad bargain. */
#define SYNC_EACH_MAX 8

/* A dataset being scattered: one run, a file each, for each range that has rows. */
struct scatter {
    struct dx_ingest_dataset *set; /* NULL: none */
    unsigned ranges;
    uint64_t rows;
    struct dx_spill_run_writer *writer[RANGES_MAX];
    struct dx_spill_run run[RANGES_MAX]; /* fd -1: no rows */
    uint64_t next_id;
};

struct dx_ingest_store {
    struct dx_ingest_store_options o;
    struct dx_spill_codec *codec;
    struct dx_sync_all sync;
    struct dx_ingest_made *made;
    size_t made_count;
    size_t made_capacity;
    size_t closed_count; /* of those made: files are closed in their order */
    uint64_t next_number;
    struct dx_lake_pool *pool;
    struct dx_lake_parts parts;
    struct dx_lake_schema schema; /* of what is being written, */
    struct dx_lake_path path;     /* but for the part */
    struct dx_ingest_dataset *set;
    struct scatter scatter;
};

static int remember(struct dx_ingest_store *s, const struct dx_lake_path *path,
                    struct dx_error *err)
{
    struct dx_ingest_made *grown = dx_array_room(s->made, s->made_count, &s->made_capacity,
                                                 sizeof *grown);

    if (grown == NULL)
        return dx_no_memory(err, "ingest: files");
    s->made = grown;
    s->made[s->made_count++] = (struct dx_ingest_made){ .number = s->next_number++,
                                                        .path = *path,
                                                        .set = s->set };
    return DX_OK;
}

static int open_part(void *ctx, char path[PATH_MAX], struct dx_error *err)
{
    struct dx_ingest_store *s = ctx;
    int rc = remember(s, &s->path, err);

    return rc == DX_OK ? dx_ingest_made_name(s->o.dir, s->next_number - 1, path, err) : rc;
}

static int part_closed(void *ctx, const struct dx_lake_stats *stats, struct dx_error *err)
{
    struct dx_ingest_store *s = ctx;

    assert(s->closed_count < s->made_count); /* in the order of open_part */
    (void)err;
    s->o.stats->files++;
    s->o.stats->file_bytes += stats->size;
    s->made[s->closed_count++].size = stats->size;
    return DX_OK;
}

int dx_ingest_store_new(struct dx_ingest_store **out, const struct dx_ingest_store_options *options,
                        struct dx_error *err)
{
    struct dx_ingest_store *s = calloc(1, sizeof *s);
    struct dx_lake_parts_options parts = {
        .ctx = s, .zstd_level = ZSTD_LEVEL, .open = open_part, .closed = part_closed
    };
    int rc;

    *out = s;
    if (s == NULL)
        return dx_no_memory(err, "ingest");
    s->o = *options;
    rc = dx_lake_pool_new(&s->pool, s->o.ingest->threads, err);
    parts.pool = s->pool;
    parts.rows_a_file = options->ingest->split_edges
                            ? UINT64_MAX
                            : DX_LAKE_ROWS_A_FILE / s->o.ingest->test_scale;
    dx_lake_parts_init(&s->parts, &parts);
    s->sync = (struct dx_sync_all)DX_SYNC_ALL_INIT;
    for (unsigned i = 0; i < RANGES_MAX; i++)
        s->scatter.run[i].fd = -1;
    if (rc == DX_OK)
        rc = dx_spill_codec_new(&s->codec, s->o.dir, err);
    if (rc == DX_OK)
        rc = dx_sync_all_open(&s->sync, s->o.dir, err);
    if (rc < 0)
        dx_ingest_store_free(out);
    return rc;
}

static void forget_range(struct scatter *c, unsigned range)
{
    dx_spill_run_abort(&c->writer[range]);
    if (c->run[range].fd >= 0)
        (void)close(c->run[range].fd);
    c->run[range].fd = -1;
}

void dx_ingest_store_free(struct dx_ingest_store **handle)
{
    struct dx_ingest_store *s = *handle;
    char path[PATH_MAX];

    if (s == NULL)
        return;
    dx_lake_parts_release(&s->parts);
    dx_lake_pool_free(&s->pool);
    for (unsigned i = 0; i < RANGES_MAX; i++)
        forget_range(&s->scatter, i);
    for (size_t i = 0; i < s->made_count; i++) {
        if (dx_ingest_made_name(s->o.dir, s->made[i].number, path, NULL) == DX_OK)
            (void)unlink(path);
    }
    dx_spill_codec_free(&s->codec);
    dx_sync_all_close(&s->sync);
    free(s->made);
    free(s);
    *handle = NULL;
}

static int write_row(struct dx_ingest_store *s, struct dx_span key, struct dx_span value,
                     struct dx_error *err)
{
    s->set->stored++;
    s->o.stats->stored++;
    return dx_lake_parts_add(&s->parts, key, value, err);
}

/* The host at hand of a run of counts: what its rows say is added up. */
struct host {
    bool any;
    uint32_t dataset; /* as in keys */
    uint64_t pages;
    struct dx_buf domain, name, key, value, scratch;
};

static int scatter_row(struct dx_ingest_store *s, struct dx_span key, struct dx_span value,
                       struct dx_error *err)
{
    struct scatter *c = &s->scatter;
    struct dx_span domain = { key.data + 4, strlen((const char *)key.data + 4) };
    unsigned range = dx_domain_prefix(dx_domain_id(domain)) / (256 / c->ranges);

    if (c->run[range].fd < 0) {
        int rc = dx_spill_open(s->o.dir, err);

        if (rc < 0)
            return rc;
        c->run[range] = (struct dx_spill_run){ .fd = rc, .id = c->next_id++ };
        rc = dx_spill_run_create(&c->writer[range], s->codec, &c->run[range], err);
        if (rc < 0)
            return rc;
    }
    c->rows++;
    return dx_spill_run_write(c->writer[range], key, value, err);
}

/* Writes the rows of scattered runs [from, to) as the files of one range. */
static int gather_runs(struct dx_ingest_store *s, unsigned from, unsigned to, struct dx_error *err)
{
    struct dx_spill_merge *m = NULL;
    struct dx_span key;
    struct dx_span value;
    int rc = dx_spill_merge_new(&m, s->codec, to - from, false, err);

    assert(from < to && to <= RANGES_MAX);
    for (unsigned i = from; rc == DX_OK && i < to; i++)
        if (s->scatter.run[i].fd >= 0)
            rc = dx_spill_merge_add_run(m, &s->scatter.run[i], err);
    while (rc >= 0 && (rc = dx_spill_merge_next(m, &key, &value, err)) == 1)
        rc = write_row(s, key, value, err);
    if (rc == 0)
        rc = dx_lake_parts_end(&s->parts, err);
    dx_spill_merge_free(&m);
    for (unsigned i = from; i < to; i++)
        forget_range(&s->scatter, i);
    return rc;
}

/* Where the file ends that begins with prefix `from`. */
static unsigned end_between(const struct dx_ingest_store *s, unsigned from, unsigned last)
{
    uint64_t rows = 0;
    unsigned to = from;

    while (to < last && (to == from || rows + s->scatter.run[to].records <=
                                           DX_LAKE_ROWS_ONE_RANGE / s->o.ingest->test_scale))
        rows += s->scatter.run[to++].records;
    return to;
}

/* The first prefix, those between, the last one. */
static int gather_edges(struct dx_ingest_store *s, struct dx_error *err)
{
    unsigned first = 0;
    unsigned last = RANGES_MAX - 1;
    int rc = DX_OK;

    while (first < last && s->scatter.run[first].fd < 0)
        first++;
    while (last > first && s->scatter.run[last].fd < 0)
        last--;
    for (unsigned from = first, to; rc == DX_OK && from <= last; from = to) {
        to = from == first || from == last ? from + 1 : end_between(s, from, last);
        s->path.first = (uint8_t)from;
        s->path.last = (uint8_t)(to - 1);
        rc = gather_runs(s, from, to, err);
    }
    return rc;
}

static int gather_ranges(struct dx_ingest_store *s, struct dx_error *err)
{
    struct scatter *c = &s->scatter;
    unsigned ranges = dx_lake_range_count(c->rows * s->o.ingest->test_scale);
    int rc = DX_OK;

    assert(ranges <= c->ranges); /* no more rows are stored than were accepted */
    for (unsigned i = 0; rc == DX_OK && i < ranges; i++) {
        unsigned width = c->ranges / ranges;

        s->path.first = (uint8_t)(256 / ranges * i);
        s->path.last = (uint8_t)(256 / ranges * (i + 1) - 1);
        rc = gather_runs(s, i * width, (i + 1) * width, err);
    }
    return rc;
}

static int end_scatter(struct dx_ingest_store *s, struct dx_error *err)
{
    struct scatter *c = &s->scatter;
    int rc = DX_OK;

    for (unsigned i = 0; rc == DX_OK && i < c->ranges; i++)
        if (c->writer[i] != NULL)
            rc = dx_spill_run_finish(&c->writer[i], &c->run[i], err);
    if (rc == DX_OK)
        rc = s->o.ingest->split_edges ? gather_edges(s, err) : gather_ranges(s, err);
    c->set = NULL;
    return rc;
}

static int end_dataset(struct dx_ingest_store *s, struct dx_error *err)
{
    if (s->scatter.set != NULL)
        return end_scatter(s, err);
    return dx_lake_parts_end(&s->parts, err);
}

/* In which the rows of a dataset are scattered. */
static unsigned ranges_of(const struct dx_ingest_store *s, const struct dx_ingest_dataset *set)
{
    uint64_t rows = set->rows * s->o.ingest->test_scale;

    if (s->o.ingest->split_edges)
        return rows < DX_LAKE_ROWS_EDGES ? 1 : RANGES_MAX;
    return dx_lake_range_count(rows);
}

static void begin_dataset(struct dx_ingest_store *s, struct dx_ingest_dataset *set)
{
    unsigned ranges = ranges_of(s, set);
    const struct dx_columns_want *want = &s->o.ingest->want;

    assert(set->id != 0); /* dx_ingest_datasets_assign */
    s->set = set;
    s->path = (struct dx_lake_path){ .dataset_id = set->id, .first = 0, .last = 255 };
    s->schema = (struct dx_lake_schema){ .extra_names = (const char *const *)want->extra_name,
                                         .extra_count = s->o.ingest->counts
                                                            ? 0
                                                            : want->extra_count + want->locators,
                                         .dataset_name = set->name,
                                         .ts_micros = set->ts_micros,
                                         .url_id = true };
    dx_lake_parts_begin(&s->parts, &s->schema, set->id);
    s->scatter.set = ranges > 1 ? set : NULL;
    s->scatter.ranges = ranges;
    s->scatter.rows = 0;
}

/* A row that is to be stored: of the dataset at hand, or of the next one. */
static int put_row(struct dx_ingest_store *s, struct dx_span key, struct dx_span value,
                   struct dx_error *err)
{
    struct dx_ingest_dataset *now = dx_ingest_datasets_at(s->o.datasets,
                                                          dx_ingest_row_dataset(key));

    if (now != s->set) {
        int rc = s->set == NULL ? DX_OK : end_dataset(s, err);

        if (rc < 0)
            return rc;
        begin_dataset(s, now);
    }
    return s->scatter.set != NULL ? scatter_row(s, key, value, err) : write_row(s, key, value, err);
}

static void init_host(struct host *h)
{
    *h = (struct host){ .any = false };
    dx_buf_init(&h->domain, 1u << 20);
    dx_buf_init(&h->name, 1u << 20);
    dx_buf_init(&h->key, 1u << 20);
    dx_buf_init(&h->value, 1u << 20);
    dx_buf_init(&h->scratch, 1u << 20);
}

static void release_host(struct host *h)
{
    dx_buf_release(&h->domain);
    dx_buf_release(&h->name);
    dx_buf_release(&h->key);
    dx_buf_release(&h->value);
    dx_buf_release(&h->scratch);
}

static int put_host(struct dx_ingest_store *s, struct host *h, struct dx_error *err)
{
    char text[DX_HOST_PAGES_TEXT];
    struct dx_ingest_row row = { .dataset = h->dataset,
                                 .domain = dx_span_of(h->domain.data, h->domain.size),
                                 .host = dx_span_of(h->name.data, h->name.size),
                                 .scheme = dx_span_str(DX_HOST_PAGES_SCHEME) };

    if (!h->any)
        return DX_OK;
    h->any = false;
    if (h->pages > DX_HOST_PAGES_MAX)
        return dx_fail(err, DX_E_LIMIT, "%.*s has over 2^40 pages in one dataset",
                       (int)row.host.size, (const char *)row.host.data);
    row.path_query = dx_span_of(text, dx_host_pages_put(h->pages, text));
    dx_ingest_row_put(&h->key, &h->value, &row, 0);
    if (h->key.failed || h->value.failed || h->domain.failed || h->name.failed)
        return dx_buf_fail(&h->key, err, "ingest: a host");
    return put_row(s, dx_span_of(h->key.data, h->key.size),
                   dx_span_of(h->value.data, h->value.size), err);
}

static int add_host(struct dx_ingest_store *s, struct host *h, struct dx_span key,
                    struct dx_span value, struct dx_error *err)
{
    struct dx_ingest_row row;
    uint64_t pages;
    int rc = DX_OK;

    if (!dx_ingest_row_get(key, value, 0, &row, NULL, &h->scratch) ||
        !dx_host_pages_parse(row.path_query, &pages))
        return dx_fail(err, DX_E_CORRUPT, "ingest: a damaged row in the sort");
    if (!h->any || h->dataset != row.dataset ||
        !dx_span_equal(row.host, dx_span_of(h->name.data, h->name.size))) {
        rc = put_host(s, h, err);
        dx_buf_clear(&h->domain);
        dx_buf_clear(&h->name);
        dx_buf_append(&h->domain, row.domain.data, row.domain.size);
        dx_buf_append(&h->name, row.host.data, row.host.size);
        h->dataset = row.dataset;
        h->pages = 0;
        h->any = true;
    }
    /* Neither is over 2^41. */
    h->pages += pages;
    if (rc == DX_OK && h->pages > DX_HOST_PAGES_MAX)
        rc = put_host(s, h, err);
    return rc;
}

static int store_rows(struct dx_ingest_store *s, struct dx_spill_sort *sort, struct host *h,
                      struct dx_error *err)
{
    const struct dx_ingest_options *o = s->o.ingest;
    struct dx_span key;
    struct dx_span value;
    uint64_t seen = 0;
    int rc = DX_OK;

    if (o->progress != NULL)
        dx_progress_phase(o->progress, "writing", "rows", 0);
    while (rc >= 0 && (rc = dx_spill_sort_next(sort, &key, &value, err)) == 1) {
        if ((++seen & 0xfff) == 0) {
            if (o->progress != NULL)
                dx_progress_at(o->progress, s->o.stats->file_bytes, seen);
            if (o->stopped != NULL && o->stopped())
                return dx_fail(err, DX_E_IO, "interrupted; nothing was added to the lake");
        }
        if (dx_ingest_datasets_at(s->o.datasets, dx_ingest_row_dataset(key))->left_out)
            continue;
        if (dx_ingest_row_is_existing(value)) {
            s->o.stats->known++;
            continue;
        }
        rc = o->counts ? add_host(s, h, key, value, err) : put_row(s, key, value, err);
    }
    if (rc == 0)
        rc = put_host(s, h, err);
    if (rc == 0)
        rc = end_dataset(s, err);
    if (rc == DX_OK)
        rc = dx_lake_parts_finish(&s->parts, err);
    if (o->progress != NULL)
        dx_progress_end(o->progress);
    return rc;
}

int dx_ingest_store_rows(struct dx_ingest_store *s, struct dx_spill_sort *sort,
                         struct dx_error *err)
{
    struct host h;
    int rc;

    init_host(&h);
    rc = store_rows(s, sort, &h, err);
    release_host(&h);
    return rc;
}

int dx_ingest_store_sync(struct dx_ingest_store *s, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = DX_OK;

    if (s->made_count > SYNC_EACH_MAX)
        rc = dx_sync_all_flush(&s->sync, err);
    for (size_t i = 0; rc == DX_OK && i < s->made_count; i++) {
        rc = dx_ingest_made_name(s->o.dir, s->made[i].number, path, err);
        if (rc == DX_OK)
            rc = dx_file_sync(path, err);
    }
    return rc;
}

/* One more than the largest part number in the folder, or 0. */
static int parts_end(const struct dx_lake_path *path, const char *folder, uint32_t *part,
                     struct dx_error *err)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);

    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot open directory", folder);
    for (;;) {
        char text[DX_LAKE_PATH_MAX];
        char below[DX_LAKE_PATH_MAX];
        struct dx_lake_path there;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL)
            break;
        (void)dx_lake_dir_format(path, below);
        if (dx_path_format(text, sizeof text, NULL, "%s/%s", below, entry->d_name) == DX_OK &&
            dx_lake_path_parse(dx_span_str(text), &there) && there.part >= *part)
            *part = there.part + 1;
    }
    (void)closedir(dir);
    return DX_OK;
}

/* Of a folder that was made just now nothing needs to be read. No lower than the registry allows. */
static int next_part(struct dx_lake_path *path, const struct dx_dataset_registry *registry,
                     const char *folder, bool is_new, struct dx_error *err)
{
    uint32_t part = 0;
    int rc = is_new ? DX_OK : parts_end(path, folder, &part, err);

    if (rc < 0)
        return rc;
    path->part = dx_dataset_registry_next_part(registry, path->dataset_id, part);
    if (path->part > DX_LAKE_PART_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: part numbers are used up", folder);
    return DX_OK;
}

static int publish_one(struct dx_ingest_store *s, struct dx_ingest_made *made,
                       const struct dx_dataset_registry *registry, struct dx_error *err)
{
    const char *root = s->o.ingest->root;
    char below[DX_LAKE_PATH_MAX];
    char folder[PATH_MAX];
    char from[PATH_MAX];
    char to[PATH_MAX];
    bool is_new;
    int rc;

    (void)dx_lake_dir_format(&made->path, below);
    rc = dx_path_format(folder, sizeof folder, err, "%s/%s", root, below);
    if (rc == DX_OK)
        rc = dx_dir_make_or_find(folder, &is_new, err);
    if (rc == DX_OK)
        rc = next_part(&made->path, registry, folder, is_new, err);
    if (rc < 0)
        return rc;
    (void)dx_lake_path_format(&made->path, below);
    rc = dx_path_format(to, sizeof to, err, "%s/%s", root, below);
    if (rc == DX_OK)
        rc = dx_ingest_made_name(s->o.dir, made->number, from, err);
    if (rc == DX_OK && rename(from, to) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot rename to %s", from, to);
    return rc;
}

/* Makes the names in folder durable, and folder's own name in its parent. */
static int sync_folder(const char *folder, struct dx_error *err)
{
    const char *slash = strrchr(folder, '/');
    char parent[PATH_MAX];
    int rc = dx_dir_sync(folder, err);

    if (rc == DX_OK && slash != NULL)
        rc = dx_path_format(parent, sizeof parent, err, "%.*s", (int)(slash - folder), folder);
    return rc == DX_OK && slash != NULL ? dx_dir_sync(parent, err) : rc;
}

static int sync_published(struct dx_ingest_store *s, struct dx_error *err)
{
    char folder[PATH_MAX];
    char below[DX_LAKE_PATH_MAX];
    int rc = DX_OK;

    if (s->made_count > SYNC_EACH_MAX)
        return dx_sync_all_flush(&s->sync, err);
    rc = dx_path_format(folder, sizeof folder, err, "%s/" DX_LAKE_DIR, s->o.ingest->root);
    if (rc == DX_OK && s->made_count > 0)
        rc = dx_dir_sync(folder, err);
    for (size_t i = 0; rc == DX_OK && i < s->made_count; i++) {
        (void)dx_lake_dir_format(&s->made[i].path, below);
        rc = dx_path_format(folder, sizeof folder, err, "%s/%s", s->o.ingest->root, below);
        if (rc == DX_OK)
            rc = sync_folder(folder, err);
    }
    return rc;
}

/* All have their names. */
static void end_parts(const struct dx_ingest_store *s)
{
    for (size_t i = 0; i < s->made_count; i++) {
        struct dx_ingest_dataset *set = s->made[i].set;

        if (s->made[i].path.part >= set->end_part)
            set->end_part = s->made[i].path.part + 1;
    }
}

int dx_ingest_store_publish(struct dx_ingest_store *s, const struct dx_dataset_registry *registry,
                            struct dx_error *err)
{
    int rc = DX_OK;

    assert(s->closed_count == s->made_count); /* dx_ingest_store_rows */
    /* A reader of the lake sees each file whole or not at all; publish takes the lock, so
     * no version is made from half a run. */
    for (size_t i = 0; rc == DX_OK && i < s->made_count; i++)
        rc = publish_one(s, &s->made[i], registry, err);
    if (rc == DX_OK)
        rc = sync_published(s, err);
    if (rc == DX_OK) {
        end_parts(s);
        s->made_count = 0; /* theirs no more */
    }
    return rc;
}

int dx_ingest_store_upload(struct dx_ingest_store *s, const struct dx_ingest_upload *to,
                           struct dx_error *err)
{
    struct dx_ingest_upload u = *to;
    int rc;

    assert(s->closed_count == s->made_count);
    u.dir = s->o.dir;
    u.made = s->made;
    u.made_count = s->made_count;
    u.progress = s->o.ingest->progress;
    u.stopped = s->o.ingest->stopped;
    rc = dx_ingest_upload_run(&u, err);
    if (rc == DX_OK) {
        end_parts(s);
        s->made_count = 0; /* theirs no more */
    }
    return rc;
}
