/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/zseek.h"

#include "base/zstd_context.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FRAME_MAGIC 0xFD2FB528u
#define SKIPPABLE_MAGIC 0x184D2A5Eu
#define SEEK_MAGIC 0x8F92EAB1u
#define SKIPPABLE_HEADER 8
#define ENTRY 12
#define FOOTER 9
#define HAS_CHECKSUMS 0x80 /* descriptor: bit 7; all other bits are zero */
#define PLAIN_MAX_LOG2 20
#define FRAME_MIN 13 /* magic, descriptor, 1 byte of content size, block header, checksum */

struct dx_zstd_decoder *dx_zstd_decoder_new(void)
{
    return (struct dx_zstd_decoder *)dx_zstd_context_take();
}

void dx_zstd_decoder_free(struct dx_zstd_decoder **d)
{
    dx_zstd_context_give((ZSTD_DCtx *)*d);
    *d = NULL;
}

/*
 * What the writer makes and nothing else: a single segment (so no window is asked for) with
 * content size and checksum and without dictionary. The decoder ignores some of these bits.
 */
static int check_frame_header(struct dx_span frame, size_t plain_size, struct dx_error *err)
{
    static const uint8_t size_bytes[4] = { 1, 2, 4, 8 };
    uint64_t found = 0;
    uint8_t descriptor;
    unsigned n;

    if (frame.size < FRAME_MIN)
        return dx_fail(err, DX_E_TRUNCATED, "zstd frame: %zu bytes, at least %d expected",
                       frame.size, FRAME_MIN);
    if (dx_load_u32(frame.data) != FRAME_MAGIC)
        return dx_fail(err, DX_E_CORRUPT, "zstd frame: begins with %08x, not with %08x",
                       dx_load_u32(frame.data), FRAME_MAGIC);
    descriptor = frame.data[4];
    if ((descriptor & 0x3f) != 0x24)
        return dx_fail(err, DX_E_CORRUPT,
                       "zstd frame: descriptor %02x is not that of a single segment with "
                       "checksum and without dictionary",
                       descriptor);
    n = size_bytes[descriptor >> 6];
    if (frame.size < 5 + n)
        return dx_fail(err, DX_E_TRUNCATED, "zstd frame: ends in its header");
    for (unsigned i = 0; i < n; i++)
        found |= (uint64_t)frame.data[5 + i] << (8 * i);
    if (n == 2)
        found += 256;
    if (found != plain_size)
        return dx_fail(err, DX_E_CORRUPT, "zstd frame: content size %llu, expected %zu",
                       (unsigned long long)found, plain_size);
    return DX_OK;
}

int dx_zstd_frame_decode(struct dx_zstd_decoder *d, struct dx_span compressed, size_t plain_size,
                         uint8_t *to, struct dx_error *err)
{
    size_t size;
    uint8_t nothing;
    int rc;

    if (plain_size > DX_ZSEEK_PLAIN_MAX)
        return dx_fail(err, DX_E_LIMIT, "zstd frame: %zu bytes plain, at most %u", plain_size,
                       DX_ZSEEK_PLAIN_MAX);
    rc = check_frame_header(compressed, plain_size, err);
    if (rc < 0)
        return rc;
    size = ZSTD_findFrameCompressedSize(compressed.data, compressed.size);
    if (ZSTD_isError(size))
        return dx_fail(err, DX_E_CORRUPT, "zstd frame: %s", ZSTD_getErrorName(size));
    if (size != compressed.size)
        return dx_fail(err, DX_E_CORRUPT, "zstd frame: ends after %zu of %zu bytes", size,
                       compressed.size);
    size = ZSTD_decompressDCtx((ZSTD_DCtx *)d, plain_size == 0 ? &nothing : to, plain_size,
                               compressed.data, compressed.size);
    if (ZSTD_isError(size))
        return dx_fail(err, DX_E_CORRUPT, "zstd frame: %s", ZSTD_getErrorName(size));
    if (size != plain_size)
        return dx_fail(err, DX_E_CORRUPT, "zstd frame: %zu bytes plain, expected %zu", size,
                       plain_size);
    return DX_OK;
}

