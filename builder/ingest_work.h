/* SPDX-License-Identifier: Apache-2.0
 * ingest_work.h - a folder of a run's own, on a local disk.
 *
 *   struct dx_ingest_work w = DX_INGEST_WORK_INIT;
 *   rc = dx_ingest_work_open(&w, dir, &err);      DIR/domaindex-ingest-XXXXXX; w.path
 *   dx_ingest_work_close(&w);                     removes it with all below
 *
 * A run that is killed leaves its folder; the next that works in the same DIR removes it. Whose
 * process lives is told by a lock on the folder, which ends with the process. The folder can be
 * read by its owner alone.
 */
#ifndef DX_BUILDER_INGEST_WORK_H
#define DX_BUILDER_INGEST_WORK_H

#include "base/error.h"

#include <limits.h>

struct dx_ingest_work {
    int fd;
    char path[PATH_MAX]; /* "": none */
};

#define DX_INGEST_WORK_INIT \
    {                       \
        -1, ""              \
    }

/* dir, or where temporary files go: TMPDIR, /tmp. */
const char *dx_ingest_work_dir(const char *dir);

int dx_ingest_work_open(struct dx_ingest_work *w, const char *dir, struct dx_error *err);
void dx_ingest_work_close(struct dx_ingest_work *w);

#endif
