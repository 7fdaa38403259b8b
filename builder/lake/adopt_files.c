/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/adopt_files.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/lake/adopt_list.h"
#include "builder/lake/ingest_claim.h"
#include "builder/root/parallel.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

#define AT_ONCE 8 /* hides the delay of a request behind others */
#define SPOOL "spool/"

/* ---- where they lie ---- */

struct check {
    struct dx_adopt_files *f;
    char root[PATH_MAX]; /* of a directory, without symbolic links, and */
    dev_t device;        /* its file system */
};

const char *dx_adopt_files_object(const struct dx_adopt_files *f, size_t i)
{
    const char *path = f->list->file[i].path;
    size_t n = strlen(f->root->name);

    assert(i < f->list->count);
    while (n > 0 && f->root->name[n - 1] == '/')
        n--;
    if (f->root->in_place || strncmp(path, f->root->name, n) != 0 || path[n] != '/')
        return NULL;
    return path + n + 1;
}

static int check_object(struct dx_adopt_files *f, size_t i, const char *object,
                        struct dx_error *err)
{
    uint64_t size = f->list->file[i].size;
    struct dx_seen seen;
    struct dx_source_batch_report report = { .seen = &seen };
    uint8_t byte;
    const struct dx_read read = { object, size - 1, 1, &byte };
    const struct dx_pin pin = { .total = size };
    const struct dx_source_batch batch = {
        .reads = &read, .pins = &pin, .count = 1, .report = &report
    };
    int rc;

    assert(size > 0);
    if (strncmp(object, SPOOL, sizeof SPOOL - 1) != 0 || !dx_object_name_valid(object))
        return dx_fail(err, DX_E_INVALID, "%s: not an object below %s/" SPOOL,
                       f->list->file[i].path, f->root->name);
    rc = dx_source_read_batch(f->root->source, &batch, err);
    if (rc < 0)
        return dx_fail_in(err, "%s, of which %llu bytes are expected", f->list->file[i].path,
                          (unsigned long long)size);
    memcpy(f->etag[i], seen.etag, sizeof seen.etag);
    return DX_OK;
}

/* Files of the lake are those of other datasets, and of versions: moved away, these would have lost
 * them. */
static int check_outside(const char *path, const char *root, struct dx_error *err)
{
    static const char *const own[] = { DX_LAKE_DIR, "index" };
    char real[PATH_MAX];
    size_t n = strlen(root);

    if (realpath(path, real) == NULL)
        return dx_fail_errno(err, errno, "%s", path);
    if (strncmp(real, root, n) != 0 || real[n] != '/')
        return DX_OK;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(real + n + 1, own[i], strlen(own[i])) == 0 &&
            real[n + 1 + strlen(own[i])] == '/')
            return dx_fail(err, DX_E_INVALID, "%s: lies in the lake itself, of which it is a file",
                           path);
    return DX_OK;
}

static int check_file(const struct check *c, size_t i, struct dx_error *err)
{
    const struct dx_adopt_files *f = c->f;
    const struct dx_adopt_file *file = &f->list->file[i];
    struct stat st;

    if (lstat(file->path, &st) < 0)
        return dx_fail_errno(err, errno, "%s", file->path);
    f->inode[i] = st.st_ino;
    if (!S_ISREG(st.st_mode))
        return dx_fail(err, DX_E_INVALID, "%s: not a regular file", file->path);
    if ((uint64_t)st.st_size != file->size)
        return dx_fail(err, DX_E_CONFLICT, "%s has %llu bytes, and %llu are expected", file->path,
                       (unsigned long long)st.st_size, (unsigned long long)file->size);
    if (!f->root->in_place)
        return DX_OK;
    if (st.st_dev != c->device)
        return dx_fail(err, DX_E_INVALID, "%s: not on the file system of the root; copy it first",
                       file->path);
    return check_outside(file->path, c->root, err);
}

static int check_one(void *ctx, size_t i, struct dx_error *err)
{
    const struct check *c = ctx;
    struct dx_adopt_files *f = c->f;
    const char *object = dx_adopt_files_object(f, i);

    if (f->list->file[i].size == 0)
        return dx_fail(err, DX_E_INVALID, "%s: a lake file is not empty", f->list->file[i].path);
    return object != NULL ? check_object(f, i, object, err) : check_file(c, i, err);
}

static int by_identity(const void *a, const void *b, void *ctx)
{
    const struct dx_adopt_files *f = ctx;
    size_t i = *(const size_t *)a;
    size_t k = *(const size_t *)b;

    if (f->inode[i] != f->inode[k])
        return f->inode[i] < f->inode[k] ? -1 : 1;
    return f->inode[i] != 0 ? 0 : strcmp(f->list->file[i].path, f->list->file[k].path);
}

