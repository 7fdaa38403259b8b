/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/row_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/hash.h"

/* Block: stored size u32, raw size u32, checksum u64 of the stored bytes, bytes.
 * Both sizes 0 is the end mark. Record: key size u32, value size u32, key, value. */
#define BLOCK_HEADER 16
#define RECORD_HEADER 8
#define RAW_MAX (DX_ROW_RUN_BLOCK + DX_ROW_MAX + RECORD_HEADER)
#define KIND DX_KIND('R', 'U', 'N', '1')

struct dx_row_codec {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    uint8_t *stored; /* one compressed block on its way */
    size_t stored_capacity;
};

struct dx_row_run_writer {
    struct dx_row_codec *codec;
    char *path;
    int fd;
    uint8_t *raw;
    size_t raw_size;
    size_t raw_capacity;
    uint64_t block;
    uint64_t bytes;
};

struct dx_row_run_reader {
    struct dx_row_codec *codec;
    char *path;
    int fd;
    uint8_t *raw;
    size_t raw_size;
    size_t raw_capacity;
    size_t at;
    uint64_t block;
    bool ended;
};

int dx_row_codec_new(struct dx_row_codec **out, struct dx_error *err)
{
    struct dx_row_codec *c = calloc(1, sizeof *c);

    *out = c;
    if (c != NULL) {
        c->compress = ZSTD_createCCtx();
        c->decompress = ZSTD_createDCtx();
        if (c->compress != NULL && c->decompress != NULL)
            return DX_OK;
    }
    dx_row_codec_free(out);
    return dx_fail(err, DX_E_NOMEM, "sorted run: out of memory");
}

void dx_row_codec_free(struct dx_row_codec **codec)
{
    if (*codec != NULL) {
        (void)ZSTD_freeCCtx((*codec)->compress);
        (void)ZSTD_freeDCtx((*codec)->decompress);
        free((*codec)->stored);
    }
    free(*codec);
    *codec = NULL;
}

static int reserve(uint8_t **buffer, size_t *capacity, size_t need, struct dx_error *err)
{
    uint8_t *grown;

    if (need <= *capacity)
        return DX_OK;
    grown = realloc(*buffer, need);
    if (grown == NULL)
        return dx_fail(err, DX_E_NOMEM, "sorted run: out of memory for %zu bytes", need);
    *buffer = grown;
    *capacity = need;
    return DX_OK;
}

static uint64_t block_checksum(uint64_t block, struct dx_span stored)
{
    struct dx_identity id = { .kind = KIND, .key = block };

    return dx_checksum(&id, stored);
}

int dx_row_run_create(struct dx_row_run_writer **out, struct dx_row_codec *codec, const char *path,
                      struct dx_error *err)
{
    struct dx_row_run_writer *w = calloc(1, sizeof *w);
    int rc;

    *out = w;
    if (w == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", path);
    w->codec = codec;
    w->fd = -1;
    w->path = strdup(path);
    rc = w->path == NULL ? dx_fail(err, DX_E_NOMEM, "%s: out of memory", path)
                         : reserve(&w->raw, &w->raw_capacity, DX_ROW_RUN_BLOCK, err);
    if (rc == DX_OK) {
        w->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (w->fd < 0)
            rc = dx_fail_errno(err, errno, "%s: cannot create", path);
    }
    if (rc < 0)
        dx_row_run_abort(out);
    return rc;
}

static int write_all(struct dx_row_run_writer *w, const uint8_t *data, size_t size,
                     struct dx_error *err)
{
    w->bytes += size;
    while (size > 0) {
        ssize_t n = write(w->fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: cannot write a temporary file", w->path);
        data += n;
        size -= (size_t)n;
    }
    return DX_OK;
}

static int flush_block(struct dx_row_run_writer *w, struct dx_error *err)
{
    struct dx_row_codec *c = w->codec;
    size_t bound = BLOCK_HEADER + ZSTD_compressBound(w->raw_size);
    size_t stored = 0;
    int rc = reserve(&c->stored, &c->stored_capacity, bound, err);

    if (rc < 0)
        return rc;
    if (w->raw_size > 0) {
        stored = ZSTD_compressCCtx(c->compress, c->stored + BLOCK_HEADER, bound - BLOCK_HEADER,
                                   w->raw, w->raw_size, 1);
        if (ZSTD_isError(stored))
            return dx_fail(err, DX_E_NOMEM, "%s: zstd: %s", w->path, ZSTD_getErrorName(stored));
    }
    dx_store_u32(c->stored, (uint32_t)stored);
    dx_store_u32(c->stored + 4, (uint32_t)w->raw_size);
    dx_store_u64(c->stored + 8,
                 block_checksum(w->block++, dx_span_of(c->stored + BLOCK_HEADER, stored)));
    w->raw_size = 0;
    return write_all(w, c->stored, BLOCK_HEADER + stored, err);
}

int dx_row_run_write(struct dx_row_run_writer *w, struct dx_span key, struct dx_span value,
                     struct dx_error *err)
{
    size_t need = RECORD_HEADER + key.size + value.size;
    uint8_t *to;
    int rc = DX_OK;

