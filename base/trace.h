/* SPDX-License-Identifier: Apache-2.0
 * trace.h - what a command does, step by step, for people who ask for it (--verbose).
 *
 *   dx_trace_to(stderr);                       before threads start
 *   dx_trace("reads %s", path);                a line, behind the seconds since then; without dx_trace_to nothing
 *   if (dx_trace_on())  ...                    before work that only a line needs
 *
 * A URL goes in without its query, and nothing that is secret does. Lines are printed as dx_line_print does. Any thread.
 */
#ifndef DX_BASE_TRACE_H
#define DX_BASE_TRACE_H

#include <stdbool.h>
#include <stdio.h>

void dx_trace_to(FILE *to);
bool dx_trace_on(void);
void dx_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
