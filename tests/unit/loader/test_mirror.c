/* SPDX-License-Identifier: Apache-2.0
 * The mirror: what is under a final name is right, whichever process is killed, whatever the store
 * sends and however many fetch the same.
 */
#include "loader/mirror.h"

#include "base/file.h"
#include "fetch/download.h"
#include "tests/support/damage.h"
#include "tests/support/fake_source.h"
#include "tests/support/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW ((uint64_t)DX_DOWNLOAD_WINDOW)
#define CHILDREN 4
#define WAIT_MS 60000

static unsigned failures;
static char dir[64];

/* ---- instead of the system's ---- */

static _Atomic int syncs_fail; /* so many of the next */
static const char *vanishing;  /* is gone when its time is to be set */

int fsync(int fd)
{
    if (atomic_load(&syncs_fail) > 0) {
        atomic_fetch_sub(&syncs_fail, 1);
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int utimensat(int at, const char *path, const struct timespec times[2], int flags)
{
    if (vanishing != NULL && strcmp(path, vanishing) == 0) {
        vanishing = NULL;
        (void)unlink(path);
    }
    return (int)syscall(SYS_utimensat, at, path, times, flags);
}

static struct dx_mirror_want want_of(const struct dx_fake_source *f)
{
    return (struct dx_mirror_want){ "index/v/x", f->size, dx_fake_source_hash(f), NULL };
}

static void name_of(const struct dx_mirror_want *want, const char *folder, char path[256])
{
    char hex[DX_HASH128_TEXT];

    dx_hash128_text(&want->hash, hex);
    if (strcmp(folder, "objects") == 0)
        (void)snprintf(path, 256, "%s/objects/%.2s/%s-%llu", dir, hex, hex,
                       (unsigned long long)want->size);
    else
        (void)snprintf(path, 256, "%s/%s/%s-%llu", dir, folder, hex,
                       (unsigned long long)want->size);
}

static bool has_bytes(const char *path, const struct dx_fake_source *f)
{
    struct dx_buf b = DX_BUF_INIT(SIZE_MAX / 2);
    bool same = dx_file_read(path, b.max, &b, NULL) == DX_OK && b.size == f->size &&
                (b.size == 0 || memcmp(b.data, f->bytes, b.size) == 0);

    dx_buf_release(&b);
    return same;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* A whole object and nothing half-made beside it. */
static void expect_whole(const struct dx_fake_source *f, const char *words)
{
    const struct dx_mirror_want want = want_of(f);
    char path[256];

    name_of(&want, "objects", path);
    EXPECT(has_bytes(path, f), "%s: not whole", words);
    name_of(&want, "partial", path);
    EXPECT(!exists(path), "%s: partial file left", words);
}

static struct dx_mirror *fresh_mirror(void)
{
    struct dx_mirror *m = NULL;
    struct dx_error err = DX_ERROR_INIT;

    (void)dx_dir_remove(dir, &err);
    EXPECT(dx_mirror_open(&m, dir, &err) == DX_OK, "%s", err.text);
    return m;
}

static void check_fetch(void)
{
    static const uint64_t sizes[] = { 0, 1, 5000, WINDOW + 3 };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct dx_mirror *m = fresh_mirror();
        struct dx_fake_source *f = dx_fake_source_new(sizes[i]);
        const struct dx_mirror_want want = want_of(f);
        const struct dx_mirror_counts *counts = dx_mirror_counts_of(m);
        struct dx_error err = DX_ERROR_INIT;
        char path[DX_MIRROR_PATH];
        char expected[256];

        EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK, "%s", err.text);
        name_of(&want, "objects", expected);
        EXPECT(strcmp(path, expected) == 0, "%s", path);
        expect_whole(f, "fetched");
        EXPECT(counts->fetched == 1 && counts->reused == 0 && counts->bytes == sizes[i], "counts");
        EXPECT(dx_mirror_obtain(m, &f->source, &want, path, &err) == 0, "%s", err.text);
        EXPECT(counts->fetched == 1 && counts->reused == 1 && f->bytes_read == sizes[i], "reused");
        EXPECT(dx_mirror_recheck(m, &want, &err) == 1, "%s", err.text);
        dx_fake_source_free(&f);
        dx_mirror_close(&m);
    }
}

static const struct {
    const char *words;
    unsigned wrong_count, change_from, fail_from;
    int fail_code, want;
    uint64_t bytes; /* that were read */
    bool partial;   /* something to go on with is left */
} stores[] = {
    { "wrong bytes once", 2, 0, 0, 0, DX_OK, 2 * (WINDOW + 9), false },
    { "wrong bytes always", 99, 0, 0, 0, DX_E_CORRUPT, 2 * (WINDOW + 9), false },
    { "replaced in the middle", 0, 2, 0, 0, DX_E_CONFLICT, WINDOW, true },
    { "gone in the middle", 0, 0, 2, DX_E_NOT_FOUND, DX_E_NOT_FOUND, WINDOW, true },
    { "never there", 0, 0, 1, DX_E_NOT_FOUND, DX_E_NOT_FOUND, 0, false },
};

static void check_stores(void)
{
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i += dx_sample(1, DX_ROUNDS(1, 2))) {
        struct dx_mirror *m = fresh_mirror();
        struct dx_fake_source *f = dx_fake_source_new(WINDOW + 9);
        const struct dx_mirror_want want = want_of(f);
        struct dx_error err = DX_ERROR_INIT;
        char path[DX_MIRROR_PATH];
        char name[256];
        int rc;

        f->wrong_from = stores[i].wrong_count > 0 ? 1 : 0;
        f->wrong_count = stores[i].wrong_count;
        f->change_from = stores[i].change_from;
        f->fail_from = stores[i].fail_from;
        f->fail_count = 99;
        f->fail_code = stores[i].fail_code;
        rc = dx_mirror_fetch(m, &f->source, &want, path, &err);
        EXPECT(rc == stores[i].want, "%s: %d %s", stores[i].words, rc, err.text);
        EXPECT(f->bytes_read == stores[i].bytes, "%s: %llu bytes", stores[i].words,
               (unsigned long long)f->bytes_read);
        name_of(&want, "objects", name);
        EXPECT(exists(name) == (rc == DX_OK), "%s: final name", stores[i].words);
        name_of(&want, "partial", name);
        EXPECT(exists(name) == stores[i].partial, "%s: partial", stores[i].words);
        /* When the store is sound again, so is the mirror. */
        f->wrong_count = f->change_from = f->fail_from = 0;
        EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK, "%s: %s",
               stores[i].words, err.text);
        expect_whole(f, stores[i].words);
        dx_fake_source_free(&f);
        dx_mirror_close(&m);
    }
}

