/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/civil_time.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX 1000                    /* a longer text is cut: logs are for people */
#define LINE_ROOM (DX_LOG_BYTES_MAX - 8) /* for the last escape and the newline */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the look and the write behind it */
static _Atomic bool never_wait;
static _Atomic uint64_t dropped;

void dx_log_never_wait(void)
{
    atomic_store(&never_wait, true);
}

uint64_t dx_log_dropped(void)
{
    return atomic_load(&dropped);
}

/* A pipe or a socket that is said to be writable takes PIPE_BUF bytes without waiting. Not by
 * O_NONBLOCK: that would be set for all who share what standard error is, the shell among them. */
static bool is_writable(void)
{
    struct pollfd at = { .fd = STDERR_FILENO, .events = POLLOUT };

    return poll(&at, 1, 0) == 1 && (at.revents & POLLOUT) != 0;
}

int dx_log_bytes(const void *lines, size_t size)
{
    int rc = 0;

    (void)pthread_mutex_lock(&lock);
    if (!atomic_load_explicit(&never_wait, memory_order_relaxed) || is_writable())
        rc = write(STDERR_FILENO, lines, size) == (ssize_t)size ? 1 : -1;
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

void dx_log(enum dx_log_level level, const char *fmt, ...)
{
    static const char *const names[] = { "info", "warn", "error" };
    char text[TEXT_MAX];
    char line[DX_LOG_BYTES_MAX];
    char stamp[DX_CIVIL_TEXT];
    struct timespec now;
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)dx_civil_text_us((int64_t)now.tv_sec * 1000000, stamp);
    n = (size_t)snprintf(line, sizeof line, "%s %s ", stamp, names[level]);
    for (const char *p = text; *p != '\0' && n < LINE_ROOM; p++) {
        unsigned char c = (unsigned char)*p;

        if (c < 0x20 || c == 0x7f)
            n += (size_t)snprintf(line + n, sizeof line - n, "\\x%02x", c);
        else
            line[n++] = *p;
    }
    line[n++] = '\n';
    if (dx_log_bytes(line, n) != 1)
        (void)atomic_fetch_add(&dropped, 1);
}
