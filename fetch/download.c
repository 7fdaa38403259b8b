/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/download.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNKS (DX_DOWNLOAD_WINDOW / DX_DOWNLOAD_CHUNK)

/* A window may take so long. A line that is slower than this is as good as none, and a store that
 * sends nothing is given up by the source long before. */
#define WINDOW_FIRST_MS 30000
#define WINDOW_BYTES_A_MS 64

/* A source tries each range a few times itself. Of the thousands of ranges of a large file some
 * fail all the same, and one of them does not discard what has come. */
#define TRIES_MAX 4
#define PAUSE_MS 200

struct window {
    struct dx_read reads[CHUNKS];
    struct dx_pin pins[CHUNKS];
    struct dx_seen seen[CHUNKS];
    char etag[DX_SOURCE_ETAG]; /* of the object, once it is known */
    uint8_t *bytes;
};

/* What is there of it already: whole chunks, or all. */
static int find_end(const struct dx_download *d, int fd, const char *path, uint64_t *at,
                    struct dx_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot stat", path);
    *at = (uint64_t)st.st_size;
    if (*at == d->size)
        return DX_OK;
    *at = *at > d->size ? 0 : *at - *at % DX_DOWNLOAD_CHUNK;
    if (ftruncate(fd, (off_t)*at) < 0)
        return dx_fail_errno(err, errno, "%s: cannot cut to %llu bytes", path,
                             (unsigned long long)*at);
    return DX_OK;
}

/* The size stays: it says what has come. A file system that cannot do it says so when it is
 * full. */
static int reserve(const struct dx_download *d, int fd, const char *path, uint64_t at,
                   struct dx_error *err)
{
    if (at == d->size ||
        fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)(d->size - at)) == 0 ||
        (errno != ENOSPC && errno != EDQUOT && errno != EFBIG))
        return DX_OK;
    return dx_fail_errno(err, errno, "%s: no room for the %llu bytes of %s that are missing", path,
                         (unsigned long long)(d->size - at), d->object);
}

static size_t plan(const struct dx_download *d, uint64_t at, struct window *w, uint64_t *bytes)
{
    size_t count = 0;

    *bytes = 0;
    for (; count < CHUNKS && at + *bytes < d->size; count++) {
        uint64_t left = d->size - at - *bytes;
        size_t size = left < DX_DOWNLOAD_CHUNK ? (size_t)left : DX_DOWNLOAD_CHUNK;

        w->reads[count] = (struct dx_read){ d->object, at + *bytes, size, w->bytes + *bytes };
        w->pins[count] = (struct dx_pin){ d->size, w->etag[0] == '\0' ? NULL : w->etag };
        *bytes += size;
    }
    return count;
}

static void pause_ms(unsigned ms)
{
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

/* How often a request is made that fails so: what passes by itself, what a broken connection can
 * be to blame for, and what stays. */
static unsigned tries_of(int rc)
{
    switch (rc) {
    case DX_E_IO:
    case DX_E_BUSY:
    case DX_E_TIMEOUT:
        return TRIES_MAX;
    case DX_E_CORRUPT:
        return 2;
    default:
        return 1;
    }
}

static int read_window(const struct dx_download *d, struct window *w, size_t count, uint64_t bytes,
                       struct dx_error *err)
{
    int rc = DX_OK;

    for (unsigned try = 0;; try++) {
        struct dx_source_batch_report report = { .seen = w->seen };
        struct dx_source_batch batch = {
            .reads = w->reads,
            .pins = w->pins,
            .count = count,
            .deadline_ms = dx_clock_ms() + WINDOW_FIRST_MS + bytes / WINDOW_BYTES_A_MS,
            .fresh = d->fresh,
            .report = &report,
        };

        if (try > 0)
            pause_ms(PAUSE_MS << try);
        memset(w->seen, 0, sizeof w->seen);
        rc = dx_source_read_batch(d->source, &batch, err);
        if (rc == DX_OK || try + 1 >= tries_of(rc))
            break;
    }
    /* Within a batch the source has seen to it that they are one. */
    if (rc == DX_OK && w->etag[0] == '\0')
        memcpy(w->etag, w->seen[0].etag, sizeof w->etag);
    return rc;
}

static int fetch_rest(struct dx_download *d, int fd, const char *path, struct window *w,
                      struct dx_error *err)
{
    uint64_t at = 0;
    int rc = find_end(d, fd, path, &at, err);

    if (rc == DX_OK)
        rc = reserve(d, fd, path, at, err);
    if (rc == DX_OK && lseek(fd, (off_t)at, SEEK_SET) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot seek", path);
    if (rc == DX_OK)
        d->resumed = at;
    while (rc == DX_OK && at < d->size) {
        uint64_t bytes;
        size_t count = plan(d, at, w, &bytes);

        rc = read_window(d, w, count, bytes, err);
        if (rc == DX_OK)
            rc = dx_file_write(fd, path, dx_span_of(w->bytes, (size_t)bytes), err);
        if (rc == DX_OK && d->bytes != NULL)
            atomic_fetch_add_explicit(d->bytes, bytes, memory_order_relaxed);
        at += bytes;
    }
    return rc;
}

int dx_download_run(struct dx_download *d, const char *path, struct dx_error *err)
{
    struct window *w = calloc(1, sizeof *w);
    int fd = -1;
    int rc;

    d->resumed = 0;
    if (w != NULL)
        w->bytes = malloc(d->size < DX_DOWNLOAD_WINDOW ? (size_t)d->size + 1 : DX_DOWNLOAD_WINDOW);
    if (w == NULL || w->bytes == NULL) {
        rc = dx_no_memory(err, "%s", d->object);
        goto out;
    }
    if (d->pin.etag != NULL && strlen(d->pin.etag) < sizeof w->etag)
        memcpy(w->etag, d->pin.etag, strlen(d->pin.etag));
    if (d->size > INT64_MAX || (d->pin.total != 0 && d->pin.total != d->size)) {
        rc = dx_fail(err, DX_E_INVALID, "%s: no object has %llu bytes, or it is another one",
                     d->object, (unsigned long long)d->size);
        goto out;
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0644);
    if (fd < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot create", path);
    else
        rc = fetch_rest(d, fd, path, w, err);
    /* NFS reports a full disk only now. */
    if (fd >= 0 && close(fd) < 0 && rc == DX_OK)
        rc = dx_fail_errno(err, errno, "%s: cannot close", path);
out:
    if (w != NULL)
        free(w->bytes);
    free(w);
    return rc;
}
