/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_root.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/nonce.h"
#include "base/path.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/root_lock.h"
#include "fetch/store/store.h"

#define LAKE_DEPTH 2 /* urls/dataset_id=.../domain_prefix=... */

static int no_manifest(const char *root, struct dx_error *err)
{
    return dx_fail(err, DX_E_NOT_FOUND,
                   "%s: no " DX_MANIFEST_FILE " found: not a domaindex root; nothing was removed",
                   root);
}

/* Before the store is opened, which would make the folder. */
static int look_local(const char *root, struct dx_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = dx_path_format(path, sizeof path, err, "%s/" DX_MANIFEST_FILE, root);

    if (rc < 0)
        return rc;
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? no_manifest(root, err)
                   : dx_fail_errno(err, errno, "%s: cannot stat", path);
    return DX_OK;
}

/* A store that ignores conditions would let two collectors, or a collector and a publish, undo each
 * other's work. */
int dx_gc_root_open(struct dx_gc_root *g, const char *root, bool may_write, uint64_t wait_ms,
                    struct dx_error *err)
{
    int rc = dx_root_in_place(root) ? look_local(root, err) : DX_OK;

    *g = (struct dx_gc_root){ .root = DX_ROOT_INIT,
                              .lock_wait_ms = wait_ms,
                              .edit = { .root = &g->root,
                                        .put_lock_ms = wait_ms > 0 ? wait_ms : 1 } };
    if (rc == DX_OK)
        rc = dx_root_open(&g->root, root, DX_ROOT_WRITE, err);
    if (rc == DX_OK)
        rc = dx_gc_root_read(g, err);
    if (rc == DX_OK && !g->root.in_place && may_write)
        rc = dx_root_enter(&g->root, 0, (int64_t)time(NULL) * 1000000, err);
    if (rc < 0)
        dx_gc_root_close(g);
    return rc;
}

void dx_gc_root_close(struct dx_gc_root *g)
{
    dx_manifest_edit_release(&g->edit);
    dx_gc_objects_release(&g->leases);
    dx_root_close(&g->root);
}

int dx_gc_root_read(struct dx_gc_root *g, struct dx_error *err)
{
    int rc = dx_manifest_edit_read(&g->edit, err);

    if (rc == 1 && g->edit.now_us == 0)
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "%s: the store tells no time (Date, Last-Modified): without its clock the age "
                     "of versions and leases is unknown",
                     g->root.name);
    return rc == 0 ? no_manifest(g->root.name, err) : rc < 0 ? rc : DX_OK;
}

/* ---- writing ---- */

/* What a pass writes follows from the manifest that it read: if a put is refused, or its outcome is
 * not known, the next reading says what is left to do. */
int dx_gc_root_put(struct dx_gc_root *g, struct dx_error *err)
{
    int rc = dx_manifest_edit_put(&g->edit, err);

    if (rc == DX_OK)
        return 1;
    return rc == DX_E_CONFLICT || rc == DX_E_UNKNOWN ? 0 : rc;
}

int dx_gc_root_raise(const struct dx_gc_root *g, const char *const *paths, size_t count,
                     struct dx_error *err)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    int rc = DX_OK;

    if (count == 0)
        return DX_OK;
    lock.wait_ms = g->lock_wait_ms;
    if (g->root.in_place)
        rc = dx_root_lock_take(&lock, g->root.name, err);
    if (rc == DX_OK)
        rc = dx_dataset_registry_raise_in(&g->root, paths, count, err);
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
            rc = dx_no_memory(err, "%s", path);
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

/* ---- files on their way ---- */

/* As fetch/store/store_local.c names them: ".tmp-" and a nonce. Names of others' own making stay. */
static bool is_on_its_way(const char *name)
{
    static const char prefix[] = ".tmp-";
    size_t n = sizeof prefix - 1;

    return strncmp(name, prefix, n) == 0 && strlen(name) == n + DX_NONCE - 1 &&
           strspn(name + n, "0123456789abcdef") == DX_NONCE - 1;
}

static int sweep_folder(int above, const char *name, int depth, struct dx_error *err)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    int rc = DX_OK;

    if (dir == NULL) {
        rc = errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "%s: cannot open folder", name);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    while (rc == DX_OK && (e = readdir(dir)) != NULL) {
        if (e->d_type == DT_REG && is_on_its_way(e->d_name))
            (void)unlinkat(fd, e->d_name, 0); /* what stays is tried again */
        else if (e->d_type == DT_DIR && e->d_name[0] != '.' && depth > 0)
            rc = sweep_folder(fd, e->d_name, depth - 1, err);
    }
    (void)closedir(dir);
    return rc;
}

int dx_gc_root_sweep(const struct dx_gc_root *g, struct dx_error *err)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    char path[PATH_MAX];
    int rc;

    if (!g->root.in_place)
        return DX_OK;
    rc = dx_path_format(path, sizeof path, err, "%s/" DX_LAKE_DIR, g->root.name);
    if (rc == DX_OK)
        rc = dx_root_lock_take(&lock, g->root.name, err);
    if (rc == DX_E_BUSY) /* a writer: the next collector does it */
        return DX_OK;
    if (rc == DX_OK)
        rc = sweep_folder(AT_FDCWD, path, LAKE_DEPTH, err);
    dx_root_lock_drop(&lock);
    return rc;
}

int dx_gc_root_tidy(const struct dx_gc_root *g, const char *version, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc;

    assert(version[0] != '\0' && strchr(version, '/') == NULL);
    if (!g->root.in_place)
        return DX_OK;
    rc = dx_path_format(path, sizeof path, err, "%s/" DX_INDEX_DIR "/%s", g->root.name, version);
    return rc == DX_OK ? remove_empty(path, 2, err) : rc;
}
