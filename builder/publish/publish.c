/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/lake/lake_layout.h"
#include "builder/publish/publish_job.h"
#include "builder/publish/publish_listing.h"
#include "builder/publish/publish_pack.h"
#include "builder/publish/publish_remote.h"
#include "builder/root/work_folder.h"
#include "loader/version.h"
#include "query/answers/self_test.h"

#define WORK_PREFIX ".tmp-"
#define MANIFEST_TMP DX_MANIFEST_FILE_BASE ".tmp-"
#define LAKE_DEPTH 2          /* urls/dataset_id=1/domain_prefix=00-ff */
#define TRIES 3               /* of a publish that merges were faster than */
#define MAKES_PREFIX "makes-" /* in a work folder: the version that will be put in place */

#define MERGE_FOLDER "merge"          /* work_folder.h */
#define MERGE_WAIT_MS (3600u * 1000u) /* for the lock, when the version of a merge is complete */

struct publish {
    struct dx_publish_job *job; /* work: ROOT/index/.tmp-PID */
    const char *root;
    char mark[PATH_MAX];          /* the same; of a merge it is not where it works */
    char index[PATH_MAX];         /* ROOT/index */
    char target[PATH_MAX];        /* ROOT/index/VERSION */
    bool is_left;                 /* target is there, and the manifest may not have it */
    struct dx_work_folder folder; /* of a merge */
};

/* ---- what was there before ---- */

/* A version that a dead publish had put in place before the manifest could name it: its work
 * folder says which. Versions that no work folder explains are left alone: perhaps the manifest was
 * lost, and not the publish. */
static int remove_unnamed(const struct publish *p, const char *work, struct dx_error *err)
{
    DIR *dir = opendir(work);
    struct dirent *e;
    int rc = DX_OK;

    if (dir == NULL && errno == ENOTDIR) /* a manifest that a dead rollback did not finish */
        return unlink(work) < 0 && errno != ENOENT
                   ? dx_fail_errno(err, errno, "%s: cannot remove", work)
                   : DX_OK;
    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot read", work);
    while (rc == DX_OK && (e = readdir(dir)) != NULL) {
        const char *name = e->d_name + strlen(MAKES_PREFIX);
        char path[PATH_MAX];

        if (strncmp(e->d_name, MAKES_PREFIX, strlen(MAKES_PREFIX)) != 0 ||
            !dx_version_name_ok(dx_span_str(name), NULL) ||
            dx_manifest_find(&p->job->result->manifest, name) != NULL)
            continue;
        rc = dx_path_format(path, PATH_MAX, err, "%s/%s", p->index, name);
        if (rc == DX_OK)
            rc = dx_dir_remove(path, err);
    }
    (void)closedir(dir);
    return rc;
}

/* One name in ROOT/index. We hold the lock, so no other process works on an incomplete one. */
static int remove_leftover(const struct publish *p, const char *name, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_path_format(path, PATH_MAX, err, "%s/%s", p->index, name);

    if (rc == DX_OK && strncmp(name, WORK_PREFIX, strlen(WORK_PREFIX)) == 0)
        rc = remove_unnamed(p, path, err);
    return rc == DX_OK ? dx_dir_remove(path, err) : rc;
}

static int remove_leftovers(const struct publish *p, struct dx_error *err)
{
    DIR *dir = opendir(p->index);
    struct dirent *e;
    int rc = DX_OK;

    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot read", p->index);
    dx_work_folder_sweep(p->index, MERGE_FOLDER);
    while (rc == DX_OK && (e = readdir(dir)) != NULL)
        if (strncmp(e->d_name, WORK_PREFIX, strlen(WORK_PREFIX)) == 0 ||
            strncmp(e->d_name, MANIFEST_TMP, strlen(MANIFEST_TMP)) == 0)
            rc = remove_leftover(p, e->d_name, err);
    (void)closedir(dir);
    return rc;
}

/* A folder that is not there, or below the first one that its owner closed: what is in it stays. */
static bool may_pass(int parent)
{
    return errno == ENOENT || errno == ENOTDIR ||
           (parent != AT_FDCWD && (errno == EACCES || errno == EPERM));
}

/* Files that a compaction was copying when it died, in `name` and below it: only their list and
 * what it names is a collector's. Folders deeper than the lake's are not ours. */