/* Of a file that stands there twice the second move would fail, with the others moved already. */
static int check_once(struct dx_adopt_files *f, struct dx_error *err)
{
    size_t count = f->list->count;
    size_t *order = calloc(count, sizeof *order);
    int rc = DX_OK;

    if (order == NULL)
        return dx_no_memory(err, "%zu files", count);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, by_identity, f);
    for (size_t i = 1; rc == DX_OK && i < count; i++)
        if (by_identity(&order[i - 1], &order[i], f) == 0)
            rc = dx_fail(err, DX_E_INVALID, "the list has one file twice: %s",
                         f->list->file[order[i]].path);
    free(order);
    return rc;
}

static int look_at_root(struct check *c, struct dx_error *err)
{
    const char *root = c->f->root->name;
    struct stat st;

    if (!c->f->root->in_place)
        return DX_OK;
    if (stat(root, &st) < 0 || realpath(root, c->root) == NULL)
        return dx_fail_errno(err, errno, "%s", root);
    c->device = st.st_dev;
    return DX_OK;
}

int dx_adopt_files_check(struct dx_adopt_files *f, struct dx_error *err)
{
    struct check c = { .f = f };
    int rc;

    f->to = calloc(f->list->count, sizeof *f->to);
    f->etag = calloc(f->list->count, sizeof *f->etag);
    f->inode = calloc(f->list->count, sizeof *f->inode);
    if (f->to == NULL || f->etag == NULL || f->inode == NULL)
        return dx_no_memory(err, "%zu files", f->list->count);
    rc = look_at_root(&c, err);
    if (rc == DX_OK)
        rc = dx_parallel(f->root->in_place ? 1 : AT_ONCE, f->list->count, check_one, &c, err);
    return rc == DX_OK ? check_once(f, err) : rc;
}

int dx_adopt_files_sync(const struct dx_adopt_files *f, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < f->list->count; i++)
        rc = dx_file_sync(f->list->file[i].path, err);
    return rc;
}

/* ---- their places ---- */

static int move_file(const struct dx_adopt_files *f, size_t i, struct dx_error *err)
{
    const char *from = f->list->file[i].path;
    char below[DX_LAKE_PATH_MAX];
    char folder[PATH_MAX];
    char to[PATH_MAX];
    int rc;

    (void)dx_lake_dir_format(&f->to[i], below);
    rc = dx_path_format(folder, sizeof folder, err, "%s/%s", f->root->name, below);
    if (rc == DX_OK)
        rc = dx_dir_make(folder, err);
    (void)dx_lake_path_format(&f->to[i], below);
    if (rc == DX_OK)
        rc = dx_path_format(to, sizeof to, err, "%s/%s", f->root->name, below);
    if (rc == DX_OK && rename(from, to) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot rename to %s", from, to);
    return rc == DX_OK ? dx_dir_sync(folder, err) : rc;
}

static int may(void *ctx, struct dx_error *err)
{
    return dx_ingest_claim_check(ctx, err);
}

static int put_file(const struct dx_adopt_files *f, size_t i, struct dx_error *err)
{
    const struct dx_adopt_file *file = &f->list->file[i];
    const char *object = dx_adopt_files_object(f, i);
    char below[DX_LAKE_PATH_MAX];
    struct dx_put put = { .object = below, .may = may, .may_ctx = f->claim };
    char etag[DX_SOURCE_ETAG];
    int rc = dx_ingest_claim_check(f->claim, err);

    if (rc < 0)
        return rc;
    (void)dx_lake_path_format(&f->to[i], below);
    if (object != NULL) {
        put.from = object;
        put.from_size = file->size;
        put.from_etag = f->etag[i][0] != '\0' ? f->etag[i] : NULL;
    } else {
        put.path = file->path;
        put.if_absent = true;
    }
    rc = dx_store_put(f->root->store, &put, etag, err);
    if (rc == DX_E_UNKNOWN)
        dx_ingest_claim_doubt(f->claim);
    return rc;
}

static int place_one(void *ctx, size_t i, struct dx_error *err)
{
    const struct dx_adopt_files *f = ctx;

    return f->root->in_place ? move_file(f, i, err) : put_file(f, i, err);
}

int dx_adopt_files_place(struct dx_adopt_files *f, struct dx_error *err)
{
    assert(f->root->in_place == (f->claim == NULL));
    return dx_parallel(f->root->in_place ? 1 : AT_ONCE, f->list->count, place_one, f, err);
}

static int discard_one(void *ctx, size_t i, struct dx_error *err)
{
    const struct dx_adopt_files *f = ctx;
    const char *object = dx_adopt_files_object(f, i);

    return object != NULL ? dx_store_remove(f->root->store, object, err) : DX_OK;
}

void dx_adopt_files_discard(const struct dx_adopt_files *f)
{
    struct dx_error ignored = DX_ERROR_INIT;

    if (!f->root->in_place)
        (void)dx_parallel(AT_ONCE, f->list->count, discard_one, (void *)f, &ignored);
}

void dx_adopt_files_release(struct dx_adopt_files *f)
{
    free(f->to);
    free(f->etag);
    free(f->inode);
    f->inode = NULL;
    f->to = NULL;
    f->etag = NULL;
}
