/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/supervisor.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD 3 /* of those that were handed over */
#define TELL_MAX 1024
#define TELL_WAIT_S 1

/* Half of the shortest TimeoutStartSec that anybody would set; what is asked for lasts for some. */
#define PULSE_S 5
#define EXTEND_US 30000000

/* Of processor time in a pulse: the pulse itself takes less than a tenth of it, and so do retries
 * at a store that does not answer; a megabyte that comes over a network takes more. */
#define PULSE_WORK_US 2000

static const char *const listener_names[DX_LISTENER_COUNT] = {
    [DX_LISTENER_HTTP] = "http", [DX_LISTENER_ADMIN] = "admin"
};

static const char *const variables[] = {
    "NOTIFY_SOCKET", "WATCHDOG_USEC",  "WATCHDOG_PID",   "LISTEN_PID",
    "LISTEN_FDS",    "LISTEN_PIDFDID", "LISTEN_FDNAMES",
};

/* A whole decimal number; false: not a number, or there is no such variable. */
static bool number_of(const char *variable, unsigned long long *value)
{
    const char *text = getenv(variable);
    char *end;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

static bool is_us(const char *variable)
{
    unsigned long long pid;

    return number_of(variable, &pid) && pid == (unsigned long long)getpid();
}

/* ---- telling ---- */

static int open_notify(struct dx_supervisor *s, struct dx_error *err)
{
    const struct timeval wait = { TELL_WAIT_S, 0 };
    const char *path = getenv("NOTIFY_SOCKET");
    size_t size = path == NULL ? 0 : strlen(path);

    if (size == 0)
        return DX_OK;
    if ((path[0] != '/' && path[0] != '@') || size >= sizeof s->notify.sun_path)
        return dx_fail(err, DX_E_INVALID, "NOTIFY_SOCKET: '%s' is not the path of a socket", path);
    s->notify.sun_family = AF_UNIX;
    memcpy(s->notify.sun_path, path, size);
    s->notify_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    if (path[0] == '@')
        s->notify.sun_path[0] = '\0';
    else
        s->notify_size++;
    s->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s->notify_fd < 0 ||
        connect(s->notify_fd, (const struct sockaddr *)&s->notify, s->notify_size) < 0)
        return dx_fail_errno(err, errno, "NOTIFY_SOCKET: %s", path);
    (void)setsockopt(s->notify_fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    return DX_OK;
}

void dx_supervisor_tell(struct dx_supervisor *s, const char *fmt, ...)
{
    char text[TELL_MAX];
    va_list arguments;
    int size;

    if (s->notify_fd < 0)
        return;
    va_start(arguments, fmt);
    size = vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    if (size < 0)
        return;
    if ((size_t)size >= sizeof text)
        size = (int)sizeof text - 1;
    /* A supervisor that was restarted has a new socket under the old name; the sandbox refuses to
     * connect to it. */
    if (send(s->notify_fd, text, (size_t)size, MSG_NOSIGNAL) < 0 &&
        (errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET) &&
        connect(s->notify_fd, (const struct sockaddr *)&s->notify, s->notify_size) == 0)
        (void)!send(s->notify_fd, text, (size_t)size, MSG_NOSIGNAL);
}

/* ---- sockets that were handed over ---- */

/* Without this check the first client would notice a descriptor that is not a listening socket, or
 * none would. */
static int check_listener(int fd, const char *name, struct dx_error *err)
{
    int type = 0;
    int listening = 0;
    socklen_t size = sizeof type;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM)
        return dx_fail(err, DX_E_INVALID, "LISTEN_FDS: descriptor %d (%s) is not a stream socket",
                       fd, name);
    size = sizeof listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 || listening == 0)
        return dx_fail(err, DX_E_INVALID, "LISTEN_FDS: descriptor %d (%s) does not listen", fd,
                       name);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return dx_fail_errno(err, errno, "LISTEN_FDS: descriptor %d (%s)", fd, name);
    return DX_OK;
}

static int place_listener(struct dx_supervisor *s, int fd, const char *name, struct dx_error *err)
{
    for (size_t i = 0; i < DX_LISTENER_COUNT; i++) {
        if (strcmp(name, listener_names[i]) != 0)
            continue;
        if (s->listeners[i] >= 0)
            return dx_fail(err, DX_E_INVALID,
                           "LISTEN_FDNAMES: two sockets for %s; one can be served, and "
                           "BindIPv6Only=both makes one of two",
                           name);
        s->listeners[i] = fd;
        return check_listener(fd, name, err);
    }
    return dx_fail(err, DX_E_INVALID,
                   "LISTEN_FDNAMES: '%s' is neither http nor admin (FileDescriptorName= of the "
                   "socket unit)",
                   name);
}

