/* SPDX-License-Identifier: Apache-2.0
 * detect_report.h - what ingest --detect prints: how an input is recognised, and the command for it.
 *
 *   dx_detect_report(&out, &d, path, why);                           why: NULL, or why it is not read
 *   dx_detect_command(&out, &d, path, root, operand, count);         root: NULL: not given yet
 *
 * The command is one line for a POSIX shell ($'...' only for a name with control characters). No I/O.
 * Any thread.
 */
#ifndef DX_BUILDER_CLI_DETECT_REPORT_H
#define DX_BUILDER_CLI_DETECT_REPORT_H

#include "builder/input/files/input_detect.h"

void dx_detect_report(struct dx_buf *out, const struct dx_detected *d, const char *path,
                      const char *why);
void dx_detect_command(struct dx_buf *out, const struct dx_detected *d, const char *path,
                       const char *root, const char *const *operand, size_t count);

#endif
