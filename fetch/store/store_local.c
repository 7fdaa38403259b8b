/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/nonce.h"
#include "base/path.h"
#include "fetch/local_etag.h"
#include "fetch/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TMP_PREFIX ".tmp-"
#define COPY_SIZE (1u << 20)

struct store_local {
    struct dx_store store;
    char root[PATH_MAX];
};

static int path_of(const struct store_local *local, const char *object, char path[PATH_MAX],
                   struct dx_error *err)
{
    return dx_path_format(path, PATH_MAX, err, "%s/%s", local->root, object);
}

/* Makes the folders above path, each synced into the one above it before anything goes into it:
 * after a crash there is no file in a folder that is not there. *folder: where the file goes. */
static int make_folders(const struct store_local *local, const char *path, char folder[PATH_MAX],
                        struct dx_error *err)
{
    size_t root_size = strlen(local->root);

    memcpy(folder, path, strlen(path) + 1);
    for (char *p = folder + root_size + 1; *p != '\0'; p++) {
        char *up;
        bool made;
        int rc = DX_OK;

        if (*p != '/')
            continue;
        *p = '\0';
        made = mkdir(folder, 0755) == 0;
        if (!made && errno != EEXIST)
            return dx_fail_errno(err, errno, "%s: cannot make directory", folder);
        if (made) {
            up = strrchr(folder, '/');
            *up = '\0';
            rc = dx_dir_sync(folder, err);
            *up = '/';
        }
        *p = '/';
        if (rc < 0)
            return rc;
    }
    *strrchr(folder, '/') = '\0';
    return DX_OK;
}

static int copy_file(struct dx_file_out *out, const char *from, struct dx_error *err)
{
    uint8_t *piece = malloc(COPY_SIZE);
    struct stat st = { .st_size = 0 };
    int fd = dx_file_open(AT_FDCWD, from, 0, &st, err);
    uint64_t at = 0;
    int rc = fd < 0 ? fd : DX_OK;

    if (rc == DX_OK && piece == NULL)
        rc = dx_no_memory(err, "%s", from);
    while (rc == DX_OK && at < (uint64_t)st.st_size) {
        uint64_t left = (uint64_t)st.st_size - at;
        size_t n = left < COPY_SIZE ? (size_t)left : COPY_SIZE;

        rc = dx_file_pread(fd, from, at, n, piece, err);
        if (rc == DX_OK)
            rc = dx_file_out_write(out, dx_span_of(piece, n), err);
        at += n;
    }
    if (fd >= 0)
        (void)close(fd);
    free(piece);
    return rc;
}

static int write_tmp(const struct store_local *local, const struct dx_put *put, const char *tmp,
                     const char *target, struct dx_error *err)
{
    const char *path = put->path;
    struct dx_file_out out;
    char from[PATH_MAX];
    int rc = put->from != NULL ? path_of(local, put->from, from, err) : DX_OK;

    if (rc == DX_OK)
        rc = dx_file_out_open(&out, tmp, err);
    if (rc < 0)
        return rc;
    if (put->from != NULL)
        path = from;
    if (!put->if_absent)
        rc = dx_file_keep_rights(out.fd, target, err);
    if (rc == DX_OK)
        rc = path != NULL ? copy_file(&out, path, err) : dx_file_out_write(&out, put->bytes, err);
    if (rc == DX_OK)
        rc = dx_file_out_close(&out, DX_SYNC_NOW, err);
    if (rc < 0)
        dx_file_out_abort(&out);
    return rc;
}

/* A reader sees the old file, or none, until the link or rename, and the whole new one after. */
static int put_in_place(const struct dx_put *put, const char *tmp, const char *path,
                        struct dx_error *err)
{
    struct stat st;
    char etag[DX_SOURCE_ETAG];

