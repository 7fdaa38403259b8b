/* SPDX-License-Identifier: Apache-2.0
 * test_input.c - decompression, record cutting, fields, JSON picking, times, columns.
 */
#include <bzlib.h>
#include <fcntl.h>
#include <jansson.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "builder/input/bytes/container.h"
#include "builder/input/bytes/input.h"
#include "builder/input/parquet/parquet_rows.h"
#include "builder/input/records/input_columns.h"
#include "builder/input/records/input_format.h"
#include "builder/input/records/input_json.h"
#include "builder/input/records/input_records.h"
#include "builder/input/records/input_time.h"
#include "builder/input/records/rejects.h"
#include "format/text/record_fields.h"
#include "tests/support/fail.h"
#include "tests/support/sample.h"

static int failures;
static char dir[] = "/tmp/dx-test-input-XXXXXX";

static const char *write_file(const void *data, size_t size)
{
    static char path[64];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/in", dir);
    (void)unlink(path); /* truncating instead makes ext4 flush at close: 100 times slower */
    f = fopen(path, "w");
    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
    return path;
}

static void gzip(struct dx_buf *out, const void *data, size_t size)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size };
    uint8_t *to = dx_buf_reserve(out, size + 100);

    (void)deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    z.next_out = to;
    z.avail_out = (uInt)size + 100;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        exit(1);
    out->size += size + 100 - z.avail_out;
    (void)deflateEnd(&z);
}

static void zstd(struct dx_buf *out, const void *data, size_t size)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(size);
    uint8_t *to = dx_buf_reserve(out, bound);

    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    out->size += ZSTD_compress2(c, to, bound, data, size);
    (void)ZSTD_freeCCtx(c);
}

static void bzip2(struct dx_buf *out, const void *data, size_t size)
{
    unsigned n = (unsigned)(size + size / 100 + 600);
    uint8_t *to = dx_buf_reserve(out, n);

    if (BZ2_bzBuffToBuffCompress((char *)to, &n, (char *)(uintptr_t)data, (unsigned)size, 1, 0,
                                 0) != BZ_OK)
        exit(1);
    out->size += n;
}

static void xz(struct dx_buf *out, const void *data, size_t size)
{
    size_t bound = lzma_stream_buffer_bound(size);
    uint8_t *to = dx_buf_reserve(out, bound);
    size_t n = 0;

    if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, data, size, to, &n, bound) != LZMA_OK)
        exit(1);
    out->size += n;
}

enum { PLAIN, GZIP, ZSTD, BZIP2, XZ, KINDS };

static const struct {
    void (*pack)(struct dx_buf *out, const void *data, size_t size);
    size_t magic; /* bytes that tell it */
} packers[KINDS] = { { NULL, 0 }, { gzip, 2 }, { zstd, 4 }, { bzip2, 6 }, { xz, 6 } };

static void skippable(struct dx_buf *out, uint32_t size)
{
    dx_buf_u32(out, 0x184D2A53);
    dx_buf_u32(out, size);
    dx_buf_zero(out, size);
}

/* All bytes of an input, read in pieces of `step`. */
static int read_whole(const char *path, size_t step, struct dx_buf *out, struct dx_error *err)
{
    struct dx_input *in = NULL;
    ssize_t n = dx_input_open(&in, path, 8 << 20, err);

    while (n >= 0) {
        uint8_t *to = dx_buf_reserve(out, step);

        n = dx_input_read(in, to, step, err);
        if (n <= 0)
            break;
        out->size += (size_t)n;
    }
    dx_input_close(&in);
    return (int)n;
}

#define XZ_PADDING \
    (4 * (size_t)DX_CONTAINER_AHEAD_MAX) /* may stand between streams: over several reads */

static void test_codecs(void)
{
    enum { SIZE = 700000 };
    char *text = malloc(SIZE);

    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('a' + (i * i / 7 + i) % 23);
    for (int kind = 0; kind < KINDS; kind++) {
        struct dx_buf packed = DX_BUF_INIT(4 << 20);
        size_t cut = kind == PLAIN ? 0 : SIZE / 3;

        if (kind == PLAIN) {
            dx_buf_append(&packed, text, SIZE);
        } else if (kind == BZIP2) {
            bzip2(&packed, text, cut);
            bzip2(&packed, "", 0);
            bzip2(&packed, text + cut, SIZE - cut);
        } else if (kind == XZ) {
            xz(&packed, text, cut);
            dx_buf_zero(&packed, XZ_PADDING);
            xz(&packed, "", 0);
            xz(&packed, text + cut, SIZE - cut);
            dx_buf_zero(&packed, 8);
        } else if (kind == GZIP) {
            gzip(&packed, text, cut);
            gzip(&packed, "", 0);
            gzip(&packed, text + cut, SIZE - cut);
            dx_buf_zero(&packed, 700); /* padding, as on tapes */
        } else {
            skippable(&packed, 11);
            zstd(&packed, text, cut);
            zstd(&packed, "", 0);
            skippable(&packed, 0);
            zstd(&packed, text + cut, SIZE - cut);
            skippable(&packed, 300000);
        }
        for (size_t step = 1000; step < 2000000; step *= 17) {
            struct dx_buf got = DX_BUF_INIT(16 << 20);
            struct dx_error err = DX_ERROR_INIT;

            if (read_whole(write_file(packed.data, packed.size), step, &got, &err) < 0 ||
                got.size != SIZE || memcmp(got.data, text, SIZE) != 0)
                FAIL("kind %d, step %zu: %zu bytes, %s", kind, step, got.size, err.text);
            dx_buf_release(&got);
        }
        dx_buf_release(&packed);
    }
    free(text);
}