int dx_zstd_frames_decode(struct dx_zstd_decoder *d, struct dx_span compressed, size_t plain_size,
                          uint8_t *to, struct dx_error *err)
{
    while (plain_size > 0) {
        size_t n = plain_size < DX_ZSEEK_PLAIN_MAX ? plain_size : DX_ZSEEK_PLAIN_MAX;
        size_t size = compressed.size;
        int rc;

        if (n < plain_size) {
            size = ZSTD_findFrameCompressedSize(compressed.data, compressed.size);
            if (ZSTD_isError(size) != 0 || size > compressed.size)
                return dx_fail(err, DX_E_CORRUPT, "zstd: ends inside a frame");
        }
        rc = dx_zstd_frame_decode(d, dx_span_of(compressed.data, size), n, to, err);
        if (rc < 0)
            return rc;
        compressed = dx_span_from(compressed, size);
        to += n;
        plain_size -= n;
    }
    return compressed.size == 0 ? DX_OK
                                : dx_fail(err, DX_E_CORRUPT, "zstd: bytes behind the last frame");
}

/* Finds the seek table from the end of the file. */
static int open_table(struct dx_zseek *z, struct dx_error *err)
{
    const size_t size = z->file.size;
    const uint8_t *footer;
    const uint8_t *head;
    uint64_t table_size;

    if (size < SKIPPABLE_HEADER + FOOTER)
        return dx_fail(err, DX_E_TRUNCATED, "%s: %zu bytes, an empty seek table has %d", z->name,
                       size, SKIPPABLE_HEADER + FOOTER);
    footer = z->file.data + (size - FOOTER);
    if (dx_load_u32(footer + 5) != SEEK_MAGIC)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: at %zu: no seek table: cut short or not in the seekable format",
                       z->name, size - 4);
    if (footer[4] != HAS_CHECKSUMS)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: seek table: descriptor %02x, only %02x is read",
                       z->name, footer[4], HAS_CHECKSUMS);
    z->frame_count = dx_load_u32(footer);
    table_size = (uint64_t)z->frame_count * ENTRY;
    if (z->frame_count > DX_ZSEEK_FRAMES_MAX || table_size > size - SKIPPABLE_HEADER - FOOTER)
        return dx_fail(err, DX_E_CORRUPT, "%s: seek table: %u frames in a file of %zu bytes",
                       z->name, z->frame_count, size);
    z->table = footer - table_size;
    head = z->table - SKIPPABLE_HEADER;
    if (dx_load_u32(head) != SKIPPABLE_MAGIC)
        return dx_fail(err, DX_E_CORRUPT, "%s: seek table: begins with %08x, not with %08x",
                       z->name, dx_load_u32(head), SKIPPABLE_MAGIC);
    if (dx_load_u32(head + 4) != table_size + FOOTER)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: seek table: frame of %u bytes, its entries need %llu", z->name,
                       dx_load_u32(head + 4), (unsigned long long)(table_size + FOOTER));
    return DX_OK;
}

static int sum_up(struct dx_zseek *z, struct dx_error *err)
{
    uint64_t data_size = (uint64_t)(z->table - z->file.data) - SKIPPABLE_HEADER;
    uint64_t offset = 0;

    z->starts = malloc(((size_t)z->frame_count + 1) * 2 * sizeof *z->starts);
    if (z->starts == NULL)
        return dx_no_memory(err, "%s: %u frames", z->name, z->frame_count);
    for (uint32_t i = 0; i < z->frame_count; i++) {
        const uint8_t *entry = z->table + (size_t)i * ENTRY;
        uint32_t plain = dx_load_u32(entry + 4);

        z->starts[2 * (size_t)i] = offset;
        z->starts[2 * (size_t)i + 1] = z->plain_size;
        if (plain > DX_ZSEEK_PLAIN_MAX || plain == 0)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: seek table: frame %u has %u bytes plain, 1 to %u", z->name, i,
                           plain, DX_ZSEEK_PLAIN_MAX);
        offset += dx_load_u32(entry);
        z->plain_size += plain;
    }
    if (offset != data_size)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: seek table: frames add up to %llu bytes, there are %llu", z->name,
                       (unsigned long long)offset, (unsigned long long)data_size);
    z->starts[2 * (size_t)z->frame_count] = offset;
    z->starts[2 * (size_t)z->frame_count + 1] = z->plain_size;
    return DX_OK;
}

