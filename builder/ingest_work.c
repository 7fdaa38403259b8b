/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest_work.h"

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

#define PREFIX "domaindex-ingest-"
#define BELOW_MAX 256 /* bytes of the names of files in the folder */
#define TRIES 10

const char *dx_ingest_work_dir(const char *dir)
{
    const char *tmp = getenv("TMPDIR");

    if (dir != NULL)
        return dir;
    return tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
}

static bool is_ours(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* What a killed run left. That it cannot be removed is no reason not to work. */
static void remove_stale(const char *dir)
{
    struct dx_error ignored = DX_ERROR_INIT;
    struct dirent *entry;
    char path[PATH_MAX];
    DIR *d = opendir(dir);

    while (d != NULL && (entry = readdir(d)) != NULL) {
        int fd;

        if (!is_ours(dir, entry->d_name))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)dx_dir_remove(path, &ignored);
        if (fd >= 0)
            (void)close(fd);
    }
    if (d != NULL)
        (void)closedir(d);
}

/* 1 ours and locked, 0 a run that cleans up took it in between, <0 error. */
static int make(struct dx_ingest_work *w, const char *dir, struct dx_error *err)
{
    struct stat there;
    struct stat mine;

    (void)snprintf(w->path, sizeof w->path, "%s/" PREFIX "XXXXXX", dir);
    if (mkdtemp(w->path) == NULL) {
        w->path[0] = '\0';
        return dx_fail_errno(err, errno, "%s: cannot make a folder to work in (--work-dir)", dir);
    }
    w->fd = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->fd >= 0 && flock(w->fd, LOCK_EX) == 0 && fstat(w->fd, &mine) == 0 &&
        stat(w->path, &there) == 0 && there.st_ino == mine.st_ino)
        return 1;
    if (w->fd >= 0)
        (void)close(w->fd);
    *w = (struct dx_ingest_work)DX_INGEST_WORK_INIT;
    return 0;
}

int dx_ingest_work_open(struct dx_ingest_work *w, const char *dir, struct dx_error *err)
{
    int rc = 0;

    *w = (struct dx_ingest_work)DX_INGEST_WORK_INIT;
    dir = dx_ingest_work_dir(dir);
    if (strlen(dir) + BELOW_MAX >= sizeof w->path)
        return dx_fail(err, DX_E_INVALID, "%s: path too long", dir);
    remove_stale(dir);
    for (int i = 0; rc == 0 && i < TRIES; i++)
        rc = make(w, dir, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_IO,
                     "%s: cannot lock a folder there; give --work-dir on a local disk", dir);
    return rc < 0 ? rc : DX_OK;
}

void dx_ingest_work_close(struct dx_ingest_work *w)
{
    struct dx_error ignored = DX_ERROR_INIT; /* what is left is removed by the next run */

    if (w->path[0] != '\0')
        (void)dx_dir_remove(w->path, &ignored);
    if (w->fd >= 0)
        (void)close(w->fd);
    *w = (struct dx_ingest_work)DX_INGEST_WORK_INIT;
}
