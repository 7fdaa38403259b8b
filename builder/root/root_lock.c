/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/root_lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"

#define STEP_MS 20

/* 0, or -1 with errno: EWOULDBLOCK when the time is over, EINTR after a signal. */
static int lock_in_time(int fd, uint64_t wait_ms)
{
    const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
    uint64_t at_least = wait_ms > DX_ROOT_LOCK_MOMENT_MS ? wait_ms : DX_ROOT_LOCK_MOMENT_MS;
    uint64_t until = dx_clock_ms() + at_least;

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || dx_clock_ms() >= until)
            return -1;
        if (nanosleep(&step, NULL) < 0)
            return -1;
    }
    return 0;
}

int dx_root_lock_take(struct dx_root_lock *lock, const char *root, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/.lock", root);

    assert(lock->fd < 0); /* it is not taken */
    if (rc == DX_OK)
        rc = dx_dir_make(root, err);
    if (rc < 0)
        return rc;
    lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (lock->fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    if (lock_in_time(lock->fd, lock->wait_ms) < 0) {
        rc = errno == EWOULDBLOCK
                 ? dx_fail(err, DX_E_BUSY,
                           "%s: another domaindex is writing there (%s is locked); run this again "
                           "when it has ended, or give --wait SECONDS",
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
