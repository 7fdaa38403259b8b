/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/log.h"
#include "fetch/local_etag.h"
#include "fetch/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct source_local {
    struct dx_source source;
    int root_fd;
};

static int open_object(const struct dx_source *src, const char *object, struct stat *st,
                       struct dx_error *err)
{
    const struct source_local *local = (const struct source_local *)src;

    return dx_file_open(local->root_fd, object, O_NOFOLLOW, st, err);
}

static int check_size(const struct stat *st, const char *object, uint64_t total,
                      struct dx_error *err)
{
    return total == 0 || (uint64_t)st->st_size == total
               ? DX_OK
               : dx_fail(err, DX_E_CONFLICT, "%s: %lld bytes, %llu expected", object,
                         (long long)st->st_size, (unsigned long long)total);
}

/* *fd: of the object of the read before; -1: none. */
static int read_one(const struct dx_source *src, const struct dx_source_batch *batch, size_t i,
                    int *fd, struct dx_error *err)
{
    const struct dx_read *read = &batch->reads[i];
    struct stat st;

    if (*fd < 0 || strcmp(read->object, batch->reads[i - 1].object) != 0) {
        if (*fd >= 0)
            (void)close(*fd);
        *fd = open_object(src, read->object, NULL, err);
        if (*fd < 0)
            return *fd;
    }
    if (batch->pins != NULL && batch->pins[i].total != 0) {
        int rc = fstat(*fd, &st) < 0 ? dx_fail_errno(err, errno, "%s: cannot stat", read->object)
                                     : check_size(&st, read->object, batch->pins[i].total, err);

        if (rc < 0)
            return rc;
    }
    dx_trace("reads %s: %zu bytes from %llu", read->object, read->size,
             (unsigned long long)read->offset);
    return dx_file_pread(*fd, read->object, read->offset, read->size, read->to, err);
}

static int read_batch(struct dx_source *src, const struct dx_source_batch *batch,
                      struct dx_error *err)
{
    int fd = -1;
    int rc = DX_OK;

    for (size_t i = 0; i < batch->count && rc == DX_OK; i++) {
        rc = read_one(src, batch, i, &fd, err);
        if (batch->report != NULL)
            dx_source_batch_report_read(batch, i, rc);
    }
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static int get_object(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct stat st;
    uint8_t *to;
    int fd = open_object(src, get->object, &st, err);
    int rc;

    if (fd < 0)
        return fd;
    rc = check_size(&st, get->object, get->pin.total, err);
    if (rc < 0)
        goto out;
    dx_local_etag(&st, etag);
    if (get->if_none_match != NULL && strcmp(get->if_none_match, etag) == 0)
        goto out; /* rc is 0: not modified */
    if ((uint64_t)st.st_size > get->cap) {
        rc = dx_fail(err, DX_E_LIMIT, "%s: %lld bytes, at most %zu are allowed", get->object,
                     (long long)st.st_size, get->cap);
        goto out;
    }
    to = dx_buf_reserve(out, (size_t)st.st_size);
    if (to == NULL) {
        rc = dx_buf_fail(out, err, get->object);
        goto out;
    }
    rc = dx_file_pread(fd, get->object, 0, (size_t)st.st_size, to, err);
    if (rc == DX_OK) {
        out->size += (size_t)st.st_size;
        rc = 1;
    }
out:
    (void)close(fd);
    return rc;
}

static void close_local(struct dx_source *src)
{
    struct source_local *local = (struct source_local *)src;

    (void)close(local->root_fd);
    free(local);
}

int dx_source_open_local(struct dx_source **src, const char *root, struct dx_error *err)
{
    static const struct dx_source_ops ops = { .read = read_batch,
                                              .get = get_object,
                                              .close = close_local };
    struct source_local *local = calloc(1, sizeof *local);

    *src = NULL;
    if (local == NULL)
        return dx_no_memory(err, "%s", root);
    local->source.ops = &ops;
    local->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (local->root_fd < 0) {
        int rc = dx_fail_errno(err, errno, "%s: cannot open directory", root);

        free(local);
        return rc;
    }
    *src = &local->source;
    return DX_OK;
}
