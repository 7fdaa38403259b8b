/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/work_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define TRIES 10 /* somebody may take a new folder for a dead one before it is locked */

/* A folder that nobody has locked, of this user: its process is dead. */
static void remove_dead(const char *dir, const char *name)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct stat st;
    char *path = NULL;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        dx_root_lock_take(&lock, path, NULL) == DX_OK)
        (void)dx_dir_remove(path, NULL);
    dx_root_lock_drop(&lock);
    free(path);
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

static int make(struct dx_work_folder *w, const char *dir, const char *prefix, struct dx_error *err)
{
    int rc;

    if (asprintf(&w->path, "%s/%sXXXXXX", dir, prefix) < 0) {
        w->path = NULL;
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", dir);
    }
    if (mkdtemp(w->path) == NULL) {
        rc = dx_fail_errno(err, errno, "%s: cannot make a work folder there", dir);
        free(w->path);
        w->path = NULL;
        return rc;
    }
    rc = dx_root_lock_take(&w->lock, w->path, err);
    if (rc != DX_OK) {
        free(w->path);
        w->path = NULL;
    }
    return rc;
}

int dx_work_folder_make(struct dx_work_folder *w, const char *dir, const char *purpose,
                        struct dx_error *err)
{
    char prefix[64];
    int rc = DX_E_BUSY;

    (void)snprintf(prefix, sizeof prefix, "domaindex-%s-", purpose);
    dir = dir == NULL ? "/tmp" : dir;
    sweep(dir, prefix);
    for (int i = 0; rc == DX_E_BUSY && i < TRIES; i++)
        rc = make(w, dir, prefix, err);
    return rc;
}

void dx_work_folder_remove(struct dx_work_folder *w)
{
    if (w->path != NULL)
        (void)dx_dir_remove(w->path, NULL);
    dx_root_lock_drop(&w->lock);
    free(w->path);
    w->path = NULL;
}
