/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_whole(struct dx_map *m, const char *path, enum dx_map_advice advice, int fd,
                     struct dx_error *err)
{
    static const int advices[] = { [DX_MAP_SEQUENTIAL] = MADV_SEQUENTIAL,
                                   [DX_MAP_RANDOM] = MADV_RANDOM,
                                   [DX_MAP_WILLNEED] = MADV_WILLNEED };
    struct stat st;
    void *base;

    if (fstat(fd, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot stat", path);
    if (!S_ISREG(st.st_mode))
        return dx_fail(err, DX_E_INVALID, "%s: not a regular file", path);
    if (st.st_size == 0)
        return DX_OK;
    base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return dx_fail_errno(err, errno, "%s: cannot map %lld bytes", path, (long long)st.st_size);
    (void)madvise(base, (size_t)st.st_size, advices[advice]); /* advice only */
    m->base = base;
    m->bytes = dx_span_of(base, (size_t)st.st_size);
    return DX_OK;
}

int dx_map_open_keep(struct dx_map *m, const char *path, enum dx_map_advice advice, int *fd,
                     struct dx_error *err)
{
    int rc;

    *m = (struct dx_map)DX_MAP_INIT;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    rc = map_whole(m, path, advice, *fd, err);
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
