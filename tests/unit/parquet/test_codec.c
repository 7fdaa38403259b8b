/* SPDX-License-Identifier: Apache-2.0
 * Codecs of pages: what each decodes, exactly as many bytes as the header says, and damage.
 */
#include "parquet/codec.h"
#include "parquet/schema.h"
#include "parquet/snappy.h"
#include "tests/support/damage.h"

#include <lz4.h>
#include <zlib.h>

static unsigned failures;

#define PLAIN 3000

static uint8_t plain[PLAIN];

static void put_gzip(struct dx_span from, bool zlib, struct dx_buf *to)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)from.data, .avail_in = (uInt)from.size };
    uint8_t *room = dx_buf_reserve(to, 4000);

    z.next_out = room;
    z.avail_out = 4000;
    if (deflateInit2(&z, 6, Z_DEFLATED, zlib ? 15 : 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    to->size += 4000 - z.avail_out;
    (void)deflateEnd(&z);
}

static void put_lz4(struct dx_span from, bool hadoop, struct dx_buf *to)
{
    char block[4000];
    int n = LZ4_compress_default((const char *)from.data, block, (int)from.size, sizeof block);

    for (int shift = 24; hadoop && shift >= 0; shift -= 8)
        dx_buf_u8(to, (uint8_t)(from.size >> shift));
    for (int shift = 24; hadoop && shift >= 0; shift -= 8)
        dx_buf_u8(to, (uint8_t)(n >> shift));
    dx_buf_append(to, block, (size_t)n);
}

enum form {
    STORED,
    GZIP,
    GZIP_MEMBERS,
    ZLIB,
    LZ4,
    LZ4_HADOOP,
    LZ4_FRAMES,
    LZ4_AS_RAW,
    ZSTD,
    FORMS
};

static const struct {
    unsigned codec;
    const char *say; /* of a wrong size */
} forms[FORMS] = {
    [STORED] = { DX_PQ_UNCOMPRESSED, "uncompressed page" },
    [GZIP] = { DX_PQ_GZIP, "gzip" },
    [GZIP_MEMBERS] = { DX_PQ_GZIP, "gzip" },
    [ZLIB] = { DX_PQ_GZIP, "gzip" },
    [LZ4] = { DX_PQ_LZ4_RAW, "lz4" },
    [LZ4_HADOOP] = { DX_PQ_LZ4, "lz4" },
    [LZ4_FRAMES] = { DX_PQ_LZ4, "lz4" },
    [LZ4_AS_RAW] = { DX_PQ_LZ4, "lz4" },
    [ZSTD] = { DX_PQ_ZSTD, "zstd" },
};

static void encode(enum form form, struct dx_buf *to)
{
    const struct dx_span all = dx_span_of(plain, PLAIN);
    struct dx_pq_codec_state *st = NULL;

    dx_buf_clear(to);
    if (form == STORED)
        dx_buf_append(to, plain, PLAIN);
    if (form == GZIP || form == ZLIB)
        put_gzip(all, form == ZLIB, to);
    if (form == GZIP_MEMBERS) {
        put_gzip(dx_span_of(plain, 1000), false, to);
        put_gzip(dx_span_of(plain, 0), false, to);
        put_gzip(dx_span_of(plain + 1000, PLAIN - 1000), false, to);
    }
    if (form == LZ4 || form == LZ4_HADOOP || form == LZ4_AS_RAW)
        put_lz4(all, form == LZ4_HADOOP, to);
    if (form == LZ4_FRAMES) {
        put_lz4(dx_span_of(plain, 1234), true, to);
        put_lz4(dx_span_of(plain + 1234, PLAIN - 1234), true, to);
    }
    if (form == ZSTD)
        EXPECT(dx_pq_compress_zstd(&st, 3, all, to, NULL) == DX_OK, "zstd");
    dx_pq_codec_state_free(&st);
}

static void check_forms(void)
{
    struct dx_buf packed = DX_BUF_INIT(1 << 16);
    struct dx_pq_codec_state *st = NULL;

    for (int form = 0; form < FORMS; form++) {
        uint8_t back[PLAIN + 1];
        struct dx_error err = DX_ERROR_INIT;
        struct damaged d;
        int rc;

        encode((enum form)form, &packed);
        d = damaged_copy(dx_span_of(packed.data, packed.size));
        rc = dx_pq_decompress(&st, forms[form].codec, dx_span_of(d.bytes, d.size), back, PLAIN,
                              &err);
        EXPECT(rc == DX_OK && memcmp(back, plain, PLAIN) == 0, "form %d: %s", form, err.text);
        for (int more = -1; more <= 1; more += 2) {
            rc = dx_pq_decompress(&st, forms[form].codec, dx_span_of(d.bytes, d.size), back,
                                  (size_t)(PLAIN + more), &err);
            EXPECT(rc == DX_E_CORRUPT && strstr(err.text, forms[form].say) == err.text,
                   "form %d, %d bytes more: %d, %s", form, more, rc, err.text);
        }
        for (size_t n = 0; n < d.size; n += 7) {
            rc = dx_pq_decompress(&st, forms[form].codec, dx_span_of(d.bytes, n), back, PLAIN,
                                  &err);
            EXPECT(rc == DX_E_CORRUPT, "form %d, cut to %zu: %d", form, n, rc);
        }
        dx_buf_u8(&packed, 'x');
        rc = dx_pq_decompress(&st, forms[form].codec, dx_span_of(packed.data, packed.size), back,
                              PLAIN, &err);
        EXPECT(rc == DX_E_CORRUPT, "form %d: a byte behind it: %d", form, rc);
        damaged_free(&d);
    }
    dx_pq_codec_state_free(&st);
    dx_buf_release(&packed);
}

/* A page of no bytes is written as none, or as an empty stream. */
static void check_empty(void)
{
    struct dx_buf packed = DX_BUF_INIT(1 << 16);
    struct dx_pq_codec_state *st = NULL;
    struct dx_error err = DX_ERROR_INIT;
    uint8_t none[1];

    put_gzip(dx_span_of(plain, 0), false, &packed);
    EXPECT(dx_pq_decompress(&st, DX_PQ_GZIP, dx_span_of(packed.data, packed.size), none, 0, &err) ==
               DX_OK,
           "%s", err.text);
    EXPECT(dx_pq_decompress(&st, DX_PQ_UNCOMPRESSED, dx_span_of(NULL, 0), none, 0, &err) == DX_OK,
           "%s", err.text);
    EXPECT(dx_pq_decompress(&st, DX_PQ_LZ4, dx_span_of(NULL, 0), none, 0, &err) == DX_OK, "%s",
           err.text);
    dx_pq_codec_state_free(&st);
    dx_pq_codec_state_free(&st);
    dx_buf_release(&packed);
}

static void check_unknown(void)
{
    static const unsigned codecs[] = { DX_PQ_LZO, DX_PQ_LZ4_RAW + 1, 200 };
    struct dx_pq_codec_state *st = NULL;
    uint8_t to[4];

    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        struct dx_error err = DX_ERROR_INIT;

        EXPECT(!dx_pq_codec_is_known(codecs[i]) &&
                   dx_pq_decompress(&st, codecs[i], dx_span_str("abcd"), to, 4, &err) ==
                       DX_E_UNSUPPORTED &&
                   strstr(err.text, "is not supported") != NULL,
               "codec %u: %s", codecs[i], err.text);
    }
    for (int form = 0; form < FORMS; form++)
        EXPECT(dx_pq_codec_is_known(forms[form].codec), "form %d", form);
    EXPECT(
        dx_pq_codec_is_known(DX_PQ_BROTLI) &&
            dx_pq_decompress(&st, DX_PQ_BROTLI, dx_span_str("\x06"), to, 0, NULL) == DX_OK &&
            dx_pq_decompress(&st, DX_PQ_BROTLI, dx_span_str("\x06"), to, 4, NULL) == DX_E_CORRUPT &&
            dx_pq_decompress(&st, DX_PQ_BROTLI, dx_span_str("\xff"), to, 4, NULL) == DX_E_CORRUPT,
        "an empty stream of Brotli");
    EXPECT(!dx_snappy_decode(dx_span_str("\x80"), to, 4), "a size that is cut");
    EXPECT(!dx_snappy_decode(dx_span_str("\x05\x0c"
                                         "abcd"),
                             to, 4),
           "another size");
    EXPECT(dx_snappy_decode(dx_span_str("\x04\x0c"
                                        "abcd"),
                            to, 4) &&
               memcmp(to, "abcd", 4) == 0,
           "four bytes");
}

int main(void)
{
    for (size_t i = 0; i < PLAIN; i++)
        plain[i] = (uint8_t) "domain, domains; "[(i * i / 11) % 17];
    check_forms();
    check_empty();
    check_unknown();
    return failures != 0;
}
