/* SPDX-License-Identifier: Apache-2.0
 * What happens to a file while it is mapped, and what its guard says: every way of changing it
 * poisons, with leases and without; nothing harmless does; a writer is held back and let go soon;
 * truncated pages are zeros, in many threads at once; a SIGBUS elsewhere still kills.
 */
#include "base/clock.h"
#include "loader/guard/bus_fault.h"
#include "loader/guard/guard.h"
#include "tests/support/damage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 8
#define PAGE 4096u
#define SIZE (PAGES * PAGE)

static _Atomic unsigned failures;
static char folder[] = "/tmp/dx-guard-XXXXXX";
static char path[64], other[64];

static void sleep_ms(long ms)
{
    const struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };

    (void)nanosleep(&wait, NULL);
}

static void fill(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char bytes[SIZE];

    memset(bytes, 'a', sizeof bytes);
    EXPECT(fd >= 0 && write(fd, bytes, sizeof bytes) == SIZE && close(fd) == 0, "%s", name);
}

/* ---- what is done to the file ---- */

static void cut(void)
{
    EXPECT(truncate(path, PAGE) == 0, "%s", strerror(errno));
}

static void cut_and_extend(void)
{
    EXPECT(truncate(path, PAGE) == 0 && truncate(path, SIZE) == 0, "%s", strerror(errno));
}

static void put_byte(int fd)
{
    EXPECT(pwrite(fd, "b", 1, 3 * PAGE) == 1, "%s", strerror(errno));
}

static void overwrite(void)
{
    int fd = open(path, O_WRONLY);

    put_byte(fd);
    (void)close(fd);
}

static void overwrite_and_set_times_back(void)
{
    int fd = open(path, O_WRONLY);
    struct timespec times[2];
    struct stat st;

    (void)fstat(fd, &st);
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    put_byte(fd);
    EXPECT(futimens(fd, times) == 0, "%s", strerror(errno));
    (void)close(fd);
}

static void store(void)
{
    int fd = open(path, O_RDWR);
    char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    at[3 * PAGE] = 'b';
    (void)munmap(at, SIZE);
    (void)close(fd);
}

static void punch(void)
{
    int fd = open(path, O_RDWR);

    EXPECT(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE) == 0 ||
               errno == EOPNOTSUPP,
           "%s", strerror(errno));
    (void)close(fd);
}

static void touch(void)
{
    EXPECT(utimensat(AT_FDCWD, path, NULL, 0) == 0, "%s", strerror(errno));
}

static void forget_it(void)
{
    (void)unlink(path);
}

static void rename_away(void)
{
    EXPECT(rename(path, other) == 0, "%s", strerror(errno));
}

static void replace(void)
{
    fill(other);
    EXPECT(rename(other, path) == 0, "%s", strerror(errno));
}

static void name_twice(void)
{
    EXPECT(link(path, other) == 0, "%s", strerror(errno));
}

static void change_rights(void)
{
    EXPECT(chmod(path, 0444) == 0, "%s", strerror(errno));
}

static void read_it(void)
{
    int fd = open(path, O_RDONLY);
    char byte;

    EXPECT(read(fd, &byte, 1) == 1, "%s", strerror(errno));
    (void)close(fd);
}

static const struct {
    const char *name;
    void (*act)(void);
    bool harm;       /* bytes may have changed */
    bool times_only; /* harmless, but nothing tells it from harm without a lease */
} acts[] = {
    { "cut", cut, true, false },
    { "cut and extended", cut_and_extend, true, false },
    { "overwritten", overwrite, true, false },
    { "overwritten, times set back", overwrite_and_set_times_back, true, false },
    { "stored into", store, true, false },
    { "a hole", punch, true, false },
    { "touched", touch, false, true },
    { "unlinked", forget_it, false, false },
    { "renamed away", rename_away, false, false },
    { "replaced", replace, false, false },
    { "another name", name_twice, false, false },
    { "rights", change_rights, false, false },
    { "read", read_it, false, false },
};

