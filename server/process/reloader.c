/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/reloader.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/periodic.h"
#include "loader/current.h"
#include "loader/version.h"
#include "server/engine/server.h"
#include "server/follow/watched.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#define STOP_WAIT_S 1
#define WATCHED DX_MANIFEST_FILE_BASE
#define POISONED_MS 2000 /* between two looks while nothing is answered, also if polling is off */
#define BLIND_MS 500     /* between two tries to watch a directory that is not there */

struct dx_reloader {
    struct dx_current *current;
    char *watched; /* directory of the manifest; NULL: none to watch */
    int notice_fd; /* inotify; -1: none */
    int watch;     /* -1: the directory is not watched, for it is not there now */
    int wake_fd;   /* eventfd: something of what the lock guards has changed */
    pthread_t thread;
    struct dx_follower *suppressions;
    pthread_mutex_t lock;     /* of what follows */
    struct dx_server *server; /* notified under the lock, so that it cannot be freed meanwhile */
    void (*done)(void *ctx);  /* so is this */
    void *done_ctx;
    bool asked;
    bool stopping;
    /* Of the thread alone: */
    struct dx_period period;
    uint64_t look_ms;                                /* of the next look without notice */
    char said[sizeof(((struct dx_error *)0)->text)]; /* the last failure */
};

static void look_at_root(struct dx_reloader *r, bool asked)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current_stats stats;
    int rc;

    if (asked)
        dx_current_retry(r->current);
    rc = dx_current_reload(r->current, &err);
    if (rc < 0) {
        if (asked || strcmp(err.text, r->said) != 0)
            dx_log(DX_LOG_ERROR, "reload: kept the old version: %s", err.text);
        memcpy(r->said, err.text, sizeof r->said);
        return;
    }
    if (rc == 1) {
        (void)pthread_mutex_lock(&r->lock);
        if (r->server != NULL)
            dx_server_version_changed(r->server);
        (void)pthread_mutex_unlock(&r->lock);
    }
    if (rc == 0 && !asked && r->said[0] == '\0')
        return;
    r->said[0] = '\0';
    dx_current_stats(r->current, &stats);
    dx_log(DX_LOG_INFO, rc == 1 ? "reload: serving version %s" : "reload: nothing newer than %s",
           stats.resident[0]);
}

/* ---- notice of a new manifest ---- */

static bool is_blind(const struct dx_reloader *r)
{
    return r->notice_fd >= 0 && r->watch < 0;
}

/* The directory may be another one by now, or come later. True: it is watched from now on. */
static bool watch_again(struct dx_reloader *r)
{
    if (!is_blind(r))
        return false;
    r->watch = inotify_add_watch(r->notice_fd, r->watched,
                                 IN_MOVED_TO | IN_CLOSE_WRITE | IN_MOVE_SELF | IN_DELETE_SELF);
    return r->watch >= 0;
}