/* Every truncation inside a frame and every bit flip (sampled) is refused, with offset. */
static void test_damage(void)
{
    char text[3000];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + (i * i / 7 + i) % 23);
    for (int kind = 1; kind < KINDS; kind++) {
        struct dx_buf packed = DX_BUF_INIT(1 << 20);
        size_t first;

        packers[kind].pack(&packed, text, sizeof text);
        first = packed.size;
        packers[kind].pack(&packed, text, sizeof text);
        for (size_t n = packers[kind].magic; n <= packed.size;
             n += n + 3 < first || (n > first && n + 3 < packed.size) ? dx_sample(1, 3) : 1) {
            struct dx_buf got = DX_BUF_INIT(1 << 20);
            struct dx_error err = DX_ERROR_INIT;
            int rc = read_whole(write_file(packed.data, n), 5000, &got, &err);

            if ((rc >= 0) != (n == first || n == packed.size))
                FAIL("kind %d cut to %zu of %zu: %d %s", kind, n, packed.size, rc, err.text);
            if (rc < 0 && strstr(err.text, "offset") == NULL)
                FAIL("kind %d cut to %zu: no offset in '%s'", kind, n, err.text);
            dx_buf_release(&got);
        }
        for (size_t bit = 0; bit < first * 8; bit += dx_sample(1, 7)) {
            struct dx_buf got = DX_BUF_INIT(1 << 20);
            struct dx_error err = DX_ERROR_INIT;
            int rc;

            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            rc = read_whole(write_file(packed.data, packed.size), 5000, &got, &err);
            /* Some header bits carry nothing, or make it plain text: then the bytes differ,
             * or are the same. Never other text of the same kind. */
            if (rc >= 0 && got.size == 2 * sizeof text &&
                (memcmp(got.data, text, sizeof text) != 0 ||
                 memcmp(got.data + sizeof text, text, sizeof text) != 0))
                FAIL("kind %d, bit %zu: wrong bytes", kind, bit);
            if (rc >= 0 && got.size != 2 * sizeof text && got.size != packed.size)
                FAIL("kind %d, bit %zu: %zu bytes", kind, bit, got.size);
            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            dx_buf_release(&got);
        }
        dx_buf_append(&packed, "junk", 4);
        {
            struct dx_buf got = DX_BUF_INIT(1 << 20);
            struct dx_error err = DX_ERROR_INIT;

            if (read_whole(write_file(packed.data, packed.size), 5000, &got, &err) >= 0)
                FAIL("kind %d: junk behind the last frame taken", kind);
            dx_buf_release(&got);
        }
        dx_buf_release(&packed);
    }
}

static void expect_error(const struct dx_buf *packed, const char *words)
{
    struct dx_buf got = DX_BUF_INIT(64 << 20);
    struct dx_error err = DX_ERROR_INIT;

    if (read_whole(write_file(packed->data, packed->size), 5000, &got, &err) >= 0 ||
        strstr(err.text, words) == NULL || strstr(err.text, "/in: ") == NULL)
        FAIL("wanted '%s', got '%s'", words, err.text);
    dx_buf_release(&got);
}

/* What only xz has: a window over the limit, and padding in groups of four bytes. */
static void test_xz(void)
{
    struct dx_buf packed = DX_BUF_INIT(1 << 20);
    size_t n = 0;
    uint8_t *to;

    xz(&packed, "a\n", 2);
    dx_buf_zero(&packed, 6);
    expect_error(&packed, "6 zero bytes after an xz stream");
    dx_buf_clear(&packed);
    to = dx_buf_reserve(&packed, 1000);
    if (lzma_easy_buffer_encode(9, LZMA_CHECK_NONE, NULL, (const uint8_t *)"a\n", 2, to, &n,
                                1000) != LZMA_OK)
        exit(1);
    packed.size = n; /* a window of 64 MiB for two bytes */
    expect_error(&packed,
                 "an xz stream at offset 0: needs a window over 8388608 bytes; give --memory");
    dx_buf_release(&packed);
}

/* A text that begins as bzip2 does is a text. */
static void test_no_bzip2(void)
{
    struct dx_buf got = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;

    if (read_whole(write_file("BZh9.com\n", 9), 100, &got, &err) < 0 || got.size != 9)
        FAIL("%zu bytes, %s", got.size, err.text);
    dx_buf_release(&got);
}

