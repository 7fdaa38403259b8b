/* SPDX-License-Identifier: Apache-2.0
 * log.h - one line of text for people.
 *
 *   dx_log(DX_LOG_WARN, "publish: %s", err.text);
 *
 *   dx_line_print(stdout, "%s: done", path);   of a command: the text and a newline
 *
 * The line of a log goes to standard error and carries UTC time, level and the text. Control
 * characters and bytes that are not UTF-8 come out as \xNN in both: bytes from outside can neither
 * forge a second line nor reach a terminal as an escape sequence. One write per line, so
 * lines of several threads do not mix. Only programs and their top level log;
 * everything below returns errors.
 *
 *   dx_log_never_wait();                  of a server, before its threads start: a line that standard
 *                                         error does not take at once (a pipe without a reader) is dropped
 *   dx_log_dropped()                      how many were: those, and those of a disk that is full
 *   rc = dx_log_bytes(lines, size)        whole lines of others' making, DX_LOG_BYTES_MAX bytes at most, by
 *                                         the same rule and lock: 1 taken; 0 not now, -1 refused: not counted
 *
 *   dx_trace_to(stderr);                what a command does, step by step, for people who ask for it (--verbose);
 *                                         before threads start
 *   dx_trace("reads %s", path);           a line behind the seconds since then; without dx_trace_to nothing. From any
 *                                         room; no queries of URLs, and nothing that is secret
 *   if (dx_trace_on())  ...               before work that only a line needs
 * Any thread.
 */
#ifndef DX_BASE_LOG_H
#define DX_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DX_LOG_BYTES_MAX 4096 /* a pipe takes as much in one piece (PIPE_BUF) */

enum dx_log_level { DX_LOG_INFO, DX_LOG_WARN, DX_LOG_ERROR };

void dx_log(enum dx_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* 0, or -1 if the stream refuses it. */
int dx_line_print(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "%zu file%s", n, dx_plural(n) */
static inline const char *dx_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void dx_trace_to(FILE *to);
bool dx_trace_on(void);
void dx_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void dx_log_never_wait(void);
uint64_t dx_log_dropped(void);
int dx_log_bytes(const void *lines, size_t size);

#endif
