/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trace.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdarg.h>

#define LINE_MAX_BYTES 2048

static FILE *trace_to;
static double begun;

void dx_trace_to(FILE *to)
{
    trace_to = to;
    begun = dx_clock_s();
}

bool dx_trace_on(void)
{
    return trace_to != NULL;
}

void dx_trace(const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    va_list list;

    if (trace_to == NULL)
        return;
    va_start(list, fmt);
    (void)vsnprintf(line, sizeof line, fmt, list);
    va_end(list);
    (void)dx_line_print(trace_to, "%9.3f %s", dx_clock_s() - begun, line);
}