static void test_refused(void)
{
    static const struct {
        const char *data;
        size_t size;
        const char *words;
    } rows[] = {
        { "PK\x03\x04....", 8, "zip" },
        { "PAR1....", 8, "Parquet" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf got = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;

        if (read_whole(write_file(rows[i].data, rows[i].size), 100, &got, &err) >= 0 ||
            strstr(err.text, rows[i].words) == NULL)
            FAIL("row %zu: '%s'", i, err.text);
        dx_buf_release(&got);
    }
    {
        struct dx_buf got = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;

        if (read_whole("/nonexistent/x", 100, &got, &err) >= 0)
            FAIL("a missing file was opened");
        if (read_whole("/tmp", 100, &got, &err) >= 0 || strstr(err.text, "directory") == NULL)
            FAIL("a directory: '%s'", err.text);
        dx_buf_release(&got);
    }
}

/* Records as "line:text|line!text|": ! malformed, ~ too long. */
static void cut(enum dx_record_format format, const char *data, size_t size, size_t line_max,
                size_t batch_size, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_input *in = NULL;
    struct dx_records *r = NULL;
    struct dx_batch batch = { 0 };
    int rc = dx_input_open(&in, write_file(data, size), 8 << 20, &err);

    if (rc == 0)
        rc = dx_records_new(&r, in, line_max, &err);
    if (rc == 0) {
        dx_records_set_format(r, format);
        dx_records_set_batch_size(r, batch_size);
        while ((rc = dx_records_fill(r, &batch, &err)) > 0)
            for (size_t i = 0; rc != DX_RECORDS_GROW && i < batch.count; i++)
                dx_buf_fmt(out, "%llu%c%.*s|", (unsigned long long)batch.records[i].line,
                           ":~!"[batch.records[i].flaw], (int)batch.records[i].size,
                           (const char *)batch.data + batch.records[i].offset);
    }
    if (rc < 0)
        FAIL("%s", err.text);
    dx_buf_u8(out, 0);
    dx_batch_release(&batch);
    dx_records_free(&r);
    dx_input_close(&in);
}

static void test_records(void)
{
    static const struct {
        enum dx_record_format format;
        const char *data;
        const char *want;
    } rows[] = {
        { DX_RECORD_TSV, "", "" },
        { DX_RECORD_TSV, "a\tb\n", "1:a\tb|" },
        { DX_RECORD_TSV, "a\tb", "1:a\tb|" },
        { DX_RECORD_TSV, "a\r\n\r\n\nb\r\n", "1:a|4:b|" },
        { DX_RECORD_TSV,
          "\xEF\xBB\xBF"
          "a\n",
          "1:a|" },
        { DX_RECORD_TSV, "\"a\nb\"\n", "1:\"a|2:b\"|" },
        { DX_RECORD_TSV, "a\rb\n", "1:a\rb|" },
        { DX_RECORD_TSV, "0123456789abcdefghijklmnopqrstuvw\nx\n",
          "1~0123456789abcdefghijklmnopqrst|2:x|" },
        { DX_RECORD_LIST, "0123456789abcdefghijklmnopqrs\nx",
          "1:0123456789abcdefghijklmnopqrs|2:x|" },
        { DX_RECORD_CSV, "a,b\nc,d\n", "1:a,b|2:c,d|" },
        { DX_RECORD_CSV, "\"a\nb\",c\nd\n", "1:\"a\nb\",c|3:d|" },
        { DX_RECORD_CSV, "\"a\r\nb\"\r\nd\r\n", "1:\"a\r\nb\"|3:d|" },
        { DX_RECORD_CSV, "\"a\"\"\n\"\"b\",c\nd\n", "1:\"a\"\"\n\"\"b\",c|3:d|" },
        { DX_RECORD_CSV, "\"\"\nd\n", "1:\"\"|2:d|" },
        { DX_RECORD_CSV, "a\"b,\"c\nd\"\ne\n", "1:a\"b,\"c\nd\"|3:e|" },
        { DX_RECORD_CSV, "x,\"a\"b\nc\n", "1!x,\"a\"b|2:c|" },
        { DX_RECORD_CSV, "x,\"a\nb,\"y\"z\nc\n", "1!x,\"a|2!b,\"y\"z|3:c|" },
        { DX_RECORD_CSV, "x,\"a\nb\nc\n", "1!x,\"a|2:b|3:c|" },
        { DX_RECORD_CSV, "x,\"aaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbb\nc\n",
          "1!x,\"aaaaaaaaaaaaa|2:bbbbbbbbbbbbbbbbb|3:c|" },
        { DX_RECORD_CSV, "x,\"a\"", "1:x,\"a\"|" },
        { DX_RECORD_CSV, "x,\"a\"\r", "1!x,\"a\"\r|" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t batch = 1; batch < 200; batch = batch * 2 + 1) {
            struct dx_buf got = DX_BUF_INIT(1 << 20);

            cut(rows[i].format, rows[i].data, strlen(rows[i].data), 30, batch, &got);
            if (strcmp((const char *)got.data, rows[i].want) != 0)
                FAIL("row %zu, batch %zu: got %s, want %s", i, batch, (char *)got.data,
                     rows[i].want);
            dx_buf_release(&got);
        }
}

/* Random bytes are cut the same way whatever the batch size. */
static void test_batch_sizes(void)
{
    static const char letters[] = "aab,,\"\"\n\n\r\t";

    srandom(7);
    for (int round = 0; round < 400; round++) {
        struct dx_buf want = DX_BUF_INIT(1 << 20);
        char data[300];
        size_t size = (size_t)random() % sizeof data;

        for (size_t i = 0; i < size; i++)
            data[i] = letters[(size_t)random() % (sizeof letters - 1)];
        for (size_t batch = 1; batch < 1000; batch = batch * 3 + 1) {
            struct dx_buf got = DX_BUF_INIT(1 << 20);

            cut(round % 2 ? DX_RECORD_CSV : DX_RECORD_TSV, data, size, 40, batch, &got);
            if (want.size == 0)
                dx_buf_append(&want, got.data, got.size);
            else if (got.size != want.size || memcmp(got.data, want.data, got.size) != 0)
                FAIL("round %d, batch %zu", round, batch);
            dx_buf_release(&got);
        }
        dx_buf_release(&want);
    }
}

/* Five lines, each with its number in place of #. */
static void write_lines(const char *line, struct dx_buf *out)
{
    for (int i = 0; i < 5; i++) {
        for (const char *p = line; *p != '\0'; p++)
            if (*p == '#')
                dx_buf_fmt(out, "%d", i);
            else
                dx_buf_u8(out, (uint8_t)*p);
        dx_buf_u8(out, '\n');
    }
}

static void check_format(const char *name, struct dx_span head, enum dx_record_format asked,
                         bool columns, const char *want)
{
    struct dx_input_head h = { .name = name, .bytes = head, .whole = true };
    struct dx_error err = DX_ERROR_INIT;
    enum dx_record_format got;
    int rc = dx_input_format_find(&h, asked, columns, &got, &err);

    if (rc < 0 ? strstr(err.text, want) == NULL : strcmp(dx_record_format_name(got), want) != 0)
        FAIL("%s '%.40s': %s", name, (const char *)head.data,
             rc < 0 ? err.text : dx_record_format_name(got));
}

static void test_format(void)
{
    static const struct {
        const char *name;
        const char *head;
        bool columns;
        const char *want; /* the format, or words of the refusal */
    } rows[] = {
        { "a.tsv.zst", "x", false, "tsv" },
        { "a.csv.gz", "x", false, "csv" },
        { "A.JSONL", "x", false, "jsonl" },
        { "a.json.gz", "{}", false, "jsonl" },
        { "a.txt", "a\tb", false, "tsv" },
        { "a.txt", "a\tb", true, "tsv" },
        { "a", "http://a/x,y\n", false, "list" },
        { "-", "  {\"a\":1}", false, "jsonl" },
        { "-", "[\n{\"a\":1}]", false, "jsonl" },
        { "-", "[\"http://a.com/\"]", false, "jsonl" },
        { "a.json", "{\n  \"url\": \"http://a.com/\"\n}\n", false,
          "line 1 begins a JSON object that goes on over several lines" },
        { "-", "\n{ \"a\": {\n  \"url\": 1 }\n}\n", false, "line 2 begins a JSON object" },
        { "-", "{\"a\": 1\n{\"a\": 1}\n", false, "jsonl" }, /* one that is cut off */
        { "-", "a\tb\n", false, "tsv" },
        { "-", "a,b\n", true, "csv" },
        { "-", "", false, "list" },
        { "x.list", "a,b", false, "list" },
        { "-", "http://a.com/ 2024-01-02\n", false, "spaces" },
        { "-", "http://a.com/,17\n", false, "commas" },
        { "-", "17,http://a.com/\n", false, "commas" },
        { "-", "http://a.com/,HTTPS://b.com/x;y\n", false, "commas" },
        { "-", "http://a.com/,\n", false, "commas" },
        { "-", "http://a.com/,b\n", false, "list" },
        { "-", "http://a.com/,-:\n", false, "list" },
        { "-", "\n  \n", false, "list" },
        { "-", "url\nhttp://a.com/,1\n", false, "tsv" },
        { "-", "\"url\"\n\"http://a.com/,1\"\n", false, "csv" },
        { "-", "title,Page_URL\nx,http://a.com/\n", false, "csv" },
        { "a.txt", "title;Link\nx;http://a.com/\n", false, "semicolons" },
        { "a.csv", "title;Link\nx;http://a.com/\n", false, "semicolons" },
        { "a.csv", "url\nhttp://a.com/;1\nhttp://a.com/;2\n", false, "csv" },
        { "a.tsv", "url,date\nhttp://a.com/,2024-01-01\n", false, "commas" },
        { "-", "url\rhttp://a.com/\r", false, "CR alone" },
        { "a.csv", "url,b\rhttp://a.com/,1\r", false, "CR alone" },
        { "-", " CDX N b a m s k r M S V g\ncom,a)/ 20240101000000 http://a.com/\n", false, "cdx" },
        { "-", "com,a)/ 20240101000000 http://a.com/ text/html 200\n", false, "cdx" },
        { "a.cdx", " CDX N b a\n", false, "cdx" },
        { "-", "!meta 0 {}\ncom,a)/ 20240101000000 {\"url\": \"http://a.com/\"}\n", false, "cdxj" },
        { "-", "com,a)/ 20240101000000\tcdx-00000\t0\t275\t1\n", false, "cluster index" },
        { "-", "[[\"urlkey\",\"timestamp\"]]", false, "array of arrays" },
        { "-", "[[\"urlkey\",\"timestamp\",\"original\"]]", false, "cdx-json" },
        { "a.json", "\n[ [ \"u\\u0072l\", \"b\" ],\n", false, "cdx-json" },
        { "-", "[[\"url\",[\"b\"]]]", false, "array of arrays" },
        { "-", "[[\"url\"", false, "array of arrays" },
        { "a.warc", "WARC/2.0\r\nWARC-Type: warcinfo\r\n", false, "a WARC file" },
        { "a.xml", "<?xml version=\"1.0\"?>\n<urlset>", false, "sitemap" },
        { "a.txt", "<!DOCTYPE HTML>\n", false, "an HTML page" },
        { "a.csv", "version https://git-lfs.github.com/spec/v1\n", false, "Git LFS" },
        { "-", "http://a.com/\n\xff\xfe", false, "list" },
    };
    /* Lists of a few lines, one or more of which have columns. */
    static const struct {
        const char *text;
        const char *want;
    } mixed[] = {
        { "http://a.com/1\n\nhttp://a.com/2\nhttp://a.com/3\tx\n",
          "tabs separate those of line 4, and of 1 of the first 3" },
        { "http://a.com/1\nhttp://a.com/2,2024-01-02,x\n",
          "--format csv and --url-column N, or --format list" },
        { "http://a.com/1\nhttp://a.com/2 # note\n", "spaces separate those of line 2" },
        { "http://a.com/1\nhttp://a.com/2\001x\n", "control characters" },
        { "http://a.com/1\nhttp://a.com/2#Swiss Goats\n", "list" },
        { "http://a.com/1\nhttp://a.com/0,1518,2,00.html\n", "list" },
        { "http://a.com/1\n2\n3\n4\n5\n6\n7\n8\n9\n10\nhttp://a.com/2\tx\n",
          "list" }, /* one of eleven */
    };
    /* Of five lines with a number in place of #. */
    static const struct {
        const char *line;
        const char *want;
    } lines[] = {
        { "http://a.com/#", "list" },
        { "a#.com", "list" },
        { "http://a.com/#,word", "commas" },
        { "http://a.com/#,2024-01-0#T00:00:00Z", "commas" },
        { "\"http://a.com/#,1\",x", "commas" },
        { "http://a.com/#;200;x", "semicolons" },
        { "http://a.com/#|x", "bars" },
        { "http://a.com/# 2024-01-02", "spaces" },
        { "\"http://a.com/#\"", "csv" },
        { "http://a.com/#\tx", "tsv" },
        { "{\"url\":\"http://a.com/#\"}", "jsonl" },
    };
    static const struct {
        const char *bytes;
        size_t size;
        const char *want;
    } binary[] = {
        { "PAR1\x15\x04", 6, "Parquet" },
        { "ARROW1\0\0", 8, "Feather" },
        { "SQLite format 3\0", 16, "SQLite" },
        { "\xff\xfeu\0r\0l\0", 8, "UTF-16" },
        { "PK\x03\x04\x14\0\x06\0[Content_Types].xml", 27, "Excel" },
        { "%PDF-1.7\n", 9, "PDF" },
        { "Obj\x01\x04", 5, "Avro" },
    };
    char tar[512] = "urls.txt";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_format(rows[i].name, dx_span_str(rows[i].head), DX_RECORD_AUTO, rows[i].columns,
                     rows[i].want);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct dx_buf text = DX_BUF_INIT(1 << 16);

        write_lines(lines[i].line, &text);
        check_format("standard input", dx_span_of(text.data, text.size), DX_RECORD_AUTO, false,
                     lines[i].want);
        check_format("-", dx_span_of(text.data, text.size), DX_RECORD_LIST, false, "list");
        dx_buf_release(&text);
    }
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++) {
        check_format("-", dx_span_str(mixed[i].text), DX_RECORD_AUTO, false, mixed[i].want);
        check_format("-", dx_span_str(mixed[i].text), DX_RECORD_LIST, false, "list");
    }
    for (size_t i = 0; i < sizeof binary / sizeof binary[0]; i++)
        for (int asked = DX_RECORD_AUTO; asked <= DX_RECORD_LIST; asked++)
            check_format("-", dx_span_of(binary[i].bytes, binary[i].size),
                         (enum dx_record_format)asked, false, binary[i].want);
    memcpy(tar + 257, "ustar", 5);
    check_format("-", dx_span_of(tar, sizeof tar), DX_RECORD_AUTO, false, "a tar archive");
    check_format("-", dx_span_of("http://a\0", 9), DX_RECORD_AUTO, false, "NUL");
}

