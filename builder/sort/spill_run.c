/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/sort/spill_run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"

/* Block: plain size u32, packed size u32, checksum u64 of the packed bytes, packed bytes.
 * Record: key size varint, value size varint, key, value; none crosses a border. */
#define BLOCK_HEADER 16
#define SIZES_MAX 20 /* two varints */
#define AHEAD \
    ((uint64_t)256 * 1024) /* runs share files: the kernel sees no pattern to read ahead */
#define KIND DX_KIND('R', 'U', 'N', '1')

struct dx_spill_codec {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    struct dx_buf packed; /* one block on its way */
    const char *dir;
};

struct dx_spill_run_writer {
    struct dx_spill_codec *codec;
    struct dx_spill_run run;
    struct dx_buf plain;
    uint64_t block;
};

struct dx_spill_run_reader {
    struct dx_spill_codec *codec;
    struct dx_spill_run run;
    struct dx_buf plain;
    struct dx_bytes rest; /* of plain */
    uint64_t block;
    uint64_t offset; /* in the run */
    uint64_t asked;  /* up to here reading ahead was requested */
    uint64_t records;
};

int dx_spill_codec_new(struct dx_spill_codec **out, const char *dir, struct dx_error *err)
{
    struct dx_spill_codec *c = calloc(1, sizeof *c);

    *out = c;
    if (c != NULL) {
        c->dir = dir;
        dx_buf_init(&c->packed, SIZE_MAX);
        c->compress = ZSTD_createCCtx();
        c->decompress = ZSTD_createDCtx();
        if (c->compress != NULL && c->decompress != NULL)
            return DX_OK;
    }
    dx_spill_codec_free(out);
    return dx_no_memory(err, "sort");
}

void dx_spill_codec_free(struct dx_spill_codec **codec)
{
    if (*codec == NULL)
        return;
    (void)ZSTD_freeCCtx((*codec)->compress);
    (void)ZSTD_freeDCtx((*codec)->decompress);
    dx_buf_release(&(*codec)->packed);
    free(*codec);
    *codec = NULL;
}

static uint64_t block_checksum(uint64_t run, uint64_t block, struct dx_span packed)
{
    struct dx_identity id = { .kind = KIND, .key = run << 32 | block };

    return dx_checksum(&id, packed);
}

int dx_spill_run_create(struct dx_spill_run_writer **out, struct dx_spill_codec *codec,
                        const struct dx_spill_run *run, struct dx_error *err)
{
    struct dx_spill_run_writer *w = calloc(1, sizeof *w);

    *out = w;
    if (w == NULL)
        return dx_no_memory(err, "sort");
    w->codec = codec;
    w->run = (struct dx_spill_run){ .fd = run->fd, .id = run->id, .offset = run->offset };
    dx_buf_init(&w->plain, UINT32_MAX);
    return DX_OK;
}

static int flush_block(struct dx_spill_run_writer *w, struct dx_error *err)
{
    struct dx_buf *packed = &w->codec->packed;
    size_t bound = ZSTD_compressBound(w->plain.size);
    uint8_t *to;
    size_t n;

    if (w->plain.size == 0)
        return DX_OK;
    dx_buf_clear(packed);
    to = dx_buf_reserve(packed, BLOCK_HEADER + bound);
    if (to == NULL)
        return dx_buf_fail(packed, err, "sort: block");
    n = ZSTD_compressCCtx(w->codec->compress, to + BLOCK_HEADER, bound, w->plain.data,
                          w->plain.size, 1);
    if (ZSTD_isError(n))
        return dx_fail(err, DX_E_NOMEM, "sort: zstd: %s", ZSTD_getErrorName(n));
    dx_store_u32(to, (uint32_t)w->plain.size);
    dx_store_u32(to + 4, (uint32_t)n);
    dx_store_u64(to + 8, block_checksum(w->run.id, w->block++, dx_span_of(to + BLOCK_HEADER, n)));
    w->run.size += BLOCK_HEADER + n;
    if (w->plain.size > w->run.block_max)
        w->run.block_max = w->plain.size;
    dx_buf_clear(&w->plain);
    return dx_file_write(w->run.fd, w->codec->dir, dx_span_of(to, BLOCK_HEADER + n), err);
}

int dx_spill_run_write(struct dx_spill_run_writer *w, struct dx_span key, struct dx_span value,
                       struct dx_error *err)
{
    if (w->plain.size > 0 && w->plain.size + key.size + value.size + SIZES_MAX > DX_SPILL_BLOCK) {
        int rc = flush_block(w, err);

        if (rc < 0)
            return rc;
    }
    dx_buf_varint(&w->plain, key.size);
    dx_buf_varint(&w->plain, value.size);
    dx_buf_append(&w->plain, key.data, key.size);
    dx_buf_append(&w->plain, value.data, value.size);
    w->run.records++;
    return w->plain.failed ? dx_buf_fail(&w->plain, err, "sort: block") : DX_OK;
}