    if (put->if_absent) {
        if (link(tmp, path) == 0)
            return DX_OK;
        return errno == EEXIST ? dx_fail(err, DX_E_EXISTS, "%s is there already", path)
                               : dx_fail_errno(err, errno, "%s: cannot link to %s", tmp, path);
    }
    if (put->if_match != NULL) {
        if (lstat(path, &st) < 0)
            return errno == ENOENT ? dx_fail(err, DX_E_CONFLICT, "%s is gone", path)
                                   : dx_fail_errno(err, errno, "%s: cannot stat", path);
        dx_local_etag(&st, etag);
        if (!S_ISREG(st.st_mode) || strcmp(etag, put->if_match) != 0)
            return dx_fail(err, DX_E_CONFLICT, "%s is another one by now", path);
    }
    return rename(tmp, path) == 0 ? DX_OK
                                  : dx_fail_errno(err, errno, "%s: cannot rename to %s", tmp, path);
}

static int put_local(struct dx_store *store, const struct dx_put *put, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    const struct store_local *local = (const struct store_local *)store;
    char path[PATH_MAX];
    char folder[PATH_MAX];
    char nonce[DX_NONCE];
    char *tmp = NULL;
    struct stat st;
    int fd = -1;
    int rc = path_of(local, put->object, path, err);

    if (rc == DX_OK)
        rc = make_folders(local, path, folder, err);
    if (rc < 0)
        return rc;
    dx_nonce(nonce);
    if (asprintf(&tmp, "%s/" TMP_PREFIX "%s", folder, nonce) < 0)
        return dx_no_memory(err, "%s", path);
    rc = write_tmp(local, put, tmp, path, err);
    if (rc == DX_OK && put->may != NULL) {
        rc = put->may(put->may_ctx, err);
        rc = rc > 0 ? DX_OK : rc;
    }
    if (rc == DX_OK && (fd = open(tmp, O_PATH | O_CLOEXEC)) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot open", tmp);
    if (rc == DX_OK)
        rc = put_in_place(put, tmp, path, err);
    /* After a rename it is not there; after a link it is the second name of the file. */
    (void)unlink(tmp);
    if (rc == DX_OK)
        rc = dx_dir_sync(folder, err);
    /* Of this very file, whatever has become of its name; only now, as the names count in it. */
    if (rc == DX_OK && fstat(fd, &st) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot stat", path);
    if (rc == DX_OK)
        dx_local_etag(&st, etag);
    if (fd >= 0)
        (void)close(fd);
    free(tmp);
    return rc;
}

struct entry {
    char *name; /* a folder's with a slash at its end: so its files sort where they belong */
    uint64_t size;
    char etag[DX_SOURCE_ETAG];
};

struct folder {
    struct entry *entries;
    size_t count, room;
};

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void free_folder(struct folder *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->entries[i].name);
    free(f->entries);
}

/* Names of files on their way: dx_store_put's, and those of base/file.h, "name.tmp-PID". */
static bool temporary(const char *name)
{
    const char *at = strstr(name, ".tmp-");

    if (at == NULL)
        return false;
    return at == name || (at[5] != '\0' && at[5 + strspn(at + 5, "0123456789")] == '\0');
}

static int add_entry(struct folder *f, const char *path, const char *name, const struct stat *st,
                     struct dx_error *err)
{
    struct entry *e;

    if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
        return dx_fail(err, DX_E_INVALID,
                       "%s/%s is neither file nor folder: a symbolic link is not followed, since "
                       "it may lead out of the root",
                       path, name);
    if (f->count == f->room) {
        size_t room = f->room == 0 ? 64 : 2 * f->room;
        struct entry *more = reallocarray(f->entries, room, sizeof *more);

        if (more == NULL)
            return dx_no_memory(err, "%s", path);
        f->entries = more;
        f->room = room;
    }
    e = &f->entries[f->count];
    if (asprintf(&e->name, "%s%s", name, S_ISDIR(st->st_mode) ? "/" : "") < 0)
        return dx_no_memory(err, "%s", path);
    e->size = (uint64_t)st->st_size;
    dx_local_etag(st, e->etag);
    f->count++;
    return DX_OK;
}

/* Closed before its folders are read: depth costs no descriptors. Absent is empty. */
static int read_folder(struct folder *f, const char *path, struct dx_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;
    int rc = DX_OK;

    if (dir == NULL) {
        rc = errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "%s: cannot open folder", path);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    while (rc == DX_OK && (errno = 0, d = readdir(dir)) != NULL) {
        struct stat st;

        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 || temporary(d->d_name))
            continue;
        if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            rc = add_entry(f, path, d->d_name, &st, err);
        else if (errno != ENOENT) /* gone since */
            rc = dx_fail_errno(err, errno, "%s/%s: cannot stat", path, d->d_name);
    }
    if (rc == DX_OK && errno != 0 && d == NULL)
        rc = dx_fail_errno(err, errno, "%s: cannot read folder", path);
    (void)closedir(dir);
    if (rc == DX_OK && f->count > 1)
        qsort(f->entries, f->count, sizeof *f->entries, compare_entries);
    return rc;
}

