/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/work_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"

#define PREFIX_MAX 64
#define BELOW_MAX 256 /* bytes of the names of files in the folder */
#define TRIES 10      /* another process may take a new folder for a dead one before it is locked */

const char *dx_work_folder_dir(const char *dir)
{
    const char *tmp = getenv("TMPDIR");

    if (dir != NULL)
        return dir;
    return tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
}

/* A folder of this user that is not locked: its process is dead. If it cannot be removed, the run
 * continues. */
static void remove_dead(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    int fd;

    if (dx_path_format(path, sizeof path, NULL, "%s/%s", dir, name) < 0 || lstat(path, &st) < 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)dx_dir_remove(path, NULL);
    (void)close(fd);
}

static void sweep(const char *dir, const char *prefix)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    if (d == NULL)
        return; /* making a folder there will say why */
    while ((e = readdir(d)) != NULL)
        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0)
            remove_dead(dir, e->d_name);
    (void)closedir(d);
}

/* 1 ours and locked, 0 not: a sweeping process took it in between, or the system refused the lock; *cause: errno then.
 * <0 error. */
static int make_locked(struct dx_work_folder *w, const char *dir, const char *prefix, int *cause,
                       struct dx_error *err)
{
    int rc = dx_path_format(w->path, sizeof w->path, err, "%s/%sXXXXXX", dir, prefix);

    if (rc < 0)
        return rc;
    if (mkdtemp(w->path) == NULL) {
        w->path[0] = '\0';
        return dx_fail_errno(err, errno, "%s: cannot make a folder to work in (--work-dir)", dir);
    }
    w->fd = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->fd < 0 || flock(w->fd, LOCK_EX) < 0)
        *cause = errno;
    else if ((rc = dx_file_is_at(w->fd, w->path, err)) == 1)
        return 1;
    else
        *cause = ENOENT;  /* a sweeping process removed it, and another may have its name */
    (void)rmdir(w->path); /* empty, unless another process has taken its name already */
    if (w->fd >= 0)
        (void)close(w->fd);
    *w = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
    return rc;
}

void dx_work_folder_sweep(const char *dir, const char *purpose)
{
    char prefix[PREFIX_MAX];

    (void)snprintf(prefix, sizeof prefix, "domaindex-%s-", purpose);
    sweep(dir, prefix);
}

int dx_work_folder_make(struct dx_work_folder *w, const char *dir, const char *purpose,
                        struct dx_error *err)
{
    char prefix[PREFIX_MAX];
    int cause = 0;
    int rc = 0;

    assert(strlen(purpose) + sizeof "domaindex--" <= sizeof prefix);
    *w = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
    dir = dx_work_folder_dir(dir);
    if (strlen(dir) + sizeof prefix + BELOW_MAX >= sizeof w->path)
        return dx_fail(err, DX_E_INVALID, "%s: path too long", dir);
    (void)snprintf(prefix, sizeof prefix, "domaindex-%s-", purpose);
    sweep(dir, prefix);
    for (int i = 0; rc == 0 && i < TRIES; i++)
        rc = make_locked(w, dir, prefix, &cause, err);
    if (rc == 0)
        rc = dx_fail_errno(
            err, cause,
            "%s: cannot lock a folder there (if it is remote, give --work-dir on a local disk)",
            dir);
    return rc < 0 ? rc : DX_OK;
}

void dx_work_folder_remove(struct dx_work_folder *w)
{
    if (w->path[0] != '\0')
        (void)dx_dir_remove(w->path, NULL); /* what is left is removed by the next run */
    if (w->fd >= 0)
        (void)close(w->fd);
    *w = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
}
