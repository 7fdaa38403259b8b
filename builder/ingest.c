/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "builder/ingest_claim.h"
#include "builder/ingest_existing.h"
#include "builder/ingest_read.h"
#include "builder/ingest_remote.h"
#include "builder/ingest_replace.h"
#include "builder/ingest_store.h"
#include "builder/ingest_upload.h"
#include "builder/lake_now.h"
#include "builder/registry.h"
#include "builder/root_lock.h"
#include "builder/spill_sort.h"
#include "builder/work_folder.h"
#include "canon/psl.h"

#define PSL_MAX ((size_t)64 << 20)
#define TMP_PREFIX "tmp-ingest-"

struct run {
    struct dx_ingest_options *o;
    struct dx_ingest_stats *stats;
    bool is_remote;
    struct dx_ingest_remote remote;
    struct dx_work_folder work; /* of a remote root */
    struct dx_root_lock lock;   /* of a directory */
    struct dx_roster *registry;
    struct dx_lake_now now;
    struct dx_buf psl_text;
    bool psl_is_new; /* the lake has no copy yet */
    struct dx_psl *psl;
    struct dx_ingest_datasets *datasets;
    struct dx_spill_sort *sort;
    struct dx_ingest_store *store;
    struct dx_rejects rejects;
    char rejects_dir[PATH_MAX];
    char tmp[PATH_MAX]; /* for runs and files */
    bool tmp_made;
};

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

/* The list the lake has: 1, or 0 if it has none yet. */
static int kept_psl(struct run *r, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    char kept[PATH_MAX];
    int rc;

    if (r->is_remote)
        return dx_remote_root_get(&r->remote.root, DX_LAKE_PSL, PSL_MAX, &r->psl_text, etag, err);
    (void)snprintf(kept, sizeof kept, "%s/" DX_LAKE_PSL, r->o->root);
    if (access(kept, F_OK) < 0)
        return 0;
    rc = dx_file_read(kept, PSL_MAX, &r->psl_text, err);
    return rc < 0 ? rc : 1;
}

/* The list the lake's domains came from stays the list: rows reduced by another one
 * would put the same host under two domains. */
static int load_psl(struct run *r, struct dx_error *err)
{
    struct dx_buf given = DX_BUF_INIT(PSL_MAX);
    const char *path = r->o->psl_path != NULL ? r->o->psl_path : DX_PSL_DEFAULT;
    int rc;

    dx_buf_init(&r->psl_text, PSL_MAX);
    rc = kept_psl(r, err);
    r->psl_is_new = rc == 0;
    if (rc == 0) {
        rc = dx_file_read(path, PSL_MAX, &r->psl_text, err);
        if (rc < 0 && r->o->psl_path == NULL)
            rc = dx_fail_in(err, "no public suffix list; install the package publicsuffix or give "
                                 "--psl FILE");
    } else if (rc > 0 && r->o->psl_path != NULL) {
        rc = dx_file_read(path, PSL_MAX, &given, err);
        if (rc == DX_OK && !dx_span_equal(dx_span_of(given.data, given.size),
                                          dx_span_of(r->psl_text.data, r->psl_text.size)))
            rc = dx_fail(err, DX_E_INVALID,
                         "%s differs from %s/" DX_LAKE_PSL ", which this lake's domains came from; "
                         "leave --psl away, or begin a new root with the new list",
                         path, r->o->root);
    }
    dx_buf_release(&given);
    if (rc >= 0)
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

/* What the lake has, and the registry as it is after that was listed. */
static int look(struct run *r, struct dx_error *err)
{
    int rc = dx_lake_now_open(&r->now, r->o->root, r->is_remote ? &r->remote.root : NULL, err);

    if (rc < 0)
        return rc;
    dx_roster_free(&r->registry);
    r->registry = r->now.roster;
    r->now.roster = NULL;
    return DX_OK;
}

static int prepare_directory(struct run *r, struct dx_error *err)
{
    int rc = dx_root_lock_take(&r->lock, r->o->root, err);

    if (rc == DX_OK)
        rc = remove_stale(r->o->root, err);
    if (rc == DX_OK)
        rc = make_tmp(r, err);
    if (rc == DX_OK)
        rc = look(r, err);
    return rc;
}

static int prepare_remote(struct run *r, struct dx_error *err)
{
    int rc = dx_work_folder_make(&r->work, r->o->work_dir, "ingest", err);

    if (rc == DX_OK) {
        memcpy(r->tmp, r->work.path, sizeof r->tmp);
        rc = dx_ingest_remote_open(&r->remote, r->o, err);
    }
    if (rc == DX_OK)
        rc = dx_ingest_remote_begin(&r->remote, &r->registry, err);
    return rc;
}

static int prepare(struct run *r, struct dx_error *err)
{
    int rc = r->is_remote ? prepare_remote(r, err) : prepare_directory(r, err);

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
static int set_meta(const struct run *r, struct dx_roster *registry, struct dx_error *err)
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
                rc = dx_roster_set(registry, id, key, equals + 1, err);
        }
        free(key);
    }
    return rc;
}

