/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "loader/guard/guard_parts.h"

#include "base/quiet_thread.h"
#include "loader/guard/bus_fault.h"
#include "loader/guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 1000
#define LEASE_MARGIN_MS 100 /* of the coarse clock, and of the thread that reads it */
#define LEASE_BREAK_S 45    /* the kernel's default */

static struct {
    pthread_mutex_t lock; /* of the list, of what is not atomic in it, and of inotify's queue */
    struct dx_guard *first;
    struct dx_guard_counts counts; /* poisoned_by_… */

    pthread_mutex_t tell_lock; /* taken without the other */
    void (*tell)(void *ctx, const struct dx_error *why);
    void *tell_ctx;

    pthread_t thread;
    _Atomic bool started;
    _Atomic bool stopping;
    _Atomic pid_t tid; /* of the thread: leases signal to it; 0: not yet */
    _Atomic int64_t looked_ms;
    int64_t lease_break_ms; /* 0: a writer waits for ever */
    unsigned flags;
    int lease_signal;
    int signal_fd, event_fd, inotify_fd;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .tell_lock = PTHREAD_MUTEX_INITIALIZER,
            .signal_fd = -1,
            .event_fd = -1,
            .inotify_fd = -1 };

static void wake(void)
{
    uint64_t one = 1;

    if (write(watch.event_fd, &one, sizeof one) < 0)
        return; /* its counter is full: the thread is awake */
}

static void poison(struct dx_guard *g, const struct dx_guard_file *f, enum dx_guard_cause cause)
{
    unsigned none = 0;

    if (atomic_compare_exchange_strong(&g->word, &none,
                                       dx_guard_word(cause, (size_t)(f - g->files))))
        wake();
}

/* ---- looking ---- */

/* Poisons before it lets go: the writer that was held back writes only afterwards. */
static void look_at_lease(struct dx_guard *g, struct dx_guard_file *f)
{
    if (fcntl(f->fd, F_GETLEASE) == F_RDLCK)
        return;
    poison(g, f, DX_GUARD_WRITER);
    atomic_store(&f->leased, false);
    (void)fcntl(f->fd, F_SETLEASE, F_UNLCK);
}

