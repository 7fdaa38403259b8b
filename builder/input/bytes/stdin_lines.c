/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/stdin_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void dx_stdin_lines_init(struct dx_stdin_lines *in, int fd, FILE *answers)
{
    in->fd = fd;
    in->answers = answers;
    in->begin = in->end = 0;
    in->at_end = false;
    in->error = 0;
}

static void fill(struct dx_stdin_lines *in)
{
    ssize_t got;

    memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    (void)fflush(in->answers);
    do
        got = read(in->fd, in->bytes + in->end, sizeof in->bytes - in->end);
    while (got < 0 && errno == EINTR);
    in->error = got < 0 ? errno : 0;
    in->end += got > 0 ? (size_t)got : 0;
    in->at_end = got <= 0;
}

static void pass_to_line_end(struct dx_stdin_lines *in)
{
    const uint8_t *newline = NULL;

    while (newline == NULL && in->end > 0) {
        in->begin = in->end;
        fill(in);
        newline = in->end > 0 ? memchr(in->bytes, '\n', in->end) : NULL;
    }
    if (newline != NULL)
        in->begin = (size_t)(newline + 1 - in->bytes);
}

bool dx_stdin_lines_next(struct dx_stdin_lines *in, struct dx_span *line)
{
    const uint8_t *newline = NULL;
    size_t scanned = 0;

    for (;;) {
        size_t left = in->end - in->begin;

        if (left > scanned)
            newline = memchr(in->bytes + in->begin + scanned, '\n', left - scanned);
        if (newline != NULL) {
            *line = (struct dx_span){ in->bytes + in->begin,
                                      (size_t)(newline - in->bytes) - in->begin };
            in->begin += line->size + 1;
            return true;
        }
        if (in->at_end) {
            *line = (struct dx_span){ in->bytes + in->begin, left };
            in->begin = in->end;
            return left > 0;
        }
        if (left == sizeof in->bytes) {
            pass_to_line_end(in);
            *line = (struct dx_span){ in->bytes, DX_URL_MAX + 1 }; /* long is all it says */
            return true;
        }
        scanned = left;
        fill(in);
    }
}
