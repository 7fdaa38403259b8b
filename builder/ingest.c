/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/ingest_existing.h"
#include "builder/ingest_read.h"
#include "builder/ingest_store.h"
#include "builder/lake_layout.h"
#include "builder/registry.h"
#include "builder/root_lock.h"
#include "builder/spill_sort.h"
#include "canon/psl.h"

#define PSL_MAX ((size_t)64 << 20)
#define TMP_PREFIX "tmp-ingest-"

struct run {
    struct dx_ingest_options *o;
    struct dx_ingest_stats *stats;
    struct dx_root_lock lock;
    struct dx_roster *registry;
    struct dx_lake_list lake;
    struct dx_buf psl_text;
    bool psl_is_new; /* the lake has no copy yet */
    struct dx_psl *psl;
    struct dx_ingest_datasets *datasets;
    struct dx_spill_sort *sort;
    struct dx_ingest_store *store;
    struct dx_rejects rejects;
    char tmp[PATH_MAX];
    bool tmp_made;
};

static double seconds_since(const struct timespec *from)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

/* What runs that were killed left behind. Under the lock nobody else is using them. */
static int remove_stale(const char *root, struct dx_error *err)
{
    struct dirent *entry;
    DIR *dir = opendir(root);
    int rc = DX_OK;

    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot open directory", root);
    while (rc == DX_OK && (entry = readdir(dir)) != NULL) {
        char path[PATH_MAX];

        if (strncmp(entry->d_name, TMP_PREFIX, strlen(TMP_PREFIX)) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
        rc = dx_dir_remove(path, err);
    }
    (void)closedir(dir);
    return rc;
}

static int make_tmp(struct run *r, struct dx_error *err)
{
    int n = snprintf(r->tmp, sizeof r->tmp, "%s/" TMP_PREFIX "%ld", r->o->root, (long)getpid());
    int rc;

    /* Room for the longest path below it. */
    if (n < 0 || (size_t)n + 2 * DX_LAKE_PATH_MAX >= sizeof r->tmp)
        return dx_fail(err, DX_E_INVALID, "%s: path too long", r->o->root);
    rc = dx_dir_make(r->tmp, err);
    r->tmp_made = rc == DX_OK;
    return rc;
}

/* Files of a dataset that the registry does not know would get its next id's name. */
static int check_lake(const struct run *r, struct dx_error *err)
{
    for (size_t i = 0; i < r->lake.count; i++)
        if (dx_roster_get(r->registry, r->lake.file[i].dataset_id) == NULL)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s/%s: dataset %u is not in " DX_ROSTER_FILE "; bring that file back "
                           "or move the dataset's folder away",
                           r->o->root, r->lake.file[i].path, r->lake.file[i].dataset_id);
    return DX_OK;
}

/* The list the lake's domains came from stays the list: rows reduced by another one
 * would put the same host under two domains. */
static int load_psl(struct run *r, struct dx_error *err)
{
    struct dx_buf given = DX_BUF_INIT(PSL_MAX);
    const char *path = r->o->psl_path != NULL ? r->o->psl_path : DX_PSL_DEFAULT;
    char kept[PATH_MAX];
    int rc = DX_OK;

    dx_buf_init(&r->psl_text, PSL_MAX);
    (void)snprintf(kept, sizeof kept, "%s/" DX_LAKE_DIR "/psl.dat", r->o->root);
    r->psl_is_new = access(kept, F_OK) < 0;
    if (r->psl_is_new) {
        rc = dx_file_read(path, PSL_MAX, &r->psl_text, err);
        if (rc < 0 && r->o->psl_path == NULL)
            rc = dx_fail_in(err, "no public suffix list; install the package publicsuffix or give "
                                 "--psl FILE");
    } else {
        rc = dx_file_read(kept, PSL_MAX, &r->psl_text, err);
        if (rc == DX_OK && r->o->psl_path != NULL)
            rc = dx_file_read(path, PSL_MAX, &given, err);
        if (rc == DX_OK && r->o->psl_path != NULL &&
            !dx_span_equal(dx_span_of(given.data, given.size),
                           dx_span_of(r->psl_text.data, r->psl_text.size)))
            rc = dx_fail(err, DX_E_INVALID,
                         "%s differs from %s, which this lake's domains came from; leave --psl "
                         "away, or begin a new root with the new list",
                         path, kept);
    }
    dx_buf_release(&given);
    if (rc == DX_OK)
        rc = dx_psl_new(&r->psl, dx_span_of(r->psl_text.data, r->psl_text.size), err);
    return rc;
}