static void check_act(size_t i, unsigned flags)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_guard *g = NULL;
    bool harm = acts[i].harm || (acts[i].times_only && flags != 0);
    uint64_t begin;

    (void)unlink(other);
    (void)unlink(path);
    fill(path);
    EXPECT(dx_guard_start(flags, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_guard_new(&g, "v", &err) == DX_OK && g != NULL, "%s", err.text);
    EXPECT(dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_guard_intact(g) && dx_guard_why(g, &err) == DX_OK, "%s: before", acts[i].name);
    begin = dx_clock_ms();
    acts[i].act();
    EXPECT(dx_clock_ms() - begin < 2000, "%s: the writer was held for %llu ms", acts[i].name,
           (unsigned long long)(dx_clock_ms() - begin));
    EXPECT(dx_guard_intact(g) == !harm, "%s, flags %u: %s", acts[i].name, flags,
           harm ? "not noticed" : "no harm");
    EXPECT(dx_guard_poisoned(g) == harm, "%s: the flag", acts[i].name);
    EXPECT((dx_guard_why(g, &err) == DX_E_CONFLICT) == harm &&
               (!harm || strstr(err.text, path) != NULL),
           "%s: %s", acts[i].name, err.text);
    EXPECT(harm || memchr(map.bytes.data, 'b', map.bytes.size) == NULL, "%s: bytes", acts[i].name);
    dx_guard_free(&g);
    dx_map_close(&map);
    dx_guard_stop();
}

/* ---- pages that are not there ---- */

#define READERS 8

static _Atomic(struct dx_guard *) shared_guard;
static const uint8_t *shared_bytes;
static _Atomic bool enough;

/* A sum over all pages, and then whether it may be believed: never a wrong one. */
static void *read_all(void *wrong)
{
    while (!atomic_load(&enough)) {
        uint64_t sum = 0;

        for (size_t at = 0; at < SIZE; at += 512)
            sum += ((const volatile uint8_t *)shared_bytes)[at];
        if (dx_guard_intact(atomic_load(&shared_guard)) && sum != (uint64_t)'a' * (SIZE / 512))
            *(bool *)wrong = true;
    }
    return NULL;
}

static void check_readers(void (*act)(void), unsigned flags)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_guard *g = NULL;
    pthread_t threads[READERS];
    bool wrong[READERS] = { false };

    (void)unlink(path);
    fill(path);
    EXPECT(dx_guard_start(flags, &err) == DX_OK && dx_guard_new(&g, "v", &err) == DX_OK &&
               dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err) == DX_OK,
           "%s", err.text);
    atomic_store(&shared_guard, g);
    shared_bytes = map.bytes.data;
    atomic_store(&enough, false);
    for (unsigned i = 0; i < READERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, read_all, &wrong[i]) == 0, "thread %u", i);
    sleep_ms(2);
    act();
    sleep_ms(5);
    atomic_store(&enough, true);
    for (unsigned i = 0; i < READERS; i++) {
        (void)pthread_join(threads[i], NULL);
        EXPECT(!wrong[i], "reader %u believed changed bytes, flags %u", i, flags);
    }
    EXPECT(!dx_guard_intact(g), "poisoned");
    dx_guard_free(&g);
    dx_map_close(&map);
    dx_guard_stop();
}

static struct dx_error reported;
static _Atomic unsigned tells;

static void on_reported(void *ctx, const struct dx_error *why)
{
    (void)ctx;
    reported = *why;
    atomic_fetch_add(&tells, 1);
}

/* Without a lease the signal comes; reported once, counted, zeros to the end. */
static void check_zeros(void)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_guard_counts before;
    struct dx_guard_counts after;
    struct dx_guard *g = NULL;

    (void)unlink(path);
    fill(path);
    EXPECT(dx_guard_start(DX_GUARD_NO_LEASES, &err) == DX_OK &&
               dx_guard_new(&g, "v", &err) == DX_OK &&
               dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err) == DX_OK,
           "%s", err.text);
    dx_guard_tell(on_reported, NULL);
    dx_guard_counts_read(&before);
    EXPECT(before.timed == 1 && before.leased == 0, "%llu files", (unsigned long long)before.timed);
    cut();
    EXPECT(map.bytes.data[5 * PAGE] == 0 && map.bytes.data[SIZE - 1] == 0, "zeros");
    EXPECT(dx_guard_poisoned(g) && !dx_guard_intact(g), "poisoned");
    for (unsigned i = 0; i < 6000 && atomic_load(&tells) == 0; i++)
        sleep_ms(10);
    dx_guard_tell(NULL, NULL);
    EXPECT(atomic_load(&tells) == 1 && strstr(reported.text, "version v: ") != NULL, "%s",
           reported.text);
    dx_guard_counts_read(&after);
    EXPECT(after.bus_signals == before.bus_signals + 1 &&
               after.poisoned_by_bus + after.poisoned_by_times ==
                   before.poisoned_by_bus + before.poisoned_by_times + 1,
           "%llu signals", (unsigned long long)(after.bus_signals - before.bus_signals));
    dx_guard_free(&g);
    dx_map_close(&map);
    dx_guard_stop();
}

