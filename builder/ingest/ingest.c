/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest.h"

#include <assert.h>
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
#include "base/path.h"
#include "builder/ingest/ingest_existing.h"
#include "builder/ingest/ingest_read.h"
#include "builder/ingest/ingest_remote.h"
#include "builder/ingest/ingest_replace.h"
#include "builder/ingest/ingest_store.h"
#include "builder/ingest/ingest_upload.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_claim.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/lake/suffix_list.h"
#include "builder/root/progress.h"
#include "builder/root/root.h"
#include "builder/root/work_folder.h"
#include "builder/sort/spill_sort.h"
#include "canon/psl.h"

#define TMP_PREFIX "tmp-ingest-"
#define PPM 1000000

struct run {
    struct dx_ingest_options *o;
    struct dx_ingest_stats *stats;
    struct dx_root root;
    struct dx_ingest_remote remote; /* of object storage, as is work */
    struct dx_work_folder work;
    struct dx_dataset_registry *registry;
    struct dx_lake_snapshot now;
    /* of object storage, if there are new names: files before they have ids */
    struct dx_lake_list there;
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
    struct dx_ingest_left left;
};

/* What runs that were killed left behind. Under the lock no other process uses them. */
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
        rc = dx_path_format(path, sizeof path, err, "%s/%s", root, entry->d_name);
        if (rc == DX_OK)
            rc = dx_dir_remove(path, err);
    }
    (void)closedir(dir);
    return rc;
}

static int make_tmp(struct run *r, struct dx_error *err)
{
    /* Room for the longest path below it. */
    int rc = dx_path_format(r->tmp, sizeof r->tmp - (size_t)2 * DX_LAKE_PATH_MAX, err,
                            "%s/" TMP_PREFIX "%ld", r->o->root, (long)getpid());

    if (rc == DX_OK)
        rc = dx_dir_make(r->tmp, err);
    r->tmp_made = rc == DX_OK;
    return rc;
}