static void test_time(void)
{
    static const struct {
        const char *text;
        enum dx_ts_unit unit;
        bool ok;
        int64_t us;
    } rows[] = {
        { "0", DX_TS_AUTO, true, 0 },
        { "1345107919", DX_TS_AUTO, true, 1345107919000000 },
        { "-5", DX_TS_AUTO, true, -5000000 },
        { "1345107919123", DX_TS_AUTO, true, 1345107919123000 },
        { "1345107919123456", DX_TS_AUTO, true, 1345107919123456 },
        { "1345107919123456789", DX_TS_AUTO, false, 0 },
        { "1345107919.25", DX_TS_AUTO, true, 1345107919250000 },
        { "1345107919.1234567", DX_TS_AUTO, true, 1345107919123456 },
        { "1345107919123.5", DX_TS_AUTO, false, 0 },
        { "1345107919", DX_TS_MILLIS, true, 1345107919000 },
        { "1345107919", DX_TS_MICROS, true, 1345107919 },
        { "20120816085159", DX_TS_AUTO, true, 1345107119000000 },
        { "20120816085159", DX_TS_MILLIS, true, 20120816085159000 },
        { "20121316085159", DX_TS_AUTO, false, 0 }, /* a date with a slip: not the year 2607 */
        { "20121316085159", DX_TS_MILLIS, true, 20121316085159000 },
        { "99991231235959", DX_TS_AUTO, false, 0 },
        { "20120816", DX_TS_AUTO, true, 1345075200000000 },
        { "201208160851", DX_TS_AUTO, true, 1345107060000000 }, /* not 1976 */
        { "201213160851", DX_TS_AUTO, true, 201213160851000 },
        { "20120816085159123", DX_TS_AUTO, true, 1345107119123000 },
        { "20121316085159123", DX_TS_AUTO, false, 0 },
        { "2012081608", DX_TS_AUTO, true, 2012081608000000 }, /* a second of 2033 */
        { "2012", DX_TS_AUTO, true, 2012000000 },
        { "2012", DX_TS_ARCHIVE, true, 1325376000000000 },
        { "2012-08", DX_TS_ARCHIVE, true, 1343779200000000 },
        { "201208", DX_TS_ARCHIVE, true, 1343779200000000 },
        { "20120816", DX_TS_ARCHIVE, true, 1345075200000000 },
        { "2012081608", DX_TS_ARCHIVE, true, 1345104000000000 },
        { "201208160851", DX_TS_ARCHIVE, true, 1345107060000000 },
        { "20120816085159", DX_TS_ARCHIVE, true, 1345107119000000 },
        { "20120816085159123", DX_TS_ARCHIVE, true, 1345107119123000 },
        { "201208160851590000", DX_TS_ARCHIVE, true, 1345107119000000 },
        { "2012-08-16T08:51:59.5Z", DX_TS_ARCHIVE, true, 1345107119500000 },
        { "2012-08-16", DX_TS_ARCHIVE, true, 1345075200000000 },
        { "1345107119", DX_TS_ARCHIVE, false, 0 }, /* Unix time has no place there */
        { "2012-13", DX_TS_ARCHIVE, false, 0 },
        { "20121", DX_TS_ARCHIVE, false, 0 },
        { "201", DX_TS_ARCHIVE, false, 0 },
        { "1e9", DX_TS_ARCHIVE, false, 0 },
        { "-", DX_TS_ARCHIVE, false, 0 },
        { "20121316", DX_TS_AUTO, true, 20121316000000 }, /* seconds of 1970 */
        { "2012-08-16T08:51:59+00", DX_TS_AUTO, true, 1345107119000000 },
        { "2012-08-16 08:51:59+0000", DX_TS_AUTO, true, 1345107119000000 },
        { "2012-08-16T08:51:59+00:00", DX_TS_AUTO, true, 1345107119000000 },
        { "2012-08-16T09:51:59+01", DX_TS_AUTO, true, 1345107119000000 },
        { "2012-08-16 08:51:59 UTC", DX_TS_AUTO, true, 1345107119000000 },
        { "2012-08-16T08:51:59+0", DX_TS_AUTO, false, 0 },
        { "2012-08-16T08:51:59+00:", DX_TS_AUTO, false, 0 },
        { "2012-08-16T08:51:59UT", DX_TS_AUTO, false, 0 },
        { "2012-08-16T08:51:59Z", DX_TS_AUTO, true, 1345107119000000 },
        { "2012-08-16", DX_TS_AUTO, true, 1345075200000000 },
        { " 17 ", DX_TS_AUTO, true, 17000000 },
        { "", DX_TS_AUTO, false, 0 },
        { "1e9", DX_TS_AUTO, true, 1000000000000000 }, /* as Java and Parquet's doubles say it */
        { "1.7E9", DX_TS_AUTO, true, 1700000000000000 },
        { "1.7e+09", DX_TS_AUTO, true, 1700000000000000 },
        { "1.7e+15", DX_TS_AUTO, true, 1700000000000000 },
        { "1.345107919123E12", DX_TS_AUTO, true, 1345107919123000 },
        { "1.34510791925E9", DX_TS_AUTO, true, 1345107919250000 },
        { "-1.75e1", DX_TS_AUTO, true, -17500000 },
        { "17.25e0", DX_TS_AUTO, true, 17250000 },
        { "2.0120816E7", DX_TS_AUTO, true, 1345075200000000 },
        { "1e17", DX_TS_AUTO, false, 0 },
        { "1e18", DX_TS_AUTO, false, 0 },
        { "1e-3", DX_TS_AUTO, false, 0 },
        { "1e", DX_TS_AUTO, false, 0 },
        { "1e+", DX_TS_AUTO, false, 0 },
        { "1e0009", DX_TS_AUTO, false, 0 },
        { "1.e9", DX_TS_AUTO, false, 0 },
        { ".5e9", DX_TS_AUTO, false, 0 },
        { "1.2.3e9", DX_TS_AUTO, false, 0 },
        { "e9", DX_TS_AUTO, false, 0 },
        { "-e9", DX_TS_AUTO, false, 0 },
        { "1e9e9", DX_TS_AUTO, false, 0 },
        { "12x", DX_TS_AUTO, false, 0 },
        { "-", DX_TS_AUTO, false, 0 },
        { "1.", DX_TS_AUTO, false, 0 },
        { "99999999999999999999999", DX_TS_AUTO, false, 0 },
        { "March 3", DX_TS_AUTO, false, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t us = 0;
        bool ok = dx_input_time(dx_span_str(rows[i].text), rows[i].unit, &us);

        if (ok != rows[i].ok || (ok && us != rows[i].us))
            FAIL("'%s': %d %lld", rows[i].text, ok, (long long)us);
    }
}

static void test_csv_fields(void)
{
    static const struct {
        const char *record;
        bool ok;
        const char *want; /* joined by | */
    } rows[] = {
        { "a,b,c", true, "a|b|c" },
        { "", true, "" },
        { ",", true, "|" },
        { "\"a,b\",c", true, "a,b|c" },
        { "\"a\"\"b\"", true, "a\"b" },
        { "\"\"\"\"\"\",x", true, "\"\"|x" },
        { "\"a\"\"\",\"\"\"b\"", true, "a\"|\"b" },
        { "a\"b,c", true, "a\"b|c" },
        { "\"a\"b,c", false, "" },
        { "\"a", false, "" },
        { "x,\"\"", true, "x|" },
    };
    struct dx_buf scratch = DX_BUF_INIT(1 << 16);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_span field[8];
        struct dx_buf got = DX_BUF_INIT(1 << 16);
        bool ok;
        size_t n = dx_fields_csv(dx_span_str(rows[i].record), field, 8, &scratch, &ok);

        for (size_t k = 0; ok && k < n; k++)
            dx_buf_fmt(&got, "%s%.*s", k == 0 ? "" : "|", (int)field[k].size, field[k].data);
        dx_buf_u8(&got, 0);
        if (ok != rows[i].ok || strcmp((char *)got.data, rows[i].want) != 0)
            FAIL("%s: %d %s", rows[i].record, ok, (char *)got.data);
        dx_buf_release(&got);
    }
    dx_buf_release(&scratch);
}