    if (need > DX_ROW_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: a record of %zu bytes", w->path, need);
    if (w->raw_size > 0 && w->raw_size + need > DX_ROW_RUN_BLOCK)
        rc = flush_block(w, err);
    if (rc == DX_OK)
        rc = reserve(&w->raw, &w->raw_capacity, w->raw_size + need, err);
    if (rc < 0)
        return rc;
    to = w->raw + w->raw_size;
    dx_store_u32(to, (uint32_t)key.size);
    dx_store_u32(to + 4, (uint32_t)value.size);
    memcpy(to + RECORD_HEADER, key.data, key.size);
    if (value.size > 0)
        memcpy(to + RECORD_HEADER + key.size, value.data, value.size);
    w->raw_size += need;
    return DX_OK;
}

static void writer_free(struct dx_row_run_writer **w)
{
    if ((*w)->fd >= 0)
        (void)close((*w)->fd);
    free((*w)->path);
    free((*w)->raw);
    free(*w);
    *w = NULL;
}

int dx_row_run_finish(struct dx_row_run_writer **w, uint64_t *bytes, struct dx_error *err)
{
    int rc = DX_OK;

    if ((*w)->raw_size > 0)
        rc = flush_block(*w, err);
    if (rc == DX_OK)
        rc = flush_block(*w, err); /* the end mark */
    if (rc == DX_OK && close((*w)->fd) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot close", (*w)->path);
    if (rc < 0) {
        dx_row_run_abort(w);
        return rc;
    }
    (*w)->fd = -1;
    *bytes = (*w)->bytes;
    writer_free(w);
    return DX_OK;
}

void dx_row_run_abort(struct dx_row_run_writer **w)
{
    if (*w == NULL)
        return;
    if ((*w)->fd >= 0)
        (void)unlink((*w)->path);
    writer_free(w);
}

int dx_row_run_open(struct dx_row_run_reader **out, struct dx_row_codec *codec, const char *path,
                    struct dx_error *err)
{
    struct dx_row_run_reader *r = calloc(1, sizeof *r);
    int rc = DX_OK;

    *out = r;
    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", path);
    r->codec = codec;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot open a temporary file", path);
    else if ((r->path = strdup(path)) == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", path);
    if (rc < 0)
        dx_row_run_close(out);
    return rc;
}

void dx_row_run_close(struct dx_row_run_reader **r)
{
    if (*r == NULL)
        return;
    if ((*r)->fd >= 0)
        (void)close((*r)->fd);
    free((*r)->path);
    free((*r)->raw);
    free(*r);
    *r = NULL;
}

static int read_all(struct dx_row_run_reader *r, uint8_t *to, size_t size, struct dx_error *err)
{
    while (size > 0) {
        ssize_t n = read(r->fd, to, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: cannot read a temporary file", r->path);
        if (n == 0)
            return dx_fail(err, DX_E_TRUNCATED, "%s: a temporary file is cut short in block %llu",
                           r->path, (unsigned long long)r->block);
        to += n;
        size -= (size_t)n;
    }
    return DX_OK;
}

static int damaged(const struct dx_row_run_reader *r, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: block %llu of a temporary file is damaged; check disk and memory, "
                   "then run ingest again",
                   r->path, (unsigned long long)r->block);
}

/* 1 a block is in raw, 0 the run has ended. */
static int next_block(struct dx_row_run_reader *r, struct dx_error *err)
{
    struct dx_row_codec *c = r->codec;
    uint8_t header[BLOCK_HEADER];
    uint32_t stored;
    uint32_t raw;
    size_t got;
    int rc = read_all(r, header, sizeof header, err);

    if (rc < 0)
        return rc;
    stored = dx_load_u32(header);
    raw = dx_load_u32(header + 4);
    if (raw > RAW_MAX || stored > ZSTD_compressBound(RAW_MAX))
        return damaged(r, err);
    rc = reserve(&c->stored, &c->stored_capacity, stored, err);
    if (rc == DX_OK)
        rc = reserve(&r->raw, &r->raw_capacity, raw, err);
    if (rc == DX_OK)
        rc = read_all(r, c->stored, stored, err);
    if (rc < 0)
        return rc;
    if (dx_load_u64(header + 8) != block_checksum(r->block, dx_span_of(c->stored, stored)))
        return damaged(r, err);
    r->at = 0;
    r->raw_size = raw;
    if (raw == 0 && stored == 0) {
        r->ended = true;
        return 0;
    }
    got = ZSTD_decompressDCtx(c->decompress, r->raw, raw, c->stored, stored);
    if (ZSTD_isError(got) || got != raw)
        return damaged(r, err);
    r->block++;
    return 1;
}

int dx_row_run_read(struct dx_row_run_reader *r, struct dx_span *key, struct dx_span *value,
                    struct dx_error *err)
{
    struct dx_bytes cursor;
    uint32_t key_size;
    uint32_t value_size;

    if (r->ended)
        return 0;
    if (r->at == r->raw_size) {
        int rc = next_block(r, err);

        if (rc <= 0)
            return rc;
    }
    cursor = dx_bytes_of(dx_span_of(r->raw + r->at, r->raw_size - r->at));
    key_size = dx_bytes_u32(&cursor);
    value_size = dx_bytes_u32(&cursor);
    *key = dx_bytes_take(&cursor, key_size);
    *value = dx_bytes_take(&cursor, value_size);
    if (cursor.failed)
        return damaged(r, err);
    r->at += dx_bytes_at(&cursor);
    return 1;
}