/* What a crash can leave, of this program or of the machine. */
static void check_leftovers(void)
{
    struct dx_fake_source *f = dx_fake_source_new(WINDOW + 9);
    const struct dx_mirror_want want = want_of(f);
    struct dx_error err = DX_ERROR_INIT;
    uint8_t *zeros = calloc(1, (size_t)f->size);
    const struct {
        const char *words;
        const char *folder;
        const uint8_t *bytes;
        uint64_t size, read;
    } left[] = {
        { "all of it, unnamed", "partial", f->bytes, WINDOW + 9, 0 },
        { "a front", "partial", f->bytes, WINDOW, 9 },
        { "a bit of a front", "partial", f->bytes, 77, WINDOW + 9 },
        { "a front that lost its bytes", "partial", zeros, WINDOW, 9 + WINDOW + 9 },
        { "all of it, without its bytes", "partial", zeros, WINDOW + 9, WINDOW + 9 },
        { "a final file that was cut", "objects", f->bytes, 100, WINDOW + 9 },
    };

    for (size_t i = 0; i < sizeof left / sizeof left[0]; i += dx_sample(1, DX_ROUNDS(1, 3))) {
        struct dx_mirror *m = fresh_mirror();
        char path[DX_MIRROR_PATH];
        char name[256];
        char folder[256];

        name_of(&want, left[i].folder, name);
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(name, '/') - name), name);
        EXPECT(dx_dir_make(folder, &err) == DX_OK &&
                   dx_file_replace(name, dx_span_of(left[i].bytes, (size_t)left[i].size), &err) ==
                       DX_OK,
               "%s", err.text);
        f->bytes_read = 0;
        EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK, "%s: %s", left[i].words,
               err.text);
        EXPECT(f->bytes_read == left[i].read, "%s: %llu bytes", left[i].words,
               (unsigned long long)f->bytes_read);
        expect_whole(f, left[i].words);
        dx_mirror_close(&m);
    }
    free(zeros);
    dx_fake_source_free(&f);
}

