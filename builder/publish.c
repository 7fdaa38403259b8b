/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "builder/index_identity.h"
#include "builder/publish_lake.h"
#include "builder/root_lock.h"
#include "loader/version.h"

#define PSL_MAX (16u << 20)
#define SPACE_MIN (16u << 20)
#define INODES_MIN (3 * DX_POSTINGS_SHARDS + 64)
#define WORK_PREFIX ".tmp-"
#define MANIFEST_TMP "manifest.json.tmp-"
#define MAKES_PREFIX "makes-" /* in a work folder: the version that will be put in place */

struct publish {
    const struct dx_publish_options *options;
    struct dx_publish_result *result;
    struct dx_root_lock lock;
    char index[PATH_MAX];  /* ROOT/index */
    char work[PATH_MAX];   /* ROOT/index/.tmp-PID */
    char making[PATH_MAX]; /* the version in the making, in work */
    char target[PATH_MAX]; /* ROOT/index/VERSION */
    struct dx_buf psl;
    struct dx_publish_lake lake;
    struct dx_index_identity id;
    bool has_id;
    struct dx_manifest_version *entry; /* in result->manifest */
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int join(char out[PATH_MAX], const char *dir, const char *name, struct dx_error *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

    return n < 0 || n >= PATH_MAX ? dx_fail(err, DX_E_INVALID, "%s/%s: path too long", dir, name)
                                  : DX_OK;
}

/* ---- what was there before ---- */

static int read_manifest(struct publish *p, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = join(path, p->index, "manifest.json", err);

    p->result->manifest = (struct dx_manifest)DX_MANIFEST_INIT;
    if (rc == DX_OK && access(path, F_OK) < 0 && errno == ENOENT)
        return DX_OK;
    return rc == DX_OK ? dx_version_manifest(p->options->root, &p->result->manifest, err) : rc;
}

/* A version that a dead publish had put in place before the manifest could name it: its work
 * folder says which. Versions that nobody explains are left alone: perhaps the manifest was
 * lost, and not the publish. */
static int remove_unnamed(const struct publish *p, const char *work, struct dx_error *err)
{
    DIR *dir = opendir(work);
    struct dirent *e;
    int rc = DX_OK;

    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot read", work);
    while (rc == DX_OK && (e = readdir(dir)) != NULL) {
        const char *name = e->d_name + strlen(MAKES_PREFIX);
        char path[PATH_MAX];

        if (strncmp(e->d_name, MAKES_PREFIX, strlen(MAKES_PREFIX)) != 0 ||
            !dx_version_name_ok(dx_span_str(name), NULL) ||
            dx_manifest_find(&p->result->manifest, name) != NULL)
            continue;
        rc = join(path, p->index, name, err);
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
    int rc = join(path, p->index, name, err);

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

/* No number of a version that is there is given again, whether the manifest has it or not. */
static int last_sequence(const struct publish *p, uint64_t *last, struct dx_error *err)
{
    const struct dx_manifest *m = &p->result->manifest;
    DIR *dir = opendir(p->index);
    struct dirent *e;

    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot read", p->index);
    *last = m->sequence;
    for (size_t i = 0; i < m->version_count; i++)
        if (m->versions[i].sequence > *last)
            *last = m->versions[i].sequence;
    while ((e = readdir(dir)) != NULL) {
        uint32_t sequence = 0;

        if (dx_version_name_ok(dx_span_str(e->d_name), &sequence) && sequence > *last)
            *last = sequence;
    }
    (void)closedir(dir);
    return DX_OK;
}

/* The list that the lake's domains came from; else the one asked for, or the system's. */
static int read_psl(struct publish *p, struct dx_error *err)
{
    char own[PATH_MAX];
    const char *path = own;
    int rc = join(own, p->options->root, "urls/psl.dat", err);

    if (rc != DX_OK)
        return rc;
    if (access(own, F_OK) < 0)
        path = p->options->psl_path != NULL ? p->options->psl_path : DX_PUBLISH_PSL_SYSTEM;
    (void)snprintf(p->result->psl_path, sizeof p->result->psl_path, "%s", path);
    dx_buf_init(&p->psl, PSL_MAX);
    rc = dx_file_read(path, PSL_MAX, &p->psl, err);
    if (rc == DX_E_NOT_FOUND)
        rc = dx_fail(err, rc, "%s: no Public Suffix List there; name one with --psl", path);
    return rc;
}

/* A first guess, so that a full disk is told before an hour of work and not after it. */
static int check_space(const struct publish *p, struct dx_error *err)
{
    uint64_t need = p->result->lake_bytes / 2 + SPACE_MIN;
    struct statvfs st;
    uint64_t room;

    if (statvfs(p->index, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot ask for free space", p->index);
    room = (uint64_t)st.f_bavail * st.f_frsize;
    if (room < need)
        return dx_fail(err, DX_E_IO,
                       "%s: %llu MiB are free, about %llu MiB are needed for the "
                       "index and its temporary files",
                       p->index, (unsigned long long)(room >> 20),
                       (unsigned long long)(need >> 20));
    if (st.f_files > 0 && st.f_favail < INODES_MIN)
        return dx_fail(err, DX_E_IO, "%s: %llu inodes are free, up to %d are needed", p->index,
                       (unsigned long long)st.f_favail, INODES_MIN);
    return DX_OK;
}

/* ---- the new version ---- */

static int name_version(struct publish *p, uint64_t highest, struct dx_error *err)
{
    char *name = p->result->version;
    int64_t us = p->options->now_us - p->options->now_us % 1000000;

    if (!dx_version_name_make(highest + 1, us, name))
        return dx_fail(err, DX_E_LIMIT, "version %llu at this time has no name",
                       (unsigned long long)highest + 1);
    int rc = dx_manifest_add(&p->result->manifest, name, &p->entry, err);

    if (rc != DX_OK)
        return rc;
    p->entry->published_us = us;
    p->entry->datasets = p->lake.registry.count;
    (void)snprintf(p->entry->parquet_root, sizeof p->entry->parquet_root, "%s",
                   DX_PUBLISH_PARQUET_ROOT);
    return join(p->target, p->index, name, err);
}

static int build(struct publish *p, struct dx_error *err)
{
    struct dx_index_options options = { .dir = p->making,
                                        .tmp_dir = p->work,
                                        .psl_text = dx_span_of(p->psl.data, p->psl.size),
                                        .memory = p->options->memory,
                                        .threads = p->options->threads };
    int rc = dx_dir_make(p->making, err);

    if (rc == DX_OK)
        rc = dx_index_build(&p->lake.lake, &p->id, &options, p->entry, &p->result->index, err);
    return rc == DX_OK ? dx_dir_sync(p->making, err) : rc;
}

/* The bytes that are on disk are those that were written. */
static int check_hashes(const struct publish *p, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->entry->file_count; i++) {
        const struct dx_manifest_file *f = &p->entry->files[i];
        struct dx_map map = DX_MAP_INIT;
        struct dx_hash128 hash;
        char path[PATH_MAX];

        rc = join(path, p->target, f->name, err);
        if (rc == DX_OK)
            rc = dx_map_open(&map, path, DX_MAP_SEQUENTIAL, err);
        if (rc != DX_OK)
            return rc;
        hash = dx_hash128_of(map.bytes);
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

    options.verify = true;
    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1u << 20;
    if (rc == DX_OK)
        rc = dx_caches_new(&caches, &options, err);
    if (rc == DX_OK)
        rc = dx_version_open(&v, p->options->root, p->entry, caches, &options, err);
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
    struct dx_manifest *m = &p->result->manifest;
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char path[PATH_MAX];
    int rc = join(path, p->index, "manifest.json", err);

    (void)snprintf(m->current, sizeof m->current, "%s", p->result->version);
    m->sequence = p->entry->sequence;
    if (rc == DX_OK)
        rc = dx_manifest_write(m, &text, err);
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

    if (join(path, p->index, "manifest.json", NULL) == DX_OK && access(path, F_OK) < 0 &&
        errno == ENOENT)
        return false;
    if (dx_version_manifest(p->options->root, &m, NULL) == DX_OK)
        named = dx_manifest_find(&m, p->result->version) != NULL;
    dx_manifest_release(&m);
    return named;
}

static int put_in_place(struct publish *p, struct dx_error *err)
{
    bool may_be_named = false;
    char makes[PATH_MAX];
    int n = snprintf(makes, sizeof makes, "%s/" MAKES_PREFIX "%s", p->work, p->result->version);
    int rc = n < 0 || (size_t)n >= sizeof makes
                 ? dx_fail(err, DX_E_INVALID, "%s: path too long", p->work)
                 : dx_dir_make(makes, err);

    /* Should we die between here and the flip, the next publish knows whose the version is. */
    if (rc == DX_OK)
        rc = dx_dir_sync(p->work, err);
    if (rc != DX_OK)
        return rc;
    if (rename(p->making, p->target) < 0)
        return dx_fail_errno(err, errno, "%s: cannot rename to %s", p->making, p->target);
    rc = dx_dir_sync(p->index, err);
    if (rc == DX_OK)
        rc = check_version(p, err);
    if (rc == DX_OK)
        rc = flip(p, &may_be_named, err);
    if (rc != DX_OK && (!may_be_named || !manifest_names(p)))
        (void)dx_dir_remove(p->target, NULL);
    return rc;
}

static void enter(struct publish *p, enum dx_publish_phase phase)
{
    if (p->options->progress != NULL)
        atomic_store(&p->options->progress->phase, (int)phase);
}

static int scan(struct publish *p, struct dx_error *err)
{
    struct dx_index_scan_options options = { .tmp_dir = p->work,
                                             .memory = p->options->memory,
                                             .threads = p->options->threads,
                                             .rows_done = p->options->progress == NULL
                                                              ? NULL
                                                              : &p->options->progress->rows };
    int rc = dx_index_scan(&p->lake.lake, &options, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_index_identity(&p->lake.lake, dx_span_of(p->psl.data, p->psl.size), &p->id, err);
    p->has_id = rc == DX_OK;
    p->result->skipped_columns = p->lake.lake.skipped_columns;
    memcpy(p->result->skipped, p->lake.lake.skipped, sizeof p->result->skipped);
    return rc;
}

static bool is_unchanged(struct publish *p)
{
    const struct dx_manifest_version *current = dx_manifest_current(&p->result->manifest);

    if (current == NULL || p->options->force ||
        memcmp(&current->build, &p->id.build, sizeof current->build) != 0)
        return false;
    p->result->unchanged = true;
    memcpy(p->result->version, current->version, sizeof p->result->version);
    return true;
}

static int prepare(struct publish *p, uint64_t *highest, struct dx_error *err)
{
    char name[64];
    int rc = dx_root_lock_take(&p->lock, p->options->root, err);

    if (rc == DX_OK)
        rc = join(p->index, p->options->root, "index", err);
    if (rc == DX_OK)
        rc = dx_publish_lake_open(&p->lake, p->options->root, &p->result->lake_bytes, err);
    if (rc == DX_OK)
        rc = read_psl(p, err);
    if (rc == DX_OK)
        rc = dx_dir_make(p->index, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(p->options->root, err);
    if (rc == DX_OK)
        rc = read_manifest(p, err);
    if (rc == DX_OK)
        rc = remove_leftovers(p, err);
    if (rc == DX_OK)
        rc = last_sequence(p, highest, err);
    if (rc == DX_OK)
        rc = check_space(p, err);
    (void)snprintf(name, sizeof name, WORK_PREFIX "%ld", (long)getpid());
    if (rc == DX_OK)
        rc = join(p->work, p->index, name, err);
    if (rc == DX_OK)
        rc = join(p->making, p->work, "version", err);
    return rc == DX_OK ? dx_dir_make(p->work, err) : rc;
}

static int run(struct publish *p, struct dx_error *err)
{
    double *seconds = p->result->seconds;
    double begin = now();
    uint64_t highest = 0;
    int rc = prepare(p, &highest, err);

    seconds[DX_PUBLISH_LIST] = now() - begin;
    begin = now();
    enter(p, DX_PUBLISH_SCAN);
    if (rc == DX_OK)
        rc = scan(p, err);
    seconds[DX_PUBLISH_SCAN] = now() - begin;
    if (rc != DX_OK || is_unchanged(p))
        return rc;
    begin = now();
    enter(p, DX_PUBLISH_BUILD);
    rc = name_version(p, highest, err);
    if (rc == DX_OK)
        rc = build(p, err);
    seconds[DX_PUBLISH_BUILD] = now() - begin;
    begin = now();
    enter(p, DX_PUBLISH_CHECK);
    if (rc == DX_OK)
        rc = put_in_place(p, err);
    seconds[DX_PUBLISH_CHECK] = now() - begin;
    return rc;
}

int dx_publish(const struct dx_publish_options *options, struct dx_publish_result *result,
               struct dx_error *err)
{
    struct publish *p = calloc(1, sizeof *p);
    int rc;

    *result = (struct dx_publish_result){ .manifest = DX_MANIFEST_INIT };
    if (p == NULL)
        return dx_fail(err, DX_E_NOMEM, "publish: out of memory");
    p->options = options;
    p->result = result;
    p->lock = (struct dx_root_lock)DX_ROOT_LOCK_INIT;
    rc = run(p, err);
    if (p->work[0] != '\0')
        (void)dx_dir_remove(p->work, NULL); /* what stays, the next publish removes */
    if (p->has_id)
        dx_index_identity_release(&p->id);
    dx_publish_lake_close(&p->lake);
    dx_buf_release(&p->psl);
    dx_root_lock_drop(&p->lock);
    free(p);
    if (rc != DX_OK)
        dx_publish_result_release(result);
    return rc;
}

void dx_publish_result_release(struct dx_publish_result *result)
{
    dx_manifest_release(&result->manifest);
}
