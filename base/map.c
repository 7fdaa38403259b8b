/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int dx_map_open(struct dx_map *m, const char *path, enum dx_map_advice advice, struct dx_error *err)
{
    static const int advices[] = { [DX_MAP_SEQUENTIAL] = MADV_SEQUENTIAL,
                                   [DX_MAP_RANDOM] = MADV_RANDOM,
                                   [DX_MAP_WILLNEED] = MADV_WILLNEED };
    struct stat st;
    void *base;
    int fd;
    int rc = DX_OK;

    *m = (struct dx_map)DX_MAP_INIT;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    if (fstat(fd, &st) < 0) {
        rc = dx_fail_errno(err, errno, "%s: cannot stat", path);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = dx_fail(err, DX_E_INVALID, "%s: not a regular file", path);
        goto out;
    }
    if (st.st_size == 0)
        goto out;
    base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        rc = dx_fail_errno(err, errno, "%s: cannot map %lld bytes", path, (long long)st.st_size);
        goto out;
    }
    (void)madvise(base, (size_t)st.st_size, advices[advice]); /* advice only */
    m->base = base;
    m->bytes = dx_span_of(base, (size_t)st.st_size);
out:
    (void)close(fd);
    return rc;
}

void dx_map_close(struct dx_map *m)
{
    if (m->base != NULL)
        (void)munmap(m->base, m->bytes.size);
    *m = (struct dx_map)DX_MAP_INIT;
}