struct listing {
    const struct store_local *local;
    dx_store_each *each;
    void *ctx;
    char object[DX_OBJECT_NAME_MAX + 2]; /* the name so far; a folder's ends in a slash */
};

static int list_entry(struct listing *l, const struct entry *e, struct dx_error *err);

/* Depth is bounded by the length of a name. */
static int list_folder(struct listing *l, struct dx_error *err)
{
    char path[PATH_MAX];
    struct folder f = { NULL, 0, 0 };
    int rc = path_of(l->local, l->object, path, err);

    /* With the slash a link under this name would be followed. The root may be one. */
    if (l->object[0] != '\0')
        path[strlen(path) - 1] = '\0';
    if (rc == DX_OK)
        rc = read_folder(&f, path, err);
    for (size_t i = 0; i < f.count && rc == DX_OK; i++)
        rc = list_entry(l, &f.entries[i], err);
    free_folder(&f);
    return rc;
}

static int list_entry(struct listing *l, const struct entry *e, struct dx_error *err)
{
    size_t before = strlen(l->object);
    size_t n = strlen(e->name);
    bool folder = e->name[n - 1] == '/';
    int rc;

    if (before + n > DX_OBJECT_NAME_MAX)
        return dx_fail(err, DX_E_INVALID, "%s%s: the name has more than %d bytes", l->object,
                       e->name, DX_OBJECT_NAME_MAX);
    memcpy(l->object + before, e->name, n - folder);
    l->object[before + n - folder] = '\0';
    if (!dx_object_name_valid(l->object)) {
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: '%s' is not the name of an object: move it out of the root",
                     l->local->root, l->object);
    } else if (folder) {
        l->object[before + n - 1] = '/';
        l->object[before + n] = '\0';
        rc = list_folder(l, err);
    } else {
        const struct dx_listed listed = { l->object, e->size, e->etag };

        rc = l->each(l->ctx, &listed, err);
        rc = rc > 0 ? DX_OK : rc;
    }
    l->object[before] = '\0';
    return rc;
}

static int list_local(struct dx_store *store, const char *prefix, dx_store_each *each, void *ctx,
                      struct dx_error *err)
{
    struct listing l = { (const struct store_local *)store, each, ctx, "" };

    memcpy(l.object, prefix, strlen(prefix) + 1);
    return list_folder(&l, err);
}

static int remove_local(struct dx_store *store, const char *object, struct dx_error *err)
{
    const struct store_local *local = (const struct store_local *)store;
    char path[PATH_MAX];
    int rc = path_of(local, object, path, err);

    if (rc < 0)
        return rc;
    if (unlink(path) < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? DX_OK
                   : dx_fail_errno(err, errno, "%s: cannot remove", path);
    /* The folder may be gone too by now, if another process removes empty ones: then the one above
     * it says so. The root stays. */
    do {
        *strrchr(path, '/') = '\0';
        rc = dx_dir_sync(path, err);
    } while (rc == DX_E_NOT_FOUND && strlen(path) > strlen(local->root));
    return rc;
}

static int64_t us_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000;
}

/* What the file system stamps a file with that is written now: another machine's time if it is
 * theirs. A process that may not write there has this machine's clock. */
