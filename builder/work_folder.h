/* SPDX-License-Identifier: Apache-2.0
 * work_folder.h - a folder of one's own for temporary files, gone with its process.
 *
 *   struct dx_work_folder w = DX_WORK_FOLDER_INIT;
 *   rc = dx_work_folder_make(&w, dir, "publish", &err);     DIR/domaindex-publish-XXXXXX; NULL: /tmp
 *   ... w.path ...
 *   dx_work_folder_remove(&w);
 *
 * A process that is killed leaves its folder behind; the next one of the same purpose in dir, and
 * of the same user, removes it: each holds a lock on its own (root_lock.h).
 */
#ifndef DX_BUILDER_WORK_FOLDER_H
#define DX_BUILDER_WORK_FOLDER_H

#include "builder/root_lock.h"

struct dx_work_folder {
    char *path;
    struct dx_root_lock lock;
};

#define DX_WORK_FOLDER_INIT     \
    {                           \
        NULL, DX_ROOT_LOCK_INIT \
    }

int dx_work_folder_make(struct dx_work_folder *w, const char *dir, const char *purpose,
                        struct dx_error *err);
void dx_work_folder_remove(struct dx_work_folder *w);

#endif
