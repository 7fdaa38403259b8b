/* SPDX-License-Identifier: Apache-2.0
 * test_warc_head.c - heads of WARC records and HTTP replies.
 */
#include "builder/input/archive/warc_head.h"

#include "tests/support/fail.h"

static int failures;

static void test_sizes(void)
{
    static const struct {
        const char *bytes;
        size_t want;
    } rows[] = {
        { "", 0 },
        { "WARC/1.0\r\n", 0 },
        { "WARC/1.0\r\n\r", 0 },
        { "WARC/1.0\r\n\r\n", 12 },
        { "WARC/1.0\n\nx", 10 },
        { "WARC/1.0\r\nA: b\r\n\r\nHTTP/1.1\r\n\r\n", 18 },
        { "a\nb: c\n\r\nc", 9 },
        { "WARC/1.0\nA: b\n c\n\n", 18 },
        { "WARC/1.0\nA: b\nWARC/1.0\nA: c\n\n", 14 }, /* cut at a line */
        { "WARC/1.0\nA: b\nA: cWARC/1.1\nA: c\n\n", 14 },
        { "WARC/1.0\nA: b\nWARC-TyWARC/1.0\nA: c\n\n", 14 },
        { "WARC/1.0\nA b: c\n\n", 9 },
        { "WARC/1.0\nWARC-Target-URI: http://a/WARC/1.0\n\n", 45 },
    };

    if (dx_http_head_size(dx_span_str("HTTP/1.1 200 OK\r\nno field\r\n\r\nx")) != 29)
        FAIL("the head of a reply");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t got = dx_warc_head_size(dx_span_str(rows[i].bytes));

        if (got != rows[i].want)
            FAIL("%s: %zu, want %zu", rows[i].bytes, got, rows[i].want);
    }
}

static void test_heads(void)
{
    static const struct {
        const char *head;
        enum dx_warc_type type;
        uint64_t size;
        const char *url;  /* NULL: none */
        const char *flaw; /* NULL: sound */
    } rows[] = {
        { "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a/>\r\nContent-Length: "
          "5\r\n\r\n",
          DX_WARC_RESPONSE, 5, "http://a/", NULL },
        { "WARC/1.1\nwarc-type:REVISIT\ncontent-length:  0 \nWARC-Target-URI:u\n\n",
          DX_WARC_REVISIT, 0, "u", NULL },
        { "WARC/0.18\r\nWARC-Type: request\r\nContent-Length: 1\r\n\r\n", DX_WARC_OTHER, 1, NULL,
          NULL },
        { "WARC/2.0\r\nWARC-Type: response\r\nContent-Length: 1\r\n\r\n", DX_WARC_RESPONSE, 0, NULL,
          "version" },
        { "WARC/1.0\r\nWARC-Type: response\r\n\r\n", DX_WARC_RESPONSE, 0, NULL, "Content-Length" },
        { "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99999999999999999999\r\n\r\n",
          DX_WARC_RESPONSE, 0, NULL, "Content-Length" },
        { "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: -1\r\n\r\n", DX_WARC_RESPONSE, 0,
          NULL, "Content-Length" },
        { "WARC/1.0\r\nContent-Length: 1\r\n\r\n", DX_WARC_OTHER, 1, NULL, "WARC-Type" },
        { "WARC/1.0WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 1\r\n\r\n", DX_WARC_RESPONSE,
          0, NULL, "version" },
        { "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 1\r\nWARC/1.0\r\n\r\n",
          DX_WARC_RESPONSE, 1, NULL, "cut" },
        { "WARC/1.0\nWARC-Target-URI: http://a/WARC/1.0\nWARC-Type: response\nContent-Length: "
          "1\n\n",
          DX_WARC_RESPONSE, 1, "http://a/WARC/1.0", NULL },
        { "WARC/1.0\nWARC-Target-URI: http://a/WARC/1.0\nWARC-Type: response\nContent-Length: 1\n"
          "WARC-Target-URI: http://b/\n\n",
          DX_WARC_RESPONSE, 1, "http://a/WARC/1.0", "cut" },
        { "WARC/1.0\nWARC-Target-URI: http://a/WARC/1.0\nWARC-Type: warcinfo\nContent-Length: "
          "1\n\n",
          DX_WARC_OTHER, 1, "http://a/WARC/1.0", "cut" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_warc_head r;
        const char *why = dx_warc_head_parse(dx_span_str(rows[i].head), &r);

        if ((why == NULL) != (rows[i].flaw == NULL) ||
            (why != NULL && strstr(why, rows[i].flaw) == NULL)) {
            FAIL("row %zu: %s", i, why == NULL ? "sound" : why);
            continue;
        }
        if (r.type != rows[i].type || (r.url.data == NULL) != (rows[i].url == NULL) ||
            (r.url.data != NULL && !dx_span_equal(r.url, dx_span_str(rows[i].url))) ||
            (why == NULL && r.content_length != rows[i].size))
            FAIL("row %zu: type %d, size %llu", i, (int)r.type,
                 (unsigned long long)r.content_length);
    }
}

static void test_fields(void)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\nServer:\tx y \r\nEmpty:\r\nA: b\r\n c\r\n\td\r\nA: e\r\n";
    static const struct {
        const char *name;
        const char *want;
    } rows[] = {
        { "server", "x y" }, { "empty", "" }, { "a", "b\r\n c\r\n\td" }, { "serve", NULL }
    };
    static const struct {
        const char *block;
        const char *want;
    } replies[] = { { "HTTP/1.1 200 OK\r\n", "200" }, { "HTTP/2 404", "404" },
                    { "HTTP/1.1  301\r\n", "301" },   { "HTTP/1.1\r\n200", NULL },
                    { "HTTP/1.1 2000 OK", NULL },     { "ICY 200 OK\r\n", NULL } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_span got = dx_head_field(dx_span_str(head), rows[i].name);

        if ((got.data == NULL) != (rows[i].want == NULL) ||
            (got.data != NULL && !dx_span_equal(got, dx_span_str(rows[i].want))))
            FAIL("%s: '%.*s'", rows[i].name, (int)got.size, (const char *)got.data);
    }
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        struct dx_span got = dx_http_status(dx_span_str(replies[i].block));

        if ((got.data == NULL) != (replies[i].want == NULL) ||
            (got.data != NULL && !dx_span_equal(got, dx_span_str(replies[i].want))))
            FAIL("%s: '%.*s'", replies[i].block, (int)got.size, (const char *)got.data);
    }
    if (!dx_span_equal(dx_head_mime(dx_span_str("text/html ; charset=x")),
                       dx_span_str("text/html")))
        FAIL("a MIME type with parameters");
}

int main(void)
{
    test_sizes();
    test_heads();
    test_fields();
    return failures > 0;
}
