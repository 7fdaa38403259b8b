/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "builder/publish_job.h"
#include "builder/publish_remote.h"
#include "builder/root_lock.h"
#include "fetch/store.h"
#include "loader/version.h"

#define WORK_PREFIX ".tmp-"
#define MANIFEST_TMP "manifest.json.tmp-"
#define LAKE_DEPTH 2          /* urls/dataset_id=1/domain_prefix=00-ff */
#define MAKES_PREFIX "makes-" /* in a work folder: the version that will be put in place */

struct publish {
    struct dx_publish_job *job; /* work: ROOT/index/.tmp-PID */
    const char *root;
    struct dx_root_lock lock;
    struct dx_store *store; /* for files that a rewrite makes */
    char index[PATH_MAX];   /* ROOT/index */
    char target[PATH_MAX];  /* ROOT/index/VERSION */
};

/* ---- what was there before ---- */

static int read_manifest(struct publish *p, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_publish_job_path(path, p->index, "manifest.json", err);

    p->job->result->manifest = (struct dx_manifest)DX_MANIFEST_INIT;
    if (rc == DX_OK && access(path, F_OK) < 0 && errno == ENOENT)
        return DX_OK;
    return rc == DX_OK ? dx_version_manifest(p->root, &p->job->result->manifest, err) : rc;
}

/* A version that a dead publish had put in place before the manifest could name it: its work
 * folder says which. Versions that nobody explains are left alone: perhaps the manifest was
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
        rc = dx_publish_job_path(path, p->index, name, err);
        if (rc == DX_OK)
            rc = dx_dir_remove(path, err);
    }
    (void)closedir(dir);
    return rc;
}

/* One name in ROOT/index. We hold the lock, so nobody is at work on what is half-made. */
static int remove_leftover(const struct publish *p, const char *name, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_publish_job_path(path, p->index, name, err);

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
    while (rc == DX_OK && (e = readdir(dir)) != NULL)
        if (strncmp(e->d_name, WORK_PREFIX, strlen(WORK_PREFIX)) == 0 ||
            strncmp(e->d_name, MANIFEST_TMP, strlen(MANIFEST_TMP)) == 0)
            rc = remove_leftover(p, e->d_name, err);
    (void)closedir(dir);
    return rc;
}

/* Files that a compaction was copying when it died, in `name` and below it: only their list and
 * what it names is a collector's. Folders deeper than the lake's are nobody's of ours. */
