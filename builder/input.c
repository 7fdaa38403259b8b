/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "builder/input_remote.h"
#include "fetch/source.h"

#define RAW_SIZE (256 * 1024)
#define MAGIC_MAX 6

enum kind { KIND_PLAIN, KIND_GZIP, KIND_ZSTD };

struct dx_input {
    int fd;
    struct dx_input_remote *remote; /* instead of fd */
    char *name;
    enum kind kind;
    uint64_t file_size;
    uint64_t window_max;

    uint8_t *raw; /* bytes read from fd, not yet consumed: [at, end) */
    size_t at;
    size_t end;
    bool raw_eof;
    uint64_t consumed; /* offset of raw[at] in the file */

    z_stream gzip;
    bool gzip_ready;
    ZSTD_DStream *zstd;
    bool in_frame; /* a member or frame has begun and has not ended */
};

/* Reads once into the free tail of raw; sets raw_eof at the end. */
static int refill(struct dx_input *in, struct dx_error *err)
{
    ssize_t n = -1;

    if (in->at == in->end) {
        in->at = in->end = 0;
    } else if (in->at > 0) {
        memmove(in->raw, in->raw + in->at, in->end - in->at);
        in->end -= in->at;
        in->at = 0;
    }
    if (in->remote != NULL) {
        n = dx_input_remote_read(in->remote, in->raw + in->end, RAW_SIZE - in->end, err);
        if (n < 0)
            return (int)n;
    }
    while (n < 0 && (n = read(in->fd, in->raw + in->end, RAW_SIZE - in->end)) < 0 && errno == EINTR)
        ;
    if (n < 0)
        return dx_fail_errno(err, errno, "%s: read at offset %llu", in->name,
                             (unsigned long long)in->consumed);
    in->raw_eof = n == 0;
    in->end += (size_t)n;
    return DX_OK;
}

static void consume(struct dx_input *in, size_t n)
{
    in->at += n;
    __atomic_store_n(&in->consumed, in->consumed + n, __ATOMIC_RELAXED);
}

static bool begins(const struct dx_input *in, const char *magic, size_t n)
{
    return in->end - in->at >= n && memcmp(in->raw + in->at, magic, n) == 0;
}

/* 0xFD2FB528 begins a frame, 0x184D2A50..5F a skippable one. */
static bool zstd_begins(const struct dx_input *in)
{
    const uint8_t *p = in->raw + in->at;

    return begins(in, "\x28\xB5\x2F\xFD", 4) || (in->end - in->at >= 4 && (p[0] & 0xf0) == 0x50 &&
                                                 p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18);
}

static int refuse_known(const struct dx_input *in, struct dx_error *err)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *words;
    } rows[] = {
        { "\xFD"
          "7zXZ\0",
          6, "is xz; unpack it first: xz -dc FILE | domaindex ingest ... -" },
        { "BZh", 3, "is bzip2; unpack it first: bzip2 -dc FILE | domaindex ingest ... -" },
        { "PK\x03\x04", 4,
          "is a zip archive; unpack it first: unzip -p FILE | domaindex ingest ... -" },
        { "PAR1", 4, "is a Parquet file; ingest reads text records" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (begins(in, rows[i].magic, rows[i].size))
            return dx_fail(err, DX_E_UNSUPPORTED, "%s: %s", in->name, rows[i].words);
    return DX_OK;
}

static int start_codec(struct dx_input *in, struct dx_error *err)
{
    int window_log = 10;

    if (in->kind == KIND_GZIP) {
        if (inflateInit2(&in->gzip, 15 + 16) != Z_OK)
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory for zlib", in->name);
        in->gzip_ready = true;
    } else if (in->kind == KIND_ZSTD) {
        while (window_log < 31 && (uint64_t)1 << (window_log + 1) <= in->window_max)
            window_log++;
        in->zstd = ZSTD_createDStream();
        if (in->zstd == NULL ||
            ZSTD_isError(ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, window_log)))
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory for zstd", in->name);
    }
    return DX_OK;
}