/* With the lock. */
static void take_event(const struct inotify_event *e)
{
    for (struct dx_guard *g = watch.first; g != NULL; g = g->next)
        for (size_t i = 0; i < g->count; i++) {
            struct dx_guard_file *f = &g->files[i];

            if (f->watch < 0 || (f->watch != e->wd && (e->mask & IN_Q_OVERFLOW) == 0))
                continue;
            if ((e->mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0)
                f->watch =
                    -1; /* inotify reports nothing of it any more: only its times show changes */
            else
                poison(g, f, DX_GUARD_EVENT);
        }
}

static void read_events(void)
{
    _Alignas(struct inotify_event) char bytes[4096];
    const struct inotify_event *e;
    ssize_t got;

    if (watch.inotify_fd < 0)
        return;
    while ((got = read(watch.inotify_fd, bytes, sizeof bytes)) > 0)
        for (ssize_t at = 0; at < got; at += (ssize_t)(sizeof *e + e->len)) {
            e = (const struct inotify_event *)(const void *)(bytes + at);
            take_event(e);
        }
}

/* With the lock. Names, rights or the time of the last write were set. inotify has reported a write
 * before that, since it was over before its time could be set back. */
static void explain_change(struct dx_guard *g, struct dx_guard_file *f, const struct stat *st)
{
    read_events();
    if (f->watch < 0 && st->st_nlink == f->links)
        poison(g, f, DX_GUARD_TIMES);
    f->links = st->st_nlink;
    atomic_store(&f->changed_ns, dx_guard_ns(&st->st_ctim));
}

static void look_at_times(struct dx_guard *g, struct dx_guard_file *f, bool locked)
{
    struct stat st;

    if (fstat(f->fd, &st) < 0 || st.st_size != f->size ||
        dx_guard_ns(&st.st_mtim) != dx_guard_ns(&f->modified)) {
        poison(g, f, DX_GUARD_TIMES);
        return;
    }
    if (dx_guard_ns(&st.st_ctim) == atomic_load(&f->changed_ns))
        return;
    if (!locked)
        (void)pthread_mutex_lock(&watch.lock);
    explain_change(g, f, &st);
    if (!locked)
        (void)pthread_mutex_unlock(&watch.lock);
}

static bool look(struct dx_guard *g, bool locked)
{
    for (size_t i = 0; i < g->count && atomic_load(&g->word) == 0; i++) {
        struct dx_guard_file *f = &g->files[i];

        if (f->fd >= 0 && atomic_load(&f->leased))
            look_at_lease(g, f);
        else if (f->fd >= 0 && atomic_load(&f->timed))
            look_at_times(g, f, locked);
    }
    return atomic_load(&g->word) == 0;
}

bool dx_guard_look(struct dx_guard *g)
{
    return look(g, false);
}

bool dx_guard_leases_hold(void)
{
    return watch.lease_break_ms == 0 ||
           (int64_t)dx_clock_coarse_ms() - atomic_load(&watch.looked_ms) <
               watch.lease_break_ms - LEASE_MARGIN_MS;
}

/* All leases that were asked back are given back, also those of versions that are poisoned. */
static void look_at_all(void)
{
    int64_t begun_ms = (int64_t)dx_clock_coarse_ms();

    (void)pthread_mutex_lock(&watch.lock);
    read_events();
    for (struct dx_guard *g = watch.first; g != NULL; g = g->next) {
        (void)look(g, true);
        for (size_t i = 0; i < g->count; i++)
            if (g->files[i].fd >= 0 && atomic_load(&g->files[i].leased))
                look_at_lease(g, &g->files[i]);
    }
    (void)pthread_mutex_unlock(&watch.lock);
    atomic_store(&watch.looked_ms, begun_ms);
}

/* ---- telling ---- */

/* With the lock. */
static void count_poisoned(struct dx_guard *g)
{
    enum dx_guard_cause cause = dx_guard_word_cause(atomic_load(&g->word));

    g->reported = true;
    if (cause == DX_GUARD_BUS)
        watch.counts.poisoned_by_bus++;
    else if (cause == DX_GUARD_WRITER)
        watch.counts.poisoned_by_writer++;
    else
        watch.counts.poisoned_by_times++;
}

static bool next_untold(struct dx_error *why)
{
    struct dx_guard *g;

    (void)pthread_mutex_lock(&watch.lock);
    for (g = watch.first; g != NULL; g = g->next)
        if (!g->reported && atomic_load(&g->word) != 0)
            break;
    if (g != NULL) {
        count_poisoned(g);
        (void)dx_guard_why(g, why);
        (void)dx_fail_in(why, "version %s", g->name);
    }
    (void)pthread_mutex_unlock(&watch.lock);
    return g != NULL;
}

static void tell_all(void)
{
    struct dx_error why;

    while (next_untold(&why)) {
        (void)pthread_mutex_lock(&watch.tell_lock);
        if (watch.tell != NULL)
            watch.tell(watch.tell_ctx, &why);
        (void)pthread_mutex_unlock(&watch.tell_lock);
    }
}

void dx_guard_tell(void (*call)(void *ctx, const struct dx_error *why), void *ctx)
{
    (void)pthread_mutex_lock(&watch.tell_lock);
    watch.tell = call;
    watch.tell_ctx = ctx;
    (void)pthread_mutex_unlock(&watch.tell_lock);
}

/* ---- the thread ---- */

static int pause_ms(void)
{
    int64_t quarter = watch.lease_break_ms / 4;

    return quarter > 0 && quarter < LOOK_MS ? (int)quarter : LOOK_MS;
}

static void *run_watch(void *argument)
{
    struct pollfd fds[] = { { watch.signal_fd, POLLIN, 0 },
                            { watch.event_fd, POLLIN, 0 },
                            { watch.inotify_fd, POLLIN, 0 } };
    struct signalfd_siginfo signals[16];
    uint64_t wakes;

    (void)argument;
    atomic_store(&watch.tid, gettid());
    while (!atomic_load(&watch.stopping)) {
        (void)poll(fds, sizeof fds / sizeof fds[0], pause_ms());
        while (read(watch.signal_fd, signals, sizeof signals) > 0)
            ; /* which lease it was is seen by looking; a full queue loses signals anyway */
        if (read(watch.event_fd, &wakes, sizeof wakes) < 0)
            wakes = 0;
        look_at_all();
        tell_all();
    }
    return NULL;
}

static int64_t read_lease_break_ms(void)
{
    FILE *f = fopen("/proc/sys/fs/lease-break-time", "re");
    long s = LEASE_BREAK_S;

    if (f != NULL) {
        if (fscanf(f, "%ld", &s) != 1 || s < 0)
            s = LEASE_BREAK_S;
        (void)fclose(f);
    }
    return (int64_t)s * 1000;
}

static void close_descriptors(void)
{
    int *const all[] = { &watch.signal_fd, &watch.event_fd, &watch.inotify_fd };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (*all[i] >= 0)
            (void)close(*all[i]);
        *all[i] = -1;
    }
}

/* The signals are for the thread alone, which reads them from a descriptor. */
static int start_thread(struct dx_error *err)
{
    sigset_t mine;
    int rc;

    watch.lease_signal = SIGRTMIN + 1;
    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, watch.lease_signal);
    (void)sigaddset(&mine, SIGIO); /* what the kernel sends when its queue is full */
    watch.signal_fd = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    watch.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    watch.inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC); /* may fail: a limit of the user */
    if (watch.signal_fd < 0 || watch.event_fd < 0)
        return dx_fail_errno(err, errno, "guard of mapped files: no descriptor");
    rc = dx_bus_install(watch.event_fd, err);
    if (rc < 0)
        return rc;
    rc = dx_quiet_thread(&watch.thread, run_watch, NULL); /* it reads its signals from signal_fd */
    if (rc != 0) {
        dx_bus_uninstall();
        return dx_fail_errno(err, rc, "guard of mapped files: cannot start a thread");
    }
    return DX_OK;
}