/* Many guards of many files come and go while another thread's pages are lost. */
static void *come_and_go(void *stop)
{
    struct dx_error err;
    char name[80];

    (void)snprintf(name, sizeof name, "%s/more", folder);
    fill(name);
    while (!atomic_load((_Atomic bool *)stop)) {
        struct dx_map maps[5];
        struct dx_guard *g = NULL;

        EXPECT(dx_guard_new(&g, "w", &err) == DX_OK, "%s", err.text);
        for (unsigned i = 0; i < 5; i++)
            EXPECT(dx_guard_map(g, &maps[i], name, DX_MAP_RANDOM, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_guard_intact(g), "of an untouched file");
        dx_guard_unmap(g, &maps[2]);
        dx_guard_free(&g);
        for (unsigned i = 0; i < 5; i++)
            dx_map_close(&maps[i]);
    }
    return NULL;
}

static void check_beside_others(void)
{
    struct dx_error err = DX_ERROR_INIT;
    _Atomic bool stop = false;
    pthread_t thread;

    EXPECT(dx_guard_start(0, &err) == DX_OK, "%s", err.text);
    EXPECT(pthread_create(&thread, NULL, come_and_go, (void *)&stop) == 0, "thread");
    for (unsigned round = 0; round < 50; round++) {
        struct dx_map map = DX_MAP_INIT;
        struct dx_guard *g = NULL;

        (void)unlink(path);
        fill(path);
        EXPECT(dx_guard_new(&g, "v", &err) == DX_OK &&
                   dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err) == DX_OK,
               "%s", err.text);
        cut();
        EXPECT(map.bytes.data[SIZE - 1] == 0 && !dx_guard_intact(g), "round %u", round);
        dx_guard_free(&g);
        dx_map_close(&map);
    }
    atomic_store(&stop, true);
    (void)pthread_join(thread, NULL);
    dx_guard_stop();
}

/* ---- what is not the guard's ---- */

static void touch_unguarded(void)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err;

    (void)signal(SIGBUS, SIG_DFL); /* also under a sanitizer */
    if (dx_guard_start(0, &err) == DX_OK && dx_map_open(&map, path, DX_MAP_RANDOM, &err) == DX_OK) {
        cut();
        _exit(((const volatile uint8_t *)map.bytes.data)[SIZE - 1]);
    }
}

static void send_bus(void)
{
    struct dx_error err;

    (void)signal(SIGBUS, SIG_DFL);
    if (dx_guard_start(0, &err) == DX_OK)
        (void)raise(SIGBUS);
}

static void check_dies(const char *what, void (*act)(void))
{
    pid_t child;
    int status;

    fill(path);
    child = fork();
    if (child == 0) {
        act();
        _exit(99);
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS,
           "%s: status %d", what, status);
}

static void check_busy(void)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_guard *g = NULL;
    int fd;

    (void)unlink(path);
    fill(path);
    fd = open(path, O_WRONLY);
    EXPECT(dx_guard_start(0, &err) == DX_OK && dx_guard_new(&g, "v", &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err) == DX_E_BUSY && map.base == NULL, "%s",
           err.text);
    (void)close(fd);
    EXPECT(dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err) == DX_OK && dx_guard_intact(g), "%s",
           err.text);
    dx_guard_free(&g);
    dx_map_close(&map);
    dx_guard_stop();
}

static void check_without(void)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_guard *g = (struct dx_guard *)(uintptr_t)1;

    EXPECT(dx_guard_new(&g, "v", &err) == DX_OK && g == NULL, "not started");
    EXPECT(dx_guard_map(g, &map, path, DX_MAP_RANDOM, &err) == DX_OK && map.bytes.size == SIZE,
           "%s", err.text);
    EXPECT(dx_guard_intact(g) && !dx_guard_poisoned(g) && dx_guard_why(g, &err) == DX_OK, "none");
    dx_guard_unmap(g, &map);
    dx_guard_free(&g);
}

int main(void)
{
    EXPECT(mkdtemp(folder) != NULL, "%s", strerror(errno));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(other, sizeof other, "%s/other", folder);
    check_dies("a mapping without a guard", touch_unguarded);
    check_dies("sent by raise", send_bus);
    for (unsigned flags = 0; flags <= DX_GUARD_NO_LEASES; flags++) {
        for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
            check_act(i, flags);
        check_readers(cut, flags);
        check_readers(cut_and_extend, flags);
        check_readers(overwrite, flags);
        check_readers(overwrite_and_set_times_back, flags);
        check_readers(store, flags);
    }
    check_zeros();
    check_beside_others();
    check_busy();
    fill(path);
    check_without();
    (void)unlink(path);
    (void)unlink(other);
    (void)snprintf(other, sizeof other, "%s/more", folder);
    (void)unlink(other);
    (void)rmdir(folder);
    return failures > 0;
}