int dx_spill_run_finish(struct dx_spill_run_writer **w, struct dx_spill_run *run,
                        struct dx_error *err)
{
    int rc = flush_block(*w, err);

    *run = (*w)->run;
    dx_spill_run_abort(w);
    return rc;
}

void dx_spill_run_abort(struct dx_spill_run_writer **w)
{
    if (*w == NULL)
        return;
    dx_buf_release(&(*w)->plain);
    free(*w);
    *w = NULL;
}

int dx_spill_run_open(struct dx_spill_run_reader **out, struct dx_spill_codec *codec,
                      const struct dx_spill_run *run, struct dx_error *err)
{
    struct dx_spill_run_reader *r = calloc(1, sizeof *r);

    *out = r;
    if (r == NULL)
        return dx_no_memory(err, "sort");
    r->codec = codec;
    r->run = *run;
    dx_buf_init(&r->plain, run->block_max);
    r->rest = dx_bytes_of(dx_span_of(NULL, 0));
    return DX_OK;
}

void dx_spill_run_close(struct dx_spill_run_reader **r)
{
    if (*r == NULL)
        return;
    dx_buf_release(&(*r)->plain);
    free(*r);
    *r = NULL;
}

static int damaged(const struct dx_spill_run_reader *r, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: block %llu of a temporary file is not as it was written; check disk and "
                   "memory, then run again",
                   r->codec->dir, (unsigned long long)r->block);
}

static void read_ahead(struct dx_spill_run_reader *r)
{
    uint64_t left = r->run.size - r->asked;
    uint64_t size = left < AHEAD ? left : AHEAD;

    if (size == 0 || r->offset + AHEAD / 2 < r->asked)
        return;
    (void)posix_fadvise(r->run.fd, (off_t)(r->run.offset + r->asked), (off_t)size,
                        POSIX_FADV_WILLNEED);
    r->asked += size;
}

static int next_block(struct dx_spill_run_reader *r, struct dx_error *err)
{
    struct dx_spill_codec *c = r->codec;
    uint64_t left = r->run.size - r->offset;
    uint64_t at = r->run.offset + r->offset;
    uint8_t header[BLOCK_HEADER];
    uint32_t plain_size;
    uint32_t packed_size;
    uint8_t *plain;
    uint8_t *packed;
    size_t got;
    int rc;

    read_ahead(r);
    if (left < BLOCK_HEADER)
        return damaged(r, err);
    rc = dx_file_pread(r->run.fd, c->dir, at, sizeof header, header, err);
    if (rc < 0)
        return rc;
    plain_size = dx_load_u32(header);
    packed_size = dx_load_u32(header + 4);
    if (packed_size > left - BLOCK_HEADER || plain_size > r->run.block_max)
        return damaged(r, err);
    dx_buf_clear(&c->packed);
    dx_buf_clear(&r->plain);
    packed = dx_buf_reserve(&c->packed, packed_size);
    plain = dx_buf_reserve(&r->plain, plain_size);
    if (packed == NULL || plain == NULL)
        return dx_buf_fail(packed == NULL ? &c->packed : &r->plain, err, "sort: block");
    rc = dx_file_pread(r->run.fd, c->dir, at + BLOCK_HEADER, packed_size, packed, err);
    if (rc < 0)
        return rc;
    if (dx_load_u64(header + 8) !=
        block_checksum(r->run.id, r->block, dx_span_of(packed, packed_size)))
        return damaged(r, err);
    got = ZSTD_decompressDCtx(c->decompress, plain, plain_size, packed, packed_size);
    if (ZSTD_isError(got) || got != plain_size)
        return damaged(r, err);
    r->rest = dx_bytes_of(dx_span_of(plain, plain_size));
    r->offset += BLOCK_HEADER + packed_size;
    r->block++;
    return DX_OK;
}

int dx_spill_run_read(struct dx_spill_run_reader *r, struct dx_span *key, struct dx_span *value,
                      struct dx_error *err)
{
    uint64_t key_size;
    uint64_t value_size;

    if (dx_bytes_left(&r->rest) == 0) {
        int rc;

        if (r->offset == r->run.size)
            return r->records == r->run.records ? 0 : damaged(r, err);
        rc = next_block(r, err);
        if (rc < 0)
            return rc;
    }
    key_size = dx_bytes_varint(&r->rest);
    value_size = dx_bytes_varint(&r->rest);
    *key = dx_bytes_take(&r->rest, key_size);
    *value = dx_bytes_take(&r->rest, value_size);
    if (r->rest.failed)
        return damaged(r, err);
    r->records++;
    return 1;
}
