/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/codec.h"

#include "base/zstd_context.h"
#include "parquet/schema.h"
#include "parquet/snappy.h"

#include <brotli/decode.h>
#include <libdeflate.h>
#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* Window of 256 KiB: pages are smaller but for odd rows, and the tables of a compressor
 * grow with it (level 9: some 3 MB here, 20 MB at 1 MiB). */
#define ZSTD_WINDOW_LOG_MAX 18

struct dx_pq_codec_state {
    ZSTD_DCtx *decompressor;
    ZSTD_CCtx *compressor;
    struct libdeflate_decompressor *gzip;
};

bool dx_pq_codec_is_known(unsigned codec)
{
    return codec <= DX_PQ_LZ4_RAW && codec != DX_PQ_LZO;
}

static int get_state(struct dx_pq_codec_state **st, struct dx_error *err)
{
    if (*st == NULL)
        *st = calloc(1, sizeof(**st));
    return *st != NULL ? DX_OK : dx_no_memory(err, "codec");
}

void dx_pq_codec_state_free(struct dx_pq_codec_state **st)
{
    if (*st == NULL)
        return;
    dx_zstd_context_give((*st)->decompressor);
    ZSTD_freeCCtx((*st)->compressor);
    libdeflate_free_decompressor((*st)->gzip);
    free(*st);
    *st = NULL;
}

static int wrong_size(struct dx_error *err, const char *codec, size_t size, size_t want)
{
    return dx_fail(err, DX_E_CORRUPT, "%s: %zu bytes decompressed, header says %zu", codec, size,
                   want);
}

static int unzstd(struct dx_pq_codec_state **st, struct dx_span from, uint8_t *to, size_t size,
                  struct dx_error *err)
{
    size_t n;
    int rc = get_state(st, err);

    if (rc < 0)
        return rc;
    if ((*st)->decompressor == NULL)
        (*st)->decompressor = dx_zstd_context_take();
    if ((*st)->decompressor == NULL)
        return dx_no_memory(err, "zstd");
    n = ZSTD_decompressDCtx((*st)->decompressor, to, size, from.data, from.size);
    if (ZSTD_isError(n))
        return dx_fail(err, DX_E_CORRUPT, "zstd: %s", ZSTD_getErrorName(n));
    return n == size ? DX_OK : wrong_size(err, "zstd", n, size);
}

static int unsnappy(struct dx_span from, uint8_t *to, size_t size, struct dx_error *err)
{
    size_t n = 0;

    if (!dx_snappy_size(from, &n))
        return dx_fail(err, DX_E_CORRUPT, "snappy: broken length");
    if (n != size)
        return wrong_size(err, "snappy", n, size);
    return dx_snappy_decode(from, to, size) ? DX_OK
                                            : dx_fail(err, DX_E_CORRUPT, "snappy: broken data");
}

/* Sound members that together have `size` bytes, in half of zlib's time; false: something else. */
static bool gunzip(struct dx_pq_codec_state **st, struct dx_span from, uint8_t *to, size_t size)
{
    size_t taken = 0, n = 0, done = 0;

    if (size == 0 || get_state(st, NULL) < 0)
        return false;
    if ((*st)->gzip == NULL)
        (*st)->gzip = libdeflate_alloc_decompressor();
    if ((*st)->gzip == NULL)
        return false;
    for (; from.size > 0; from = dx_span_from(from, taken), done += n)
        if (libdeflate_gzip_decompress_ex((*st)->gzip, from.data, from.size, to + done, size - done,
                                          &taken, &n) != LIBDEFLATE_SUCCESS)
            return false;
    return done == size;
}

/* Members one behind the other, as parallel compressors write them; also zlib's wrapper. What is damaged is zlib's to say. */
static int expand_gzip(struct dx_span from, uint8_t *to, size_t size, struct dx_error *err)
{
    z_stream z = { 0 };
    uint8_t none[1];
    int rc = DX_OK, zrc;

    if (from.size > UINT_MAX || size > UINT_MAX)
        return dx_fail(err, DX_E_LIMIT, "gzip: page over 4 GiB");
    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return dx_fail(err, DX_E_NOMEM, "gzip: cannot begin");
    z.next_in = (Bytef *)from.data;
    z.avail_in = (uInt)from.size;
    z.next_out = size > 0 ? to : none;
    z.avail_out = (uInt)size;
    for (;;) {
        zrc = inflate(&z, Z_FINISH);
        if (zrc != Z_STREAM_END) {
            rc = dx_fail(err, DX_E_CORRUPT, "gzip: %s", z.msg != NULL ? z.msg : "wrong size");
            break;
        }
        if (z.avail_in == 0)
            break;
        if (inflateReset(&z) != Z_OK) {
            rc = dx_fail(err, DX_E_CORRUPT, "gzip: cannot begin a member");
            break;
        }
    }
    if (rc == DX_OK && z.avail_out > 0)
        rc = wrong_size(err, "gzip", size - z.avail_out, size);
    (void)inflateEnd(&z);
    return rc;
}