static int take_listeners(struct dx_supervisor *s, struct dx_error *err)
{
    const char *names = getenv("LISTEN_FDNAMES");
    unsigned long long count;
    int rc = DX_OK;

    if (!is_us("LISTEN_PID") || !number_of("LISTEN_FDS", &count) || count == 0)
        return DX_OK;
    if (count > DX_LISTENER_COUNT)
        return dx_fail(err, DX_E_INVALID, "LISTEN_FDS: %llu sockets; there is use for %d", count,
                       DX_LISTENER_COUNT);
    for (size_t i = 0; i < count && rc == DX_OK; i++) {
        char name[32];
        size_t size = names == NULL ? 0 : strcspn(names, ":");

        (void)snprintf(name, sizeof name, "%.*s", names == NULL ? (int)sizeof name : (int)size,
                       names == NULL ? listener_names[i] : names);
        rc = place_listener(s, FIRST_FD + (int)i, name, err);
        if (names != NULL)
            names += size + (names[size] == ':');
    }
    return rc;
}

int dx_supervisor_listener(struct dx_supervisor *s, const char *name)
{
    for (size_t i = 0; i < DX_LISTENER_COUNT; i++)
        if (strcmp(name, listener_names[i]) == 0) {
            int fd = s->listeners[i];

            s->listeners[i] = -1;
            return fd;
        }
    return -1;
}

/* ---- while it loads ---- */

static long long work_us(void)
{
    struct rusage used;

    if (getrusage(RUSAGE_SELF, &used) < 0)
        return 0;
    return ((long long)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static void *send_pulses(void *argument)
{
    struct dx_supervisor *s = argument;
    long long before = work_us();
    struct timespec until;

    (void)pthread_mutex_lock(&s->lock);
    while (s->loading) {
        long long now;

        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += PULSE_S;
        if (pthread_cond_timedwait(&s->changed, &s->lock, &until) != ETIMEDOUT)
            continue;
        now = work_us();
        if (now - before >= PULSE_WORK_US)
            dx_supervisor_tell(s, "EXTEND_TIMEOUT_USEC=%d\nSTATUS=loading, %lld s of work so far",
                               EXTEND_US, now / 1000000);
        before = now;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

void dx_supervisor_begin(struct dx_supervisor *s)
{
    int rc;

    if (s->notify_fd < 0 || s->loading)
        return;
    s->loading = true;
    rc = pthread_create(&s->thread, NULL, send_pulses, s);
    if (rc == 0)
        return;
    s->loading = false;
    dx_log(DX_LOG_WARN, "supervisor: no thread that asks for more time: %s", strerror(rc));
}

void dx_supervisor_loaded(struct dx_supervisor *s)
{
    bool was;

    (void)pthread_mutex_lock(&s->lock);
    was = s->loading;
    s->loading = false;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    if (was)
        (void)pthread_join(s->thread, NULL);
}

/* ---- lifetime ---- */

int dx_supervisor_open(struct dx_supervisor *s, struct dx_error *err)
{
    unsigned long long microseconds = 0;
    int rc;

    *s = (struct dx_supervisor){ .notify_fd = -1, .listeners = { -1, -1 } };
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    rc = open_notify(s, err);
    if (number_of("WATCHDOG_USEC", &microseconds) &&
        (getenv("WATCHDOG_PID") == NULL || is_us("WATCHDOG_PID")) && s->notify_fd >= 0) {
        microseconds /= 1000;
        s->watchdog_ms = microseconds < 1          ? 1
                         : microseconds > 86400000 ? 86400000
                                                   : (unsigned)microseconds;
    }
    if (rc == DX_OK)
        rc = take_listeners(s, err);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        (void)unsetenv(variables[i]);
    if (rc < 0)
        dx_supervisor_close(s);
    return rc;
}

void dx_supervisor_close(struct dx_supervisor *s)
{
    dx_supervisor_loaded(s);
    for (size_t i = 0; i < DX_LISTENER_COUNT; i++) {
        if (s->listeners[i] >= 0)
            (void)close(s->listeners[i]);
        s->listeners[i] = -1;
    }
    if (s->notify_fd >= 0)
        (void)close(s->notify_fd);
    s->notify_fd = -1;
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->lock);
}
