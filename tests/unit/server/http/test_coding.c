/* SPDX-License-Identifier: Apache-2.0
 * Which coding is chosen, and that what is encoded decodes again; tests/e2e/content_coding.py has other decoders.
 */
#include "server/http/coding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "tests/support/fail.h"

static int failures;

static const struct {
    const char *field;
    enum dx_coding want;
} rows[] = {
    { "gzip", DX_CODING_GZIP },
    { "gzip, deflate, br, zstd", DX_CODING_ZSTD },
    { "gzip;q=1.0, zstd;q=0.999", DX_CODING_GZIP },
    { "zstd;q=0, *;q=0.1", DX_CODING_GZIP },
    { "identity;q=0", DX_CODING_NONE }, /* it gets identity: better than no answer */
    { "identity, gzip;q=0.9", DX_CODING_NONE },
    { "gzip;q=1.001", DX_CODING_NONE },
    { "gzip;q=", DX_CODING_NONE },
    { "gzip;", DX_CODING_NONE },
    { "gzip;q=0.1234", DX_CODING_NONE },
    { " ;q=1,gzip", DX_CODING_GZIP },
    { "", DX_CODING_NONE },
};

static void decode(enum dx_coding coding, const struct dx_buf *in, uint8_t *out, size_t size)
{
    z_stream z = {
        .next_in = in->data, .avail_in = (uInt)in->size, .next_out = out, .avail_out = (uInt)size
    };

    if (coding == DX_CODING_ZSTD) {
        CHECK(ZSTD_decompress(out, size, in->data, in->size) == size, "zstd");
        return;
    }
    CHECK(inflateInit2(&z, 15 + 16) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END &&
              z.total_out == size,
          "gzip");
    (void)inflateEnd(&z);
}

static void test_round_trip(enum dx_coding coding)
{
    static uint8_t raw[70000], back[70000];

    for (size_t size = 0; size <= sizeof raw; size = size * 3 + 1) {
        struct dx_buf out = DX_BUF_INIT(size);

        for (size_t i = 0; i < size; i++)
            raw[i] = (uint8_t) "domain, domain; "[(i * i / 7) % 16];
        CHECK(dx_coding_encode(coding, dx_span_of(raw, size), &out) == (size >= DX_CODING_LEAST),
              "%zu bytes", size);
        CHECK(out.size < DX_CODING_LEAST || out.size < size, "%zu bytes become %zu", size,
              out.size);
        if (out.size > 0) {
            decode(coding, &out, back, size);
            CHECK(memcmp(raw, back, size) == 0, "%zu bytes", size);
        }
        dx_buf_release(&out);
    }
}

static void test_noise_stays(enum dx_coding coding)
{
    uint8_t raw[5000];
    struct dx_buf out = DX_BUF_INIT(sizeof raw);

    srand(1);
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (uint8_t)(rand() >> 7);
    CHECK(!dx_coding_encode(coding, dx_span_of(raw, sizeof raw), &out) && out.size == 0, "noise");
    dx_buf_release(&out);
}

/* However a text is cut into parts, what comes out is one member or frame that has it all. */
static void test_stream(enum dx_coding coding, bool noise)
{
    static uint8_t raw[300000], back[sizeof raw];
    static const size_t cuts[] = { 1000, 70000, sizeof raw };

    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = noise ? (uint8_t)(rand() >> 7) : (uint8_t) "domain, domain; "[(i * i / 7) % 16];
    for (size_t k = 0; k < sizeof cuts / sizeof cuts[0]; k++) {
        struct dx_buf out = DX_BUF_INIT(2 * sizeof raw);
        struct dx_coding_stream *s;
        bool ok = dx_coding_stream_new(&s, coding);

        for (size_t at = 0; ok && at < sizeof raw; at += cuts[k]) {
            size_t n = sizeof raw - at < cuts[k] ? sizeof raw - at : cuts[k];

            ok = dx_coding_stream_put(s, dx_span_of(raw + at, n), at + n == sizeof raw, &out);
        }
        CHECK(ok, "parts of %zu", cuts[k]);
        memset(back, 0, sizeof back);
        decode(coding, &out, back, sizeof back);
        CHECK(memcmp(back, raw, sizeof raw) == 0, "parts of %zu", cuts[k]);
        dx_coding_stream_free(&s);
        dx_coding_stream_free(&s);
        dx_buf_release(&out);
    }
}

static void test_none(void)
{
    static uint8_t raw[4096];
    struct dx_buf out = DX_BUF_INIT(sizeof raw);
    struct dx_coding_stream *s;

    CHECK(!dx_coding_encode(DX_CODING_NONE, dx_span_of(raw, sizeof raw), &out) && out.size == 0,
          "no coding");
    CHECK(dx_coding_name(DX_CODING_NONE) == NULL, "its name");
    CHECK(dx_coding_takes_gzip(dx_span_str("gzip")) &&
              dx_coding_takes_gzip(dx_span_str("zstd, gzip;q=0.5")) &&
              !dx_coding_takes_gzip(dx_span_str("zstd")) &&
              !dx_coding_takes_gzip(dx_span_str("gzip;q=0.5, identity")),
          "gzip");
    CHECK(dx_coding_stream_new(&s, DX_CODING_GZIP), "a stream");
    out.max = 10; /* a client that is given up */
    CHECK(!dx_coding_stream_put(s, dx_span_of(raw, sizeof raw), true, &out), "no room");
    dx_coding_stream_free(&s);
    dx_buf_release(&out);
}

int main(void)
{
    char etag[40] = "\"0123456789abcdef0123456789abcdef\"";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK(dx_coding_choose(dx_span_str(rows[i].field)) == rows[i].want, "%s", rows[i].field);
    for (enum dx_coding c = DX_CODING_GZIP; c < DX_CODING_COUNT; c++) {
        test_round_trip(c);
        test_noise_stays(c);
        test_stream(c, false);
        test_stream(c, true);
    }
    test_none();
    dx_coding_tag(DX_CODING_NONE, etag);
    CHECK(strlen(etag) == 34, "%s", etag);
    dx_coding_tag(DX_CODING_ZSTD, etag);
    CHECK(strcmp(etag, "\"0123456789abcdef0123456789abcdef-zstd\"") == 0, "%s", etag);
    return failures > 0;
}
