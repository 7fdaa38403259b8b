/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* Since Linux 5.14; older headers do not know it, older kernels say EINVAL. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static int check_range(const struct dx_map_range *r, const char *path, const struct stat *st,
                       struct dx_error *err)
{
    uint64_t there = (uint64_t)st->st_size;

    if (there != r->total)
        return dx_fail(err, there < r->total ? DX_E_TRUNCATED : DX_E_CORRUPT,
                       "%s: %llu bytes, expected %llu", path, (unsigned long long)there,
                       (unsigned long long)r->total);
    if (r->at > there || r->size > there - r->at)
        return dx_fail(err, DX_E_TRUNCATED, "%s: %llu bytes, which have no %llu from %llu on", path,
                       (unsigned long long)there, (unsigned long long)r->size,
                       (unsigned long long)r->at);
    return DX_OK;
}

static int map_range(struct dx_map *m, const char *path, const struct dx_map_range *r,
                     enum dx_map_advice advice, int fd, struct dx_error *err)
{
    static const int advices[] = { [DX_MAP_SEQUENTIAL] = MADV_SEQUENTIAL,
                                   [DX_MAP_RANDOM] = MADV_RANDOM,
                                   [DX_MAP_WILLNEED] = MADV_WILLNEED };
    size_t front = (size_t)(r->at % (uint64_t)sysconf(_SC_PAGESIZE));
    size_t length = front + (size_t)r->size;
    void *base;

    if (r->size == 0)
        return DX_OK;
    base = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)(r->at - front));
    if (base == MAP_FAILED)
        return dx_fail_errno(err, errno, "%s: cannot map %llu bytes", path,
                             (unsigned long long)r->size);
    (void)madvise(base, length, advices[advice]); /* advice only */
    m->base = base;
    m->length = length;
    m->bytes = dx_span_of((const uint8_t *)base + front, (size_t)r->size);
    return DX_OK;
}

int dx_map_open_keep(struct dx_map *m, const char *path, const struct dx_map_range *range,
                     enum dx_map_advice advice, int *fd, struct dx_error *err)
{
    struct dx_map_range whole;
    struct stat st;
    int rc;

    *m = (struct dx_map)DX_MAP_INIT;
    *fd = dx_file_open(AT_FDCWD, path, 0, &st, err);
    if (*fd < 0) {
        rc = *fd;
        *fd = -1;
        return rc;
    }
    whole = (struct dx_map_range){ 0, (uint64_t)st.st_size, (uint64_t)st.st_size };
    rc = range == NULL ? DX_OK : check_range(range, path, &st, err);
    if (rc == DX_OK)
        rc = map_range(m, path, range == NULL ? &whole : range, advice, *fd, err);
    if (rc < 0) {
        (void)close(*fd);
        *fd = -1;
    } else {
        dx_trace("maps %s: %zu bytes", path, m->bytes.size);
    }
    return rc;
}

int dx_map_open_range(struct dx_map *m, const char *path, const struct dx_map_range *range,
                      enum dx_map_advice advice, struct dx_error *err)
{
    int fd;
    int rc = dx_map_open_keep(m, path, range, advice, &fd, err);

    if (fd >= 0)
        (void)close(fd);
    return rc;
}

int dx_map_open(struct dx_map *m, const char *path, enum dx_map_advice advice, struct dx_error *err)
{
    return dx_map_open_range(m, path, NULL, advice, err);
}

void dx_map_close(struct dx_map *m)
{
    if (m->base != NULL)
        (void)munmap(m->base, m->length);
    *m = (struct dx_map)DX_MAP_INIT;
}

struct dx_span dx_map_pages(struct dx_span bytes)
{
    size_t front = (size_t)((uintptr_t)bytes.data % (uintptr_t)sysconf(_SC_PAGESIZE));

    return dx_span_of(bytes.data - front, bytes.size + front);
}

static int populate(void *at, size_t size)
{
    int rc;

    do
        rc = madvise(at, size, MADV_POPULATE_READ);
    while (rc != 0 && (errno == EINTR || errno == EAGAIN));
    return rc == 0 || errno == EINVAL || errno == ENOMEM ? 0 : errno;
}

/*
 * Large pages come into the page cache where a mapping asks for them, whatever is said of random access. A second mapping does, so
 * that the advice does not stay: a page that the system took back is read alone then, not 2 MiB of it. Errors show in the first.
 */
static void fill_large(void *at, size_t size)
{
    void *second = mremap(at, 0, size, MREMAP_MAYMOVE); /* of size 0: a copy of a shared mapping */

    if (second == MAP_FAILED)
        return;
    (void)madvise(second, size, MADV_NORMAL);
    if (madvise(second, size, MADV_HUGEPAGE) == 0)
        (void)populate(second, size);
    (void)munmap(second, size);
}

int dx_map_fill(struct dx_span pages)
{
    void *at = (void *)(uintptr_t)pages.data;

    if (pages.size >= LARGE_PAGE)
        fill_large(at, pages.size);
    /* A fault of a map for random access reads one page: this reads many at a time. */
    (void)madvise(at, pages.size, MADV_WILLNEED);
    return populate(at, pages.size);
}
