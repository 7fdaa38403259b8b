/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define TERMINAL_FIRST_MS 1000
#define TERMINAL_EVERY_MS 200
#define LOG_EVERY_MS 10000

const char *dx_progress_size(uint64_t bytes, char out[32])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 1024 && u + 1 < sizeof units / sizeof units[0]) {
        v /= 1024;
        u++;
    }
    (void)snprintf(out, 32, u == 0 || v >= 100 ? "%.0f %s" : "%.1f %s", v, units[u]);
    return out;
}

const char *dx_progress_count(uint64_t n, char out[32])
{
    char digits[24];
    size_t size = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    size_t to = 0;

    for (size_t i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = '\0';
    return out;
}

size_t dx_progress_line(const struct dx_progress *p, uint64_t bytes, uint64_t items,
                        int64_t elapsed_ms, char out[DX_PROGRESS_LINE])
{
    char a[32];
    char b[32];
    double seconds = elapsed_ms > 0 ? (double)elapsed_ms / 1000 : 0.001;
    size_t n;

    n = (size_t)snprintf(out, DX_PROGRESS_LINE, "%.40s: ", p->phase);
    if (p->total_bytes > 0)
        n += (size_t)snprintf(out + n, DX_PROGRESS_LINE - n, "%s of %s%s, %d %%, ",
                              dx_progress_size(bytes, a), p->is_estimate ? "about " : "",
                              dx_progress_size(p->total_bytes, b),
                              (int)(100.0 * (double)bytes / (double)p->total_bytes));
    else if (bytes > 0)
        n += (size_t)snprintf(out + n, DX_PROGRESS_LINE - n, "%s, ", dx_progress_size(bytes, a));
    n += (size_t)snprintf(out + n, DX_PROGRESS_LINE - n, "%s %s, %s %s/s",
                          dx_progress_count(items, a), p->unit,
                          dx_progress_count((uint64_t)((double)items / seconds), b), p->unit);
    if (bytes > 0)
        n += (size_t)snprintf(out + n, DX_PROGRESS_LINE - n, ", %s/s",
                              dx_progress_size((uint64_t)((double)bytes / seconds), a));
    if (p->rejected > 0)
        n += (size_t)snprintf(out + n, DX_PROGRESS_LINE - n, ", %s rejected",
                              dx_progress_count(p->rejected, a));
    if (p->total_bytes > 0 && bytes > 0 && bytes <= p->total_bytes) {
        long left = (long)(seconds * (double)(p->total_bytes - bytes) / (double)bytes + 0.5);

        n += (size_t)snprintf(out + n, DX_PROGRESS_LINE - n, ", %ld:%02ld:%02ld left", left / 3600,
                              left / 60 % 60, left % 60);
    }
    return n;
}

void dx_progress_init(struct dx_progress *p, int fd)
{
    *p = (struct dx_progress){ .fd = fd, .terminal = isatty(fd) == 1 };
}

void dx_progress_phase(struct dx_progress *p, const char *phase, const char *unit,
                       uint64_t total_bytes)
{
    dx_progress_end(p);
    p->phase = phase;
    p->unit = unit;
    p->total_bytes = total_bytes;
    p->is_estimate = false;
    p->rejected = 0;
    p->begun_ms = (int64_t)dx_clock_ms();
    p->next_ms = p->begun_ms + (p->terminal ? TERMINAL_FIRST_MS : LOG_EVERY_MS);
}

/* Progress is a courtesy: if standard error is gone, the work goes on. */
static void put(const struct dx_progress *p, const char *text, size_t size)
{
    ssize_t ignored = write(p->fd, text, size);

    (void)ignored;
}

void dx_progress_total(struct dx_progress *p, uint64_t total_bytes, bool is_estimate)
{
    p->total_bytes = total_bytes;
    p->is_estimate = is_estimate;
}

void dx_progress_at(struct dx_progress *p, uint64_t bytes, uint64_t items)
{
    char line[DX_PROGRESS_LINE + 8];
    int64_t now = (int64_t)dx_clock_ms();
    size_t n = 0;

    if (p->phase == NULL || p->fd < 0 || now < p->next_ms)
        return;
    p->next_ms = now + (p->terminal ? TERMINAL_EVERY_MS : LOG_EVERY_MS);
    if (p->terminal)
        line[n++] = '\r';
    n += dx_progress_line(p, bytes, items, now - p->begun_ms, line + n);
    memcpy(line + n, p->terminal ? "\033[K" : "\n\0", 3);
    n += p->terminal ? 3 : 1;
    put(p, line, n);
    p->drawn = true;
}

void dx_progress_end(struct dx_progress *p)
{
    if (p->drawn && p->terminal)
        put(p, "\r\033[K", 4);
    p->drawn = false;
    p->phase = NULL;
}
