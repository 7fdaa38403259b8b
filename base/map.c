/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int map_whole(struct dx_map *m, const char *path, enum dx_map_advice advice, int fd,
                     const struct stat *st, struct dx_error *err)
{
    static const int advices[] = { [DX_MAP_SEQUENTIAL] = MADV_SEQUENTIAL,
                                   [DX_MAP_RANDOM] = MADV_RANDOM,
                                   [DX_MAP_WILLNEED] = MADV_WILLNEED };
    void *base;

    if (st->st_size == 0)
        return DX_OK;
    base = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return dx_fail_errno(err, errno, "%s: cannot map %lld bytes", path, (long long)st->st_size);
    (void)madvise(base, (size_t)st->st_size, advices[advice]); /* advice only */
    m->base = base;
    m->bytes = dx_span_of(base, (size_t)st->st_size);
    return DX_OK;
}

int dx_map_open_keep(struct dx_map *m, const char *path, enum dx_map_advice advice, int *fd,
                     struct dx_error *err)
{
    struct stat st;
    int rc;

    *m = (struct dx_map)DX_MAP_INIT;
    *fd = dx_file_open(AT_FDCWD, path, 0, &st, err);
    if (*fd < 0) {
        rc = *fd;
        *fd = -1;
        return rc;
    }
    rc = map_whole(m, path, advice, *fd, &st, err);
    if (rc < 0) {
        (void)close(*fd);
        *fd = -1;
    }
    return rc;
}

int dx_map_open(struct dx_map *m, const char *path, enum dx_map_advice advice, struct dx_error *err)
{
    int fd;
    int rc = dx_map_open_keep(m, path, advice, &fd, err);

    if (fd >= 0)
        (void)close(fd);
    return rc;
}

void dx_map_close(struct dx_map *m)
{
    if (m->base != NULL)
        (void)munmap(m->base, m->bytes.size);
    *m = (struct dx_map)DX_MAP_INIT;
}