static void test_json(void)
{
    static const struct {
        const char *line;
        const char *want; /* url, meta.url, a."b.c"; kinds a s n b N, "!" malformed */
    } rows[] = {
        { "{}", "a a a" },
        { " { } ", "a a a" },
        { "{\"url\":\"x\"}", "s:x a a" },
        { "{\"url\":null,\"meta\":{\"url\":\"y\\u00e9\\n\"}}", "0 s:y\xc3\xa9\n a" },
        { "{\"a\":{\"b.c\":12.5e3},\"url\":true}", "b:true a n:12.5e3" },
        { "{\"a.b.c\":1,\"a\":{\"b\":{\"c\":2}}}", "a a a" },
        { "{\"url\":[1,{\"url\":2}],\"meta\":[{\"url\":3}]}",
          "N:[1,{\"url\":2}] L:[{\"url\":3}] a" },
        { "{\"url\":\"x\",\"url\":\"y\"}", "s:y a a" },
        { "{\"meta\":{\"url\":\"x\"},\"meta\":{}}", "a a a" },
        { "{\"meta\":{\"url\":{\"url\":\"z\"}}}", "a N:{\"url\":\"z\"} a" },
        { "{\"\\u0075rl\":\"\\ud83d\\ude00\"}", "s:\xf0\x9f\x98\x80 a a" },
        { "{\"url\":\"\\ud83d\"}", "!" },
        { "{\"url\":\"a\x01\"}", "!" },
        { "{\"url\":\"\xff\"}", "!" },
        { "{\"url\":\"x\"", "!" },
        { "{\"url\":\"x\",}", "!" },
        { "{\"url\":01}", "!" },
        { "{\"url\":1}x", "!" },
        { "[1]", "!" },
        { "", "!" },
        { "{\"k\":[1,]}", "!" },
        { "{\"k\":[,1]}", "!" },
        { "{\"k\":[[],{},[{}]],\"url\":\"x\"}", "s:x a a" },
        { "{\"k\":-0.0e+1,\"url\":\"\"}", "s: a a" },
        { "{k:1}", "!" },
        { "{\"k\":tru}", "!" },
    };
    static const char kinds[] = "a0snbNL";
    struct dx_json_path path[3];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf scratch = DX_BUF_INIT(1 << 16);

    (void)dx_json_path_parse(&path[0], "url", &err);
    (void)dx_json_path_parse(&path[1], "meta.url", &err);
    if (dx_json_path_parse(&path[2], "a.\"b.c\"", &err) < 0)
        FAIL("%s", err.text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf got = DX_BUF_INIT(1 << 16);
        struct dx_json_value v[3];
        size_t size = strlen(rows[i].line);
        char *exact = malloc(size + 1);
        json_t *other;

        memcpy(exact, rows[i].line, size);
        if (!dx_json_pick(dx_span_of(exact, size), path, 3, v, &scratch))
            dx_buf_str(&got, "!");
        else
            for (int k = 0; k < 3; k++) {
                dx_buf_fmt(&got, "%s%c", k == 0 ? "" : " ", kinds[v[k].kind]);
                if (v[k].text.data != NULL)
                    dx_buf_fmt(&got, ":%.*s", (int)v[k].text.size, v[k].text.data);
            }
        dx_buf_u8(&got, 0);
        if (strcmp((char *)got.data, rows[i].want) != 0)
            FAIL("%s: %s", rows[i].line, (char *)got.data);
        other = json_loadb(exact, size, JSON_ALLOW_NUL, NULL);
        if (json_is_object(other) != (rows[i].want[0] != '!'))
            FAIL("%s: jansson thinks otherwise", rows[i].line);
        json_decref(other);
        free(exact);
        dx_buf_release(&got);
    }
    static const char *const bad[] = {
        "", ".", "a.", ".a", "\"a", "\"a\"b", "a..b", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q"
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (dx_json_path_parse(&path[0], bad[i], &err) == 0)
            FAIL("path '%s' taken", bad[i]);
    dx_buf_release(&scratch);
}

static void test_columns(void)
{
    static const struct {
        enum dx_record_format format;
        const char *url, *ts, *dataset, *extra;
        enum dx_header header;
        const char *first, *record;
        const char *want; /* "header? url ts dataset extra=name", "!why", or "E" refused */
    } rows[] = {
        { DX_RECORD_TSV, "3", "2", "1", "4", DX_HEADER_AUTO, "d\t1\tu:\te", "d\t1\tu\t",
          "- u 1 d  extra" },
        { DX_RECORD_TSV, "3", "2", "1", "4", DX_HEADER_AUTO, "d\t1\tu:\te", "d\t1\tu",
          "!column_missing" },
        { DX_RECORD_TSV, "2", NULL, "1", NULL, DX_HEADER_AUTO, "set\tURL", "d\tu", "h u  d" },
        { DX_RECORD_TSV, "2", NULL, "1", NULL, DX_HEADER_NO, "set\tURL", "d\tu", "- u  d" },
        { DX_RECORD_CSV, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "date,url", "2024-01-01,u",
          "h u 2024-01-01 " },
        { DX_RECORD_CSV, "link", "when", NULL, "note", DX_HEADER_AUTO, "note,link,when",
          "\"a,\"\"b\",u,7", "h u 7  a,\"b note" },
        { DX_RECORD_CSV, "link", NULL, NULL, NULL, DX_HEADER_AUTO, "a,b", "a,b", "E" },
        { DX_RECORD_CSV, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "a,b", "a,b", "E" },
        { DX_RECORD_CSV, "1", NULL, NULL, "domain", DX_HEADER_YES, "u,domain", "x,y",
          "h x   y extra_domain" },
        { DX_RECORD_CSV, "1", NULL, NULL, NULL, DX_HEADER_AUTO, "a.com,b", "\"x\"y,b",
          "!record_malformed" },
        { DX_RECORD_LIST, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "http://a/,b", "http://c/ d",
          "- http://c/ d  " },
        { DX_RECORD_LIST, "2", NULL, NULL, NULL, DX_HEADER_AUTO, "a", "a", "E" },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "",
          "{\"text\":\"..\",\"url\":\"u\",\"timestamp\":5}", "- u 5 " },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "",
          "{\"metadata\":{\"WARC-Target-URI\":\"u\",\"WARC-Date\":\"t\"}}", "- u t " },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "",
          "{\"warc-target-uri\":\"u\"}", "- u  " },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "", "{\"x\":\"u\"}",
          "!column_missing" },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "", "{\"url\":7}",
          "!column_missing" },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "",
          "{\"meta\":{\"Timestamp\":\"t\",\"x\":1},\"Link\":\"u\"}", "- u t " },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "",
          "{\"URL\":\"no\",\"url\":\"u\",\"Url\":\"no\",\"headers\":{\"warc-date\":\"t\"}}",
          "- u t " },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "{\"x\":{\"y\":1},\"z\":2}",
          "{}", "E" },
        { DX_RECORD_CSV, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "Title,Url,WHEN", "t,u,7",
          "h u 7 " },
        { DX_RECORD_CSV, "9", NULL, NULL, NULL, DX_HEADER_AUTO, "link,b,c", "u,b,c", "E" },
        { DX_RECORD_CSV, "1", NULL, NULL, NULL, DX_HEADER_AUTO, "my link,b", "u,b", "h u  " },
        { DX_RECORD_CSV, "1", NULL, NULL, NULL, DX_HEADER_AUTO, "a.com,b", "u,b", "- u  " },
        { DX_RECORD_JSONL, "a.\"b.c\"", "t", "set", "l", DX_HEADER_AUTO, "",
          "{\"a\":{\"b.c\":\"u\"},\"t\":9,\"set\":\"d\",\"l\":[1]}", "- u 9 d [1] l" },
        { DX_RECORD_JSONL, NULL, NULL, NULL, NULL, DX_HEADER_AUTO, "", "{\"url\":\"u\"",
          "!record_malformed" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_columns_want want = { .url = rows[i].url,
                                        .ts = rows[i].ts,
                                        .dataset = rows[i].dataset,
                                        .header = rows[i].header };
        const struct dx_span first = dx_span_str(rows[i].first);
        const struct dx_columns_sample sample = { .record = &first, .count = 1 };
        struct dx_columns *cols = malloc(sizeof *cols);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_fields f;
        char got[300] = "E";

        if (rows[i].extra != NULL) {
            want.extra[0] = rows[i].extra;
            want.extra_count = 1;
        }
        (void)dx_fields_init(&f, &err);
        if (dx_columns_want_check(&want, &err) == 0 &&
            dx_columns_resolve(cols, &want, rows[i].format, &sample, "in", &err) == 0) {
            int why = dx_columns_pick(cols, dx_span_str(rows[i].record), &f);

            if (why != 0)
                (void)snprintf(got, sizeof got, "!%s", dx_row_reject_name(why));
            else
                (void)snprintf(got, sizeof got, "%s %.*s %.*s %.*s%s%.*s%s%s",
                               cols->header ? "h" : "-", (int)f.url.size, f.url.data,
                               (int)f.ts.size, (const char *)f.ts.data, (int)f.dataset.size,
                               (const char *)f.dataset.data, want.extra_count > 0 ? " " : "",
                               want.extra_count > 0 ? (int)f.extra[0].size : 0,
                               (const char *)f.extra[0].data, want.extra_count > 0 ? " " : "",
                               want.extra_count > 0 ? want.extra_name[0] : "");
        }
        if (strcmp(got, rows[i].want) != 0)
            FAIL("row %zu: got '%s', want '%s' (%s)", i, got, rows[i].want, err.text);
        dx_fields_release(&f);
        dx_columns_want_release(&want);
        free(cols);
    }
}

