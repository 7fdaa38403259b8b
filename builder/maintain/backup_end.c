/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/backup_end.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "fetch/download.h"
#include "fetch/store/store.h"

#define MEMORY_MAX ((size_t)4 << 20) /* objects up to this many bytes are not spooled */
#define PIECE ((size_t)1 << 20)

/* ---- open, close ---- */

int dx_backup_end_open(struct dx_backup_end *e, const char *root, enum dx_root_use use,
                       struct dx_error *err)
{
    int rc;

    *e = (struct dx_backup_end){ .root = root, .r = DX_ROOT_INIT };
    rc = dx_root_open(&e->r, root, use, err);
    if (rc == DX_OK)
        rc = dx_root_identity(e->root, &e->id, err);
    if (rc < 0)
        dx_backup_end_close(e);
    return rc;
}

void dx_backup_end_close(struct dx_backup_end *e)
{
    dx_root_close(&e->r);
    free(e->id);
    e->id = NULL;
}

/* ---- the bytes of an object ---- */

/* Where they are: in memory, or in a file, which is the object's own in a directory. */
struct held {
    struct dx_buf bytes;
    char path[PATH_MAX]; /* "": in memory */
    bool spooled;
};

static int hash_file(const char *path, struct dx_hash128 *hash, struct dx_error *err)
{
    struct dx_hash_state *state = dx_hash_state_new();
    uint8_t *piece = malloc(PIECE);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    ssize_t n = 1;
    int rc = DX_OK;

    if (state == NULL || piece == NULL)
        rc = dx_no_memory(err, "%s", path);
    else if (fd < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot open", path);
    while (rc == DX_OK && n > 0) {
        n = read(fd, piece, PIECE);
        if (n > 0)
            dx_hash_state_update(state, dx_span_of(piece, (size_t)n));
        else if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            rc = dx_fail_errno(err, errno, "%s: cannot read", path);
    }
    if (rc == DX_OK)
        *hash = dx_hash_state_digest(state);
    if (fd >= 0)
        (void)close(fd);
    free(piece);
    dx_hash_state_free(&state);
    return rc;
}

static int hold_small(const struct dx_backup_end *e, const struct dx_backup_object *o,
                      struct held *held, struct dx_error *err)
{
    const struct dx_get get = { .object = o->name, .cap = MEMORY_MAX, .pin = { .total = o->size } };
    char etag[DX_SOURCE_ETAG];
    int rc = dx_source_get(e->r.source, &get, &held->bytes, etag, err);

    return rc < 0 ? rc : DX_OK;
}

static int hold_large(const struct dx_backup_end *e, const struct dx_backup_object *o,
                      const char *work, struct held *held, struct dx_error *err)
{
    struct dx_download d = {
        .source = e->r.source, .object = o->name, .size = o->size, .pin = { .total = o->size }
    };
    int rc = e->r.in_place
                 ? dx_path_format(held->path, sizeof held->path, err, "%s/%s", e->root, o->name)
                 : dx_path_format(held->path, sizeof held->path, err, "%s", work);

    held->spooled = rc == DX_OK && !e->r.in_place;
    return rc < 0 || e->r.in_place ? rc : dx_download_run(&d, held->path, err);
}

/* 1: it is the object; 0: it is there with other bytes. */
static int hold_object(const struct dx_backup_end *e, const struct dx_backup_object *o,
                       const char *work, struct held *held, struct dx_error *err)
{
    bool small = o->size <= MEMORY_MAX;
    struct dx_hash128 hash;
    int rc;

    *held = (struct held){ .bytes = DX_BUF_INIT(MEMORY_MAX) };
    rc = small ? hold_small(e, o, held, err) : hold_large(e, o, work, held, err);
    if (rc == DX_E_LIMIT || rc == DX_E_TRUNCATED || rc == DX_E_CONFLICT)
        return 0; /* it has another size */
    if (rc == DX_OK && !small)
        rc = hash_file(held->path, &hash, err);
    if (rc < 0)
        return rc;
    if (small)
        hash = dx_hash128_of(dx_span_of(held->bytes.data, held->bytes.size));
    return dx_hash128_equal(&hash, &o->hash);
}

static void let_go(struct held *held)
{
    if (held->spooled)
        (void)unlink(held->path);
    dx_buf_release(&held->bytes);
}

int dx_backup_end_copy(const struct dx_backup_end *from, const struct dx_backup_end *to,
                       const struct dx_backup_object *object, const char *work,
                       struct dx_error *err)
{
    struct dx_put put = { .object = object->name };
    char etag[DX_SOURCE_ETAG];
    struct held held;
    int rc = hold_object(from, object, work, &held, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: %s does not have the size and hash that its version says; "
                     "'domaindex verify --root %s --deep' tells how far the damage goes",
                     from->root, object->name, from->root);
    else if (rc < 0)
        (void)dx_fail_in(err, "%s", from->root);
    if (rc == 1) {
        put.path = held.path[0] == '\0' ? NULL : held.path;
        put.bytes = dx_span_of(held.bytes.data, held.bytes.size);
        rc = dx_store_put(to->r.store, &put, etag, err);
    }
    let_go(&held);
    return rc;
}

int dx_backup_end_has(const struct dx_backup_end *e, const struct dx_backup_object *object,
                      const char *work, struct dx_error *err)
{
    struct held held;
    int rc = hold_object(e, object, work, &held, err);

    let_go(&held);
    return rc == DX_E_NOT_FOUND ? 0 : rc;
}

int dx_backup_end_write(const struct dx_backup_end *to, const char *name, struct dx_span bytes,
                        struct dx_span then, struct dx_error *err)
{
    const struct dx_put put = { .object = name, .bytes = bytes };
    char etag[DX_SOURCE_ETAG];

    return dx_span_equal(bytes, then) ? DX_OK : dx_store_put(to->r.store, &put, etag, err);
}