static void check_recheck(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(5000);
    const struct dx_mirror_want want = want_of(f);
    struct dx_error err = DX_ERROR_INIT;
    char path[DX_MIRROR_PATH];

    EXPECT(dx_mirror_recheck(m, &want, &err) == 0, "absent");
    EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_file_replace(path, dx_span_of(f->bytes + 1, (size_t)f->size - 1), &err) == DX_OK,
           "%s", err.text);
    EXPECT(dx_mirror_recheck(m, &want, &err) == 0 && !exists(path), "of another size");
    EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK, "%s", err.text);
    f->bytes[7] ^= 4;
    EXPECT(dx_file_replace(path, dx_span_of(f->bytes, (size_t)f->size), &err) == DX_OK, "%s",
           err.text);
    f->bytes[7] ^= 4;
    EXPECT(dx_mirror_recheck(m, &want, &err) == 0 && !exists(path), "a flipped bit");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

static void make_old(const char *path)
{
    const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };

    EXPECT(utimensat(AT_FDCWD, path, times, 0) == 0, "%s", path);
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

/* For the owner alone, whatever the umask; a directory that was there stays as it was. */
static void check_modes(void)
{
    const mode_t mask = umask(0);
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(WINDOW + 9);
    const struct dx_mirror_want want = want_of(f);
    const struct dx_hash128 key = { { 4, 5, 6 } };
    struct dx_mirror_tree *tree = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char path[DX_MIRROR_PATH];
    char name[DX_MIRROR_PATH + 8];

    f->fail_from = 2;
    f->fail_count = 1;
    f->fail_code = DX_E_NOT_FOUND;
    EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_E_NOT_FOUND, "%s", err.text);
    name_of(&want, "partial", name);
    EXPECT(mode_of(name) == 0600, "partial: %o", mode_of(name));
    EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK, "%s", err.text);
    EXPECT(mode_of(path) == 0400, "object: %o", mode_of(path));
    EXPECT(dx_mirror_tree_open(m, &key, &tree, &err) == DX_OK &&
               dx_mirror_tree_link(tree, "a/b", path, &err) == DX_OK,
           "%s", err.text);
    (void)snprintf(name, sizeof name, "%s/a", dx_mirror_tree_path(tree));
    EXPECT(mode_of(name) == 0700 && mode_of(dx_mirror_tree_path(tree)) == 0700, "tree");
    *strrchr(path, '/') = '\0';
    EXPECT(mode_of(path) == 0700 && mode_of(dir) == 0700, "directories");
    dx_mirror_tree_close(&tree);
    dx_mirror_close(&m);
    EXPECT(chmod(dir, 0750) == 0 && dx_mirror_open(&m, dir, &err) == DX_OK, "%s", err.text);
    EXPECT(mode_of(dir) == 0750, "a directory that is there: %o", mode_of(dir));
    dx_mirror_close(&m);
    dx_fake_source_free(&f);
    (void)umask(mask);
}

/* What a failed fsync was about is not believed again, whatever the page cache says. */
static void check_sync_fails(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(5000);
    const struct dx_mirror_want want = want_of(f);
    struct dx_error err = DX_ERROR_INIT;
    char path[DX_MIRROR_PATH];
    char partial[256];
    struct stat st = { .st_size = -1 };
    int fd;

    name_of(&want, "partial", partial);
    fd = open(partial, O_RDWR | O_CREAT, 0600); /* the one that waits for its lock */
    atomic_store(&syncs_fail, 1);
    EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_E_IO &&
               strstr(err.text, "cannot sync") != NULL,
           "%s", err.text);
    EXPECT(!exists(partial) && !exists(path), "nothing of it is left");
    EXPECT(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 0, "cut: %lld", (long long)st.st_size);
    (void)close(fd);
    f->bytes_read = 0;
    EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK && f->bytes_read == f->size,
           "it came again: %s", err.text);
    expect_whole(f, "after a failed fsync");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