int dx_guard_start(unsigned flags, struct dx_error *err)
{
    int rc;

    watch.flags = flags;
    watch.lease_break_ms = read_lease_break_ms();
    atomic_store(&watch.stopping, false);
    atomic_store(&watch.looked_ms, (int64_t)dx_clock_coarse_ms());
    atomic_store(&watch.tid, 0);
    rc = start_thread(err);
    if (rc < 0)
        close_descriptors();
    else
        atomic_store(&watch.started, true);
    return rc;
}

void dx_guard_stop(void)
{
    if (!atomic_exchange(&watch.started, false))
        return;
    atomic_store(&watch.stopping, true);
    wake();
    (void)pthread_join(watch.thread, NULL);
    dx_bus_uninstall();
    close_descriptors();
    dx_guard_tell(NULL, NULL);
}

bool dx_guard_watching(void)
{
    return atomic_load(&watch.started);
}

/* ---- guards and files ---- */

void dx_guard_watch_add(struct dx_guard *g)
{
    (void)pthread_mutex_lock(&watch.lock);
    g->next = watch.first;
    watch.first = g;
    (void)pthread_mutex_unlock(&watch.lock);
}

/* With the lock. Files of one inode share a watch. */
static void forget(int wd)
{
    for (const struct dx_guard *g = watch.first; g != NULL; g = g->next)
        for (size_t i = 0; i < g->count; i++)
            if (g->files[i].watch == wd)
                return;
    (void)inotify_rm_watch(watch.inotify_fd, wd);
}

void dx_guard_watch_remove(struct dx_guard *g)
{
    struct dx_guard **at = &watch.first;

    (void)pthread_mutex_lock(&watch.lock);
    while (*at != NULL && *at != g)
        at = &(*at)->next;
    if (*at != NULL)
        *at = g->next;
    if (!g->reported && atomic_load(&g->word) != 0)
        count_poisoned(g);
    for (size_t i = 0; i < g->count; i++)
        if (g->files[i].watch >= 0)
            forget(g->files[i].watch);
    (void)pthread_mutex_unlock(&watch.lock);
}

int dx_guard_watch_lease(int fd)
{
    struct f_owner_ex owner = { F_OWNER_TID, 0 };

    if ((watch.flags & DX_GUARD_NO_LEASES) != 0)
        return EINVAL;
    while ((owner.pid = atomic_load(&watch.tid)) == 0)
        (void)sched_yield(); /* it has just been started */
    if (fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, watch.lease_signal) < 0 ||
        fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
        return errno;
    return 0;
}

/* The very inode that is open, whatever its name means by now. -1: it cannot be watched. */
static int watch_inode(int fd)
{
    char path[32];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return inotify_add_watch(watch.inotify_fd, path, IN_MODIFY | IN_CLOSE_WRITE);
}

struct dx_guard_file *dx_guard_watch_file(struct dx_guard *g, char *path, int fd, void *base,
                                          bool leased)
{
    struct dx_guard_file *f;

    (void)pthread_mutex_lock(&watch.lock);
    f = &g->files[g->count++];
    f->path = path;
    f->fd = fd;
    f->base = base;
    f->watch = leased ? -1 : watch_inode(fd);
    atomic_store(&f->leased, leased);
    if (!leased)
        atomic_store(&g->unleased, true);
    (void)pthread_mutex_unlock(&watch.lock);
    return f;
}

void dx_guard_watch_take(struct dx_guard_file *f, struct dx_guard_file *out)
{
    (void)pthread_mutex_lock(&watch.lock);
    out->path = f->path;
    out->fd = f->fd;
    out->base = f->base;
    f->path = NULL;
    f->fd = -1;
    f->base = NULL;
    atomic_store(&f->leased, false);
    atomic_store(&f->timed, false);
    if (f->watch >= 0) {
        int wd = f->watch;

        f->watch = -1;
        forget(wd);
    }
    (void)pthread_mutex_unlock(&watch.lock);
}

void dx_guard_counts_read(struct dx_guard_counts *counts)
{
    (void)pthread_mutex_lock(&watch.lock);
    *counts = watch.counts;
    counts->bus_signals = dx_bus_count();
    for (const struct dx_guard *g = watch.first; g != NULL; g = g->next)
        for (size_t i = 0; i < g->count; i++) {
            counts->leased += g->files[i].fd >= 0 && atomic_load(&g->files[i].leased);
            counts->timed += g->files[i].fd >= 0 && atomic_load(&g->files[i].timed);
        }
    (void)pthread_mutex_unlock(&watch.lock);
}