int dx_zseek_open(struct dx_zseek *z, struct dx_span file, const char *name, struct dx_error *err)
{
    int rc;

    memset(z, 0, sizeof *z);
    z->file = file;
    z->name = strdup(name);
    if (z->name == NULL)
        return dx_no_memory(err, "%s", name);
    rc = open_table(z, err);
    if (rc == DX_OK)
        rc = sum_up(z, err);
    if (rc < 0)
        dx_zseek_close(z);
    return rc;
}

void dx_zseek_close(struct dx_zseek *z)
{
    if (z == NULL)
        return;
    free(z->starts);
    free(z->name);
    memset(z, 0, sizeof *z);
}

struct dx_zseek_frame dx_zseek_at(const struct dx_zseek *z, uint32_t i)
{
    const uint8_t *entry = z->table + (size_t)i * ENTRY;

    assert(i < z->frame_count);
    return (struct dx_zseek_frame){ .offset = z->starts[2 * (size_t)i],
                                    .plain_offset = z->starts[2 * (size_t)i + 1],
                                    .size = dx_load_u32(entry),
                                    .plain_size = dx_load_u32(entry + 4),
                                    .sum = dx_load_u32(entry + 8) };
}

int dx_zseek_decode_to(const struct dx_zseek *z, struct dx_zstd_decoder *d, uint32_t i, uint8_t *to,
                       struct dx_error *err)
{
    struct dx_zseek_frame frame = dx_zseek_at(z, i);
    struct dx_span bytes = dx_span_of(z->file.data + frame.offset, frame.size);
    int rc = dx_zstd_frame_decode(d, bytes, frame.plain_size, to, err);

    /* A frame's own checksum, its last 4 bytes, is the low half of XXH64 too, and the decoder
     * has compared it with the content. */
    if (rc == DX_OK && dx_load_u32(bytes.data + (bytes.size - 4)) != frame.sum)
        rc = dx_fail(err, DX_E_CORRUPT, "seek table has the sum %08x, the frame %08x", frame.sum,
                     dx_load_u32(bytes.data + (bytes.size - 4)));
    if (rc < 0 && err != NULL)
        rc = dx_fail_in(err, "%s: frame %u at %llu", z->name, i, (unsigned long long)frame.offset);
    return rc;
}

int dx_zseek_decode(const struct dx_zseek *z, struct dx_zstd_decoder *d, uint32_t i,
                    struct dx_buf *to, struct dx_error *err)
{
    uint32_t size = dx_zseek_at(z, i).plain_size;
    int rc;

    dx_buf_clear(to);
    if (dx_buf_reserve(to, size) == NULL)
        return dx_buf_fail(to, err, z->name);
    rc = dx_zseek_decode_to(z, d, i, to->data, err);
    if (rc == DX_OK)
        to->size = size;
    return rc;
}

int dx_zseek_verify(const struct dx_zseek *z, struct dx_hash128 *plain_hash, struct dx_error *err)
{
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    struct dx_hash_state *hashing = dx_hash_state_new();
    struct dx_buf plain = DX_BUF_INIT(DX_ZSEEK_PLAIN_MAX);
    int rc = DX_OK;

    if (decoder == NULL || hashing == NULL)
        rc = dx_no_memory(err, "%s", z->name);
    for (uint32_t i = 0; i < z->frame_count && rc == DX_OK; i++) {
        rc = dx_zseek_decode(z, decoder, i, &plain, err);
        if (rc == DX_OK)
            dx_hash_state_update(hashing, dx_span_of(plain.data, plain.size));
    }
    if (rc == DX_OK)
        *plain_hash = dx_hash_state_digest(hashing);
    dx_buf_release(&plain);
    dx_hash_state_free(&hashing);
    dx_zstd_decoder_free(&decoder);
    return rc;
}

