/* SPDX-License-Identifier: Apache-2.0
 * stdin_lines.h - lines of a stream, as they come.
 *
 *   static struct dx_stdin_lines in;                too large for the stack
 *   dx_stdin_lines_init(&in, STDIN_FILENO, stdout);
 *   while (dx_stdin_lines_next(&in, &line))         without its '\n', until the next call
 *       ...
 *   if (in.error != 0) ...                          errno of a failed read, which ended the input
 *
 * In pieces, as much as there is, and answers are flushed before a read may wait: a writer of one line
 * that waits gets its answer. A line longer than the buffer comes as DX_URL_MAX + 1 bytes of it, and
 * its end is passed over: long is all it says, and memory does not grow. One thread.
 */
#ifndef DX_BUILDER_INPUT_BYTES_STDIN_LINES_H
#define DX_BUILDER_INPUT_BYTES_STDIN_LINES_H

#include <stdio.h>

#include "canon/url.h"

struct dx_stdin_lines {
    int fd;
    FILE *answers;
    size_t begin, end;
    bool at_end;
    int error;
    uint8_t bytes[16 * DX_URL_MAX];
};

void dx_stdin_lines_init(struct dx_stdin_lines *in, int fd, FILE *answers);
bool dx_stdin_lines_next(struct dx_stdin_lines *in, struct dx_span *line);

#endif