static int load_psl(struct run *r, struct dx_error *err)
{
    struct dx_buf given = DX_SUFFIX_LIST_INIT;
    int rc = 0;

    dx_buf_init(&r->psl_text, DX_PSL_TEXT_MAX);
    if (r->root.source != NULL) /* a dry run may be for a root that is not there */
        rc = dx_suffix_list_of_lake(&r->root, &r->psl_text, err);
    r->psl_is_new = rc == 0;
    if (rc == 0) {
        rc = dx_suffix_list_read(r->o->psl_path, &r->psl_text, err);
    } else if (rc > 0 && r->o->psl_path != NULL) {
        rc = dx_suffix_list_read(r->o->psl_path, &given, err);
        if (rc == DX_OK && !dx_span_equal(dx_span_of(given.data, given.size),
                                          dx_span_of(r->psl_text.data, r->psl_text.size)))
            rc = dx_fail(err, DX_E_INVALID,
                         "%s differs from %s/" DX_LAKE_PSL ", which this lake's domains came from; "
                         "leave --psl away, or begin a new root with the new list",
                         r->o->psl_path, r->o->root);
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
    int rc = dx_lake_snapshot_open(&r->now, &r->root, err);

    if (rc < 0)
        return rc;
    dx_dataset_registry_free(&r->registry);
    r->registry = r->now.dataset_registry;
    r->now.dataset_registry = NULL;
    return DX_OK;
}

static int prepare_directory(struct run *r, struct dx_error *err)
{
    int rc = remove_stale(r->o->root, err);

    if (rc == DX_OK)
        rc = make_tmp(r, err);
    return rc == DX_OK ? look(r, err) : rc;
}

static int prepare_remote(struct run *r, struct dx_error *err)
{
    int rc = dx_work_folder_make(&r->work, r->o->work_dir, "ingest", err);

    memcpy(r->tmp, r->work.path, sizeof r->tmp);
    return rc == DX_OK ? dx_ingest_remote_begin(&r->remote, &r->registry, err) : rc;
}

/* A dry run takes and makes nothing: only the suffix list is looked at. */
static int open_root(struct run *r, struct dx_error *err)
{
    const struct dx_ingest_options *o = r->o;
    bool in_place = dx_root_in_place(o->root);
    struct timespec now;
    int rc = DX_OK;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (!o->dry_run || !in_place || access(o->root, F_OK) == 0)
        rc = dx_root_open(&r->root, o->root, o->dry_run && in_place ? DX_ROOT_READ : DX_ROOT_WRITE,
                          err);
    r->root.in_place = in_place && !o->test_objects;
    return rc == DX_OK && !o->dry_run
               ? dx_root_enter(&r->root, o->lock_wait_ms, now.tv_sec * INT64_C(1000000), err)
               : rc;
}

static int prepare(struct run *r, struct dx_error *err)
{
    int rc = open_root(r, err);

    if (rc == DX_OK && !r->o->dry_run)
        rc = r->root.in_place ? prepare_directory(r, err) : prepare_remote(r, err);
    if (rc == DX_OK)
        rc = load_psl(r, err);
    if (rc == DX_OK)
        rc = dx_ingest_datasets_new(&r->datasets, err);
    if (rc == DX_OK && !r->o->dry_run)
        rc = new_sort(r, err);
    return rc;
}

static int read_all(struct run *r, struct dx_error *err)
{
    struct dx_dataset_cache cache = { { NULL } };
    _Atomic uint64_t hosts = 0;
    struct dx_ingest_shared shared = { .psl = r->psl,
                                       .sort = r->sort,
                                       .datasets = r->datasets,
                                       .ts_unit = r->o->ts_unit,
                                       .extra_name = r->o->want.extra_name,
                                       .require_ts = r->o->require_ts,
                                       .hosts = r->o->counts ? &hosts : NULL,
                                       .locators = r->o->want.locators };
    struct dx_ingest_read read = { .options = r->o,
                                   .shared = &shared,
                                   .rejects = r->o->dry_run ? NULL : &r->rejects,
                                   .window_max = r->o->memory_bytes / 4,
                                   .stats = r->stats };
    int rc = DX_OK;

    if (r->o->dataset != NULL)
        rc = dx_ingest_datasets_get(r->datasets, &cache, dx_span_str(r->o->dataset),
                                    &shared.dataset, err);
    return rc < 0 ? rc : dx_ingest_read(&read, err);
}

static int check_share(const struct run *r, struct dx_error *err)
{
    const struct dx_ingest_stats *s = r->stats;
    uint64_t records = s->records - s->rejected[DX_ROW_NO_PAGES];
    uint64_t rejected = s->rejected_total - s->rejected[DX_ROW_NO_PAGES];

    if (s->records == 0 && s->without_urls > 0)
        return r->o->in_steps
                   ? DX_OK
                   : dx_fail(err, DX_E_INVALID,
                             "no input has a URL: %llu without the profile's columns of URLs, the "
                             "first of them %s; give --url-column; nothing was added to the lake",
                             (unsigned long long)s->without_urls, s->without_urls_input[0]);
    if (r->o->accept_min_ppm == 0 || (r->o->replace && s->accepted == 0))
        return DX_OK;
    if (s->records == 0)
        return dx_fail(err, DX_E_INVALID,
                       "no input has a record; nothing was added to the lake (--max-rejects 100%% "
                       "takes even that for a success)");
    if (s->accepted == 0 && s->records == 1)
        return dx_fail(err, DX_E_INVALID,
                       "the only record was rejected; nothing was added to the lake");
    if (s->accepted == 0)
        return dx_fail(err, DX_E_INVALID,
                       "all %llu records were rejected; nothing was added to the lake",
                       (unsigned long long)s->records);
    if ((unsigned __int128)s->accepted * PPM < (unsigned __int128)records * r->o->accept_min_ppm)
        return dx_fail(err, DX_E_INVALID,
                       "%llu of %llu records (%.1f %%) were rejected, and --max-rejects is %g %%; "
                       "nothing was added to the lake; correct the input or the options, or allow "
                       "more",
                       (unsigned long long)rejected, (unsigned long long)records,
                       100.0 * (double)rejected / (double)records,
                       100.0 * (double)(PPM - r->o->accept_min_ppm) / PPM);
    return DX_OK;
}

/* Which column the first records lack, and what they have. */
static int add_lacks(const struct run *r, int rc, struct dx_error *err)
{
    if (rc < 0 && err != NULL && r->stats->lacks[0] != '\0') {
        size_t n = strlen(err->text);

        (void)snprintf(err->text + n, sizeof err->text - n, "; %s", r->stats->lacks);
    }
    return rc;
}

/* Whether enough of the records are rows. Before anything is added: all of a run or nothing. */
static int check_accepted(const struct run *r, struct dx_error *err)
{
    return add_lacks(r, check_share(r, err), err);
}

/* Each dataset of the run that has an id gets the KEY=VALUE pairs. */
static int set_meta(const struct run *r, struct dx_dataset_registry *registry, struct dx_error *err)
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
            return dx_no_memory(err, "ingest");
        for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(r->datasets); i++) {
            uint32_t id = dx_ingest_datasets_at(r->datasets, i)->id;

            if (id != 0)
                rc = dx_dataset_registry_set(registry, id, key, equals + 1, err);
        }
        free(key);
    }
    return rc;
}