static int set_up_compressor(ZSTD_CCtx *c, int level, struct dx_error *err)
{
    size_t rc = ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);

    /* Without content checksums `zstd -d` lets most flipped bits pass: it ignores the table's. */
    if (!ZSTD_isError(rc))
        rc = ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    if (!ZSTD_isError(rc))
        rc = ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 1);
    /* A window over the whole frame makes it a single segment at every level. */
    if (!ZSTD_isError(rc))
        rc = ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, PLAIN_MAX_LOG2);
    if (ZSTD_isError(rc))
        return dx_fail(err, DX_E_INVALID, "zstd: level %d: %s", level, ZSTD_getErrorName(rc));
    return DX_OK;
}

int dx_zstd_encoder_new(struct dx_zstd_encoder **e, int level, struct dx_error *err)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    int rc;

    *e = NULL;
    if (c == NULL)
        return dx_no_memory(err, "zstd: compressor");
    rc = set_up_compressor(c, level == 0 ? DX_ZSEEK_LEVEL : level, err);
    if (rc < 0)
        (void)ZSTD_freeCCtx(c);
    else
        *e = (struct dx_zstd_encoder *)c;
    return rc;
}

void dx_zstd_encoder_free(struct dx_zstd_encoder **e)
{
    (void)ZSTD_freeCCtx((ZSTD_CCtx *)*e);
    *e = NULL;
}

static int encode_frame(struct dx_zstd_encoder *e, struct dx_span plain, struct dx_buf *out,
                        struct dx_error *err)
{
    size_t bound = ZSTD_compressBound(plain.size);
    uint8_t *to = dx_buf_reserve(out, bound);
    size_t size;

    if (to == NULL)
        return dx_buf_fail(out, err, "zstd frame");
    size = ZSTD_compress2((ZSTD_CCtx *)e, to, bound, plain.data, plain.size);
    if (ZSTD_isError(size))
        return dx_fail(err, DX_E_NOMEM, "zstd: %s", ZSTD_getErrorName(size));
    out->size += size;
    assert(out->size <= out->capacity);
    return DX_OK;
}

int dx_zstd_frames_encode(struct dx_zstd_encoder *e, struct dx_span plain, struct dx_buf *to,
                          struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && plain.size > 0) {
        size_t n = plain.size < DX_ZSEEK_PLAIN_MAX ? plain.size : DX_ZSEEK_PLAIN_MAX;

        rc = encode_frame(e, dx_span_of(plain.data, n), to, err);
        plain = dx_span_from(plain, n);
    }
    return rc;
}

int dx_zseek_writer_init(struct dx_zseek_writer *w, int level,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *sink_ctx, struct dx_error *err)
{
    memset(w, 0, sizeof *w);
    w->sink = sink;
    w->sink_ctx = sink_ctx;
    dx_buf_init(&w->table, SIZE_MAX / 2);
    dx_buf_init(&w->lines, DX_ZSEEK_PLAIN_MAX);
    dx_buf_init(&w->compressed, ZSTD_COMPRESSBOUND(DX_ZSEEK_PLAIN_MAX));
    w->hashing = dx_hash_state_new();
    if (w->hashing == NULL)
        return dx_no_memory(err, "zstd: compressor");
    return dx_zstd_encoder_new(&w->encoder, level, err);
}

void dx_zseek_writer_release(struct dx_zseek_writer *w)
{
    if (w == NULL)
        return;
    dx_zstd_encoder_free(&w->encoder);
    dx_hash_state_free(&w->hashing);
    dx_buf_release(&w->table);
    dx_buf_release(&w->lines);
    dx_buf_release(&w->compressed);
}

/* The line of a frame in the seek table. */
static int list_frame(struct dx_zseek_writer *w, struct dx_span frame, size_t plain_size,
                      struct dx_zseek_frame *out, struct dx_error *err)
{
    *out = (struct dx_zseek_frame){ .offset = w->size,
                                    .plain_offset = w->plain_size,
                                    .size = (uint32_t)frame.size,
                                    .plain_size = (uint32_t)plain_size,
                                    .sum = dx_load_u32(frame.data + (frame.size - 4)) };
    if (w->frame_count == DX_ZSEEK_FRAMES_MAX)
        return dx_fail(err, DX_E_LIMIT, "zstd: more than %u frames", DX_ZSEEK_FRAMES_MAX);
    dx_buf_u32(&w->table, out->size);
    dx_buf_u32(&w->table, out->plain_size);
    dx_buf_u32(&w->table, out->sum);
    if (w->table.failed)
        return dx_buf_fail(&w->table, err, "seek table");
    w->frame_count++;
    w->size += out->size;
    w->plain_size += out->plain_size;
    return DX_OK;
}

