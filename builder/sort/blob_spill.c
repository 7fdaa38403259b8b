/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/sort/blob_spill.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "builder/sort/spill_file.h"

struct dx_blob_spill {
    int fd;
    char *dir; /* for messages */
    _Atomic uint64_t size;
};

int dx_blob_spill_new(struct dx_blob_spill **out, const char *tmp_dir, struct dx_error *err)
{
    struct dx_blob_spill *a = calloc(1, sizeof *a);
    int rc = DX_OK;

    *out = NULL;
    if (a == NULL)
        return dx_no_memory(err, "%s", tmp_dir);
    a->dir = strdup(tmp_dir);
    a->fd = dx_spill_open(tmp_dir, err);
    if (a->fd < 0)
        rc = a->fd;
    else if (a->dir == NULL)
        rc = dx_no_memory(err, "%s", tmp_dir);
    if (rc != DX_OK) {
        dx_blob_spill_free(&a);
        return rc;
    }
    *out = a;
    return DX_OK;
}

void dx_blob_spill_free(struct dx_blob_spill **a)
{
    if (*a == NULL)
        return;
    if ((*a)->fd >= 0)
        (void)close((*a)->fd);
    free((*a)->dir);
    free(*a);
    *a = NULL;
}

uint64_t dx_blob_spill_size(struct dx_blob_spill *a)
{
    return atomic_load(&a->size);
}

int dx_blob_spill_put(struct dx_blob_spill *a, struct dx_span bytes,
                      struct dx_blob_spill_place *place, struct dx_error *err)
{
    /* Each thread takes a stretch of the file first, so no thread waits for a write. */
    uint64_t at = atomic_fetch_add(&a->size, bytes.size);

    *place = (struct dx_blob_spill_place){ at, bytes.size, dx_hash64(bytes) };
    while (bytes.size > 0) {
        ssize_t n = pwrite(a->fd, bytes.data, bytes.size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: cannot write %zu bytes of a temporary file",
                                 a->dir, bytes.size);
        bytes = dx_span_of(bytes.data + n, bytes.size - (size_t)n);
        at += (uint64_t)n;
    }
    return DX_OK;
}

int dx_blob_spill_get(struct dx_blob_spill *a, const struct dx_blob_spill_place *place,
                      struct dx_buf *to, struct dx_error *err)
{
    uint8_t *room;

    if (place->offset > dx_blob_spill_size(a) ||
        place->size > dx_blob_spill_size(a) - place->offset)
        return dx_fail(err, DX_E_CORRUPT, "%s: a record names bytes that were not put aside",
                       a->dir);
    dx_buf_clear(to);
    room = dx_buf_reserve(to, (size_t)place->size);
    if (room == NULL)
        return dx_buf_fail(to, err, "bytes put aside");
    for (uint64_t done = 0; done < place->size;) {
        ssize_t n = pread(a->fd, room + done, place->size - done, (off_t)(place->offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: cannot read a temporary file", a->dir);
        if (n == 0)
            return dx_fail(err, DX_E_CORRUPT, "%s: a temporary file was cut", a->dir);
        done += (uint64_t)n;
    }
    to->size = (size_t)place->size;
    if (dx_hash64(dx_span_of(to->data, to->size)) != place->hash)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: a temporary file has other bytes than were written to it", a->dir);
    return DX_OK;
}
