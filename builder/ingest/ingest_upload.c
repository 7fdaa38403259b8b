/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_upload.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "base/periodic.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_claim.h"
#include "builder/root/parallel.h"
#include "builder/root/progress.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

#define SHOW_EVERY_MS 200

struct uploading {
    struct dx_ingest_upload *u;
    pthread_mutex_t lock; /* everything below, and u->done */
    uint32_t *part; /* a made file: the next free number of its folder, at the folder's first */
    size_t *first;  /* a made file: the first of its folder */
    uint64_t bytes;
};

int dx_ingest_made_name(const char *dir, uint64_t number, char path[PATH_MAX], struct dx_error *err)
{
    return dx_path_format(path, PATH_MAX, err, "%s/file-%08" PRIu64, dir, number);
}

/* ---- numbers ---- */

static int take_part(struct uploading *up, size_t i, struct dx_error *err)
{
    uint32_t *next = &up->part[up->first[i]];

    if (*next > DX_LAKE_PART_MAX)
        return dx_fail(err, DX_E_LIMIT, "dataset %u: part numbers are used up",
                       up->u->made[i].path.dataset_id);
    up->u->made[i].path.part = (*next)++;
    return DX_OK;
}

/* In order, so that names do not depend on which thread is faster. */
static int number_all(struct uploading *up, struct dx_error *err)
{
    struct dx_ingest_upload *u = up->u;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < u->made_count; i++) {
        if (i > 0 && dx_lake_same_folder(&u->made[i].path, &u->made[i - 1].path)) {
            up->first[i] = up->first[i - 1];
        } else {
            up->first[i] = i;
            up->part[i] = dx_dataset_registry_next_part(
                u->registry, u->made[i].path.dataset_id,
                dx_lake_list_next_part(u->lake, &u->made[i].path));
        }
        rc = take_part(up, i, err);
    }
    return rc;
}

/* ---- putting ---- */

static int may(void *ctx, struct dx_error *err)
{
    return dx_ingest_claim_check(ctx, err);
}

/* Under the name it was given, or the next one of its folder that is free. */
static int put_free(struct uploading *up, size_t i, const char *path, struct dx_error *err)
{
    struct dx_ingest_upload *u = up->u;
    char object[DX_LAKE_PATH_MAX];
    struct dx_put put = { .object = object,
                          .path = path,
                          .if_absent = true,
                          .may = u->claim != NULL ? may : NULL,
                          .may_ctx = u->claim };
    char etag[DX_SOURCE_ETAG];
    int rc;

    for (;;) {
        rc = u->claim != NULL ? dx_ingest_claim_check(u->claim, err) : DX_OK;
        if (rc < 0)
            return rc;
        (void)dx_lake_path_format(&u->made[i].path, object);
        rc = dx_store_put(u->remote->store, &put, etag, err);
        if (rc == DX_E_UNKNOWN && u->claim != NULL)
            dx_ingest_claim_doubt(u->claim);
        if (rc != DX_E_EXISTS)
            return rc;
        (void)pthread_mutex_lock(&up->lock);
        rc = take_part(up, i, err);
        (void)pthread_mutex_unlock(&up->lock);
        if (rc < 0)
            return rc;
    }
}

static int put_one(void *ctx, size_t i, struct dx_error *err)
{
    struct uploading *up = ctx;
    struct dx_ingest_upload *u = up->u;
    char path[PATH_MAX];
    int rc;

    if (u->stopped != NULL && u->stopped())
        return dx_fail(err, DX_E_IO, "interrupted");
    rc = dx_ingest_made_name(u->dir, u->made[i].number, path, err);
    if (rc == DX_OK)
        rc = put_free(up, i, path, err);
    if (rc < 0)
        return rc;
    (void)unlink(path); /* room on the disk; the folder goes at the end anyway */
    (void)pthread_mutex_lock(&up->lock);
    up->bytes += u->made[i].size;
    u->done++;
    (void)pthread_mutex_unlock(&up->lock);
    return DX_OK;
}

static uint64_t show(void *ctx, bool asked)
{
    struct uploading *up = ctx;
    uint64_t bytes;

    (void)asked;
    (void)pthread_mutex_lock(&up->lock);
    bytes = up->bytes;
    (void)pthread_mutex_unlock(&up->lock);
    dx_progress_at(up->u->progress, bytes, bytes >> 10);
    return SHOW_EVERY_MS;
}

/* ---- the whole ---- */

static int put_all(struct uploading *up, struct dx_error *err)
{
    struct dx_ingest_upload *u = up->u;
    struct dx_periodic *ticker = NULL;
    uint64_t total = 0;
    int rc;

    for (size_t i = 0; i < u->made_count; i++)
        total += u->made[i].size;
    if (u->progress != NULL) {
        dx_progress_phase(u->progress, "uploading", "KiB", total);
        (void)dx_periodic_start(&ticker, "progress", SHOW_EVERY_MS, show, up,
                                NULL); /* a courtesy */
    }
    rc = dx_parallel(DX_INGEST_UPLOADS, u->made_count, put_one, up, err);
    dx_periodic_stop(&ticker);
    if (u->progress != NULL)
        dx_progress_end(u->progress);
    if (rc == DX_OK && u->claim != NULL)
        return dx_ingest_claim_confirm(u->claim, err);
    return rc == DX_OK ? rc
                       : dx_fail_in(err,
                                    "%zu of %zu files are in the lake, the same run again adds the "
                                    "rest",
                                    u->done, u->made_count);
}

int dx_ingest_upload_run(struct dx_ingest_upload *u, struct dx_error *err)
{
    struct uploading up = { .u = u };
    int rc;

    u->done = 0;
    if (u->made_count == 0)
        return DX_OK;
    up.part = calloc(u->made_count, sizeof *up.part);
    up.first = calloc(u->made_count, sizeof *up.first);
    (void)pthread_mutex_init(&up.lock, NULL);
    rc = up.part == NULL || up.first == NULL ? dx_no_memory(err, "ingest: %zu files", u->made_count)
                                             : number_all(&up, err);
    if (rc == DX_OK)
        rc = put_all(&up, err);
    (void)pthread_mutex_destroy(&up.lock);
    free(up.part);
    free(up.first);
    return rc;
}
