/* SPDX-License-Identifier: Apache-2.0
 * log.h - one line of text to standard error.
 *
 *   dx_log(DX_LOG_WARN, "publish: %s", err.text);
 *
 * The line carries UTC time, level and the text; control characters come out as
 * \xNN, so bytes from outside cannot forge a second line. One write per line, so
 * lines of several threads do not mix. Only programs and their top level log;
 * everything below returns errors.
 */
#ifndef DX_BASE_LOG_H
#define DX_BASE_LOG_H

enum dx_log_level { DX_LOG_INFO, DX_LOG_WARN, DX_LOG_ERROR };

void dx_log(enum dx_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
