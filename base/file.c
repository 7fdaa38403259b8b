/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WRITER_STEP_MS 20
#define PENDING_CAP (256 * 1024) /* one write per 256 kB: past the knee of syscall cost */
#define MAPPED_CAP (2u << 20)    /* a large page of the machine */

int dx_file_pread(int fd, const char *path, uint64_t offset, size_t size, uint8_t *to,
                  struct dx_error *err)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, to + done, size - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: read at offset %llu", path,
                                 (unsigned long long)(offset + done));
        if (n == 0)
            return dx_fail(err, DX_E_TRUNCATED,
                           "%s: ends at offset %llu, %zu bytes expected at %llu", path,
                           (unsigned long long)(offset + done), size, (unsigned long long)offset);
        done += (size_t)n;
    }
    return DX_OK;
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* O_NONBLOCK: an open of a FIFO would wait for a writer. Reads of regular files do not heed it. */
int dx_file_open(int directory, const char *path, int flags, struct stat *st, struct dx_error *err)
{
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
    struct stat found;
    int rc = DX_OK;

    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    if (fstat(fd, &found) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot stat", path);
    else if (!S_ISREG(found.st_mode))
        rc = dx_fail(err, DX_E_INVALID, "%s: is %s, not a regular file", path,
                     kind_of(found.st_mode));
    if (rc == DX_OK && st != NULL)
        *st = found;
    if (rc == DX_OK)
        return fd;
    (void)close(fd);
    return rc;
}

/* Whether some process has the FIFO open for writing, or has written to it: tee takes nothing out
 * of it. */
static bool has_writer(int fd, const int spare[2])
{
    return tee(fd, spare[1], 1, SPLICE_F_NONBLOCK) != 0;
}

static int wait_for_writer(int fd, const char *path, struct dx_error *err)
{
    const struct timespec step = { 0, WRITER_STEP_MS * 1000000L };
    int spare[2];
    int rc = DX_OK;

    if (pipe2(spare, O_CLOEXEC) < 0)
        return dx_fail_errno(err, errno, "%s: cannot make a pipe", path);
    for (int ms = 0; !has_writer(fd, spare) && rc == DX_OK; ms += WRITER_STEP_MS) {
        if (ms >= DX_FILE_WRITER_MS)
            rc = dx_fail(err, DX_E_INVALID,
                         "%s: is a FIFO that no process has opened for writing within %d s", path,
                         DX_FILE_WRITER_MS / 1000);
        else
            (void)nanosleep(&step, NULL);
    }
    (void)close(spare[0]);
    (void)close(spare[1]);
    return rc;
}

int dx_file_open_input(const char *path, struct stat *st, struct dx_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int flags;
    int rc = DX_OK;

    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    if (fstat(fd, st) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot stat", path);
    else if (S_ISDIR(st->st_mode))
        rc = dx_fail(err, DX_E_INVALID, "%s: is a directory; name the files in it", path);
    else if (S_ISFIFO(st->st_mode))
        rc = wait_for_writer(fd, path, err);
    if (rc == DX_OK &&
        ((flags = fcntl(fd, F_GETFL)) < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0))
        rc = dx_fail_errno(err, errno, "%s: cannot make reads wait", path);
    if (rc == DX_OK)
        return fd;
    (void)close(fd);
    return rc;
}

int dx_file_read(const char *path, size_t cap, struct dx_buf *out, struct dx_error *err)
{
    struct stat st;
    uint8_t *to;
    int fd = dx_file_open(AT_FDCWD, path, 0, &st, err);
    int rc;

    if (fd < 0)
        return fd;
    if ((uint64_t)st.st_size > cap) {
        rc = dx_fail(err, DX_E_LIMIT, "%s: %lld bytes, at most %zu are read", path,
                     (long long)st.st_size, cap);
    } else if ((to = dx_buf_reserve(out, (size_t)st.st_size)) == NULL) {
        rc = dx_buf_fail(out, err, path);
    } else {
        rc = dx_file_pread(fd, path, 0, (size_t)st.st_size, to, err);
        if (rc == DX_OK) {
            out->size += (size_t)st.st_size;
            dx_trace("reads %s: %lld bytes", path, (long long)st.st_size);
        }
    }
    (void)close(fd);
    return rc;
}

int dx_file_is_at(int fd, const char *path, struct dx_error *err)
{
    struct stat mine;
    struct stat there;

    if (fstat(fd, &mine) < 0)
        return dx_fail_errno(err, errno, "%s: cannot stat", path);
    if (lstat(path, &there) < 0)
        return errno == ENOENT ? 0 : dx_fail_errno(err, errno, "%s: cannot stat", path);
    return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

bool dx_file_is_closed(const char *path, int mode)
{
    return access(path, mode) < 0 && (errno == EACCES || errno == EPERM);
}

int dx_file_size(const char *path, uint64_t *size, struct dx_error *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot stat", path);
    *size = (uint64_t)st.st_size;
    return DX_OK;
}

int dx_file_write(int fd, const char *path, struct dx_span bytes, struct dx_error *err)
{
    while (bytes.size > 0) {
        ssize_t n = write(fd, bytes.data, bytes.size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: cannot write", path);
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return DX_OK;
}

/* The directory part of path, in out; "." if there is none. */
static void parent_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path);

    if (slash == path)
        n = 1;
    if (n == 0 || n >= PATH_MAX) {
        memcpy(out, ".", 2);
        return;
    }
    memcpy(out, path, n);
    out[n] = '\0';
}

int dx_file_keep_rights(int fd, const char *path, struct dx_error *err)
{
    struct stat before;
    struct stat now;
    mode_t mode;

    if (lstat(path, &before) < 0 || !S_ISREG(before.st_mode))
        return DX_OK;
    mode = before.st_mode & 0777;
    if (fstat(fd, &now) < 0)
        return dx_fail_errno(err, errno, "%s: cannot look at its replacement", path);
    if (now.st_uid != before.st_uid)
        (void)!fchown(fd, before.st_uid, (gid_t)-1); /* only root may */
    if (now.st_gid != before.st_gid && fchown(fd, (uid_t)-1, before.st_gid) < 0)
        mode = (mode & 0707) | (mode & 07) << 3;
    if ((now.st_mode & 0777) != mode && fchmod(fd, mode) < 0)
        return dx_fail_errno(err, errno, "%s: its replacement cannot have its mode", path);
    return DX_OK;
}

int dx_file_replace(const char *path, struct dx_span bytes, struct dx_error *err)
{
    char parent[PATH_MAX];
    char *tmp = NULL;
    int fd = -1;
    int rc;

    /* A reader sees the old file until the rename and the new one after it; the
     * temporary name carries the pid, so two writers never share one. */
    if (asprintf(&tmp, "%s.tmp-%ld", path, (long)getpid()) < 0)
        return dx_no_memory(err, "%s", path);
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        rc = dx_fail_errno(err, errno, "%s: cannot create", tmp);
        goto out;
    }
    rc = dx_file_keep_rights(fd, path, err);
    if (rc == DX_OK)
        rc = dx_file_write(fd, tmp, bytes, err);
    if (rc == DX_OK && fsync(fd) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot sync", tmp);
    if (close(fd) < 0 && rc == DX_OK)
        rc = dx_fail_errno(err, errno, "%s: cannot close", tmp);
    if (rc == DX_OK && rename(tmp, path) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot rename to %s", tmp, path);
    if (rc != DX_OK) {
        (void)unlink(tmp);
        goto out;
    }
    parent_of(path, parent);
    rc = dx_dir_sync(parent, err);
    dx_trace("writes %s: %zu bytes", path, bytes.size);
out:
    free(tmp);
    return rc;
}

static bool make_one(const char *path, mode_t mode, bool *is_new)
{
    *is_new = mkdir(path, mode) == 0;
    return *is_new || errno == EEXIST;
}

/* From the end to what is there, each name cut off by a zero byte; and down again, which takes them away. */
static int make_dirs(const char *path, mode_t mode, bool *is_new, struct dx_error *err)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    char *slash;
    bool there;

    if (n == 0 || n >= sizeof part)
        return dx_fail(err, DX_E_INVALID, "%s: path is empty or too long", path);
    memcpy(part, path, n + 1);
    while (!(there = make_one(part, mode, is_new))) {
        slash = strrchr(part, '/');
        if (slash == NULL || slash == part)
            break;
        *slash = '\0';
    }
    while (there && strlen(part) < n) {
        part[strlen(part)] = '/';
        there = make_one(part, mode, is_new);
    }
    return there ? DX_OK : dx_fail_errno(err, errno, "%s: cannot make directory", part);
}

int dx_dir_make(const char *path, struct dx_error *err)
{
    bool is_new;

    return make_dirs(path, 0755, &is_new, err);
}

int dx_dir_make_or_find(const char *path, bool *is_new, struct dx_error *err)
{
    return make_dirs(path, 0755, is_new, err);
}

int dx_dir_make_private(const char *path, struct dx_error *err)
{
    bool is_new;

    return make_dirs(path, 0700, &is_new, err);
}

static int sync_path(const char *path, int flags, struct dx_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    int rc = DX_OK;

    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    if (fsync(fd) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot sync", path);
    (void)close(fd);
    return rc;
}

int dx_dir_sync(const char *path, struct dx_error *err)
{
    return sync_path(path, O_DIRECTORY, err);
}

int dx_file_sync(const char *path, struct dx_error *err)
{
    return sync_path(path, O_NOCTTY, err);
}

int dx_sync_all_open(struct dx_sync_all *all, const char *dir, struct dx_error *err)
{
    all->dir = strdup(dir);
    if (all->dir == NULL)
        return dx_no_memory(err, "%s", dir);
    all->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return all->fd < 0 ? dx_fail_errno(err, errno, "%s: cannot open", dir) : DX_OK;
}

int dx_sync_all_flush(struct dx_sync_all *all, struct dx_error *err)
{
    return syncfs(all->fd) < 0
               ? dx_fail_errno(err, errno, "%s: cannot sync the file system", all->dir)
               : DX_OK;
}

void dx_sync_all_close(struct dx_sync_all *all)
{
    if (all->fd >= 0)
        (void)close(all->fd);
    free(all->dir);
    *all = (struct dx_sync_all)DX_SYNC_ALL_INIT;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int dx_dir_remove(const char *path, struct dx_error *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
        return dx_fail_errno(err, errno, "%s: cannot remove", path);
    return DX_OK;
}

int dx_file_out_open(struct dx_file_out *out, const char *path, struct dx_error *err)
{
    *out = (struct dx_file_out){ .fd = -1 };
    out->path = strdup(path);
    out->pending = malloc(PENDING_CAP);
    out->pending_cap = PENDING_CAP;
    out->hashing = dx_hash_state_new();
    if (out->path == NULL || out->pending == NULL || out->hashing == NULL) {
        dx_file_out_abort(out);
        return dx_no_memory(err, "%s", path);
    }
    out->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (out->fd < 0) {
        int rc = dx_fail_errno(err, errno, "%s: cannot create", path);

        dx_file_out_abort(out);
        return rc;
    }
    return DX_OK;
}

int dx_file_out_mapped(struct dx_file_out *out, struct dx_error *err)
{
    uint8_t *pending = realloc(out->pending, MAPPED_CAP);

    if (pending == NULL)
        return dx_no_memory(err, "%s", out->path);
    out->pending = pending;
    out->pending_cap = MAPPED_CAP;
    return DX_OK;
}

/* What is written begins at a multiple of pending_cap. */
int dx_file_out_write(struct dx_file_out *out, struct dx_span bytes, struct dx_error *err)
{
    const size_t cap = out->pending_cap;
    int rc = DX_OK;

    dx_hash_state_update(out->hashing, bytes);
    out->size += bytes.size;
    while (rc == DX_OK && bytes.size > 0) {
        size_t n = cap - out->pending_size < bytes.size ? cap - out->pending_size : bytes.size;

        if (out->pending_size == 0 && bytes.size >= cap) {
            n = bytes.size - bytes.size % cap;
            rc = dx_file_write(out->fd, out->path, dx_span_of(bytes.data, n), err);
        } else {
            memcpy(out->pending + out->pending_size, bytes.data, n);
            out->pending_size += n;
        }
        bytes = dx_span_from(bytes, n);
        if (rc == DX_OK && out->pending_size == cap) {
            rc = dx_file_write(out->fd, out->path, dx_span_of(out->pending, cap), err);
            out->pending_size = 0;
        }
    }
    return rc;
}

static void out_release(struct dx_file_out *out)
{
    free(out->path);
    free(out->pending);
    dx_hash_state_free(&out->hashing);
    out->path = NULL;
    out->pending = NULL;
    out->pending_size = 0;
}

int dx_file_out_close(struct dx_file_out *out, enum dx_sync sync, struct dx_error *err)
{
    int rc = dx_file_write(out->fd, out->path, dx_span_of(out->pending, out->pending_size), err);

    /* A failed fsync is never retried on the same descriptor: the kernel may have
     * dropped the pages already, and a second call would answer success. */
    if (rc == DX_OK && sync == DX_SYNC_NOW && fsync(out->fd) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot sync", out->path);
    if (rc != DX_OK) {
        dx_file_out_abort(out);
        return rc;
    }
    out->hash = dx_hash_state_digest(out->hashing);
    if (close(out->fd) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot close", out->path);
    out->fd = -1;
    dx_trace("writes %s: %llu bytes", out->path, (unsigned long long)out->size);
    out_release(out);
    return rc;
}

void dx_file_out_abort(struct dx_file_out *out)
{
    if (out->fd >= 0) {
        (void)close(out->fd);
        (void)unlink(out->path);
        out->fd = -1;
    }
    out_release(out);
}
