/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/mirror.h"

#include "base/file.h"
#include "base/path.h"
#include "fetch/download.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_MAX_BYTES 64              /* 32 hex digits, '-', 20 digits */
#define DIR_MAX (DX_MIRROR_PATH - 256) /* what stands behind it fits */
#define HASH_PIECE (1u << 20)

struct dx_mirror {
    char *dir;
    struct dx_mirror_counts counts;
};

/* ---- where ---- */

int dx_mirror_place(const char *dir, char path[DX_MIRROR_PATH], struct dx_error *err)
{
    const char *systemd = getenv("CACHE_DIRECTORY");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n;

    /* systemd separates several by colons. */
    if (dir != NULL)
        n = snprintf(path, DX_MIRROR_PATH, "%s", dir);
    else if (systemd != NULL && systemd[0] == '/')
        n = snprintf(path, DX_MIRROR_PATH, "%.*s", (int)strcspn(systemd, ":"), systemd);
    else if (xdg != NULL && xdg[0] == '/')
        n = snprintf(path, DX_MIRROR_PATH, "%s/domaindex", xdg);
    else if (home != NULL && home[0] == '/')
        n = snprintf(path, DX_MIRROR_PATH, "%s/.cache/domaindex", home);
    else
        return dx_fail(err, DX_E_INVALID,
                       "no directory for copies of the index: name one (--cache-dir), or set "
                       "CACHE_DIRECTORY, XDG_CACHE_HOME or HOME");
    if (n <= 0 || n > DIR_MAX)
        return dx_fail(err, DX_E_INVALID, "mirror: the directory's name is empty or over %d bytes",
                       DIR_MAX);
    return DX_OK;
}

static int make_dir(const struct dx_mirror *m, const char *name, struct dx_error *err)
{
    char path[DX_MIRROR_PATH];
    int rc = dx_path_format(path, sizeof path, err, "%s/%s", m->dir, name);

    return rc == DX_OK ? dx_dir_make_private(path, err) : rc;
}

int dx_mirror_open(struct dx_mirror **out, const char *dir, struct dx_error *err)
{
    struct dx_mirror *m = calloc(1, sizeof *m);
    char place[DX_MIRROR_PATH];
    int rc;

    *out = NULL;
    if (m == NULL)
        return dx_no_memory(err, "mirror");
    rc = dx_mirror_place(dir, place, err);
    if (rc == DX_OK && (m->dir = strdup(place)) == NULL)
        rc = dx_no_memory(err, "mirror");
    if (rc == DX_OK)
        rc = make_dir(m, "objects", err);
    if (rc == DX_OK)
        rc = make_dir(m, "partial", err);
    if (rc == DX_OK)
        rc = make_dir(m, "trees", err);
    if (rc == DX_OK)
        *out = m;
    else
        dx_mirror_close(&m);
    return rc;
}

void dx_mirror_close(struct dx_mirror **m)
{
    if (*m != NULL)
        free((*m)->dir);
    free(*m);
    *m = NULL;
}

const struct dx_mirror_counts *dx_mirror_counts_of(const struct dx_mirror *m)
{
    return &m->counts;
}

const char *dx_mirror_dir_of(const struct dx_mirror *m)
{
    return m->dir;
}

static void name_of(const struct dx_mirror_want *want, char name[NAME_MAX_BYTES])
{
    char hex[DX_HASH128_TEXT];

    dx_hash128_text(&want->hash, hex);
    (void)snprintf(name, NAME_MAX_BYTES, "%s-%llu", hex, (unsigned long long)want->size);
}

static int paths_of(const struct dx_mirror *m, const struct dx_mirror_want *want,
                    char whole[DX_MIRROR_PATH], char partial[DX_MIRROR_PATH], struct dx_error *err)
{
    char name[NAME_MAX_BYTES];
    int rc;

    name_of(want, name);
    rc = dx_path_format(whole, DX_MIRROR_PATH, err, "%s/objects/%.2s/%s", m->dir, name, name);
    if (rc == DX_OK)
        rc = dx_path_format(partial, DX_MIRROR_PATH, err, "%s/partial/%s", m->dir, name);
    return rc;
}