static int new_sort(struct run *r, struct dx_error *err)
{
    struct dx_spill_sort_options o = { .dir = r->tmp,
                                       .memory_bytes = (size_t)(r->o->memory_bytes / 2),
                                       .lanes = r->o->threads,
                                       .distinct = true, /* the sort is where duplicates end */
                                       .fan_in = r->o->test_fan_in };

    if (r->o->test_sort_bytes != 0)
        o.memory_bytes = r->o->test_sort_bytes;
    return dx_spill_sort_new(&r->sort, &o, err);
}

static int prepare(struct run *r, struct dx_error *err)
{
    int rc = dx_root_lock_take(&r->lock, r->o->root, err);

    if (rc == DX_OK)
        rc = remove_stale(r->o->root, err);
    if (rc == DX_OK)
        rc = make_tmp(r, err);
    if (rc == DX_OK)
        rc = dx_roster_open(&r->registry, r->o->root, err);
    if (rc == DX_OK)
        rc = dx_lake_list(&r->lake, r->o->root, err);
    if (rc == DX_OK)
        rc = check_lake(r, err);
    if (rc == DX_OK)
        rc = load_psl(r, err);
    if (rc == DX_OK)
        rc = dx_ingest_datasets_new(&r->datasets, err);
    if (rc == DX_OK)
        rc = new_sort(r, err);
    return rc;
}

static int read_all(struct run *r, struct dx_error *err)
{
    struct dx_dataset_cache cache = { { NULL } };
    struct dx_ingest_shared shared = {
        .psl = r->psl, .sort = r->sort, .datasets = r->datasets, .ts_unit = r->o->ts_unit
    };
    struct dx_ingest_read read = { .options = r->o,
                                   .shared = &shared,
                                   .rejects = &r->rejects,
                                   .window_max = r->o->memory_bytes / 4,
                                   .stats = r->stats };
    int rc = DX_OK;

    if (r->o->dataset != NULL)
        rc = dx_ingest_datasets_get(r->datasets, &cache, dx_span_str(r->o->dataset),
                                    &shared.dataset, err);
    return rc < 0 ? rc : dx_ingest_read(&read, err);
}

/* Each dataset of the run that has an id gets the KEY=VALUE pairs. */
static int set_meta(struct run *r, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t k = 0; rc == DX_OK && k < r->o->meta_count; k++) {
        const char *equals = strchr(r->o->meta[k], '=');
        char *key;

        if (equals == NULL)
            return dx_fail(err, DX_E_INVALID, "--dataset-meta '%s': KEY=VALUE is expected",
                           r->o->meta[k]);
        key = strndup(r->o->meta[k], (size_t)(equals - r->o->meta[k]));
        if (key == NULL)
            return dx_fail(err, DX_E_NOMEM, "ingest: out of memory");
        for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(r->datasets); i++) {
            uint32_t id = dx_ingest_datasets_at(r->datasets, i)->id;

            if (id != 0)
                rc = dx_roster_set(r->registry, id, key, equals + 1, err);
        }
        free(key);
    }
    return rc;
}

