/* SPDX-License-Identifier: Apache-2.0
 * gzip_lines.h - files of a folder that another program wrote, by lines or whole, unpacked.
 *
 *   rc = dx_gzip_lines_open(&l, dir_fd, "tags", &limits, &err);     1, 0 there is no such file, <0
 *   while ((rc = dx_gzip_lines_next(&l, &line, &err)) == 1)         without its '\n'; until the next call
 *       if (l.too_long) ...                                         only its first bytes, the rest is skipped
 *   rc = dx_gzip_head_read(&l, max, &buf, &err);                    instead: the first bytes, and then to
 *                                                                   the end, for the checksum
 *   dx_gzip_lines_close(&l);                                        safe at any time
 *
 * name is one name in the folder dir_fd. A symbolic link, a device or a pipe in its place is
 * refused. With `packed` the file must be gzip; else plain text is read as it is. DX_E_CORRUPT: no
 * gzip, a wrong checksum, bytes missing. DX_E_LIMIT: more than limits.bytes_max come out. Memory: a
 * line. One thread.
 */
#ifndef DX_BUILDER_INPUT_BYTES_GZIP_LINES_H
#define DX_BUILDER_INPUT_BYTES_GZIP_LINES_H

#include "base/buf.h"
#include "base/bytes.h"

struct gzFile_s;

struct dx_gzip_limits {
    bool packed;
    size_t line_max;
    uint64_t bytes_max; /* unpacked */
};

struct dx_gzip_lines {
    struct gzFile_s *file;
    const char *name; /* borrowed */
    struct dx_gzip_limits limits;
    uint64_t bytes; /* that came out */
    uint64_t line_number;
    bool too_long;
    bool at_end;
    struct dx_buf line;
    size_t at, end;
    uint8_t *chunk;
};

#define DX_GZIP_LINES_INIT \
    {                      \
        .file = NULL       \
    }

int dx_gzip_lines_open(struct dx_gzip_lines *l, int dir_fd, const char *name,
                       const struct dx_gzip_limits *limits, struct dx_error *err);
int dx_gzip_lines_next(struct dx_gzip_lines *l, struct dx_span *line, struct dx_error *err);
int dx_gzip_head_read(struct dx_gzip_lines *l, size_t max, struct dx_buf *out,
                      struct dx_error *err);
void dx_gzip_lines_close(struct dx_gzip_lines *l);

#endif
