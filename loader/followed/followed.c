/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/followed/followed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "fetch/local_etag.h"
#include "fetch/source_open.h"

int dx_followed_open(struct dx_followed *f, const char *root, const char *file,
                     const struct dx_source_options *options, struct dx_error *err)
{
    const struct dx_source_options defaults = DX_SOURCE_OPTIONS_INIT;

    atomic_store(&f->ended_ms, dx_clock_ms());
    if (file == NULL && dx_source_remote(root))
        return dx_source_open(&f->source, root, options == NULL ? &defaults : options, err);
    if ((file != NULL ? asprintf(&f->path, "%s", file)
                      : asprintf(&f->path, "%s/%s", root, f->object)) >= 0)
        return DX_OK;
    f->path = NULL;
    return dx_no_memory(err, "%s", f->object);
}

static int read_bytes(const struct dx_followed *f, int fd, size_t size, struct dx_buf *text,
                      struct dx_error *err)
{
    uint8_t *to;
    int rc;

    if (size > f->cap)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %zu are read", f->path, size,
                       f->cap);
    to = dx_buf_reserve(text, size);
    if (to == NULL)
        return dx_buf_fail(text, err, f->path);
    rc = dx_file_pread(fd, f->path, 0, size, to, err);
    if (rc == DX_OK)
        text->size += size;
    return rc;
}

/* The same bytes as those that were taken, in a file that says otherwise: that file is the one from
 * now on. */
static bool is_taken_text(struct dx_followed *f, const char *etag)
{
    if (f->etag[0] == '\0' || !dx_hash128_equal(&f->read, &f->taken))
        return false;
    if (strcmp(etag, f->etag) != 0)
        dx_followed_take(f, etag);
    return true;
}

static int read_file(struct dx_followed *f, struct dx_buf *text, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    size_t before = text->size;
    struct stat st;
    int fd = dx_file_open(AT_FDCWD, f->path, 0, &st, err);
    int rc = 0;

    if (fd < 0)
        return fd;
    dx_local_etag(&st, etag);
    if (strcmp(etag, f->etag) != 0 || dx_clock_ms() < f->settled_ms) {
        rc = read_bytes(f, fd, (size_t)st.st_size, text, err);
        if (rc == DX_OK) {
            f->read = dx_hash128_of(dx_buf_from(text, before));
            rc = !is_taken_text(f, etag);
        }
        if (rc == 0)
            text->size = before;
    }
    (void)close(fd);
    return rc;
}

int dx_followed_read(struct dx_followed *f, struct dx_buf *text, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    const struct dx_get get = { .object = f->object,
                                .cap = f->cap,
                                .if_none_match = f->etag[0] == '\0' ? NULL : f->etag };
    int rc;

    etag[0] = '\0';
    atomic_store(&f->began_ms, dx_clock_ms());
    rc = f->source != NULL ? dx_source_get(f->source, &get, text, etag, err)
                           : read_file(f, text, etag, err);
    atomic_store(&f->ended_ms, dx_clock_ms());
    atomic_store(&f->began_ms, 0);
    return rc;
}

void dx_followed_take(struct dx_followed *f, const char *etag)
{
    if (strcmp(f->etag, etag) != 0)
        f->settled_ms = dx_clock_ms() + DX_FOLLOWED_SETTLE_MS;
    memmove(f->etag, etag, strlen(etag) + 1);
    f->taken = f->read;
}

void dx_followed_close(struct dx_followed *f)
{
    dx_source_close(&f->source);
    free(f->path);
    f->path = NULL;
}

int dx_followed_hangs(const struct dx_followed *f, struct dx_error *why)
{
    uint64_t began = atomic_load(&f->began_ms);
    uint64_t now = dx_clock_ms();

    /* Signed: the look may have begun after we read the clock. */
    if (began == 0 || (int64_t)(now - began) < DX_FOLLOWED_LOOK_MS)
        return DX_OK;
    return dx_fail(why, DX_E_TIMEOUT,
                   "%s: a look at it began %llu s ago and has not ended: the file system or the "
                   "store does not answer; what was read before holds",
                   f->path != NULL ? f->path : f->object, (unsigned long long)(now - began) / 1000);
}

uint64_t dx_followed_age_ms(const struct dx_followed *f)
{
    int64_t age = (int64_t)(dx_clock_ms() - atomic_load(&f->ended_ms));

    return age < 0 ? 0 : (uint64_t)age;
}