/* Reads all that was noticed; whether it was of the manifest, or of what should be watched. */
static bool take_notices(struct dx_reloader *r)
{
    union {
        struct inotify_event event;
        char bytes[4096];
    } buffer;
    bool ours = false;
    ssize_t n;

    while ((n = read(r->notice_fd, &buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *e = (const void *)(buffer.bytes + at);

            if (e->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED)) {
                (void)inotify_rm_watch(r->notice_fd, r->watch);
                r->watch = -1;
                ours = true;
            } else if ((e->mask & IN_Q_OVERFLOW) || (e->len > 0 && strcmp(e->name, WATCHED) == 0)) {
                ours = true;
            }
            at += (ssize_t)(sizeof *e + e->len);
        }
    return ours;
}

static void open_notice(struct dx_reloader *r, const char *directory)
{
    if (directory == NULL || r->period.ms == 0 ||
        asprintf(&r->watched, "%s/" DX_INDEX_DIR, directory) < 0) {
        r->watched = NULL;
        return;
    }
    r->notice_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (r->notice_fd < 0)
        dx_log(DX_LOG_WARN,
               "reload: no notice of new manifests (inotify: %s): looking for them "
               "each %u ms",
               strerror(errno), r->period.ms);
    (void)watch_again(r);
}

/* ---- the thread ---- */

static void plan_look(struct dx_reloader *r)
{
    uint64_t wait = dx_period_next(&r->period);

    if (wait > POISONED_MS && dx_current_poisoned(r->current))
        wait = POISONED_MS;
    r->look_ms = wait == DX_PERIODIC_NEVER ? UINT64_MAX : dx_clock_ms() + wait;
}

/* Until something is asked for or noticed, or it is time for a look or for tending; whether
 * there is reason to look. */
static bool await_look(struct dx_reloader *r, uint64_t tend_ms)
{
    struct pollfd fds[2] = { { r->wake_fd, POLLIN, 0 }, { r->notice_fd, POLLIN, 0 } };
    uint64_t now = dx_clock_ms();
    uint64_t wait = r->look_ms <= now ? 0 : r->look_ms - now;
    uint64_t wakes;
    bool noticed;

    if (tend_ms < wait)
        wait = tend_ms;
    if (is_blind(r) && wait > BLIND_MS)
        wait = BLIND_MS;
    (void)poll(fds, 2, wait > INT_MAX / 2 ? -1 : (int)wait + 1);
    if (fds[0].revents & POLLIN)
        (void)!read(r->wake_fd, &wakes, sizeof wakes);
    noticed = r->notice_fd >= 0 && take_notices(r);
    return watch_again(r) || noticed || dx_clock_ms() >= r->look_ms;
}

static void tell_done(struct dx_reloader *r)
{
    (void)pthread_mutex_lock(&r->lock);
    if (r->done != NULL)
        r->done(r->done_ctx);
    (void)pthread_mutex_unlock(&r->lock);
}

static void *run_reloader(void *argument)
{
    struct dx_reloader *r = argument;
    bool stopping = false;

    plan_look(r);
    while (!stopping) {
        bool look_now = await_look(r, dx_current_tend(r->current));
        bool asked;

        (void)pthread_mutex_lock(&r->lock);
        stopping = r->stopping;
        asked = r->asked;
        r->asked = false;
        (void)pthread_mutex_unlock(&r->lock);
        if (stopping || (!asked && !look_now))
            continue;
        look_at_root(r, asked);
        if (asked)
            tell_done(r);
        plan_look(r);
    }
    return NULL;
}

static void reloader_free(struct dx_reloader **out)
{
    struct dx_reloader *r = *out;

    if (r->notice_fd >= 0)
        (void)close(r->notice_fd);
    if (r->wake_fd >= 0)
        (void)close(r->wake_fd);
    (void)pthread_mutex_destroy(&r->lock);
    free(r->watched);
    free(r);
    *out = NULL;
}

int dx_reloader_start(struct dx_reloader **out, struct dx_current *current, const char *directory,
                      unsigned poll_ms, struct dx_error *err)
{
    struct dx_reloader *r = calloc(1, sizeof *r);
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_no_memory(err, "reload");
    r->current = current;
    dx_period_begin(&r->period, poll_ms);
    r->notice_fd = -1;
    r->watch = -1;
    (void)pthread_mutex_init(&r->lock, NULL);
    r->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    rc = r->wake_fd < 0 ? errno : 0;
    if (rc == 0) {
        open_notice(r, directory);
        rc = pthread_create(&r->thread, NULL, run_reloader, r);
    }
    if (rc != 0) {
        reloader_free(&r);
        return dx_fail_errno(err, rc, "reload: cannot start a thread");
    }
    rc = dx_follower_start(&r->suppressions, &dx_watched_suppressions, current, directory == NULL,
                           poll_ms, err);
    if (rc < 0) {
        (void)dx_reloader_stop(&r);
        return rc;
    }
    *out = r;
    return DX_OK;
}

static void wake(struct dx_reloader *r)
{
    const uint64_t one = 1;

    (void)!write(r->wake_fd, &one, sizeof one);
}

void dx_reloader_tell(struct dx_reloader *r, struct dx_server *server)
{
    (void)pthread_mutex_lock(&r->lock);
    r->server = server;
    (void)pthread_mutex_unlock(&r->lock);
}

void dx_reloader_when_done(struct dx_reloader *r, void (*call)(void *ctx), void *ctx)
{
    (void)pthread_mutex_lock(&r->lock);
    r->done = call;
    r->done_ctx = ctx;
    (void)pthread_mutex_unlock(&r->lock);
}

void dx_reloader_ask(struct dx_reloader *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->asked = true;
    (void)pthread_mutex_unlock(&r->lock);
    wake(r);
    dx_follower_ask(r->suppressions);
}

bool dx_reloader_stop(struct dx_reloader **out)
{
    struct dx_reloader *r = *out;
    struct timespec until;

    (void)pthread_mutex_lock(&r->lock);
    r->stopping = true;
    r->server = NULL;
    r->done = NULL;
    (void)pthread_mutex_unlock(&r->lock);
    wake(r);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    if (!dx_follower_stop(&r->suppressions) || pthread_timedjoin_np(r->thread, NULL, &until) != 0)
        return false;
    reloader_free(out);
    return true;
}
