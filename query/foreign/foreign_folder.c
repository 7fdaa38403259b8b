/* SPDX-License-Identifier: Apache-2.0 */
#include "query/foreign/foreign_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "format/text/locator.h"

struct dx_foreign_folder {
    int fd;
    size_t path_size;
    char path[]; /* without a slash at its end */
};

int dx_foreign_folder_open(struct dx_foreign_folder **folder, const char *path,
                           struct dx_error *err)
{
    size_t size = strlen(path);
    struct dx_foreign_folder *f = malloc(sizeof *f + size + 1);

    *folder = NULL;
    if (f == NULL)
        return dx_no_memory(err, "%s", path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    memcpy(f->path, path, size);
    f->path[size] = '\0';
    f->path_size = size;
    f->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0) {
        free(f);
        return dx_fail_errno(err, errno, "%s: cannot open the folder of foreign files", path);
    }
    *folder = f;
    return DX_OK;
}

void dx_foreign_folder_close(struct dx_foreign_folder **folder)
{
    if (*folder != NULL)
        (void)close((*folder)->fd);
    free(*folder);
    *folder = NULL;
}

/* ---- a file ---- */

static void pause_reads(struct dx_foreign_file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);
    f->fd = -1;
}

static int leads_out(const char *name, struct dx_error *err)
{
    return dx_fail(err, DX_E_INVALID,
                   "%.200s: lies outside of the folder that this server may read", name);
}

/* From the folder on; NULL: it is elsewhere. */
static const char *relative(const struct dx_foreign_folder *folder, const char *name)
{
    if (name[0] != '/')
        return strstr(name, "://") == NULL ? name : NULL;
    if (strncmp(name, folder->path, folder->path_size) != 0 || name[folder->path_size] != '/')
        return NULL;
    name += folder->path_size;
    return name + strspn(name, "/");
}

/* The kernel keeps the way to the file below the folder, whatever is renamed meanwhile. */
static int open_below(const struct dx_foreign_folder *folder, const char *name, struct stat *st,
                      struct dx_error *err)
{
    const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                                  .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
    const char *path = relative(folder, name);
    int rc = DX_OK;
    long fd;

    if (path == NULL || *path == '\0')
        return leads_out(name, err);
    do
        fd = syscall(SYS_openat2, folder->fd, path, &how, sizeof how);
    while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    if (fd < 0 && errno == EXDEV)
        return leads_out(name, err);
    if (fd < 0)
        return dx_fail_errno(err, errno, "%.200s: cannot open", name);
    if (fstat((int)fd, st) < 0)
        rc = dx_fail_errno(err, errno, "%.200s: cannot stat", name);
    else if (!S_ISREG(st->st_mode))
        rc = dx_fail(err, DX_E_INVALID, "%.200s: is not a regular file", name);
    if (rc == DX_OK)
        return (int)fd;
    (void)close((int)fd);
    return rc;
}

static int replaced(const char *name, const char *how, struct dx_error *err)
{
    return dx_fail(err, DX_E_CONFLICT, "%.200s: was replaced since it was indexed: %s", name, how);
}

static int read_footer(struct dx_foreign_file *f, const struct dx_locator *was, size_t footer_max,
                       struct dx_error *err)
{
    uint64_t size = was->was_size;
    struct dx_span metadata;
    int rc = dx_pq_footer_fetch(dx_foreign_file_read, f, size, footer_max, &f->metadata, err);

    if (rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED || rc == DX_E_UNSUPPORTED)
        return replaced(f->name, "it does not end as a Parquet file", err);
    if (rc < 0)
        return rc;
    metadata = dx_span_of(f->metadata.data, f->metadata.size);
    if (dx_hash64(metadata) != was->was_hash)
        return replaced(f->name, "it has as many bytes, and another footer", err);
    rc = dx_pq_footer_parse(&f->footer, metadata, size, err);
    return rc < 0 ? dx_fail_in(err, "%.200s", f->name) : DX_OK;
}

int dx_foreign_file_open(struct dx_foreign_file *f, const struct dx_foreign_folder *folder,
                         const struct dx_locator *locator, size_t footer_max, struct dx_error *err)
{
    int rc;

    *f = (struct dx_foreign_file){ .fd = -1,
                                   .metadata = DX_BUF_INIT((size_t)DX_PQ_FOOTER_MAX + 1) };
    f->name = strndup((const char *)locator->name.data, locator->name.size);
    if (f->name == NULL)
        return dx_no_memory(err, "a foreign file");
    f->fd = open_below(folder, f->name, &f->st, err);
    if (f->fd < 0)
        return f->fd;
    if ((uint64_t)f->st.st_size != locator->was_size)
        rc = dx_fail(err, DX_E_CONFLICT,
                     "%.200s: was replaced since it was indexed: it has %llu bytes, and had %llu",
                     f->name, (unsigned long long)f->st.st_size,
                     (unsigned long long)locator->was_size);
    else
        rc = read_footer(f, locator, footer_max, err);
    f->known = rc == DX_OK;
    pause_reads(f);
    return rc;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int check_same(const struct dx_foreign_file *f, struct dx_error *err)
{
    const struct stat *was = &f->st;
    struct stat st;

    if (fstat(f->fd, &st) < 0)
        return dx_fail_errno(err, errno, "%.200s: cannot stat", f->name);
    return st.st_dev == was->st_dev && st.st_ino == was->st_ino && st.st_size == was->st_size &&
                   same_time(&st.st_mtim, &was->st_mtim) && same_time(&st.st_ctim, &was->st_ctim)
               ? DX_OK
               : replaced(f->name, "it changed while it was being read", err);
}

int dx_foreign_file_again(struct dx_foreign_file *f, const struct dx_foreign_folder *folder,
                          struct dx_error *err)
{
    struct stat st;

    assert(f->known && f->fd < 0); /* one descriptor at a time */
    f->fd = open_below(folder, f->name, &st, err);
    return f->fd < 0 ? f->fd : check_same(f, err);
}

int dx_foreign_file_end(struct dx_foreign_file *f, struct dx_error *err)
{
    int rc = check_same(f, err);

    assert(f->fd >= 0);
    pause_reads(f);
    return rc;
}

int dx_foreign_file_read(void *file, uint64_t offset, size_t size, uint8_t *to,
                         struct dx_error *err)
{
    const struct dx_foreign_file *f = file;

    assert(f->fd >= 0); /* between open or again, and end */
    if (f->deadline_ms != 0 && dx_clock_ms() > f->deadline_ms)
        return dx_fail(err, DX_E_TIMEOUT, "%.200s: not read in time", f->name);
    return dx_file_pread(f->fd, f->name, offset, size, to, err);
}

void dx_foreign_file_close(struct dx_foreign_file *f)
{
    pause_reads(f);
    dx_pq_footer_release(&f->footer);
    dx_buf_release(&f->metadata);
    free(f->name);
    *f = (struct dx_foreign_file){ .fd = -1 };
}