static int write_frame(struct dx_zseek_writer *w, struct dx_span plain,
                       struct dx_zseek_frame *frame, struct dx_error *err)
{
    struct dx_zseek_frame f;
    struct dx_span bytes;
    int rc;

    if (plain.size == 0 || plain.size > DX_ZSEEK_PLAIN_MAX)
        return dx_fail(err, DX_E_LIMIT, "zstd frame: %zu bytes plain, 1 to %u", plain.size,
                       DX_ZSEEK_PLAIN_MAX);
    dx_buf_clear(&w->compressed);
    rc = encode_frame(w->encoder, plain, &w->compressed, err);
    if (rc < 0)
        return rc;
    bytes = dx_span_of(w->compressed.data, w->compressed.size);
    rc = list_frame(w, bytes, plain.size, &f, err);
    if (rc < 0)
        return rc;
    dx_hash_state_update(w->hashing, plain);
    if (frame != NULL)
        *frame = f;
    return w->sink(w->sink_ctx, bytes, err);
}

static int flush_lines(struct dx_zseek_writer *w, struct dx_error *err)
{
    int rc;

    if (w->lines.size == 0)
        return DX_OK;
    rc = write_frame(w, dx_span_of(w->lines.data, w->lines.size), NULL, err);
    dx_buf_clear(&w->lines);
    return rc;
}

int dx_zseek_writer_frame(struct dx_zseek_writer *w, struct dx_span plain,
                          struct dx_zseek_frame *frame, struct dx_error *err)
{
    int rc = flush_lines(w, err);

    return rc < 0 ? rc : write_frame(w, plain, frame, err);
}

int dx_zseek_writer_encoded(struct dx_zseek_writer *w, struct dx_span frames, struct dx_error *err)
{
    int rc = flush_lines(w, err);

    for (struct dx_span left = frames; rc == DX_OK && left.size > 0;) {
        size_t size = ZSTD_findFrameCompressedSize(left.data, left.size);
        unsigned long long plain_size = ZSTD_getFrameContentSize(left.data, left.size);
        struct dx_zseek_frame f;

        assert(!ZSTD_isError(size) && size <= left.size && plain_size <= DX_ZSEEK_PLAIN_MAX);
        rc = list_frame(w, dx_span_of(left.data, size), (size_t)plain_size, &f, err);
        left = dx_span_from(left, size);
    }
    return rc == DX_OK ? w->sink(w->sink_ctx, frames, err) : rc;
}

int dx_zseek_writer_line(struct dx_zseek_writer *w, struct dx_span line, struct dx_error *err)
{
    if (w->lines.size + line.size + 1 > DX_ZSEEK_LINES_SIZE) {
        int rc = flush_lines(w, err);

        if (rc < 0)
            return rc;
    }
    dx_buf_append(&w->lines, line.data, line.size);
    dx_buf_u8(&w->lines, '\n');
    return w->lines.failed ? dx_buf_fail(&w->lines, err, "line") : DX_OK;
}

int dx_zseek_writer_finish(struct dx_zseek_writer *w, struct dx_error *err)
{
    struct dx_buf tail = DX_BUF_INIT(SIZE_MAX / 2);
    int rc = flush_lines(w, err);

    if (rc < 0)
        return rc;
    w->plain_hash = dx_hash_state_digest(w->hashing);
    dx_buf_u32(&tail, SKIPPABLE_MAGIC);
    dx_buf_u32(&tail, (uint32_t)(w->table.size + FOOTER)); /* 12 x 2^27 and 9: fits */
    dx_buf_append(&tail, w->table.data, w->table.size);
    dx_buf_u32(&tail, w->frame_count);
    dx_buf_u8(&tail, HAS_CHECKSUMS);
    dx_buf_u32(&tail, SEEK_MAGIC);
    if (tail.failed)
        rc = dx_buf_fail(&tail, err, "seek table");
    else
        rc = w->sink(w->sink_ctx, dx_span_of(tail.data, tail.size), err);
    w->size += tail.size;
    dx_buf_release(&tail);
    return rc;
}