/* A sweep of another process between a look and the use. */
static void check_vanishing(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(5000);
    const struct dx_mirror_want want = want_of(f);
    struct dx_error err = DX_ERROR_INIT;
    char path[DX_MIRROR_PATH];
    char gone[DX_MIRROR_PATH];

    EXPECT(dx_mirror_fetch(m, &f->source, &want, path, &err) == DX_OK, "%s", err.text);
    memcpy(gone, path, sizeof gone);
    vanishing = gone;
    EXPECT(dx_mirror_obtain(m, &f->source, &want, path, &err) == 1, "fetched again: %s", err.text);
    EXPECT(vanishing == NULL && exists(path), "it is there");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

struct watching {
    const char *path;
    _Atomic bool stop;
    unsigned absent, looks;
};

static void *watch(void *arg)
{
    struct watching *w = arg;

    while (!atomic_load(&w->stop)) {
        w->absent += !exists(w->path);
        w->looks++;
    }
    return NULL;
}

/* A name of a tree that others read goes from one object to the next without a gap. */
static void check_tree_replaced(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f[2] = { dx_fake_source_new(100), dx_fake_source_new(200) };
    const struct dx_hash128 key = { { 7 } };
    struct dx_mirror_tree *tree = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char paths[2][DX_MIRROR_PATH];
    char linked[DX_MIRROR_PATH + 8];
    struct watching w = { .path = linked };
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        const struct dx_mirror_want want = want_of(f[i]);

        EXPECT(dx_mirror_fetch(m, &f[i]->source, &want, paths[i], &err) == DX_OK, "%s", err.text);
    }
    EXPECT(dx_mirror_tree_open(m, &key, &tree, &err) == DX_OK &&
               dx_mirror_tree_link(tree, "a/b", paths[1], &err) == DX_OK,
           "%s", err.text);
    (void)snprintf(linked, sizeof linked, "%s/a/b", dx_mirror_tree_path(tree));
    if (pthread_create(&thread, NULL, watch, &w) != 0)
        abort();
    for (int i = 0; i < DX_ROUNDS(4000, 1000); i++)
        EXPECT(dx_mirror_tree_link(tree, "a/b", paths[i % 2], &err) == DX_OK, "%s", err.text);
    atomic_store(&w.stop, true);
    (void)pthread_join(thread, NULL);
    EXPECT(w.absent == 0 && w.looks > 0, "absent %u of %u times", w.absent, w.looks);
    EXPECT(has_bytes(linked, f[1]), "the last one");
    EXPECT(dx_mirror_tree_link(tree, "a/b", "/proc/domaindex", &err) < 0 && has_bytes(linked, f[1]),
           "what cannot be linked leaves it");
    /* Of temporary names none is left: the folder a, and nothing beside it. */
    EXPECT(unlink(linked) == 0 && (*strrchr(linked, '/') = '\0', rmdir(linked) == 0) &&
               rmdir(dx_mirror_tree_path(tree)) == 0,
           "something is left in %s", dx_mirror_tree_path(tree));
    dx_mirror_tree_close(&tree);
    dx_fake_source_free(&f[0]);
    dx_fake_source_free(&f[1]);
    dx_mirror_close(&m);
}

/* Files of others, in a directory that was given by mistake or is shared. */
static void check_sweep_others(void)
{
    static const char *const names[] = {
        "objects/00/notes.txt",
        "objects/00/0000000000000000000000000000000-1",   /* 31 digits */
        "objects/00/00000000000000000000000000000000-",   /* no size */
        "objects/00/00000000000000000000000000000000-1x", /* not a number */
        "objects/00/0000000000000000000000000000000A-1",  /* not as we write it */
        "objects/00/01000000000000000000000000000000-1",  /* in the wrong folder */
        "partial/thesis.tex",
        "trees/photos/a.jpg",
        "trees/0123456789abcdef0123456789abcdef0/a",
    };
    struct dx_mirror *m = fresh_mirror();
    struct dx_error err = DX_ERROR_INIT;
    char path[256];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        *strrchr(path, '/') = '\0';
        EXPECT(dx_dir_make(path, &err) == DX_OK, "%s", err.text);
        path[strlen(path)] = '/';
        EXPECT(dx_file_replace(path, dx_span_str("x"), &err) == DX_OK, "%s", err.text);
        make_old(path);
        if (strncmp(names[i], "trees/", 6) == 0) {
            *strrchr(path, '/') = '\0';
            make_old(path);
        }
    }
    EXPECT(dx_mirror_sweep(m, 60, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        EXPECT(exists(path), "%s was swept", names[i]);
    }
    dx_mirror_close(&m);
}