/* ---- one object ---- */

/* Whether it is there; its time of access is then that of its last use, and its time of change
 * stays: other processes may have it mapped, and would take another one for damage
 * (loader/guard/guard.h). One of another size is damage from outside, and is replaced like an absent
 * one. */
static bool find_whole(const char *path, uint64_t size)
{
    static const struct timespec used[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
        return false;
    /* A sweep may just have removed it. Other failures: it is not ours, and its owner's use
     * counts. */
    return utimensat(AT_FDCWD, path, used, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static int wait_for_lock(int fd, const char *path, int how, struct dx_error *err)
{
    while (flock(fd, how) < 0)
        if (errno != EINTR)
            return dx_fail_errno(err, errno, "%s: cannot lock", path);
    return DX_OK;
}

/* The file that is locked may have been given its final name, or been removed, while we waited. */
static int lock_partial(const char *path, int *fd, struct dx_error *err)
{
    for (;;) {
        int rc;

        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
        if (*fd < 0)
            return dx_fail_errno(err, errno, "%s: cannot create", path);
        rc = wait_for_lock(*fd, path, LOCK_EX, err);
        if (rc == DX_OK)
            rc = dx_file_is_at(*fd, path, err);
        if (rc == 1)
            return DX_OK;
        (void)close(*fd);
        *fd = -1;
        if (rc < 0)
            return rc;
    }
}

/* 1: the bytes of the file are the wanted ones; 0: others. */
static int hash_file(int fd, const char *path, const struct dx_mirror_want *want,
                     struct dx_error *err)
{
    struct dx_hash_state *state = dx_hash_state_new();
    uint8_t *piece = malloc(HASH_PIECE);
    struct dx_hash128 hash;
    struct stat st;
    int rc = DX_OK;

    if (state == NULL || piece == NULL)
        rc = dx_no_memory(err, "%s", path);
    else if (fstat(fd, &st) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot stat", path);
    else if ((uint64_t)st.st_size != want->size)
        goto out; /* rc is 0: others */
    for (uint64_t at = 0; rc == DX_OK && at < want->size;) {
        size_t n = want->size - at < HASH_PIECE ? (size_t)(want->size - at) : HASH_PIECE;

        rc = dx_file_pread(fd, path, at, n, piece, err);
        if (rc == DX_OK)
            dx_hash_state_update(state, dx_span_of(piece, n));
        at += n;
    }
    if (rc == DX_OK) {
        hash = dx_hash_state_digest(state);
        rc = dx_hash128_equal(&hash, &want->hash);
    }
out:
    dx_hash_state_free(&state);
    free(piece);
    return rc;
}

/* Downloads into the locked partial file until its bytes are the wanted ones, or the second time
 * they are not. What a crash of the machine left may be zeros, and what was there before may be
 * of an object that was replaced: both are worth the one new try. */
static int fill_partial(struct dx_mirror *m, struct dx_source *source,
                        const struct dx_mirror_want *want, int fd, const char *partial,
                        struct dx_error *err)
{
    struct dx_download d = {
        .source = source,
        .object = want->object,
        .size = want->size,
        .pin = { want->size, want->etag },
        .bytes = &m->counts.bytes,
    };
    int rc = 0;

    for (int try = 0; try < 2 && rc == 0; try++) {
        d.fresh = try > 0;
        rc = dx_download_run(&d, partial, err);
        if (rc == DX_OK)
            rc = hash_file(fd, partial, want, err);
        if (rc == 0 && ftruncate(fd, 0) < 0)
            rc = dx_fail_errno(err, errno, "%s: cannot cut", partial);
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: what the store has is not what the manifest says (hash, twice). The "
                     "object was damaged or replaced: publish again, or restore it",
                     want->object);
    return rc < 0 ? rc : DX_OK;
}

/* After an fsync that failed the content of the disk is unknown, though the page cache may still
 * give the right bytes when they are hashed, and the next fsync may succeed: so the file is
 * discarded. Cut first: another process that waits for its lock may have opened it. */
static void forget_partial(int fd, const char *partial)
{
    (void)!ftruncate(fd, 0);
    (void)unlink(partial);
}

/* The bytes are on the disk before the name is there: a name is a promise. That the name itself
 * may be lost in a crash of the machine costs a download. */
static int give_name(int fd, const char *partial, const char *whole, struct dx_error *err)
{
    char dir[DX_MIRROR_PATH];
    int rc = dx_path_format(dir, sizeof dir, err, "%.*s", (int)(strrchr(whole, '/') - whole),
                            whole);

    if (rc == DX_OK)
        rc = dx_dir_make_private(dir, err);
    if (rc < 0)
        return rc;
    if (fsync(fd) < 0) {
        rc = dx_fail_errno(err, errno, "%s: cannot sync", partial);
        forget_partial(fd, partial);
        return rc;
    }
    if (fchmod(fd, 0400) < 0)
        return dx_fail_errno(err, errno, "%s: cannot make it read-only", partial);
    if (rename(partial, whole) < 0)
        return dx_fail_errno(err, errno, "%s: cannot rename to %s", partial, whole);
    return DX_OK;
}

/* Nothing in it, so nothing to go on with. */
static void drop_empty(int fd, const char *partial)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_size == 0)
        (void)unlink(partial);
}

int dx_mirror_obtain(struct dx_mirror *m, struct dx_source *source,
                     const struct dx_mirror_want *want, char path[DX_MIRROR_PATH],
                     struct dx_error *err)
{
    char partial[DX_MIRROR_PATH];
    int fd;
    int rc = paths_of(m, want, path, partial, err);

    if (rc < 0)
        return rc;
    if (find_whole(path, want->size)) {
        atomic_fetch_add(&m->counts.reused, 1);
        return DX_OK;
    }
    rc = lock_partial(partial, &fd, err);
    if (rc < 0)
        return rc;
    if (find_whole(path, want->size)) {
        atomic_fetch_add(&m->counts.reused, 1); /* another fetched it while we waited */
        drop_empty(fd, partial);
    } else {
        rc = fill_partial(m, source, want, fd, partial, err);
        if (rc == DX_OK)
            rc = give_name(fd, partial, path, err);
        if (rc == DX_OK)
            atomic_fetch_add(&m->counts.fetched, 1);
        else
            drop_empty(fd, partial);
        if (rc == DX_OK)
            rc = 1;
    }
    (void)close(fd); /* and with it the lock */
    return rc;
}

int dx_mirror_fetch(struct dx_mirror *m, struct dx_source *source,
                    const struct dx_mirror_want *want, char path[DX_MIRROR_PATH],
                    struct dx_error *err)
{
    int rc = dx_mirror_obtain(m, source, want, path, err);

    return rc < 0 ? rc : DX_OK;
}

int dx_mirror_adopt(struct dx_mirror *m, const struct dx_mirror *other,
                    const struct dx_mirror_want *want, struct dx_error *err)
{
    char partial[DX_MIRROR_PATH]; /* then the folder of `to` */
    char from[DX_MIRROR_PATH];
    char to[DX_MIRROR_PATH];
    int rc = paths_of(other, want, from, partial, err);

    if (rc == DX_OK)
        rc = paths_of(m, want, to, partial, err);
    if (rc == DX_OK && find_whole(to, want->size))
        return 1;
    if (rc == DX_OK)
        rc = dx_path_format(partial, sizeof partial, err, "%.*s", (int)(strrchr(to, '/') - to), to);
    if (rc == DX_OK)
        rc = dx_dir_make_private(partial, err);
    if (rc < 0)
        return rc;
    return link(from, to) == 0 || errno == EEXIST;
}

int dx_mirror_recheck(struct dx_mirror *m, const struct dx_mirror_want *want, struct dx_error *err)
{
    char partial[DX_MIRROR_PATH];
    char path[DX_MIRROR_PATH];
    int fd;
    int rc = paths_of(m, want, path, partial, err);

    if (rc < 0)
        return rc;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", path);
    rc = hash_file(fd, path, want, err);
    if (rc == 0 && unlink(path) < 0 && errno != ENOENT)
        rc = dx_fail_errno(err, errno, "%s: its bytes are not those of its name; cannot remove it",
                           path);
    (void)close(fd);
    return rc;
}

/* ---- sweeping ---- */

static size_t hex_digits(const char *name)
{
    return strspn(name, "0123456789abcdef");
}

/* <32 hex digits>-<digits>: what name_of writes. A directory may have been given that holds other
 * things as well: they are not ours to remove. */
static bool object_name(const char *name)
{
    size_t n = strlen(name);

    return n < NAME_MAX_BYTES && hex_digits(name) == 32 && name[32] == '-' && n > 33 &&
           strspn(name + 33, "0123456789") == n - 33;
}

static bool tree_name(const char *name)
{
    return hex_digits(name) == 32 && name[32] == '\0';
}

/* Unlinks old objects of a folder, whose names begin with `front`. Partial ones are as old as the
 * last byte that came, and those in use by a lock stay. */
static int sweep_files(const char *dir, const char *front, time_t before, bool partial,
                       struct dx_error *err)
{
    DIR *d = opendir(dir);
    const struct dirent *e;

    if (d == NULL)
        return errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "%s: cannot read", dir);
    while ((e = readdir(d)) != NULL) {
        struct stat st;
        int fd = -1;

        if (!object_name(e->d_name) || strncmp(e->d_name, front, strlen(front)) != 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            (partial ? st.st_mtim.tv_sec : st.st_atim.tv_sec) >= before)
            continue;
        if (partial) {
            fd = openat(dirfd(d), e->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
            if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (fd >= 0)
                    (void)close(fd);
                continue;
            }
        }
        (void)unlinkat(dirfd(d), e->d_name, 0);
        if (fd >= 0)
            (void)close(fd);
    }
    (void)closedir(d);
    return DX_OK;
}

static int sweep_objects(const struct dx_mirror *m, time_t before, struct dx_error *err)
{
    char path[DX_MIRROR_PATH];
    int rc = DX_OK;

    for (unsigned i = 0; i < 256 && rc == DX_OK; i++) {
        char front[3];

        (void)snprintf(front, sizeof front, "%02x", i & 0xff);
        rc = dx_path_format(path, sizeof path, err, "%s/objects/%s", m->dir, front);
        if (rc == DX_OK)
            rc = sweep_files(path, front, before, false, err);
    }
    return rc;
}

static int sweep_trees(const struct dx_mirror *m, time_t before, struct dx_error *err)
{
    char path[DX_MIRROR_PATH + 256];
    const struct dirent *e;
    DIR *d;
    int rc = dx_path_format(path, sizeof path, err, "%s/trees", m->dir);

    if (rc < 0)
        return rc;
    d = opendir(path);
    if (d == NULL)
        return errno == ENOENT ? DX_OK : dx_fail_errno(err, errno, "%s: cannot read", path);
    while (rc == DX_OK && (e = readdir(d)) != NULL) {
        struct stat st;
        int fd;

        if (!tree_name(e->d_name))
            continue;
        fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 &&
            st.st_mtim.tv_sec < before) {
            rc = dx_path_format(path, sizeof path, err, "%s/trees/%s", m->dir, e->d_name);
            if (rc == DX_OK)
                rc = dx_dir_remove(path, err);
        }
        (void)close(fd);
    }
    (void)closedir(d);
    return rc;
}

int dx_mirror_sweep(struct dx_mirror *m, uint64_t max_age_s, struct dx_error *err)
{
    char path[DX_MIRROR_PATH];
    struct timespec now;
    time_t before;
    int rc;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    before = max_age_s > (uint64_t)now.tv_sec ? 0 : now.tv_sec - (time_t)max_age_s;
    rc = sweep_objects(m, before, err);
    if (rc == DX_OK)
        rc = dx_path_format(path, sizeof path, err, "%s/partial", m->dir);
    if (rc == DX_OK)
        rc = sweep_files(path, "", before, true, err);
    return rc == DX_OK ? sweep_trees(m, before, err) : rc;
}