static int sweep_folder(int parent, const char *name, unsigned depth, struct dx_error *err)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    int rc = DX_OK;

    if (dir == NULL) {
        rc = may_pass(parent) ? DX_OK : dx_fail_errno(err, errno, "%s: cannot read", name);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    while (rc == DX_OK && (e = readdir(dir)) != NULL) {
        if (strncmp(e->d_name, WORK_PREFIX, strlen(WORK_PREFIX)) == 0)
            (void)unlinkat(fd, e->d_name, 0); /* what cannot go stays hidden by its name */
        else if (e->d_name[0] != '.' && depth > 0 &&
                 (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
            rc = sweep_folder(fd, e->d_name, depth - 1, err);
    }
    (void)closedir(dir);
    return rc;
}

static int sweep_all(const struct publish *p, struct dx_error *err)
{
    char claims[PATH_MAX];
    char lake[PATH_MAX];
    int rc = dx_path_format(claims, PATH_MAX, err, "%s/%s", p->root, DX_LAKE_CLAIMS);

    if (rc == DX_OK)
        rc = dx_path_format(lake, PATH_MAX, err, "%s/%s", p->root, DX_LAKE_DIR);
    if (rc == DX_OK)
        rc = sweep_folder(AT_FDCWD, claims, 0, err);
    return rc == DX_OK ? sweep_folder(AT_FDCWD, lake, LAKE_DEPTH, err) : rc;
}

/* The highest number of what is in the folder: versions, or lists of compactions. */
static int highest_in(const char *path, uint64_t *last, struct dx_error *err)
{
    DIR *dir = opendir(path);
    struct dirent *e;

    if (dir == NULL)
        return errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "%s: cannot read", path);
    while ((e = readdir(dir)) != NULL) {
        size_t size = strnlen(e->d_name, DX_VERSION_NAME - 1);
        uint32_t sequence = 0;

        if (dx_version_name_ok(dx_span_of(e->d_name, size), &sequence) && sequence > *last)
            *last = sequence;
    }
    (void)closedir(dir);
    return DX_OK;
}

/* No number of a version that is there is given again, whether the manifest has it or not; nor that
 * of a compaction that died, whose list must not become one of another's version. */
static int last_sequence(const struct publish *p, const struct dx_manifest *m, uint64_t *last,
                         struct dx_error *err)
{
    char claims[PATH_MAX];
    int rc = dx_path_format(claims, PATH_MAX, err, "%s/%s", p->root, DX_LAKE_CLAIMS);

    *last = m->sequence;
    for (size_t i = 0; i < m->version_count; i++)
        if (m->versions[i].sequence > *last)
            *last = m->versions[i].sequence;
    if (rc == DX_OK)
        rc = highest_in(p->index, last, err);
    return rc == DX_OK ? highest_in(claims, last, err) : rc;
}

/* ---- the new version ---- */

static int build(struct publish *p, struct dx_error *err)
{
    int rc = dx_path_format(p->target, PATH_MAX, err, "%s/%s", p->index, p->job->result->version);

    dx_publish_job_enter(p->job, DX_PUBLISH_BUILD, 0);
    if (rc == DX_OK)
        rc = dx_publish_job_build(p->job, NULL, DX_SYNC_NOW, err);
    if (rc == DX_OK && dx_publish_packs(p->job->entry, p->job->options->pack_max, 0))
        rc = dx_publish_pack(p->job->entry, p->job->making, DX_SYNC_NOW, err);
    return rc == DX_OK ? dx_dir_sync(p->job->making, err) : rc;
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    if (counter != NULL)
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* The bytes that are on disk are those that were written. */
static int check_hashes(const struct publish *p, const char *dir, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < dx_manifest_object_count(p->job->entry); i++) {
        const struct dx_manifest_file *f = dx_manifest_object(p->job->entry, i);
        struct dx_map map;

        rc = dx_publish_job_file(&map, dir, f, err);
        count(dx_publish_job_bytes(p->job), map.bytes.size);
        count(dx_publish_job_items(p->job), 1);
        dx_map_close(&map);
    }
    return rc;
}

static int check_version(const struct publish *p, struct dx_error *err)
{
    const struct dx_self_test_options self_test = DX_SELF_TEST_OPTIONS_INIT;
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_self_test_rows rows; /* what fails of some datasets only, servers say */
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    int rc = DX_OK;

    options.verify = !p->job->result->incremental; /* that would read what is shared, too */
    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1u << 20;
    rc = dx_caches_new(&caches, &options, err);
    if (rc == DX_OK)
        rc = dx_version_open(&v, p->root, &p->job->result->manifest, p->job->entry, caches,
                             &options, err);
    if (rc == DX_OK)
        rc = dx_mphf_verify(&dx_version_own(v)->mphf, &dx_version_own(v)->dictionary,
                            p->job->options->threads, err);
    if (rc == DX_OK)
        rc = dx_self_test(v, &self_test, &rows, err);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return rc == DX_OK ? rc : dx_fail_in(err, "the new version does not open and is not published");
}

/* Readers see the old version until the flip replaces the manifest, and the new one after. */
static int put_in_place(struct publish *p, struct dx_error *err)
{
    char makes[PATH_MAX];
    int rc = dx_path_format(makes, sizeof makes, err, "%s/" MAKES_PREFIX "%s", p->mark,
                            p->job->result->version);

    assert(p->mark[0] != '\0');
    if (rc == DX_OK)
        rc = dx_dir_make(makes, err);
    /* Should we die between here and the flip, the next publish knows whose the version is. */
    if (rc == DX_OK)
        rc = dx_dir_sync(p->mark, err);
    if (rc != DX_OK)
        return rc;
    if (rename(p->job->making, p->target) < 0)
        return dx_fail_errno(err, errno, "%s: cannot rename to %s", p->job->making, p->target);
    rc = dx_dir_sync(p->index, err);
    if (rc == DX_OK)
        rc = check_version(p, err);
    if (rc == DX_OK)
        rc = dx_publish_job_flip(p->job, err);
    p->is_left = rc != DX_OK && (p->job->edit.may_be_there || dx_dir_remove(p->target, NULL) < 0);
    return rc;
}

/* A folder of this process. */
static int make_mark(struct publish *p, struct dx_error *err)
{
    int rc;

    assert(p->job->root.lock.fd >= 0);
    rc = remove_leftovers(p, err);
    if (rc == DX_OK)
        rc = dx_path_format(p->mark, PATH_MAX, err, "%s/" WORK_PREFIX "%ld", p->index,
                            (long)getpid());
    return rc == DX_OK ? dx_dir_make(p->mark, err) : rc;
}

/* Of a root without a manifest; called after the files that dead publishes left are removed. */
static int check_lost(const struct publish *p, struct dx_error *err)
{
    struct dx_publish_result *result = p->job->result;
    struct dx_publish_listing l;
    int rc;

    if (result->manifest.version_count > 0)
        return DX_OK;
    dx_publish_listing_init(&l, &result->manifest, p->job->options->now_us);
    rc = dx_publish_listing_read(&l, p->job->root.store, err);
    if (rc == DX_OK)
        rc = dx_publish_listing_check_lost(&l, p->root, 1, err);
    dx_publish_listing_release(&l);
    return rc;
}

static int prepare_root(struct publish *p, uint64_t *highest, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int rc = dx_path_format(p->index, PATH_MAX, err, "%s/" DX_INDEX_DIR, p->root);

    if (rc == DX_OK)
        rc = dx_publish_job_manifest(job, err);
    if (rc == DX_OK)
        rc = dx_publish_lake_open(&job->lake, &job->root, &job->result->manifest,
                                  &job->options->allow, NULL, err);
    if (rc == DX_OK)
        rc = dx_publish_job_psl(job, err);
    if (rc == DX_OK)
        rc = dx_dir_make(p->index, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(p->root, err);
    if (rc == DX_OK)
        rc = make_mark(p, err);
    if (rc == DX_OK)
        rc = check_lost(p, err);
    if (rc == DX_OK)
        rc = sweep_all(p, err);
    if (rc == DX_OK)
        rc = last_sequence(p, &job->result->manifest, highest, err);
    memcpy(job->work, p->mark, sizeof job->work);
    return rc == DX_OK ? dx_path_format(job->making, PATH_MAX, err, "%s/%s", job->work, "version")
                       : rc;
}

/* What the version is made from: the current one, files that are rewritten, or the lake as it
 * is. */
static int choose(struct publish *p, uint64_t sequence, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_publish_job *job = p->job;
    uint64_t room = 0;
    int rc;

    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1u << 20;
    rc = dx_publish_job_base(job, &options, err);
    if (rc == DX_OK)
        rc = dx_publish_job_space(p->index, dx_publish_job_guess(job), &room, err);
    if (rc == DX_OK)
        rc = dx_publish_job_name(job, sequence, 0, err);
    return rc == DX_OK && job->options->rewrite != NULL ? dx_publish_job_rewrite(job, NULL, err)
                                                        : rc;
}

static int run_publish(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    uint64_t highest = 0;
    int rc = prepare_root(p, &highest, err);

    dx_publish_job_enter(job, DX_PUBLISH_SCAN, 0);
    if (rc == DX_OK)
        rc = choose(p, highest + 1, err);
    if (rc == DX_OK)
        rc = dx_publish_job_scan(job, NULL, err);
    if (rc != DX_OK || dx_publish_job_unchanged(job))
        return rc;
    rc = build(p, err);
    if (rc != DX_OK)
        return rc;
    dx_publish_job_enter(job, DX_PUBLISH_CHECK, dx_publish_job_index_bytes(job));
    rc = dx_publish_missing_raise(&job->lake.named, &job->root, err);
    if (rc == DX_OK)
        rc = check_hashes(p, job->making, err);
    return rc == DX_OK ? put_in_place(p, err) : rc;
}

/* ---- a merge ---- */

/* Without the lock: files of versions do not change. */
static int prepare_merge(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    uint64_t highest = 0;
    int rc = dx_path_format(p->index, PATH_MAX, err, "%s/" DX_INDEX_DIR, p->root);

    if (rc == DX_OK)
        rc = dx_publish_job_manifest(job, err);
    if (rc == DX_OK)
        rc = dx_publish_job_psl(job, err);
    if (rc == DX_OK)
        rc = dx_work_folder_make(&p->folder, p->index, MERGE_FOLDER, err);
    if (rc == DX_OK)
        rc = dx_path_format(job->work, PATH_MAX, err, "%s", p->folder.path);
    if (rc == DX_OK)
        rc = dx_path_format(job->making, PATH_MAX, err, "%s/%s", job->work, "version");
    if (rc == DX_OK)
        rc = last_sequence(p, &job->result->manifest, &highest, err);
    return rc == DX_OK ? choose(p, highest + 1, err) : rc;
}

/* The lock is ours now: is all as it was? */
static int check_first(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    const struct dx_manifest *now = &job->edit.manifest;
    uint64_t highest = 0;
    int rc = dx_manifest_edit_read(&job->edit, err);

    if (rc >= 0 &&
        (now->sequence != job->base_sequence || strcmp(now->current, job->base_current) != 0))
        rc = dx_fail(err, DX_E_CONFLICT, "a publish was faster: version %s is current now",
                     now->current);
    if (rc >= 0)
        rc = last_sequence(p, now, &highest, err);
    if (rc >= 0 && highest >= job->entry->sequence)
        rc = dx_fail(err, DX_E_CONFLICT, "the number of version %s was taken meanwhile",
                     job->result->version);
    return rc < 0 ? rc : DX_OK;
}

static int run_merge(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int rc = prepare_merge(p, err);

    dx_publish_job_enter(job, DX_PUBLISH_SCAN, 0);
    if (rc == DX_OK)
        rc = dx_publish_job_scan(job, NULL, err);
    if (rc != DX_OK || dx_publish_job_unchanged(job))
        return rc;
    rc = build(p, err);
    if (rc != DX_OK)
        return rc;
    dx_publish_job_enter(job, DX_PUBLISH_CHECK, dx_publish_job_index_bytes(job));
    rc = check_hashes(p, job->making, err);
    if (rc == DX_OK)
        rc = dx_root_enter(&job->root, MERGE_WAIT_MS, job->options->now_us, err);
    if (rc == DX_OK)
        rc = check_first(p, err);
    if (rc == DX_OK)
        rc = make_mark(p, err);
    return rc == DX_OK ? put_in_place(p, err) : rc;
}

static int publish_directory(struct dx_publish_job *job, struct dx_error *err)
{
    struct publish *p = calloc(1, sizeof *p); /* too large for a small stack */
    int rc;

    if (p == NULL)
        return dx_no_memory(err, "publish");
    p->job = job;
    p->root = job->options->root;
    p->folder = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
    rc = job->options->merge ? run_merge(p, err) : run_publish(p, err);
    if ((rc != DX_OK && !job->edit.may_be_there) || job->result->unchanged)
        dx_publish_placed_undo(&job->placed);
    if (p->mark[0] != '\0' && !p->is_left)
        (void)dx_dir_remove(p->mark, NULL); /* what stays, the next publish removes */
    dx_work_folder_remove(&p->folder);
    free(p);
    return rc;
}

static int publish_once(const struct dx_publish_options *options, struct dx_publish_result *result,
                        bool *again, struct dx_error *err)
{
    struct dx_publish_job *job = malloc(sizeof *job); /* too large for a small stack */
    int rc;

    assert(options->memory >= DX_PUBLISH_MEMORY_MIN);
    *result = (struct dx_publish_result){ .manifest = DX_MANIFEST_INIT,
                                          .left_out = DX_LEFT_OUT_INIT,
                                          .damaged = DX_LEFT_OUT_INIT };
    *again = false;
    if (job == NULL)
        return dx_no_memory(err, "publish");
    dx_publish_job_init(job, options, result);
    rc = dx_publish_job_open(job, err);
    if (rc == DX_OK)
        rc = job->root.in_place ? publish_directory(job, err) : dx_publish_remote(job, err);
    *again = job->lost_to_merge && !options->merge && options->rewrite == NULL;
    dx_publish_job_release(job);
    free(job);
    if (rc != DX_OK)
        dx_publish_result_release(result);
    return rc;
}

int dx_publish(const struct dx_publish_options *options, struct dx_publish_result *result,
               struct dx_error *err)
{
    bool again = false;
    int rc = publish_once(options, result, &again, err);

    for (int i = 1; rc == DX_E_CONFLICT && again && i < TRIES; i++)
        rc = publish_once(options, result, &again, err);
    return rc;
}

void dx_publish_result_release(struct dx_publish_result *result)
{
    dx_manifest_release(&result->manifest);
    dx_left_out_release(&result->left_out);
    dx_left_out_release(&result->damaged);
}
