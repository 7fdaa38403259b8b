/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/gzip_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK (64u << 10)

/* O_NONBLOCK: a pipe under this name must not hold us. */
static int open_file(int dir_fd, const char *name, struct dx_error *err)
{
    struct stat st;
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return dx_fail(err, DX_E_NOT_FOUND, "%s: no such file", name);
    if (fd < 0 && (errno == ELOOP || errno == ENXIO)) /* a link, a socket */
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: not a plain file", name);
    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", name);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        (void)close(fd);
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: not a plain file", name);
    }
    return fd;
}

int dx_gzip_lines_open(struct dx_gzip_lines *l, int dir_fd, const char *name,
                       const struct dx_gzip_limits *limits, struct dx_error *err)
{
    int fd = open_file(dir_fd, name, err);

    *l = (struct dx_gzip_lines){ .name = name, .limits = *limits };
    dx_buf_init(&l->line, limits->line_max);
    if (fd < 0)
        return fd == DX_E_NOT_FOUND ? 0 : fd;
    l->file = gzdopen(fd, "rb");
    if (l->file == NULL)
        (void)close(fd);
    else
        l->chunk = malloc(CHUNK);
    if (l->file == NULL || l->chunk == NULL) {
        dx_gzip_lines_close(l);
        return dx_no_memory(err, "%s", name);
    }
    if (limits->packed && gzdirect(l->file) != 0) {
        int e = errno;
        int why = Z_OK;

        (void)gzerror(l->file, &why);
        dx_gzip_lines_close(l);
        if (why == Z_ERRNO)
            return dx_fail_errno(err, e, "%s: read", name);
        return dx_fail(err, DX_E_CORRUPT, "%s: not gzip", name);
    }
    return 1;
}

void dx_gzip_lines_close(struct dx_gzip_lines *l)
{
    if (l->file != NULL)
        (void)gzclose_r(l->file);
    free(l->chunk);
    dx_buf_release(&l->line);
    *l = (struct dx_gzip_lines)DX_GZIP_LINES_INIT;
}

/* The next bytes: how many, 0 at the end. */
static int read_chunk(struct dx_gzip_lines *l, struct dx_error *err)
{
    int n = gzread(l->file, l->chunk, CHUNK);
    int why = Z_OK;
    const char *text;

    if (n < (int)CHUNK) {
        text = gzerror(l->file, &why);
        if (why == Z_ERRNO)
            return dx_fail_errno(err, errno, "%s: read", l->name);
        if (why != Z_OK && why != Z_STREAM_END)
            return dx_fail(err, DX_E_CORRUPT, "%s: behind %llu unpacked bytes: %s", l->name,
                           (unsigned long long)l->bytes, text);
    }
    l->at = 0;
    l->end = (size_t)n;
    l->bytes += (uint64_t)n;
    if (l->bytes > l->limits.bytes_max)
        return dx_fail(err, DX_E_LIMIT, "%s: more than %llu bytes unpacked", l->name,
                       (unsigned long long)l->limits.bytes_max);
    return n;
}

/* Adds to the line what fits; the rest of one that is too long is passed over. */
static void take(struct dx_gzip_lines *l, size_t n)
{
    size_t room = l->limits.line_max - l->line.size;

    if (n > room)
        l->too_long = true;
    dx_buf_append(&l->line, l->chunk + l->at, n < room ? n : room);
    l->at += n;
}

int dx_gzip_lines_next(struct dx_gzip_lines *l, struct dx_span *line, struct dx_error *err)
{
    bool begun = false;
    int rc = 1;

    dx_buf_clear(&l->line);
    l->too_long = false;
    while (rc > 0) {
        const uint8_t *newline;

        if (l->at == l->end) {
            rc = l->at_end ? 0 : read_chunk(l, err);
            l->at_end = rc == 0;
            if (rc <= 0)
                break;
        }
        begun = true;
        newline = memchr(l->chunk + l->at, '\n', l->end - l->at);
        take(l, newline == NULL ? l->end - l->at : (size_t)(newline - (l->chunk + l->at)));
        if (newline != NULL) {
            l->at++;
            break;
        }
    }
    if (rc < 0)
        return rc;
    if (l->line.failed)
        return dx_buf_fail(&l->line, err, l->name);
    *line = dx_span_of(l->line.data, l->line.size);
    l->line_number += begun;
    return begun ? 1 : 0;
}

int dx_gzip_head_read(struct dx_gzip_lines *l, size_t max, struct dx_buf *out, struct dx_error *err)
{
    int n;

    dx_buf_clear(out);
    while ((n = read_chunk(l, err)) > 0) {
        size_t room = out->size < max ? max - out->size : 0;

        dx_buf_append(out, l->chunk, (size_t)n < room ? (size_t)n : room);
    }
    if (n == 0 && out->failed)
        return dx_buf_fail(out, err, l->name);
    return n;
}