static int name_all(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    struct run *r = ctx;
    int rc = dx_ingest_datasets_assign(r->datasets, registry,
                                       r->root.in_place ? &r->now.named.list : &r->there, err);

    if (rc == DX_OK)
        rc = dx_ingest_datasets_set_kind(r->datasets, registry,
                                         r->o->counts ? DX_DATASET_COUNTS : DX_DATASET_URLS, err);
    return rc < 0 ? rc : set_meta(r, registry, err);
}

/* The ids of the datasets that have rows, to be freed; NULL: out of memory. */
static uint32_t *ids_of(const struct run *r, size_t *count, struct dx_error *err)
{
    uint32_t *ids = malloc((dx_ingest_datasets_count(r->datasets) + 1) * sizeof *ids);

    *count = 0;
    if (ids == NULL)
        (void)dx_no_memory(err, "ingest");
    for (size_t i = 0; ids != NULL && i < dx_ingest_datasets_count(r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, i);

        if (set->rows > 0)
            ids[(*count)++] = set->id;
    }
    return ids;
}

static int list_ids(struct run *r, struct dx_error *err)
{
    struct dx_left_out left = DX_LEFT_OUT_INIT; /* said by the publish */
    int rc = DX_OK;

    if (dx_ingest_datasets_any_new(r->datasets, r->registry))
        rc = dx_lake_list_root(&r->there, &left, &r->root, err);
    dx_left_out_release(&left);
    return rc;
}

/* Ids, the right to add to these datasets, and what they have. */
static int enter_remote(struct run *r, struct dx_error *err)
{
    uint32_t *ids;
    size_t count;
    int rc = DX_OK;

    if (r->stats->accepted > 0)
        rc = dx_suffix_list_begin(&r->root, dx_span_of(r->psl_text.data, r->psl_text.size), err);
    if (rc == DX_OK)
        rc = list_ids(r, err);
    if (rc == DX_OK)
        rc = dx_ingest_remote_names(&r->remote, name_all, r, &r->registry, err);
    if (rc < 0 || r->stats->accepted == 0)
        return rc;
    ids = ids_of(r, &count, err);
    if (ids == NULL)
        return DX_E_NOMEM;
    rc = dx_ingest_remote_claim(&r->remote, ids, count, err);
    free(ids);
    return rc < 0 ? rc : look(r, err);
}

