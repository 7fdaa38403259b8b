/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_placed.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/lake/lake_membership.h"
#include "builder/root/parallel.h"
#include "fetch/store/store.h"

static int take_paths(struct dx_publish_placed *p, char *const *paths, size_t count,
                      struct dx_error *err)
{
    p->file = calloc(count + 1, sizeof *p->file);
    p->tried = calloc(count + 1, sizeof *p->tried);
    if (p->file == NULL || p->tried == NULL)
        return dx_no_memory(err, "files for the lake");
    for (size_t i = 0; i < count; i++) {
        p->count = i + 1;
        p->file[i].etag = calloc(1, DX_SOURCE_ETAG);
        if (asprintf(&p->file[i].path, DX_LAKE_DIR "/%s", paths[i]) < 0)
            p->file[i].path = NULL;
        if (p->file[i].path == NULL || p->file[i].etag == NULL)
            return dx_no_memory(err, "files for the lake");
    }
    return DX_OK;
}

static int put_list(struct dx_publish_placed *p, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_LAKE_CLAIM_MAX);
    struct dx_put put = { .object = p->list, .if_absent = true };
    char etag[DX_SOURCE_ETAG];
    int rc;

    for (size_t i = 0; i < p->count; i++)
        dx_buf_fmt(&text, "%s\n", p->file[i].path);
    put.bytes = dx_span_of(text.data, text.size);
    rc = text.failed ? dx_buf_fail(&text, err, p->list) : dx_store_put(p->store, &put, etag, err);
    dx_buf_release(&text);
    return rc;
}

static int put_one(void *ctx, size_t i, struct dx_error *err)
{
    struct dx_publish_placed *p = ctx;
    struct dx_lake_entry *file = &p->file[i];
    char path[PATH_MAX];
    struct dx_put put = { .object = file->path, .path = path, .if_absent = true };
    int rc = dx_path_format(path, sizeof path, err, "%s/%s", p->dir,
                            file->path + strlen(DX_LAKE_DIR "/"));

    if (rc == DX_OK)
        rc = dx_file_size(path, &file->size, err);
    if (rc < 0)
        return rc;
    p->tried[i] = true;
    rc = dx_store_put(p->store, &put, file->etag, err);
    if (rc == DX_E_UNKNOWN)
        atomic_store(&p->may_come, true);
    if (rc != DX_E_EXISTS)
        return rc;
    p->tried[i] = false;
    return dx_fail(err, DX_E_CONFLICT,
                   "%s: there is such a file already; an ingest has made it meanwhile: try again",
                   file->path);
}

int dx_publish_placed_put(struct dx_publish_placed *p, struct dx_store *store, const char *version,
                          const char *dir, char *const *paths, size_t count, unsigned threads,
                          struct dx_error *err)
{
    int rc;

    *p = (struct dx_publish_placed){ .store = store, .dir = dir, .threads = threads };
    rc = take_paths(p, paths, count, err);
    if (rc < 0 || count == 0)
        return rc;
    (void)snprintf(p->list, sizeof p->list, DX_LAKE_CLAIMS "%s" DX_LAKE_CLAIM_SUFFIX, version);
    rc = put_list(p, err);
    if (rc == DX_E_EXISTS)
        p->list[0] = '\0'; /* not ours */
    return rc == DX_OK ? dx_parallel(threads, count, put_one, p, err) : rc;
}

static int remove_one(void *ctx, size_t i, struct dx_error *err)
{
    struct dx_publish_placed *p = ctx;

    (void)err;
    if (p->tried[i] && dx_store_remove(p->store, p->file[i].path, NULL) >= 0)
        p->tried[i] = false;
    return DX_OK;
}

void dx_publish_placed_undo(struct dx_publish_placed *p)
{
    bool left = atomic_load(&p->may_come);

    if (p->list[0] == '\0')
        return;
    (void)dx_parallel(p->threads, p->count, remove_one, p, NULL);
    for (size_t i = 0; i < p->count; i++)
        left = left || p->tried[i];
    if (!left)
        (void)dx_store_remove(p->store, p->list, NULL);
}

void dx_publish_placed_release(struct dx_publish_placed *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->file[i].path);
        free(p->file[i].etag);
    }
    free(p->file);
    free(p->tried);
    *p = (struct dx_publish_placed){ 0 };
}
