/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/mirror.h"

#include "base/file.h"
#include "base/nonce.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct dx_mirror_tree {
    int fd; /* of the folder, with a shared lock */
    char path[DX_MIRROR_PATH];
};

/* A sweep may take the folder away between its making and the lock. */
static int open_locked(struct dx_mirror_tree *t, struct dx_error *err)
{
    for (;;) {
        int rc = dx_dir_make_private(t->path, err);

        if (rc < 0)
            return rc;
        t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (t->fd < 0 && errno == ENOENT)
            continue;
        if (t->fd < 0)
            return dx_fail_errno(err, errno, "%s: cannot open", t->path);
        while (flock(t->fd, LOCK_SH) < 0)
            if (errno != EINTR)
                return dx_fail_errno(err, errno, "%s: cannot lock", t->path);
        rc = dx_file_is_at(t->fd, t->path, err);
        if (rc == 1)
            return DX_OK;
        (void)close(t->fd);
        t->fd = -1;
        if (rc < 0)
            return rc;
    }
}

int dx_mirror_tree_open(struct dx_mirror *m, const struct dx_hash128 *key,
                        struct dx_mirror_tree **tree, struct dx_error *err)
{
    struct dx_mirror_tree *t = calloc(1, sizeof *t);
    char hex[DX_HASH128_TEXT];
    int rc;

    *tree = NULL;
    if (t == NULL)
        return dx_no_memory(err, "mirror");
    dx_hash128_text(key, hex);
    t->fd = -1;
    rc = dx_path_format(t->path, sizeof t->path, err, "%s/trees/%s", dx_mirror_dir_of(m), hex);
    if (rc == DX_OK)
        rc = open_locked(t, err);
    if (rc < 0) {
        dx_mirror_tree_close(&t);
        return rc;
    }
    (void)futimens(t->fd, NULL);
    *tree = t;
    return DX_OK;
}

const char *dx_mirror_tree_path(const struct dx_mirror_tree *tree)
{
    return tree->path;
}

bool dx_mirror_tree_has(const struct dx_mirror_tree *tree, const char *name, uint64_t size)
{
    struct stat st;

    return fstatat(tree->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == size;
}

/* Whether the name is that very object. */
static bool is_link(const struct dx_mirror_tree *tree, const char *name, const char *path)
{
    struct stat a;
    struct stat b;

    return fstatat(tree->fd, name, &a, AT_SYMLINK_NOFOLLOW) == 0 && lstat(path, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int dx_mirror_tree_link(struct dx_mirror_tree *tree, const char *name, const char *path,
                        struct dx_error *err)
{
    char folder[DX_MIRROR_PATH + 128];
    const char *slash = strrchr(name, '/');
    char nonce[DX_NONCE];
    char tmp[DX_NONCE + 8];
    int rc = DX_OK;

    if (slash != NULL) {
        rc = dx_path_format(folder, sizeof folder, err, "%s/%.*s", tree->path, (int)(slash - name),
                            name);
        if (rc == DX_OK)
            rc = dx_dir_make_private(folder, err);
        if (rc < 0)
            return rc;
    }
    if (is_link(tree, name, path))
        return DX_OK;
    /* What is there is damaged, or of an object that has gone since. Others read this tree: they
     * see the one or the other, never none. */
    dx_nonce(nonce);
    (void)snprintf(tmp, sizeof tmp, ".tmp-%s", nonce);
    if (linkat(AT_FDCWD, path, tree->fd, tmp, 0) < 0)
        return dx_fail_errno(err, errno, "%s/%s: cannot link to %s", tree->path, tmp, path);
    if (renameat(tree->fd, tmp, tree->fd, name) < 0)
        rc = dx_fail_errno(err, errno, "%s/%s: cannot rename to %s", tree->path, tmp, name);
    /* Of two names of one file rename leaves both: another process was faster with it. */
    (void)unlinkat(tree->fd, tmp, 0);
    return rc;
}

void dx_mirror_tree_close(struct dx_mirror_tree **tree)
{
    if (*tree != NULL && (*tree)->fd >= 0)
        (void)close((*tree)->fd);
    free(*tree);
    *tree = NULL;
}