static int name_all(void *ctx, struct dx_roster *registry, struct dx_error *err)
{
    struct run *r = ctx;
    int rc = dx_ingest_datasets_assign(r->datasets, registry, err);

    return rc < 0 ? rc : set_meta(r, registry, err);
}

/* The ids of the datasets that have rows. */
static size_t ids_of(const struct run *r, uint32_t *ids)
{
    size_t n = 0;

    for (size_t i = 0; i < dx_ingest_datasets_count(r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, i);

        if (set->rows > 0)
            ids[n++] = set->id;
    }
    return n;
}

/* Ids, the right to add to these datasets, and what they have. */
static int enter_remote(struct run *r, struct dx_error *err)
{
    uint32_t *ids;
    size_t count;
    int rc = DX_OK;

    if (r->stats->accepted > 0)
        rc = dx_ingest_remote_psl(&r->remote, dx_span_of(r->psl_text.data, r->psl_text.size), err);
    if (rc == DX_OK)
        rc = dx_ingest_remote_names(&r->remote, name_all, r, &r->registry, err);
    if (rc < 0 || r->stats->accepted == 0)
        return rc;
    ids = malloc((dx_ingest_datasets_count(r->datasets) + 1) * sizeof *ids);
    if (ids == NULL)
        return dx_fail(err, DX_E_NOMEM, "ingest: out of memory");
    count = ids_of(r, ids);
    rc = dx_ingest_remote_claim(&r->remote, ids, count, err);
    free(ids);
    return rc < 0 ? rc : look(r, err);
}

static struct dx_ingest_replace replacement(struct run *r)
{
    return (struct dx_ingest_replace){ .options = r->o,
                                       .datasets = r->datasets,
                                       .now = &r->now,
                                       .remote = r->is_remote ? &r->remote.root : NULL,
                                       .claim = r->remote.claim };
}

/* Names, ids, what the lake has, and whether these rows may be added to it. */
static int enter(struct run *r, struct dx_error *err)
{
    struct dx_ingest_replace replace;
    int rc = r->is_remote ? enter_remote(r, err) : name_all(r, r->registry, err);

    if (rc < 0)
        return rc;
    if (r->o->replace && r->stats->accepted == 0)
        return dx_fail(err, DX_E_INVALID,
                       "no record was accepted, and a dataset is not replaced by nothing; to take "
                       "it away: domaindex remove");
    replace = replacement(r);
    return dx_ingest_replace_check(&replace, r->registry, err);
}

static int store_all(struct run *r, struct dx_error *err)
{
    struct dx_ingest_existing existing = { .options = r->o,
                                           .lake = &r->now.named,
                                           .datasets = r->datasets,
                                           .sort = r->sort,
                                           .filter_bytes = (size_t)(r->o->memory_bytes / 4),
                                           .remote = r->is_remote ? &r->remote.root : NULL,
                                           .dir = r->tmp };
    struct dx_ingest_store_options options = {
        .ingest = r->o, .datasets = r->datasets, .dir = r->tmp, .stats = r->stats
    };
    int rc = enter(r, err);

    if (rc == DX_OK && !r->o->replace)
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
    (void)snprintf(path, sizeof path, "%s/" DX_LAKE_PSL, r->o->root);
    return rc < 0 ? rc : dx_file_replace(path, dx_span_of(r->psl_text.data, r->psl_text.size), err);
}