static bool wait_for_size(const char *path, uint64_t size)
{
    const struct timespec pause = { 0, 2000000 };

    for (int i = 0; i < WAIT_MS / 2; i++) {
        struct stat st;

        if (stat(path, &st) == 0 && (uint64_t)st.st_size == size)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

/* The first window has come and the second does not. */
static bool wait_for_hang(const char *path, const struct dx_fake_source *f)
{
    bool come = wait_for_size(path, WINDOW);

    for (int i = 0; come && f->batches < 2 && i < WAIT_MS; i++)
        (void)usleep(1000);
    (void)usleep(20000);
    return come && f->batches == 2;
}

struct fetching {
    struct dx_mirror *m;
    struct dx_fake_source *f;
    int rc;
};

static void *fetch_in_thread(void *arg)
{
    struct fetching *b = arg;
    const struct dx_mirror_want want = want_of(b->f);
    char path[DX_MIRROR_PATH];

    b->rc = dx_mirror_fetch(b->m, &b->f->source, &want, path, NULL);
    return NULL;
}

/* kill -9 of one process in the middle of a download, while another waits for it. */
static void check_kill(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(2 * WINDOW + 5);
    const struct dx_mirror_want want = want_of(f);
    struct fetching b = { m, f, -1 };
    pthread_t thread;
    char name[256];
    int status = 0;
    pid_t child;

    name_of(&want, "partial", name);
    f->hang_from = 2;
    child = fork();
    if (child == 0) {
        (void)fetch_in_thread(&b);
        _exit(1);
    }
    EXPECT(child > 0 && wait_for_hang(name, f), "the first window came");
    f->hang_from = 0; /* for us; the child never wakes up */
    if (pthread_create(&thread, NULL, fetch_in_thread, &b) != 0)
        abort();
    (void)usleep(50000);
    EXPECT(f->bytes_read == WINDOW, "who waits reads nothing");
    (void)kill(child, SIGKILL);
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "killed");
    (void)pthread_join(thread, NULL);
    EXPECT(b.rc == DX_OK && f->bytes_read == f->size, "%llu bytes in all",
           (unsigned long long)f->bytes_read);
    expect_whole(f, "after a kill");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

/* Processes and threads that want the same: one fetches it. */
static void check_sharing(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(3000000);
    struct fetching b[CHILDREN];
    pthread_t threads[CHILDREN];
    pid_t children[CHILDREN];
    int status;

    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            b[0] = (struct fetching){ m, f, -1 };
            (void)fetch_in_thread(&b[0]);
            _exit(b[0].rc == DX_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        b[i] = (struct fetching){ m, f, -1 };
        if (pthread_create(&threads[i], NULL, fetch_in_thread, &b[i]) != 0)
            abort();
    }
    for (int i = 0; i < CHILDREN; i++) {
        (void)pthread_join(threads[i], NULL);
        EXPECT(b[i].rc == DX_OK, "thread %d: %d", i, b[i].rc);
        EXPECT(waitpid(children[i], &status, 0) == children[i] && status == 0, "child %d", i);
    }
    EXPECT(f->bytes_read == f->size, "%llu bytes in all", (unsigned long long)f->bytes_read);
    expect_whole(f, "shared");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

static void check_sweep(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *old = dx_fake_source_new(100);
    struct dx_fake_source *used = dx_fake_source_new(200);
    struct dx_fake_source *half = dx_fake_source_new(WINDOW + 1);
    const struct dx_mirror_want wants[] = { want_of(old), want_of(used), want_of(half) };
    struct dx_mirror_tree *tree = NULL;
    const struct dx_hash128 key = { { 1, 2, 3 } };
    struct dx_error err = DX_ERROR_INIT;
    char paths[2][DX_MIRROR_PATH];
    char partial[256];
    char linked[DX_MIRROR_PATH + 8];

    EXPECT(dx_mirror_fetch(m, &old->source, &wants[0], paths[0], &err) == DX_OK, "%s", err.text);
    EXPECT(dx_mirror_fetch(m, &used->source, &wants[1], paths[1], &err) == DX_OK, "%s", err.text);
    half->fail_from = 2;
    half->fail_count = 99;
    half->fail_code = DX_E_NOT_FOUND;
    EXPECT(dx_mirror_fetch(m, &half->source, &wants[2], linked, &err) < 0, "half");
    name_of(&wants[2], "partial", partial);
    EXPECT(dx_mirror_tree_open(m, &key, &tree, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_mirror_tree_link(tree, "a/b/c", paths[0], &err) == DX_OK &&
               dx_mirror_tree_link(tree, "a/b/c", paths[0], &err) == DX_OK,
           "%s", err.text);
    (void)snprintf(linked, sizeof linked, "%s/a/b/c", dx_mirror_tree_path(tree));
    make_old(paths[0]);
    make_old(paths[1]);
    make_old(partial);
    make_old(dx_mirror_tree_path(tree));
    /* Used again, so young again. */
    EXPECT(dx_mirror_fetch(m, &used->source, &wants[1], paths[1], &err) == DX_OK, "%s", err.text);
    EXPECT(dx_mirror_sweep(m, UINT64_MAX, &err) == DX_OK && exists(paths[0]), "nothing is so old");
    EXPECT(dx_mirror_sweep(m, 3600, &err) == DX_OK, "%s", err.text);
    EXPECT(!exists(paths[0]) && exists(paths[1]) && !exists(partial), "swept");
    EXPECT(has_bytes(linked, old) && dx_mirror_tree_has(tree, "a/b/c", 100), "an open tree stays");
    EXPECT(!dx_mirror_tree_has(tree, "a/b/c", 101) && !dx_mirror_tree_has(tree, "a/b/d", 100),
           "what a tree has");
    dx_mirror_tree_close(&tree);
    EXPECT(dx_mirror_sweep(m, 3600, &err) == DX_OK && !exists(linked), "a closed one goes");
    dx_fake_source_free(&old);
    dx_fake_source_free(&used);
    dx_fake_source_free(&half);
    dx_mirror_close(&m);
}

/* A partial file in use is not a leftover. */
static void check_sweep_locked(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(WINDOW + 1);
    const struct dx_mirror_want want = want_of(f);
    struct dx_error err = DX_ERROR_INIT;
    struct fetching b = { m, f, -1 };
    char partial[256];
    pid_t child;
    int status;

    name_of(&want, "partial", partial);
    f->hang_from = 2;
    child = fork();
    if (child == 0) {
        (void)fetch_in_thread(&b);
        _exit(1);
    }
    EXPECT(child > 0 && wait_for_hang(partial, f), "the first window came");
    make_old(partial);
    EXPECT(dx_mirror_sweep(m, 60, &err) == DX_OK && exists(partial), "in use");
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
    EXPECT(dx_mirror_sweep(m, 60, &err) == DX_OK && !exists(partial), "not in use");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

struct batch_seen {
    _Atomic unsigned got, reported, reported_at_end;
    unsigned refuse; /* number of the want that got refuses; UINT_MAX: none */
};

static bool have_first(void *ctx, size_t i)
{
    (void)ctx;
    return i == 0;
}

static int got(void *ctx, size_t i, const char *path, struct dx_error *err)
{
    struct batch_seen *seen = ctx;

    EXPECT(exists(path), "%s", path);
    atomic_fetch_add(&seen->got, 1);
    return i == seen->refuse ? dx_fail(err, DX_E_LIMIT, "no more") : DX_OK;
}

static void tell(void *ctx, const struct dx_mirror_progress *p)
{
    struct batch_seen *seen = ctx;
    char text[DX_MIRROR_LINE];

    dx_mirror_progress_text(p, text);
    EXPECT(strstr(text, "fetched") != NULL && strstr(text, " MB") != NULL, "%s", text);
    atomic_fetch_add(p->object == NULL ? &seen->reported_at_end : &seen->reported, 1);
}

static void check_batch(void)
{
    enum { COUNT = 40, SIZE = 1000 };
    struct dx_fake_source *f = dx_fake_source_new(SIZE + COUNT);
    struct batch_seen seen = { .refuse = UINT32_MAX };
    struct dx_mirror_want wants[COUNT];
    struct dx_mirror_batch batch = {
        .wants = wants,
        .count = COUNT,
        .have = have_first,
        .got = got,
        .ctx = &seen,
        .tell = tell,
        .tell_ctx = &seen,
    };
    struct dx_mirror *m = fresh_mirror();
    struct dx_error err = DX_ERROR_INIT;

    for (unsigned i = 0; i < COUNT; i++) /* one object under many names */
        wants[i] = (struct dx_mirror_want){ "x", f->size, dx_fake_source_hash(f), NULL };
    EXPECT(dx_mirror_fetch_all(m, &f->source, &batch, &err) == DX_OK, "%s", err.text);
    EXPECT(seen.got == COUNT - 1 && seen.reported == 1 && seen.reported_at_end >= 1,
           "%u got, %u reported, %u at the end", seen.got, seen.reported, seen.reported_at_end);
    EXPECT(f->bytes_read == f->size, "once");
    seen.refuse = 5;
    EXPECT(dx_mirror_fetch_all(m, &f->source, &batch, &err) == DX_E_LIMIT &&
               strcmp(err.text, "no more") == 0,
           "%s", err.text);
    wants[7].hash.bytes[0] ^= 1;
    seen.refuse = UINT32_MAX;
    EXPECT(dx_mirror_fetch_all(m, &f->source, &batch, &err) == DX_E_CORRUPT, "%s", err.text);
    batch.count = 0;
    EXPECT(dx_mirror_fetch_all(m, &f->source, &batch, &err) == DX_OK, "nothing");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

static void check_places(void)
{
    static const struct {
        const char *cache, *xdg, *home;
        const char *made; /* below dir; NULL: refused */
    } rows[] = {
        { "/a:/b", "/x", "/h", "a" },
        { NULL, "/x", "/h", "x/domaindex" },
        { "", "", "/h", "h/.cache/domaindex" },
        { NULL, "relative", "", NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const names[] = { "CACHE_DIRECTORY", "XDG_CACHE_HOME", "HOME" };
        const char *const values[] = { rows[i].cache, rows[i].xdg, rows[i].home };
        struct dx_error err = DX_ERROR_INIT;
        struct dx_mirror *m = NULL;
        char text[256];
        int rc;

        for (int k = 0; k < 3; k++) {
            (void)snprintf(text, sizeof text, "%s%s",
                           values[k] != NULL && values[k][0] == '/' ? dir : "",
                           values[k] == NULL ? "" : values[k]);
            (void)setenv(names[k], text, 1);
        }
        rc = dx_mirror_open(&m, NULL, &err);
        if (rows[i].made != NULL) {
            (void)snprintf(text, sizeof text, "%s/%s/objects", dir, rows[i].made);
            EXPECT(rc == DX_OK && exists(text), "row %zu: %s", i, err.text);
        } else {
            EXPECT(rc == DX_E_INVALID && m == NULL, "row %zu: %s", i, err.text);
        }
        dx_mirror_close(&m);
    }
}

static void check_no_room(void)
{
    struct dx_mirror *m = fresh_mirror();
    struct dx_fake_source *f = dx_fake_source_new(1 << 20);
    struct fetching b = { m, f, -1 };
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        const struct rlimit limit = { 1 << 18, 1 << 18 };

        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(2);
        (void)fetch_in_thread(&b);
        _exit(b.rc == DX_E_IO ? 0 : 1);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0, "no room: %d", status);
    (void)fetch_in_thread(&b);
    EXPECT(b.rc == DX_OK, "room again: %d", b.rc);
    expect_whole(f, "room again");
    dx_fake_source_free(&f);
    dx_mirror_close(&m);
}

int main(void)
{
    char parent[] = "/tmp/domaindex-test-XXXXXX";

    if (mkdtemp(parent) == NULL)
        return 1;
    (void)snprintf(dir, sizeof dir, "%s/mirror", parent);
    check_fetch();
    check_stores();
    check_leftovers();
    check_recheck();
    check_kill();
    check_sharing();
    check_modes();
    check_sync_fails();
    check_vanishing();
    check_tree_replaced();
    check_sweep();
    check_sweep_others();
    check_sweep_locked();
    check_batch();
    check_no_room();
    check_places();
    (void)dx_dir_remove(parent, NULL);
    return failures > 0;
}