static int sweep(int parent, const char *name, unsigned depth, struct dx_error *err)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    int rc = DX_OK;

    if (dir == NULL) {
        rc = errno == ENOENT || errno == ENOTDIR
                 ? DX_OK
                 : dx_fail_errno(err, errno, "%s: cannot read", name);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    while (rc == DX_OK && (e = readdir(dir)) != NULL) {
        if (strncmp(e->d_name, WORK_PREFIX, strlen(WORK_PREFIX)) == 0)
            (void)unlinkat(fd, e->d_name, 0); /* what cannot go stays hidden by its name */
        else if (e->d_name[0] != '.' && depth > 0 &&
                 (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
            rc = sweep(fd, e->d_name, depth - 1, err);
    }
    (void)closedir(dir);
    return rc;
}

static int sweep_all(const struct publish *p, struct dx_error *err)
{
    char claims[PATH_MAX];
    char lake[PATH_MAX];
    int rc = dx_publish_job_path(claims, p->root, DX_LAKE_CLAIMS, err);

    if (rc == DX_OK)
        rc = dx_publish_job_path(lake, p->root, DX_LAKE_DIR, err);
    if (rc == DX_OK)
        rc = sweep(AT_FDCWD, claims, 0, err);
    return rc == DX_OK ? sweep(AT_FDCWD, lake, LAKE_DEPTH, err) : rc;
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
static int last_sequence(const struct publish *p, uint64_t *last, struct dx_error *err)
{
    const struct dx_manifest *m = &p->job->result->manifest;
    char claims[PATH_MAX];
    int rc = dx_publish_job_path(claims, p->root, DX_LAKE_CLAIMS, err);

    *last = m->sequence;
    for (size_t i = 0; i < m->version_count; i++)
        if (m->versions[i].sequence > *last)
            *last = m->versions[i].sequence;
    if (rc == DX_OK)
        rc = highest_in(p->index, last, err);
    return rc == DX_OK ? highest_in(claims, last, err) : rc;
}

/* The list that the lake's domains came from; else the one asked for, or the system's. */
static int read_psl(struct publish *p, struct dx_error *err)
{
    char own[PATH_MAX];
    int rc = dx_publish_job_path(own, p->root, "urls/psl.dat", err);

    if (rc != DX_OK)
        return rc;
    if (access(own, F_OK) < 0)
        return dx_publish_job_psl(p->job, err);
    (void)snprintf(p->job->result->psl_path, sizeof p->job->result->psl_path, "%.*s",
                   (int)sizeof p->job->result->psl_path - 1, own);
    p->job->result->psl_own = true;
    return dx_file_read(own, DX_PUBLISH_PSL_MAX, &p->job->psl, err);
}

/* ---- the new version ---- */

static int build(struct publish *p, struct dx_error *err)
{
    int rc = dx_publish_job_build(p->job, NULL, DX_SYNC_NOW, err);

    return rc == DX_OK ? dx_dir_sync(p->job->making, err) : rc;
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    if (counter != NULL)
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* The bytes that are on disk are those that were written. Files of older versions were found so when
 * those were published. */
static int check_hashes(const struct publish *p, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->job->entry->file_count; i++) {
        const struct dx_manifest_file *f = &p->job->entry->files[i];
        struct dx_map map = DX_MAP_INIT;
        struct dx_hash128 hash;
        char path[PATH_MAX];

        if (f->in[0] != '\0')
            continue;
        rc = dx_publish_job_path(path, p->target, f->name, err);
        if (rc == DX_OK)
            rc = dx_map_open(&map, path, DX_MAP_SEQUENTIAL, err);
        if (rc != DX_OK)
            return rc;
        hash = dx_hash128_of(map.bytes);
        count(dx_publish_job_bytes(p->job), map.bytes.size);
        count(dx_publish_job_items(p->job), 1);
        if (map.bytes.size != f->size || !dx_hash128_equal(&hash, &f->hash))
            rc = dx_fail(err, DX_E_CORRUPT,
                         "%s: reads otherwise than it was written: check disk "
                         "and memory",
                         path);
        dx_map_close(&map);
    }
    return rc;
}

static int check_version(const struct publish *p, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    int rc = check_hashes(p, err);

    options.verify = !p->job->result->incremental; /* that would read what is shared, too */
    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1u << 20;
    if (rc == DX_OK)
        rc = dx_caches_new(&caches, &options, err);
    if (rc == DX_OK)
        rc = dx_version_open(&v, p->root, p->job->entry, caches, &options, err);
    if (rc == DX_OK)
        rc = dx_mphf_verify(&v->mphf, &v->dictionary, err);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return rc == DX_OK ? rc : dx_fail_in(err, "the new version does not open and is not published");
}

/* Readers see the old version until this replaces the manifest, and the new one after. If
 * the replacing fails half-way (renamed, folder not synced) the manifest may name the new
 * version already: then its files stay. */
static int flip(struct publish *p, bool *may_be_named, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char path[PATH_MAX];
    int rc = dx_publish_job_path(path, p->index, "manifest.json", err);

    if (rc == DX_OK)
        rc = dx_publish_job_manifest(p->job, dx_publish_job_time(p->job), &text, err);
    if (rc == DX_OK) {
        *may_be_named = true;
        rc = dx_file_replace(path, dx_span_of(text.data, text.size), err);
    }
    dx_buf_release(&text);
    return rc;
}

static bool manifest_names(const struct publish *p)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    bool named = true; /* if it cannot be read: touch nothing */
    char path[PATH_MAX];

    if (dx_publish_job_path(path, p->index, "manifest.json", NULL) == DX_OK &&
        access(path, F_OK) < 0 && errno == ENOENT)
        return false;
    if (dx_version_manifest(p->root, &m, NULL) == DX_OK)
        named = dx_manifest_find(&m, p->job->result->version) != NULL;
    dx_manifest_release(&m);
    return named;
}

/* *may_be_named: the manifest names the version, or nobody can tell. */
static int put_in_place(struct publish *p, bool *may_be_named, struct dx_error *err)
{
    char makes[PATH_MAX];
    int n = snprintf(makes, sizeof makes, "%s/" MAKES_PREFIX "%s", p->job->work,
                     p->job->result->version);
    int rc = n < 0 || (size_t)n >= sizeof makes
                 ? dx_fail(err, DX_E_INVALID, "%s: path too long", p->job->work)
                 : dx_dir_make(makes, err);

    /* Should we die between here and the flip, the next publish knows whose the version is. */
    if (rc == DX_OK)
        rc = dx_dir_sync(p->job->work, err);
    if (rc != DX_OK)
        return rc;
    if (rename(p->job->making, p->target) < 0)
        return dx_fail_errno(err, errno, "%s: cannot rename to %s", p->job->making, p->target);
    rc = dx_dir_sync(p->index, err);
    if (rc == DX_OK)
        rc = check_version(p, err);
    if (rc == DX_OK)
        rc = flip(p, may_be_named, err);
    if (rc != DX_OK && *may_be_named)
        *may_be_named = manifest_names(p);
    if (rc != DX_OK && !*may_be_named)
        (void)dx_dir_remove(p->target, NULL);
    return rc;
}

static int prepare(struct publish *p, uint64_t *highest, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    char name[64];
    int rc = dx_root_lock_take(&p->lock, p->root, err);

    if (rc == DX_OK)
        rc = dx_publish_job_path(p->index, p->root, "index", err);
    if (rc == DX_OK)
        rc = read_manifest(p, err);
    if (rc == DX_OK)
        rc = dx_publish_job_room(job, err);
    if (rc == DX_OK)
        rc = dx_publish_lake_open(&job->lake, p->root, &job->result->manifest, err);
    if (rc == DX_OK)
        rc = read_psl(p, err);
    if (rc == DX_OK)
        rc = dx_dir_make(p->index, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(p->root, err);
    if (rc == DX_OK)
        rc = remove_leftovers(p, err);
    if (rc == DX_OK)
        rc = sweep_all(p, err);
    if (rc == DX_OK)
        rc = last_sequence(p, highest, err);
    (void)snprintf(name, sizeof name, WORK_PREFIX "%ld", (long)getpid());
    if (rc == DX_OK)
        rc = dx_publish_job_path(job->work, p->index, name, err);
    if (rc == DX_OK)
        rc = dx_publish_job_path(job->making, job->work, "version", err);
    return rc == DX_OK ? dx_dir_make(job->work, err) : rc;
}

/* What the version is made from: the current one, files that are rewritten, or the lake as it is. */
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
        rc = dx_publish_job_name(job, sequence, err);
    if (rc != DX_OK || job->options->rewrite == NULL)
        return rc;
    rc = dx_store_open_local(&p->store, p->root, err);
    return rc == DX_OK ? dx_publish_job_rewrite(job, p->store, NULL, err) : rc;
}

static int run(struct publish *p, bool *may_be_named, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    uint64_t highest = 0;
    int rc = prepare(p, &highest, err);

    dx_publish_job_enter(job, DX_PUBLISH_SCAN, 0);
    if (rc == DX_OK)
        rc = choose(p, highest + 1, err);
    if (rc == DX_OK)
        rc = dx_publish_job_scan(job, NULL, err);
    if (rc != DX_OK || dx_publish_job_unchanged(job))
        return rc;
    dx_publish_job_enter(job, DX_PUBLISH_BUILD, 0);
    rc = dx_publish_job_path(p->target, p->index, job->result->version, err);
    if (rc == DX_OK)
        rc = build(p, err);
    if (rc != DX_OK)
        return rc;
    dx_publish_job_enter(job, DX_PUBLISH_CHECK, dx_publish_job_index_bytes(job));
    return put_in_place(p, may_be_named, err);
}

static int publish_directory(struct dx_publish_job *job, struct dx_error *err)
{
    struct publish p = { .job = job, .root = job->options->root, .lock = DX_ROOT_LOCK_INIT };
    bool may_be_named = false;
    int rc = run(&p, &may_be_named, err);

    if ((rc != DX_OK && !may_be_named) || job->result->unchanged)
        dx_publish_placed_undo(&job->placed);
    if (job->work[0] != '\0')
        (void)dx_dir_remove(job->work, NULL); /* what stays, the next publish removes */
    dx_store_close(&p.store);
    dx_root_lock_drop(&p.lock);
    return rc;
}

int dx_publish(const struct dx_publish_options *options, struct dx_publish_result *result,
               struct dx_error *err)
{
    struct dx_publish_job job;
    int rc;

    *result = (struct dx_publish_result){ .manifest = DX_MANIFEST_INIT };
    dx_publish_job_init(&job, options, result);
    rc = dx_source_remote(options->root) || options->through_store ? dx_publish_remote(&job, err)
                                                                   : publish_directory(&job, err);
    dx_publish_job_release(&job);
    if (rc != DX_OK)
        dx_publish_result_release(result);
    return rc;
}

void dx_publish_result_release(struct dx_publish_result *result)
{
    dx_manifest_release(&result->manifest);
}
