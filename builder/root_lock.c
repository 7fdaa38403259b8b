/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"

int dx_root_lock_take(struct dx_root_lock *lock, const char *root, struct dx_error *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/.lock", root);
    int rc;

    if (n < 0 || (size_t)n >= sizeof path)
        return dx_fail(err, DX_E_INVALID, "%s: path too long", root);
    rc = dx_dir_make(root, err);
    if (rc < 0)
        return rc;
    lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (lock->fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    if (flock(lock->fd, LOCK_EX | LOCK_NB) < 0) {
        rc = errno == EWOULDBLOCK
                 ? dx_fail(err, DX_E_BUSY,
                           "%s: another domaindex is writing there (%s is locked); wait for it",
                           root, path)
                 : dx_fail_errno(err, errno, "%s: cannot lock", path);
        dx_root_lock_drop(lock);
        return rc;
    }
    return DX_OK;
}

void dx_root_lock_drop(struct dx_root_lock *lock)
{
    if (lock->fd >= 0)
        (void)close(lock->fd);
    lock->fd = -1;
}
