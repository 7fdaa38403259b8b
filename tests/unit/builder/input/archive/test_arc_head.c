/* SPDX-License-Identifier: Apache-2.0
 * test_arc_head.c - lines that head the records of ARC files.
 */
#include "builder/input/archive/arc_head.h"

#include "tests/support/fail.h"

static int failures;

static void test_lines(void)
{
    static const struct {
        const char *line;
        const char *url; /* NULL: no record begins so */
        const char *date;
        const char *mime;
        const char *length;
        const char *status;
    } rows[] = {
        { "http://a.com/ 1.2.3.4 20080430204825 text/html 12\n", "http://a.com/", "20080430204825",
          "text/html", "12", NULL },
        { "filedesc://a.arc 0 200804302048 text/plain 0\r\n", "filedesc://a.arc", "200804302048",
          "text/plain", "0", NULL },
        { "http://a.com/b c?d=e f 1.2.3.4 20080430204825 text/html 12\n", "http://a.com/b c?d=e f",
          "20080430204825", "text/html", "12", NULL },
        { "http://a.com/ ::1 20080430204825 text/html; charset=a b 12\n", "http://a.com/",
          "20080430204825", "text/html; charset=a b", "12", NULL },
        { "http://a.com/ 1.2.3.4 20080430204825  12\n", "http://a.com/", "20080430204825", "", "12",
          NULL },
        { "http://a.com/ 1.2.3.4 201404010000000000 text/html -1\n", "http://a.com/",
          "201404010000000000", "text/html", "-1", NULL },
        { "http://a.com/ 1.2.3.4 20080430204825 text/html 404 abc - 178 a.arc 12\n",
          "http://a.com/", "20080430204825", "text/html", "12", "404" },
        { "http://a.com/ 1.2.3.4 20080430204825 a; b c d e 200 - http://b.com/ 0 a.arc 12\n",
          "http://a.com/", "20080430204825", "a; b c d e", "12", "200" },
        { "http://a.com/ 1.2.3.4 20080430204825 12\n", NULL, NULL, NULL, NULL, NULL },
        { "http://a.com/ 1.2.3.4 2008 text/html 12\n", NULL, NULL, NULL, NULL, NULL },
        { "http://a.com/ host 20080430204825 text/html 12\n", NULL, NULL, NULL, NULL, NULL },
        { "a.com/ 1.2.3.4 20080430204825 text/html 12\n", NULL, NULL, NULL, NULL, NULL },
        { "HTTP/1.1 200 OK\r\n", NULL, NULL, NULL, NULL, NULL },
        { "Date: Sun, 16 Feb 2014 05:02:20 GMT\r\n", NULL, NULL, NULL, NULL, NULL },
        { "WARC/1.0\r\n", NULL, NULL, NULL, NULL, NULL },
        { "1.2.3.4 20080430204825 text/html 12\n", NULL, NULL, NULL, NULL, NULL },
        /* the record before was cut behind its URL */
        { "http://a.com/ 1.2.3http://b.com/ 1.2.3.4 20080430204825 text/html 12\n", NULL, NULL,
          NULL, NULL, NULL },
        { "http://a.com/ 1.2.3.4 2008http://b.com/ 1.2.3.4 20080430204825 text/html 12\n", NULL,
          NULL, NULL, NULL, NULL },
        { "http://a.com/?q=b http://b.com/ 1.2.3.4 20080430204825 text/html 12\n",
          "http://a.com/?q=b http://b.com/", "20080430204825", "text/html", "12", NULL },
        { "", NULL, NULL, NULL, NULL, NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_arc_head r;
        bool ok = dx_arc_head_parse(dx_span_str(rows[i].line), &r);

        CHECK(ok == (rows[i].url != NULL), "%s: %d", rows[i].line, ok);
        if (!ok || rows[i].url == NULL)
            continue;
        CHECK(dx_span_equal(r.url, dx_span_str(rows[i].url)) &&
                  dx_span_equal(r.date, dx_span_str(rows[i].date)) &&
                  dx_span_equal(r.mime, dx_span_str(rows[i].mime)) &&
                  dx_span_equal(r.length, dx_span_str(rows[i].length)),
              "%s: url '%.*s', MIME type '%.*s'", rows[i].line, (int)r.url.size,
              (const char *)r.url.data, (int)r.mime.size, (const char *)r.mime.data);
        CHECK((r.status.data == NULL) == (rows[i].status == NULL) &&
                  (r.status.data == NULL || dx_span_equal(r.status, dx_span_str(rows[i].status))),
              "%s: its status", rows[i].line);
    }
}

static void test_finds(void)
{
#define REST " 1.2.3.4 20080430204825 text/html 12\n"
    static const struct {
        const char *line;
        size_t start, inside; /* where one begins; SIZE_MAX: nowhere */
    } rows[] = {
        { "http://a.com/" REST, 0, 0 },
        { "x:y" REST, 0, SIZE_MAX },
        { "HTThttp://a.com/" REST, 3, 3 },
        { "Server: xhttps://a.com/" REST, 9, 9 },
        { "Server:dns:a.com" REST, 7, 7 },
        { "<p> text</p>http://a.com/?u=http://b.com/" REST, 12, 12 },
        { "http://a.com/ 1.2http://b.com/" REST, 17, 17 },
        { "http://a.com/b c?u=http://b.com/" REST, 0, 19 },
        { "text" REST, SIZE_MAX, SIZE_MAX },
        { "http://a.com/ 1.2.3.4 20080430204825 text/html x\n", 0, SIZE_MAX },
        { "\n", SIZE_MAX, SIZE_MAX },
    };
#undef REST

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_span line = dx_span_str(rows[i].line);
        size_t start = dx_arc_find(line, true), inside = dx_arc_find(line, false);

        CHECK(start == (rows[i].start == SIZE_MAX ? line.size : rows[i].start) &&
                  inside == (rows[i].inside == SIZE_MAX ? line.size : rows[i].inside),
              "%s: at its start %zu, inside %zu", rows[i].line, start, inside);
    }
}

static void test_as_warc(void)
{
    static const struct {
        const char *line;
        const char *want;
    } rows[] = {
        { "http://a.com/ 1.2.3.4 20080430204825 text/html 12\n",
          "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.com/\r\n"
          "WARC-Date: 2008-04-30T20:48:25Z\r\nWARC-IP-Address: 1.2.3.4\r\n"
          "Content-Type: text/html\r\nContent-Length: 12\r\n\r\n" },
        { "filedesc://a 0 200804302048 no-type 12\n",
          "WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Target-URI: filedesc://a\r\n"
          "WARC-Date: 200804302048\r\nWARC-IP-Address: 0\r\nContent-Length: 12\r\n\r\n" },
        { "http://a.com/ 1.2.3.4 20080430204825 - 404 abc - 178 a.arc 12\n",
          "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.com/\r\n"
          "WARC-Date: 2008-04-30T20:48:25Z\r\nWARC-IP-Address: 1.2.3.4\r\nContent-Length: 12\r\n"
          "WARC-Payload-Digest: abc\r\nResult-Code: 404\r\n\r\n" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf out = DX_BUF_INIT(4096);
        struct dx_arc_head r;

        CHECK(dx_arc_head_parse(dx_span_str(rows[i].line), &r), "%s", rows[i].line);
        dx_arc_head_as_warc(&r, &out);
        CHECK(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(rows[i].want)), "%s: %.*s",
              rows[i].line, (int)out.size, (const char *)out.data);
        dx_buf_release(&out);
    }
}

int main(void)
{
    test_lines();
    test_finds();
    test_as_warc();
    return failures > 0;
}