static struct dx_ingest_replace replacement(struct run *r)
{
    return (struct dx_ingest_replace){ .options = r->o,
                                       .datasets = r->datasets,
                                       .now = &r->now,
                                       .root = &r->root,
                                       .claim = r->remote.claim };
}

/* Counts of a host in two runs could be two halves or the same number twice, so a dataset of counts has those of one run. */
static int check_counts(const struct run *r, struct dx_error *err)
{
    const struct dx_lake_list *lake = &r->now.named.list;

    for (size_t i = 0; r->o->counts && !r->o->replace && i < dx_ingest_datasets_count(r->datasets);
         i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, i);
        size_t at = set->id == 0 ? lake->count : dx_lake_list_find(lake, set->id);

        if (at < lake->count && lake->file[at].dataset_id == set->id)
            return dx_fail(err, DX_E_INVALID,
                           "dataset '%s' has counts already, and counts of several runs are not "
                           "added up; nothing was added to the lake. Ingest all files of it in one "
                           "run with --replace, or name another dataset",
                           set->name);
    }
    return DX_OK;
}

/* Names, ids, what the lake has, and whether these rows may be added to it. */
static int enter(struct run *r, struct dx_error *err)
{
    struct dx_ingest_replace replace;
    int rc = r->root.in_place ? name_all(r, r->registry, err) : enter_remote(r, err);

    if (rc < 0)
        return rc;
    if (r->o->replace && r->stats->accepted == 0)
        return dx_fail(err, DX_E_INVALID,
                       "no record was accepted, and a dataset is not replaced by nothing; to take "
                       "it away: domaindex remove");
    rc = check_counts(r, err);
    if (rc < 0)
        return rc;
    replace = replacement(r);
    return dx_ingest_replace_check(&replace, r->registry, err);
}

static int store_all(struct run *r, struct dx_error *err)
{
    struct dx_ingest_existing existing = { .options = r->o,
                                           .lake = &r->now.named,
                                           .datasets = r->datasets,
                                           .sort = r->sort,
                                           .psl = r->psl,
                                           .filter_bytes = (size_t)(r->o->memory_bytes / 4),
                                           .root = &r->root,
                                           .dir = r->tmp };
    struct dx_ingest_store_options options = {
        .ingest = r->o, .datasets = r->datasets, .dir = r->tmp, .stats = r->stats
    };
    int rc = enter(r, err);

    if (rc == DX_OK && !r->o->replace && !r->o->counts)
        rc = dx_ingest_existing(&existing, err);
    r->left = existing.left;
    r->stats->is_left_out = existing.left.all;
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
    rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_DIR, r->o->root);
    if (rc == DX_OK)
        rc = dx_dir_make(path, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(r->o->root, err);
    if (rc == DX_OK)
        rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_PSL, r->o->root);
    return rc < 0 ? rc : dx_file_replace(path, dx_span_of(r->psl_text.data, r->psl_text.size), err);
}

static int upload_files(struct run *r, struct dx_error *err)
{
    const struct dx_ingest_upload to = { .remote = &r->root,
                                         .claim = r->remote.claim,
                                         .lake = &r->now.named.list,
                                         .registry = r->registry };
    uint32_t *ids;
    size_t count;
    int rc;

    assert(r->remote.claim != NULL || r->stats->accepted == 0); /* enter_remote took it */
    rc = dx_ingest_store_upload(r->store, &to, err);
    if (rc < 0 || r->o->replace || r->stats->stored == 0)
        return rc;
    ids = ids_of(r, &count, err);
    rc = ids == NULL ? DX_E_NOMEM : dx_ingest_remote_confirm(&r->remote, &r->now, ids, count, err);
    free(ids);
    return rc;
}

