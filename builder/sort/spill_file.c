/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/sort/spill_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/few_bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"

#define PENDING_CAP (128 * 1024)

struct dx_spill_file {
    int fd;
    char *dir; /* for messages */
    uint64_t size;
    struct dx_hash_state *hashing;
    size_t pending_size;
    uint8_t pending[PENDING_CAP];
};

int dx_spill_open(const char *dir, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/spill-XXXXXX", dir);
    int fd;

    if (rc < 0)
        return rc;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot create a temporary file", dir);
    if (unlink(path) < 0) {
        rc = dx_fail_errno(err, errno, "%s: cannot unlink", path);
        (void)close(fd);
        return rc;
    }
    return fd;
}

int dx_spill_file_new(struct dx_spill_file **out, const char *dir, struct dx_error *err)
{
    struct dx_spill_file *f = malloc(sizeof *f);

    *out = NULL;
    if (f == NULL)
        return dx_no_memory(err, "%s", dir);
    f->fd = -1;
    f->size = 0;
    f->pending_size = 0;
    f->dir = strdup(dir);
    f->hashing = dx_hash_state_new();
    if (f->dir == NULL || f->hashing == NULL) {
        dx_spill_file_free(&f);
        return dx_no_memory(err, "%s", dir);
    }
    f->fd = dx_spill_open(dir, err);
    if (f->fd < 0) {
        int rc = f->fd;

        dx_spill_file_free(&f);
        return rc;
    }
    *out = f;
    return DX_OK;
}

/* Bytes are hashed on their way out, not as they come: those may be a few. */
static int write_out(struct dx_spill_file *f, struct dx_span bytes, struct dx_error *err)
{
    dx_hash_state_update(f->hashing, bytes);
    return dx_file_write(f->fd, f->dir, bytes, err);
}

static int flush(struct dx_spill_file *f, struct dx_error *err)
{
    int rc = write_out(f, dx_span_of(f->pending, f->pending_size), err);

    f->pending_size = 0;
    return rc;
}

int dx_spill_file_append(struct dx_spill_file *f, struct dx_span bytes, struct dx_error *err)
{
    int rc = DX_OK;

    assert(f->pending_size <= PENDING_CAP);
    f->size += bytes.size;
    if (bytes.size > PENDING_CAP - f->pending_size) {
        rc = flush(f, err);
        if (rc == DX_OK && bytes.size >= PENDING_CAP)
            return write_out(f, bytes, err);
    }
    if (rc == DX_OK) {
        dx_few_copy(f->pending + f->pending_size, bytes.data, bytes.size);
        f->pending_size += bytes.size;
    }
    return rc;
}

int dx_spill_file_replay(struct dx_spill_file *f,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *ctx, struct dx_error *err)
{
    struct dx_hash_state *again = dx_hash_state_new();
    struct dx_hash128 wrote;
    struct dx_hash128 read_back;
    int rc;

    if (again == NULL)
        return dx_no_memory(err, "%s", f->dir);
    rc = flush(f, err);
    for (uint64_t at = 0; rc == DX_OK && at < f->size;) {
        uint64_t left = f->size - at;
        struct dx_span piece = { f->pending, left < PENDING_CAP ? (size_t)left : PENDING_CAP };

        rc = dx_file_pread(f->fd, f->dir, at, piece.size, f->pending, err);
        if (rc != DX_OK)
            break;
        dx_hash_state_update(again, piece);
        rc = sink(ctx, piece, err);
        at += piece.size;
    }
    if (rc == DX_OK) {
        wrote = dx_hash_state_digest(f->hashing);
        read_back = dx_hash_state_digest(again);
        if (!dx_hash128_equal(&wrote, &read_back))
            rc = dx_fail(err, DX_E_CORRUPT,
                         "%s: a temporary file of %llu bytes reads otherwise "
                         "than it was written: check disk and memory",
                         f->dir, (unsigned long long)f->size);
    }
    dx_hash_state_free(&again);
    return rc;
}

void dx_spill_file_free(struct dx_spill_file **f)
{
    if (*f == NULL)
        return;
    if ((*f)->fd >= 0)
        (void)close((*f)->fd);
    dx_hash_state_free(&(*f)->hashing);
    free((*f)->dir);
    free(*f);
    *f = NULL;
}
