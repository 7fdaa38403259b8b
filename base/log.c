/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/civil_time.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* a longer line is cut: logs are for people */

void dx_log(enum dx_log_level level, const char *fmt, ...)
{
    static const char *const names[] = { "info", "warn", "error" };
    char text[LINE_MAX_BYTES / 4];
    char line[LINE_MAX_BYTES + DX_CIVIL_TEXT + 16];
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
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;

        if (c < 0x20 || c == 0x7f)
            n += (size_t)snprintf(line + n, sizeof line - n, "\\x%02x", c);
        else
            line[n++] = *p;
    }
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* nowhere left to say it */
}