static int clock_of(const struct store_local *local, int64_t *now_us, struct dx_error *err)
{
    struct timespec now = { 0, 0 };
    char path[PATH_MAX];
    struct stat st;
    char nonce[DX_NONCE];
    int fd = open(local->root, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int rc = DX_OK;

    path[0] = '\0';
    if (fd < 0) { /* a file system without nameless files */
        dx_nonce(nonce);
        if (dx_path_format(path, sizeof path, NULL, "%s/" TMP_PREFIX "%s", local->root, nonce) ==
            DX_OK)
            fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (fd >= 0) {
        rc = dx_file_write(fd, local->root, dx_span_of("", 1), err); /* it may be interrupted */
        if (rc == DX_OK && fstat(fd, &st) < 0)
            rc = dx_fail_errno(err, errno, "%s: cannot write a file to see the time", local->root);
        if (rc == DX_OK)
            now = st.st_mtim;
        if (path[0] != '\0')
            (void)unlink(path);
        (void)close(fd);
    } else if (errno == EACCES || errno == EPERM || errno == EROFS) {
        (void)clock_gettime(CLOCK_REALTIME, &now);
    } else {
        rc = dx_fail_errno(err, errno, "%s: cannot make a file to see the time", local->root);
    }
    *now_us = us_of(&now);
    return rc;
}

static int read_file(int fd, const char *path, const struct stat *st, struct dx_buf *out,
                     struct dx_store_stamp *stamp, struct dx_error *err)
{
    uint8_t *to;
    int rc;

    if ((uint64_t)st->st_size > out->max - out->size)
        return dx_fail(err, DX_E_LIMIT, "%s: %lld bytes, at most %zu are allowed", path,
                       (long long)st->st_size, out->max - out->size);
    to = dx_buf_reserve(out, (size_t)st->st_size);
    if (to == NULL)
        return dx_buf_fail(out, err, path);
    rc = dx_file_pread(fd, path, 0, (size_t)st->st_size, to, err);
    if (rc < 0)
        return rc;
    out->size += (size_t)st->st_size;
    dx_local_etag(st, stamp->etag);
    stamp->modified_us = us_of(&st->st_mtim);
    return 1;
}

/* Never waits for anybody: deadline_ms is for stores. */
static int read_local(struct dx_store *store, const char *object, uint64_t deadline_ms,
                      struct dx_buf *out, struct dx_store_stamp *stamp, struct dx_error *err)
{
    const struct store_local *local = (const struct store_local *)store;
    char path[PATH_MAX];
    struct stat st;
    int fd;
    int rc = path_of(local, object, path, err);

    (void)deadline_ms;
    if (rc == DX_OK)
        rc = clock_of(local, &stamp->now_us, err);
    if (rc < 0)
        return rc;
    fd = dx_file_open(AT_FDCWD, path, O_NOFOLLOW, &st, err);
    if (fd < 0)
        return fd == DX_E_NOT_FOUND ? 0 : fd;
    rc = read_file(fd, path, &st, out, stamp, err);
    (void)close(fd);
    return rc;
}

static void close_local(struct dx_store *store)
{
    free(store);
}

int dx_store_open_local(struct dx_store **store, const char *root, struct dx_error *err)
{
    static const struct dx_store_ops ops = { .put = put_local,
                                             .list = list_local,
                                             .remove = remove_local,
                                             .read = read_local,
                                             .close = close_local };
    struct store_local *local = calloc(1, sizeof *local);
    size_t n = strlen(root);
    int rc;

    *store = NULL;
    if (local == NULL)
        return dx_no_memory(err, "%s", root);
    local->store.ops = &ops;
    rc = n == 0 || n >= PATH_MAX / 2
             ? dx_fail(err, DX_E_INVALID, "%s: the path is empty or too long", root)
             : dx_dir_make(root, err);
    if (rc < 0) {
        free(local);
        return rc;
    }
    memcpy(local->root, root, n + 1);
    while (n > 1 && local->root[n - 1] == '/')
        local->root[--n] = '\0';
    *store = &local->store;
    return DX_OK;
}