static int upload(struct run *r, struct dx_error *err)
{
    const struct dx_ingest_upload to = { .remote = &r->remote.root,
                                         .claim = r->remote.claim,
                                         .lake = &r->now.named.list,
                                         .registry = r->registry };

    return dx_ingest_store_upload(r->store, &to, err);
}

/* Up to the names: everything is durable, and nothing of it is seen. */
static int prepare_names(struct run *r, struct dx_error *err)
{
    int rc = dx_rejects_close(&r->rejects, err);

    if (r->is_remote)
        return rc;
    if (rc == DX_OK)
        rc = dx_ingest_store_sync(r->store, err);
    if (rc == DX_OK)
        rc = save_psl(r, err);
    return rc < 0 ? rc : dx_roster_save(r->registry, r->o->root, err);
}

static int publish(struct run *r, struct dx_error *err)
{
    struct dx_ingest_replace replace = replacement(r);
    int rc = prepare_names(r, err);

    if (rc == DX_OK && r->o->replace)
        rc = dx_ingest_replace_begin(&replace, &r->registry, err);
    if (rc == DX_OK)
        rc = r->is_remote ? upload(r, err) : dx_ingest_store_publish(r->store, r->registry, err);
    if (rc == DX_OK && r->o->replace)
        rc = dx_ingest_replace_end(&replace, &r->registry, err);
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
    dx_lake_now_close(&r->now);
    dx_roster_free(&r->registry);
    dx_rejects_release(&r->rejects);
    dx_columns_want_release(&r->o->want);
    if (r->tmp_made)
        (void)dx_dir_remove(r->tmp, &ignored);
    dx_work_folder_remove(&r->work);
    dx_ingest_remote_close(&r->remote);
    dx_root_lock_drop(&r->lock);
}

/* A scheme with a slip in it is no directory either: opening it says so. */
static bool is_remote(const struct dx_ingest_options *o)
{
    return o->test_objects || strstr(o->root, "://") != NULL;
}

void dx_ingest_rejects_dir(const struct dx_ingest_options *o, char path[PATH_MAX])
{
    if (is_remote(o))
        (void)snprintf(path, PATH_MAX, "%s/domaindex-rejects-%lu", dx_work_folder_dir(o->work_dir),
                       (unsigned long)geteuid());
    else
        (void)snprintf(path, PATH_MAX, "%s/rejects", o->root);
}

int dx_ingest_run(struct dx_ingest_options *o, struct dx_ingest_stats *stats, struct dx_error *err)
{
    struct run r = { .o = o,
                     .stats = stats,
                     .is_remote = is_remote(o),
                     .remote = DX_INGEST_REMOTE_INIT,
                     .work = DX_WORK_FOLDER_INIT,
                     .lock = DX_ROOT_LOCK_INIT };
    double begun = dx_clock_s();
    int rc;

    *stats = (struct dx_ingest_stats){ 0 };
    if (o->test_scale == 0)
        o->test_scale = 1;
    dx_ingest_rejects_dir(o, r.rejects_dir);
    dx_rejects_init(&r.rejects, r.rejects_dir, o->rejects_path);
    r.rejects.is_private = r.is_remote;
    rc = prepare(&r, err);
    if (rc == DX_OK)
        rc = read_all(&r, err);
    stats->read_seconds = dx_clock_s() - begun;
    if (rc == DX_OK)
        rc = store_all(&r, err);
    if (rc == DX_OK)
        rc = publish(&r, err);
    if (rc == DX_OK)
        count(&r);
    if (r.rejects.path != NULL)
        stats->rejects_path = strdup(r.rejects.path);
    release(&r);
    stats->total_seconds = dx_clock_s() - begun;
    return rc;
}