/* Up to the names: everything is durable, and nothing of it is seen. */
static int prepare_names(struct run *r, struct dx_error *err)
{
    int rc = dx_rejects_close(&r->rejects, err);

    if (!r->root.in_place)
        return rc;
    if (rc == DX_OK)
        rc = dx_ingest_store_sync(r->store, err);
    if (rc == DX_OK)
        rc = save_psl(r, err);
    return rc < 0 ? rc : dx_dataset_registry_save(r->registry, r->o->root, err);
}

static int publish(struct run *r, struct dx_error *err)
{
    struct dx_ingest_replace replace = replacement(r);
    int rc = prepare_names(r, err);

    if (rc == DX_OK && r->o->replace)
        rc = dx_ingest_replace_begin(&replace, &r->registry, err);
    if (rc == DX_OK)
        rc = r->root.in_place ? dx_ingest_store_publish(r->store, r->registry, err)
                              : upload_files(r, err);
    if (rc == DX_OK && r->o->replace)
        rc = dx_ingest_replace_end(&replace, &r->registry, err);
    return rc;
}

static void count_datasets(struct run *r)
{
    struct dx_spill_sort_stats sort;

    for (size_t i = 0; i < dx_ingest_datasets_count(r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, i);

        if (set->left_out) {
            r->stats->left_out += set->rows;
            continue;
        }
        r->stats->datasets += set->rows > 0;
        r->stats->datasets_new += set->rows > 0 && set->is_new;
    }
    r->stats->datasets_total = dx_dataset_registry_count(r->registry);
    dx_spill_sort_get_stats(r->sort, &sort);
    r->stats->runs = sort.runs;
    r->stats->spilled_bytes = sort.spilled_bytes;
}

/* Which datasets the run is without, when the rows of the others are added. */
static int fail_left_out(const struct run *r, struct dx_error *err)
{
    const struct dx_ingest_left *left = &r->left;
    char rows[32];

    if (left->sets == 0)
        return DX_OK;
    return dx_fail(err, left->why.code,
                   "rows not stored: %s, of dataset '%s'%s; those of all other datasets are in the "
                   "lake. %s; then run ingest again",
                   dx_progress_count(r->stats->left_out, rows), left->first->name,
                   left->sets > 1 ? " and others" : "", left->why.text);
}

static void release_run(struct run *r)
{
    struct dx_error ignored = DX_ERROR_INIT; /* what is left is removed by the next run */

    dx_ingest_store_free(&r->store);
    dx_spill_sort_free(&r->sort);
    dx_ingest_datasets_free(&r->datasets);
    dx_psl_free(&r->psl);
    dx_buf_release(&r->psl_text);
    dx_lake_snapshot_close(&r->now);
    dx_lake_list_release(&r->there);
    dx_dataset_registry_free(&r->registry);
    dx_rejects_release(&r->rejects);
    dx_columns_want_release(&r->o->want);
    if (r->tmp_made)
        (void)dx_dir_remove(r->tmp, &ignored);
    dx_work_folder_remove(&r->work);
    dx_ingest_claim_drop(&r->remote.claim);
    dx_root_close(&r->root);
}

/* Of the rejects, unless --rejects names a file. */
static int name_rejects_dir(struct run *r, struct dx_error *err)
{
    return !r->root.in_place
               ? dx_path_format(r->rejects_dir, sizeof r->rejects_dir, err,
                                "%s/domaindex-rejects-%lu", dx_work_folder_dir(r->o->work_dir),
                                (unsigned long)geteuid())
               : dx_path_format(r->rejects_dir, sizeof r->rejects_dir, err, "%s/rejects",
                                r->o->root);
}

/* The column of the locators is the last of the extras. */
static int name_locators(struct dx_columns_want *want, struct dx_error *err)
{
    if (!want->locators)
        return DX_OK;
    want->extra_name[want->extra_count] = strdup(DX_LOCATOR_COLUMN);
    return want->extra_name[want->extra_count] != NULL ? DX_OK : dx_no_memory(err, "columns");
}

