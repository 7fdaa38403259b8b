/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/gc_root.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "builder/publish_probe.h"
#include "builder/registry.h"
#include "builder/root_lock.h"
#include "fetch/store.h"

#define MANIFEST "index/manifest.json"
#define LOCK_PAUSE_MS 20

static int no_manifest(const char *root, struct dx_error *err)
{
    return dx_fail(err, DX_E_NOT_FOUND,
                   "%s: no " MANIFEST " there, so this is no root that anything may be removed "
                   "from; is the name right?",
                   root);
}

/* Before the store is opened, which would make the folder. */
static int look_local(const char *root, struct dx_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/" MANIFEST, root);

    if (n < 0 || (size_t)n >= sizeof path)
        return dx_fail(err, DX_E_INVALID, "%s: path too long", root);
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? no_manifest(root, err)
                   : dx_fail_errno(err, errno, "%s: cannot stat", path);
    return DX_OK;
}

/* A store that ignores conditions would let two collectors, or a collector and a publish, undo each
 * other's work. */
static int probe(struct dx_gc_root *g, struct dx_error *err)
{
    char *url = NULL;
    int rc = dx_remote_root_url(g->root, &url, err);

    if (rc == DX_OK)
        rc = dx_publish_probe(&g->remote, url, (int64_t)time(NULL) * 1000000, err);
    free(url);
    return rc;
}

int dx_gc_root_open(struct dx_gc_root *g, const char *root, bool may_write, struct dx_error *err)
{
    int rc = DX_OK;

    *g = (struct dx_gc_root){ .root = root, .local = !dx_source_remote(root) };
    if (g->local && strstr(root, "://") == NULL)
        rc = look_local(root, err);
    if (rc == DX_OK)
        rc = dx_remote_root_open(&g->remote, root, DX_REMOTE_WRITE, err);
    if (rc == DX_OK)
        rc = dx_gc_root_read(g, err);
    if (rc == DX_OK && !g->local && may_write)
        rc = probe(g, err);
    if (rc < 0)
        dx_gc_root_close(g);
    return rc;
}

void dx_gc_root_close(struct dx_gc_root *g)
{
    dx_manifest_release(&g->manifest);
    dx_remote_root_close(&g->remote);
}

int dx_gc_root_read(struct dx_gc_root *g, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_store_stamp stamp;
    int rc = dx_store_read(g->remote.store, MANIFEST, 0, &text, &stamp, err);

    dx_manifest_release(&g->manifest);
    if (rc == 0)
        rc = no_manifest(g->root, err);
    if (rc == 1)
        rc = dx_manifest_parse(dx_span_of(text.data, text.size), MANIFEST, &g->manifest, err);
    if (rc == DX_OK) {
        memcpy(g->etag, stamp.etag, sizeof g->etag);
        g->now_us = stamp.now_us;
    }
    dx_buf_release(&text);
    return rc;
}

/* ---- writing ---- */

static int take_lock(const struct dx_gc_root *g, struct dx_root_lock *lock, struct dx_error *err)
{
    static const struct timespec pause = { 0, LOCK_PAUSE_MS * 1000000 };
    uint64_t until = dx_clock_ms() + DX_GC_LOCK_WAIT_MS;
    int rc;

    *lock = (struct dx_root_lock)DX_ROOT_LOCK_INIT;
    if (!g->local)
        return DX_OK;
    while ((rc = dx_root_lock_take(lock, g->root, err)) == DX_E_BUSY && dx_clock_ms() < until)
        (void)nanosleep(&pause, NULL);
    return rc;
}

int dx_gc_root_put(struct dx_gc_root *g, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_put put = { .object = MANIFEST, .if_match = g->etag };
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc = dx_manifest_write(&g->manifest, &text, err);

    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = take_lock(g, &lock, err);
    if (rc == DX_OK)
        rc = dx_store_put(g->remote.store, &put, etag, err);
    dx_root_lock_drop(&lock);
    dx_buf_release(&text);
    if (rc == DX_OK) {
        memcpy(g->etag, etag, sizeof g->etag);
        return 1;
    }
    return rc == DX_E_CONFLICT || rc == DX_E_UNKNOWN ? 0 : rc;
}

int dx_gc_root_raise(const struct dx_gc_root *g, const char *const *paths, size_t count,
                     struct dx_error *err)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    int rc;

    if (count == 0)
        return DX_OK;
    rc = take_lock(g, &lock, err);
    if (rc == DX_OK)
        rc = g->local ? dx_roster_raise_local(g->root, paths, count, err)
                      : dx_roster_raise_remote(&g->remote, paths, count, err);
    dx_root_lock_drop(&lock);
    return rc;
}

/* ---- folders ---- */

/* Those below path that are empty, and then path itself; what is not empty stays, for it is not
 * known here what it is. Depth is that of a version's folder: postings/xyz. */
static int remove_empty(const char *path, int depth, struct dx_error *err)
{
    DIR *dir = opendir(path);
    const struct dirent *e;
    int rc = DX_OK;

    if (dir == NULL)
        return errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "%s: cannot open folder", path);
    while (rc == DX_OK && depth > 0 && (errno = 0, e = readdir(dir)) != NULL) {
        char *below = NULL;

        if (e->d_type != DT_DIR || e->d_name[0] == '.')
            continue;
        if (asprintf(&below, "%s/%s", path, e->d_name) < 0) {
            below = NULL;
            rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", path);
        } else {
            rc = remove_empty(below, depth - 1, err);
        }
        free(below);
    }
    (void)closedir(dir);
    if (rc == DX_OK && rmdir(path) < 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
        rc = dx_fail_errno(err, errno, "%s: cannot remove", path);
    return rc;
}

int dx_gc_root_tidy(const struct dx_gc_root *g, const char *version, struct dx_error *err)
{
    char path[PATH_MAX];

    if (!g->local)
        return DX_OK;
    (void)snprintf(path, sizeof path, "%s/index/%s", g->root, version);
    return remove_empty(path, 2, err);
}