static int store_all(struct run *r, struct dx_error *err)
{
    struct dx_ingest_existing existing = { .options = r->o,
                                           .lake = &r->lake,
                                           .datasets = r->datasets,
                                           .sort = r->sort,
                                           .filter_bytes = (size_t)(r->o->memory_bytes / 4) };
    struct dx_ingest_store_options options = {
        .ingest = r->o, .datasets = r->datasets, .dir = r->tmp, .stats = r->stats
    };
    int rc = dx_ingest_datasets_assign(r->datasets, r->registry, err);

    if (rc == DX_OK)
        rc = set_meta(r, err);
    if (rc == DX_OK)
        rc = dx_ingest_existing(&existing, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(r->sort, err);
    if (rc == DX_OK)
        rc = dx_ingest_store_new(&r->store, &options, err);
    if (rc == DX_OK)
        rc = dx_ingest_store_rows(r->store, r->sort, err);
    return rc;
}

static int save_psl(struct run *r, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc;

    if (!r->psl_is_new || r->stats->accepted == 0)
        return DX_OK;
    (void)snprintf(path, sizeof path, "%s/" DX_LAKE_DIR, r->o->root);
    rc = dx_dir_make(path, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(r->o->root, err);
    (void)snprintf(path, sizeof path, "%s/" DX_LAKE_DIR "/psl.dat", r->o->root);
    return rc < 0 ? rc : dx_file_replace(path, dx_span_of(r->psl_text.data, r->psl_text.size), err);
}

static int publish(struct run *r, struct dx_error *err)
{
    int rc = dx_rejects_close(&r->rejects, err);

    if (rc == DX_OK)
        rc = dx_ingest_store_sync(r->store, err);
    if (rc == DX_OK)
        rc = save_psl(r, err);
    if (rc == DX_OK)
        rc = dx_roster_save(r->registry, r->o->root, err);
    if (rc == DX_OK)
        rc = dx_ingest_store_publish(r->store, err);
    return rc;
}

static void count(struct run *r)
{
    struct dx_spill_sort_stats sort;

    for (size_t i = 0; i < dx_ingest_datasets_count(r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, i);

        r->stats->datasets += set->rows > 0;
        r->stats->datasets_new += set->rows > 0 && set->is_new;
    }
    r->stats->datasets_total = dx_roster_count(r->registry);
    dx_spill_sort_get_stats(r->sort, &sort);
    r->stats->runs = sort.runs;
    r->stats->spilled_bytes = sort.spilled_bytes;
}

static void release(struct run *r)
{
    struct dx_error ignored = DX_ERROR_INIT; /* what is left is removed by the next run */

    dx_ingest_store_free(&r->store);
    dx_spill_sort_free(&r->sort);
    dx_ingest_datasets_free(&r->datasets);
    dx_psl_free(&r->psl);
    dx_buf_release(&r->psl_text);
    dx_lake_list_release(&r->lake);
    dx_roster_free(&r->registry);
    dx_rejects_release(&r->rejects);
    dx_columns_want_release(&r->o->want);
    if (r->tmp_made)
        (void)dx_dir_remove(r->tmp, &ignored);
    dx_root_lock_drop(&r->lock);
}

int dx_ingest_run(struct dx_ingest_options *o, struct dx_ingest_stats *stats, struct dx_error *err)
{
    struct run r = { .o = o, .stats = stats, .lock = DX_ROOT_LOCK_INIT };
    struct timespec begun;
    int rc;

    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    *stats = (struct dx_ingest_stats){ 0 };
    if (o->test_scale == 0)
        o->test_scale = 1;
    dx_rejects_init(&r.rejects, o->root, o->rejects_path);
    rc = prepare(&r, err);
    if (rc == DX_OK)
        rc = read_all(&r, err);
    stats->read_seconds = seconds_since(&begun);
    if (rc == DX_OK)
        rc = store_all(&r, err);
    if (rc == DX_OK)
        rc = publish(&r, err);
    if (rc == DX_OK)
        count(&r);
    if (r.rejects.path != NULL)
        stats->rejects_path = strdup(r.rejects.path);
    release(&r);
    stats->total_seconds = seconds_since(&begun);
    return rc;
}