/* Of the time a name is a mistake, too, if no record has such a member. An extra may be one that the records at hand
 * happen to be without: where records name their members, it has a warning. */
static int check_time(const struct run *r, struct dx_error *err)
{
    if (r->o->want.ts == NULL || r->stats->time.is_there || r->stats->accepted == 0 ||
        r->o->accept_min_ppm == 0)
        return DX_OK;
    return add_lacks(r,
                     dx_fail(err, DX_E_INVALID,
                             "no record has the time column '%s'; nothing was added to the lake; "
                             "correct --ts-column, or leave it out",
                             r->o->want.ts),
                     err);
}

/* A name that no input has is a mistake. Its column would be null in all rows, and they would stay beside those of a
 * run with the right name: rows with other values are other rows. */
static int check_columns(const struct run *r, struct dx_error *err)
{
    const struct dx_columns_want *want = &r->o->want;

    for (size_t i = want->extra_optional; i < want->extra_count; i++)
        if (!r->o->in_steps && r->stats->inputs > 0 && !r->stats->extra[i].is_there)
            return dx_fail(err, DX_E_INVALID,
                           "none of %llu inputs has a column '%s'; nothing was added to the lake; "
                           "'domaindex ingest --detect FILE' lists those that a file has",
                           (unsigned long long)r->stats->inputs, want->extra[i]);
    return check_time(r, err);
}

int dx_ingest_run(struct dx_ingest_options *o, struct dx_ingest_stats *stats, struct dx_error *err)
{
    struct run *r = calloc(1, sizeof *r); /* too large for a small stack */
    double begun = dx_clock_s();
    bool is_refused = false;
    int rc;

    *stats = (struct dx_ingest_stats){ 0 };
    if (r == NULL)
        return dx_no_memory(err, "ingest");
    r->o = o;
    r->stats = stats;
    r->root = (struct dx_root)DX_ROOT_INIT;
    r->root.in_place = dx_root_in_place(o->root) && !o->test_objects;
    r->remote = (struct dx_ingest_remote){ .o = o, .root = &r->root };
    r->work = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
    if (o->test_scale == 0)
        o->test_scale = 1;
    o->want.extras_may_lack = !o->counts && (o->input_count > 1 || o->in_steps);
    rc = name_rejects_dir(r, err);
    if (rc == DX_OK)
        rc = name_locators(&o->want, err);
    dx_rejects_init(&r->rejects, r->rejects_dir, o->rejects_path);
    r->rejects.is_private = !r->root.in_place;
    r->rejects.append = o->rejects_append;
    if (o->rejects_bytes > 0)
        r->rejects.max_bytes = o->rejects_bytes;
    if (rc == DX_OK)
        rc = prepare(r, err);
    if (rc == DX_OK)
        rc = read_all(r, err);
    stats->read_seconds = dx_clock_s() - begun;
    if (rc == DX_OK) {
        rc = check_columns(r, err);
        if (rc == DX_OK) {
            rc = check_accepted(r, err);
            is_refused = rc < 0;
        }
    }
    if (rc == DX_OK && !o->dry_run)
        rc = store_all(r, err);
    if (rc == DX_OK && !o->dry_run)
        rc = publish(r, err);
    if (rc == DX_OK && !o->dry_run)
        count_datasets(r);
    /* A refusal for its rejects leaves them to be looked at. */
    if (rc < 0 && (!is_refused || dx_rejects_close(&r->rejects, NULL) < 0))
        dx_rejects_discard(&r->rejects);
    if (rc == DX_OK && !o->dry_run) {
        rc = fail_left_out(r, err);
        stats->is_left_out = rc < 0;
    }
    stats->rejects_unlisted = r->rejects.unlisted;
    if (r->rejects.path != NULL)
        stats->rejects_path = strdup(r->rejects.path);
    release_run(r);
    free(r);
    stats->total_seconds = dx_clock_s() - begun;
    return rc;
}