/* A look at a file closes what it opened, and not standard input, which may be an input of the same
 * run. */
static void test_descriptors(void)
{
    struct dx_error err = DX_ERROR_INIT;
    int fd = dup(STDIN_FILENO);
    int in = open(write_file("http://a.example/\n", 18), O_RDONLY);

    if (fd < 0 || in < 0 || dup2(in, STDIN_FILENO) < 0)
        FAIL("no descriptors");
    if (dx_parquet_rows_is(write_file("http://a.example/\n", 18), &err) != 0)
        FAIL("%s", err.text);
    if (fcntl(STDIN_FILENO, F_GETFD) < 0)
        FAIL("standard input was closed");
    (void)dup2(fd, STDIN_FILENO);
    (void)close(fd);
    (void)close(in);
}

static void read_on(struct dx_input *in, const uint8_t *want, size_t size)
{
    static uint8_t got[1 << 16];
    struct dx_error err = DX_ERROR_INIT;
    size_t done = 0;
    ssize_t n = 1;

    while (done < size &&
           (n = dx_input_member_read(in, got, size - done < sizeof got ? size - done : sizeof got,
                                     &err)) > 0) {
        if (memcmp(got, want + done, (size_t)n) != 0)
            FAIL("other bytes at %zu", done);
        done += (size_t)n;
    }
    if (done != size)
        FAIL("%zu of %zu bytes, %s", done, size, err.text);
}

