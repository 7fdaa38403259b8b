/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_absent.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/root/parallel.h"
#include "builder/root/root.h"

#define THREADS 16 /* that wait for the store */

static int look_in_folder(const struct dx_lake_absent *a, struct dx_lake_entry *file,
                          struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/%s", a->root->name, file->path);

    if (rc == DX_OK)
        rc = dx_file_size(path, &file->size, err);
    /* A folder that its owner closed is one dataset's matter: it can be published without. */
    return rc < 0 && dx_file_is_closed(path, F_OK) ? DX_E_DENIED : rc;
}

static int look_in_store(const struct dx_lake_absent *a, struct dx_lake_entry *file,
                         struct dx_error *err)
{
    uint8_t byte;
    struct dx_read read = { file->path, 0, 1, &byte };
    struct dx_seen seen = { "", 0 };
    struct dx_source_batch_report report = { .seen = &seen };
    struct dx_source_batch batch = { .reads = &read, .count = 1, .report = &report };
    int rc = dx_source_read_batch(a->root->source, &batch, err);
    char *etag;

    if (rc < 0)
        return rc;
    etag = strdup(seen.etag);
    if (etag == NULL)
        return dx_no_memory(err, "lake");
    free(file->etag);
    file->etag = etag;
    file->size = seen.total > 0 ? seen.total : file->size;
    return DX_OK;
}

static int look(void *ctx, size_t i, struct dx_error *err)
{
    struct dx_lake_absent *a = ctx;
    struct dx_lake_entry *file = &a->list.file[i];
    int rc = a->root->in_place ? look_in_folder(a, file, err) : look_in_store(a, file, err);

    a->there[i] = rc == DX_OK;
    if (rc == DX_E_NOT_FOUND || rc == DX_E_DENIED)
        return DX_OK;
    return rc < 0 ? dx_fail_in(err, "%s: whether this lake file is there cannot be found out",
                               file->path)
                  : DX_OK;
}

int dx_lake_absent_look(struct dx_lake_absent *a, struct dx_error *err)
{
    assert(a->there == NULL); /* once for a list */
    a->there = calloc(a->list.count + 1, sizeof *a->there);
    if (a->there == NULL)
        return dx_no_memory(err, "lake: %zu files", a->list.count);
    return dx_parallel(THREADS, a->list.count, look, a, err);
}

void dx_lake_absent_release(struct dx_lake_absent *a)
{
    dx_lake_list_release(&a->list);
    free(a->there);
    a->there = NULL;
}
