/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/buf.h"
#include "base/civil_time.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PRINT_MAX ((size_t)1 << 20)      /* an argument of a command has 128 KiB at most */
#define TEXT_MAX 1000                    /* a longer text is cut: logs are for people */
#define LINE_ROOM (DX_LOG_BYTES_MAX - 1) /* the newline is behind it */

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
    dx_utf8_copy_printable(line + n, LINE_ROOM - n, text, strlen(text));
    n += strlen(line + n);
    line[n++] = '\n';
    if (dx_log_bytes(line, n) != 1)
        (void)atomic_fetch_add(&dropped, 1);
}

/* 1; 0: out of memory; -1: the stream refuses it. */
__attribute__((format(printf, 2, 0))) static int print_long(FILE *to, const char *fmt, va_list ap)
{
    struct dx_buf line = DX_BUF_INIT(PRINT_MAX);
    char *text = NULL;
    int size = vasprintf(&text, fmt, ap);
    int rc = 0;

    if (size < 0)
        return 0;
    dx_buf_printable(&line, text, (size_t)size);
    dx_buf_u8(&line, '\n');
    if (!line.failed)
        rc = fwrite(line.data, 1, line.size, to) == line.size ? 1 : -1;
    free(text);
    dx_buf_release(&line);
    return rc;
}

/* What fits is written without an allocation: commands say so that they are out of memory. */
int dx_line_print(FILE *to, const char *fmt, ...)
{
    char text[TEXT_MAX];
    char line[4 * TEXT_MAX];
    va_list ap;
    int size;
    int rc = 0;

    va_start(ap, fmt);
    size = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (size < 0)
        return -1;
    if ((size_t)size >= sizeof text) {
        va_start(ap, fmt);
        rc = print_long(to, fmt, ap);
        va_end(ap);
    }
    if (rc != 0) /* else the beginning of it */
        return rc < 0 ? rc : 0;
    dx_utf8_copy_printable(line, sizeof line - 1, text, strlen(text));
    size = (int)strlen(line);
    line[size++] = '\n';
    return fwrite(line, 1, (size_t)size, to) == (size_t)size ? 0 : -1;
}

/* ---- steps of a command ---- */

static FILE *trace_to;
static double trace_begun;

void dx_trace_to(FILE *to)
{
    trace_to = to;
    trace_begun = dx_clock_s();
}

bool dx_trace_on(void)
{
    return trace_to != NULL;
}

void dx_trace(const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;

    if (trace_to == NULL)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)dx_line_print(trace_to, "%9.3f %s", dx_clock_s() - trace_begun, text);
}