/* Back in a plain file, to what was read and no further, and not for ever; not in one that is compressed. */
static void test_seek(void)
{
    const size_t size = 1 << 20;
    uint8_t *bytes = malloc(size);
    struct dx_buf packed = DX_BUF_INIT(2 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_input *in = NULL;
    unsigned rounds = 0;
    uint8_t end;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    if (dx_input_open(&in, write_file(bytes, size), 8 << 20, &err) < 0 ||
        dx_input_member_next(in, &err) != 1)
        FAIL("%s", err.text);
    read_on(in, bytes, 300000);
    if (dx_input_seek(in, 1234, &err) != 1 || dx_input_consumed(in) != 1234)
        FAIL("back: %s", err.text);
    read_on(in, bytes + 1234, 1000);
    if (dx_input_seek(in, dx_input_consumed(in) + 1, &err) != 0)
        FAIL("to what was not read yet");
    read_on(in, bytes + 2234, size - 2234);
    while (rounds < 1000 && dx_input_seek(in, 0, &err) == 1) {
        rounds++;
        read_on(in, bytes, size);
        if (dx_input_member_read(in, &end, 1, &err) != 0 || dx_input_consumed(in) != size)
            FAIL("%llu bytes consumed", (unsigned long long)dx_input_consumed(in));
    }
    if (rounds == 0 || rounds == 1000)
        FAIL("%u times over a MiB", rounds);
    dx_input_close(&in);
    gzip(&packed, bytes, size);
    if (dx_input_open(&in, write_file(packed.data, packed.size), 8 << 20, &err) < 0 ||
        dx_input_member_next(in, &err) != 1)
        FAIL("%s", err.text);
    read_on(in, bytes, 1000);
    if (dx_input_is_plain(in) || dx_input_seek(in, 0, &err) != 0)
        FAIL("back in a file that is compressed");
    read_on(in, bytes + 1000, size - 1000);
    dx_input_close(&in);
    dx_buf_release(&packed);
    free(bytes);
}

/* A file that is cut while it is read, here where a member ends, is an error and not a short one. */
static void test_cut_meanwhile(bool packed)
{
    const size_t size = 1 << 20;
    uint8_t *bytes = malloc(size);
    struct dx_buf file = DX_BUF_INIT(4 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_input *in = NULL;
    const char *path;
    size_t half;
    ssize_t n = 1;
    uint32_t x = 1;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 25);
    for (size_t i = 0; i < 2; i++) {
        half = file.size;
        if (packed)
            gzip(&file, bytes, size);
        else
            dx_buf_append(&file, bytes, size);
    }
    path = write_file(file.data, file.size);
    if (dx_input_open(&in, path, 8 << 20, &err) < 0 || truncate(path, (off_t)half) != 0)
        FAIL("%s", err.text);
    while (n > 0)
        n = dx_input_read(in, bytes, size, &err);
    if (n != DX_E_IO || strstr(err.text, "became shorter while it was read") == NULL)
        FAIL("packed %d: %zd, %s", packed, n, err.text);
    dx_input_close(&in);
    dx_buf_release(&file);
    free(bytes);
}

/* A file that grows while it is read: whole lines of it are records, a line without an end is an error. */
static void test_growth(const char *front, const char *more, int want)
{
    const char *path = write_file(front, strlen(front));
    struct dx_error err = DX_ERROR_INIT;
    struct dx_records *r = NULL;
    struct dx_batch batch = { 0 };
    struct dx_input *in = NULL;
    FILE *f;
    int rc;

    if (dx_input_open(&in, path, 8 << 20, &err) < 0 || dx_records_new(&r, in, 1000, &err) < 0)
        FAIL("%s", err.text);
    f = fopen(path, "a");
    if (f == NULL || fputs(more, f) < 0 || fclose(f) != 0)
        FAIL("%s: cannot append", path);
    while ((rc = dx_records_fill(r, &batch, &err)) > 0)
        continue;
    if (rc != want)
        FAIL("'%s', then '%s': %d, %s", front, more, rc, err.text);
    dx_batch_release(&batch);
    dx_records_free(&r);
    dx_input_close(&in);
}

int main(void)
{
    char path[64];

    if (mkdtemp(dir) == NULL)
        return 1;
    test_codecs();
    test_damage();
    test_xz();
    test_no_bzip2();
    test_refused();
    test_records();
    test_batch_sizes();
    test_format();
    test_time();
    test_csv_fields();
    test_json();
    test_columns();
    test_descriptors();
    test_seek();
    test_cut_meanwhile(false);
    test_cut_meanwhile(true);
    test_growth("http://a.com/1\nhttp://a.com/2", "", 0);
    test_growth("http://a.com/1\nhttp://a.com/2", "2\nhttp://a.com/3\n", 0);
    test_growth("http://a.com/1\n", "http://a.com/2", DX_E_IO);
    (void)snprintf(path, sizeof path, "%s/in", dir);
    (void)unlink(path);
    (void)rmdir(dir);
    return failures == 0 ? 0 : 1;
}
