/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "fetch/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct source_local {
    struct dx_source source;
    int root_fd;
};

static int read_wave(struct dx_source *src, const struct dx_read *reads, size_t count,
                     struct dx_error *err)
{
    const struct source_local *local = (const struct source_local *)src;
    int fd = -1;
    int rc = DX_OK;

    for (size_t i = 0; i < count && rc == DX_OK; i++) {
        if (i == 0 || strcmp(reads[i].object, reads[i - 1].object) != 0) {
            if (fd >= 0)
                (void)close(fd);
            /* O_NONBLOCK: a pipe under the name of a file is an error, not a wait for ever. */
            fd = openat(local->root_fd, reads[i].object,
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
            if (fd < 0)
                return dx_fail_errno(err, errno, "%s: cannot open", reads[i].object);
        }
        rc = dx_file_pread(fd, reads[i].object, reads[i].offset, reads[i].size, reads[i].to, err);
    }
    if (fd >= 0)
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
    static const struct dx_source_ops ops = { read_wave, close_local };
    struct source_local *local = malloc(sizeof *local);

    *src = NULL;
    if (local == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
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