static int unbrotli(struct dx_span from, uint8_t *to, size_t size, struct dx_error *err)
{
    size_t n = size;

    if (BrotliDecoderDecompress(from.size, from.data, &n, to) != BROTLI_DECODER_RESULT_SUCCESS)
        return dx_fail(err, DX_E_CORRUPT, "brotli: broken data");
    return n == size ? DX_OK : wrong_size(err, "brotli", n, size);
}

static int unlz4(struct dx_span from, uint8_t *to, size_t size, struct dx_error *err)
{
    int n;

    if (from.size > INT_MAX || size > INT_MAX)
        return dx_fail(err, DX_E_LIMIT, "lz4: page over 2 GiB");
    n = LZ4_decompress_safe((const char *)from.data, (char *)to, (int)from.size, (int)size);
    if (n < 0)
        return dx_fail(err, DX_E_CORRUPT, "lz4: broken data");
    return (size_t)n == size ? DX_OK : wrong_size(err, "lz4", (size_t)n, size);
}

static uint32_t load_big_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Hadoop's frames: plain size and compressed size, big-endian, then a block. */
static bool unhadoop_lz4(struct dx_span from, uint8_t *to, size_t size)
{
    size_t done = 0;

    while (from.size >= 8) {
        uint32_t plain = load_big_u32(from.data);
        uint32_t packed = load_big_u32(from.data + 4);

        if (packed > from.size - 8 || plain > size - done ||
            unlz4(dx_span_of(from.data + 8, packed), to + done, plain, NULL) < 0)
            return false;
        done += plain;
        from.data += 8 + (size_t)packed;
        from.size -= 8 + (size_t)packed;
    }
    return from.size == 0 && done == size;
}

int dx_pq_decompress(struct dx_pq_codec_state **st, unsigned codec, struct dx_span from,
                     uint8_t *to, size_t plain_size, struct dx_error *err)
{
    switch (codec) {
    case DX_PQ_UNCOMPRESSED:
        if (from.size != plain_size)
            return wrong_size(err, "uncompressed page", from.size, plain_size);
        if (plain_size > 0)
            memcpy(to, from.data, plain_size);
        return DX_OK;
    case DX_PQ_SNAPPY:
        return unsnappy(from, to, plain_size, err);
    case DX_PQ_GZIP:
        return gunzip(st, from, to, plain_size) ? DX_OK : expand_gzip(from, to, plain_size, err);
    case DX_PQ_BROTLI:
        return unbrotli(from, to, plain_size, err);
    case DX_PQ_LZ4: /* the number was used for two framings: the stricter one first */
        return unhadoop_lz4(from, to, plain_size) ? DX_OK : unlz4(from, to, plain_size, err);
    case DX_PQ_LZ4_RAW:
        return unlz4(from, to, plain_size, err);
    case DX_PQ_ZSTD:
        return unzstd(st, from, to, plain_size, err);
    default:
        return dx_fail(err, DX_E_UNSUPPORTED, "codec %s (%u) is not supported",
                       dx_pq_codec_name(codec), codec);
    }
}

static int get_compressor(struct dx_pq_codec_state **st, struct dx_error *err)
{
    int rc = get_state(st, err);

    if (rc < 0)
        return rc;
    if ((*st)->compressor == NULL)
        (*st)->compressor = ZSTD_createCCtx();
    return (*st)->compressor != NULL ? DX_OK : dx_no_memory(err, "zstd");
}

int dx_pq_compress_zstd(struct dx_pq_codec_state **st, int level, struct dx_span from,
                        struct dx_buf *to, struct dx_error *err)
{
    size_t bound = ZSTD_compressBound(from.size);
    bool is_large = from.size > (size_t)1 << ZSTD_WINDOW_LOG_MAX;
    uint8_t *room;
    size_t n;
    int rc = get_compressor(st, err);

    if (rc < 0)
        return rc;
    room = dx_buf_reserve(to, bound);
    if (room == NULL)
        return dx_buf_fail(to, err, "compressed page");
    n = ZSTD_CCtx_setParameter((*st)->compressor, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(n))
        n = ZSTD_CCtx_setParameter((*st)->compressor, ZSTD_c_windowLog,
                                   is_large ? ZSTD_WINDOW_LOG_MAX : 0);
    if (!ZSTD_isError(n))
        n = ZSTD_compress2((*st)->compressor, room, bound, from.data, from.size);
    if (ZSTD_isError(n))
        return dx_fail(err, DX_E_INVALID, "zstd level %d: %s", level, ZSTD_getErrorName(n));
    to->size += n;
    return DX_OK;
}
