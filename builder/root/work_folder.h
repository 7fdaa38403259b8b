/* SPDX-License-Identifier: Apache-2.0
 * work_folder.h - a folder of one's own for temporary files, gone with its process.
 *
 *   struct dx_work_folder w = DX_WORK_FOLDER_INIT;
 *   rc = dx_work_folder_make(&w, dir, "publish", &err);     DIR/domaindex-publish-XXXXXX
 *   ... w.path ...
 *   dx_work_folder_remove(&w);                              with all below; again is fine
 *   dx_work_folder_sweep(dir, "publish");                   those of the dead, which make removes too
 *
 * dir NULL: TMPDIR, else /tmp. Only its owner can read the folder. A process that is killed leaves
 * its folder behind; the next one of the same purpose in dir, and of the same user, removes it.
 * A lock on the folder, which ends with the process, says that it lives: dir must be on
 * a local disk. One thread at a time.
 */
#ifndef DX_BUILDER_ROOT_WORK_FOLDER_H
#define DX_BUILDER_ROOT_WORK_FOLDER_H

#include "base/error.h"

#include <limits.h>

struct dx_work_folder {
    int fd;              /* holds the lock */
    char path[PATH_MAX]; /* "": none */
};

#define DX_WORK_FOLDER_INIT \
    {                       \
        -1, ""              \
    }

/* dir, or where temporary files go: TMPDIR, /tmp. */
const char *dx_work_folder_dir(const char *dir);

int dx_work_folder_make(struct dx_work_folder *w, const char *dir, const char *purpose,
                        struct dx_error *err);
void dx_work_folder_remove(struct dx_work_folder *w);
void dx_work_folder_sweep(const char *dir, const char *purpose);

#endif