static int detect(struct dx_input *in, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && !in->raw_eof && in->end - in->at < MAGIC_MAX)
        rc = refill(in, err);
    in->raw_eof = false; /* found again by the next read; a terminal may go on */
    if (rc == DX_OK)
        rc = refuse_known(in, err);
    if (rc != DX_OK)
        return rc;
    if (begins(in, "\x1F\x8B", 2))
        in->kind = KIND_GZIP;
    else if (zstd_begins(in))
        in->kind = KIND_ZSTD;
    return start_codec(in, err);
}

/* A file or standard input. */
static int open_file(struct dx_input *in, const char *path, struct dx_error *err)
{
    struct stat st;

    in->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO)
                                    : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (in->fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", in->name);
    if (fstat(in->fd, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot stat", in->name);
    if (S_ISDIR(st.st_mode))
        return dx_fail(err, DX_E_INVALID, "%s: is a directory; name the files in it", in->name);
    in->file_size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    (void)posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return DX_OK;
}

int dx_input_open(struct dx_input **out, const char *path, uint64_t window_max,
                  struct dx_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct dx_input *in = calloc(1, sizeof *in);
    int rc;

    *out = NULL;
    if (in == NULL)
        return dx_fail(err, DX_E_NOMEM, "input: out of memory");
    in->fd = -1;
    in->window_max = window_max;
    in->name = strdup(is_stdin ? "standard input" : path);
    in->raw = malloc(RAW_SIZE);
    if (in->name == NULL || in->raw == NULL) {
        rc = dx_fail(err, DX_E_NOMEM, "input: out of memory");
        goto fail;
    }
    rc = dx_source_remote(path) ? dx_input_remote_open(&in->remote, path, err)
                                : open_file(in, path, err);
    if (rc == DX_OK)
        rc = detect(in, err);
    if (rc < 0)
        goto fail;
    if (in->remote != NULL)
        in->file_size = dx_input_remote_total(in->remote);
    *out = in;
    return DX_OK;
fail:
    dx_input_close(&in);
    return rc;
}

void dx_input_close(struct dx_input **handle)
{
    struct dx_input *in = *handle;

    if (in == NULL)
        return;
    if (in->gzip_ready)
        (void)inflateEnd(&in->gzip);
    (void)ZSTD_freeDStream(in->zstd);
    if (in->fd >= 0)
        (void)close(in->fd);
    dx_input_remote_close(&in->remote);
    free(in->name);
    free(in->raw);
    free(in);
    *handle = NULL;
}

static int corrupt(const struct dx_input *in, const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "%s: damaged at offset %llu: %s", in->name,
                   (unsigned long long)in->consumed, what);
}

static int cut_short(const struct dx_input *in, const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_TRUNCATED, "%s: ends at offset %llu inside a %s; fetch it again",
                   in->name, (unsigned long long)in->consumed, what);
}

/* Between members: 1 another begins, 0 the file ends, <0 neither. Zero bytes up to the
 * end are padding, as gzip(1) has it for tapes. */
static int gzip_next(struct dx_input *in, struct dx_error *err)
{
    bool zeros = false;
    int rc;

    for (;;) {
        if (in->at == in->end || (!in->raw_eof && in->end - in->at < 2)) {
            rc = refill(in, err);
            if (rc < 0)
                return rc;
            if (in->at == in->end)
                return 0;
            continue;
        }
        if (in->raw[in->at] == 0) {
            zeros = true;
            consume(in, 1);
            continue;
        }
        if (zeros || !begins(in, "\x1F\x8B", 2))
            return corrupt(in, "bytes after the last gzip member", err);
        if (inflateReset(&in->gzip) != Z_OK)
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory for zlib", in->name);
        in->in_frame = true;
        return 1;
    }
}

static ssize_t read_gzip(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    uInt want = size > (1u << 30) ? 1u << 30 : (uInt)size;
    int rc;

    in->gzip.next_out = to;
    in->gzip.avail_out = want;
    while (in->gzip.avail_out == want) {
        if (!in->in_frame) {
            rc = gzip_next(in, err);
            if (rc <= 0)
                return rc;
        }
        if (in->at == in->end) {
            rc = refill(in, err);
            if (rc < 0)
                return rc;
            if (in->at == in->end)
                return cut_short(in, "gzip member", err);
        }
        in->gzip.next_in = in->raw + in->at;
        in->gzip.avail_in = (uInt)(in->end - in->at);
        rc = inflate(&in->gzip, Z_NO_FLUSH);
        consume(in, in->end - in->at - in->gzip.avail_in);
        if (rc == Z_STREAM_END)
            in->in_frame = false;
        else if (rc == Z_MEM_ERROR)
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory for zlib", in->name);
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            return corrupt(in, in->gzip.msg != NULL ? in->gzip.msg : "bad gzip data", err);
    }
    return (ssize_t)(want - in->gzip.avail_out);
}

/* Between frames: 1 another begins, 0 the file ends, <0 neither. */
static int zstd_next(struct dx_input *in, struct dx_error *err)
{
    while (in->end - in->at < 4) {
        int rc = refill(in, err);

        if (rc < 0)
            return rc;
        if (in->raw_eof && in->at == in->end)
            return 0;
        if (in->raw_eof)
            break;
    }
    if (!zstd_begins(in))
        return in->end - in->at < 4 ? cut_short(in, "zstd frame header", err)
                                    : corrupt(in, "bytes after the last zstd frame", err);
    in->in_frame = true;
    return 1;
}

static ssize_t read_zstd(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    ZSTD_outBuffer out = { to, size, 0 };

    while (out.pos == 0) {
        ZSTD_inBuffer from;
        size_t left;
        bool starved;
        int rc;

        if (!in->in_frame) {
            rc = zstd_next(in, err);
            if (rc <= 0)
                return rc;
        }
        starved = in->at == in->end;
        if (starved) {
            rc = refill(in, err);
            if (rc < 0)
                return rc;
            starved = in->at == in->end;
        }
        /* At the end of the file one more call without input: output may still wait inside. */
        from = (ZSTD_inBuffer){ in->raw + in->at, in->end - in->at, 0 };
        left = ZSTD_decompressStream(in->zstd, &out, &from);
        consume(in, from.pos);
        if (ZSTD_isError(left)) {
            if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge)
                return dx_fail(err, DX_E_LIMIT,
                               "%s: a zstd frame at offset %llu needs a window over %llu bytes; "
                               "give --memory of four times the window",
                               in->name, (unsigned long long)in->consumed,
                               (unsigned long long)in->window_max);
            return corrupt(in, ZSTD_getErrorName(left), err);
        }
        if (left == 0)
            in->in_frame = false;
        else if (starved && out.pos == 0)
            return cut_short(in, "zstd frame", err);
    }
    return (ssize_t)out.pos;
}

static ssize_t read_plain(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    size_t have;

    if (in->at == in->end) {
        int rc = refill(in, err);

        if (rc < 0)
            return rc;
    }
    have = in->end - in->at;
    if (have > size)
        have = size;
    if (have > 0)
        memcpy(to, in->raw + in->at, have);
    consume(in, have);
    return (ssize_t)have;
}

ssize_t dx_input_read(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    switch (in->kind) {
    case KIND_GZIP:
        return read_gzip(in, to, size, err);
    case KIND_ZSTD:
        return read_zstd(in, to, size, err);
    case KIND_PLAIN:
        break;
    }
    return read_plain(in, to, size, err);
}

uint64_t dx_input_consumed(const struct dx_input *in)
{
    return __atomic_load_n(&in->consumed, __ATOMIC_RELAXED);
}

uint64_t dx_input_file_size(const struct dx_input *in)
{
    return in->file_size;
}

const char *dx_input_name(const struct dx_input *in)
{
    return in->name;
}
