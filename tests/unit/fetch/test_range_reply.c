/* SPDX-License-Identifier: Apache-2.0
 * Which replies to a range request are accepted: the faulty ones that libcurl calls a success,
 * each field on its own, and all pairs of faults.
 */
#include "fetch/range_reply.h"
#include "tests/support/damage.h"

static unsigned failures;

#define OK206 "HTTP/1.1 206 Partial Content\r\n"
#define CR "Content-Range: bytes 100-199/1000\r\n"
#define CL "Content-Length: 100\r\n"
#define TAG "ETag: \"v1\"\r\n"

static const struct dx_range_want pinned = { 100, 100, 1000, "\"v1\"" };
static const struct dx_range_want unpinned = { 100, 100, 0, NULL };

struct row {
    const char *name;
    const char *head;
    uint64_t body;
    enum dx_refusal want;
};

/* Pinned. The rows marked M are the sixteen that libcurl was measured with. */
static const struct row ranges[] = {
    { "as it should be", OK206 CR CL TAG, 100, DX_REPLY_ACCEPTED },
    { "chunked", OK206 CR TAG "Transfer-Encoding: chunked\r\n", 100, DX_REPLY_ACCEPTED },
    { "ends with the connection, all there", OK206 CR TAG, 100, DX_REPLY_ACCEPTED },
    { "HTTP/2", "HTTP/2 206 \r\ncontent-range: bytes 100-199/1000\r\netag: \"v1\"\r\n", 100,
      DX_REPLY_ACCEPTED },
    { "after 100 Continue", "HTTP/1.1 100 Continue\r\n" TAG "\r\n" OK206 CR CL TAG, 100,
      DX_REPLY_ACCEPTED },
    { "identity said", OK206 CR CL TAG "Content-Encoding: identity\r\n", 100, DX_REPLY_ACCEPTED },
    { "bare LF as line ends", "HTTP/1.1 206 x\nContent-Range:bytes 100-199/1000\nETag:\"v1\"\n",
      100, DX_REPLY_ACCEPTED },
    { "M 200, whole body", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n" TAG, 1000,
      DX_REPLY_RANGE_IGNORED },
    { "M 200, short body", "HTTP/1.1 200 OK\r\n" CL TAG, 100, DX_REPLY_RANGE_IGNORED },
    { "M another Content-Range", OK206 "Content-Range: bytes 0-99/1000\r\n" CL TAG, 100,
      DX_REPLY_OTHER_RANGE },
    { "M no Content-Range", OK206 CL TAG, 100, DX_REPLY_NO_CONTENT_RANGE },
    { "M short 206", OK206 CR "Content-Length: 50\r\n" TAG, 50, DX_REPLY_OTHER_LENGTH },
    { "M longer body", OK206 CR TAG, 120, DX_REPLY_BODY_LONG },
    { "M cut, no length", OK206 CR TAG, 60, DX_REPLY_BODY_SHORT },
    { "M captive portal", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" CL, 100,
      DX_REPLY_RANGE_IGNORED },
    { "M multipart", OK206 "Content-Type: multipart/byteranges; boundary=x\r\n" CL TAG, 100,
      DX_REPLY_MULTIPART },
    { "M gzip", OK206 CR CL TAG "Content-Encoding: gzip\r\n", 100, DX_REPLY_ENCODED },
    { "M 307", "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://x/\r\n" CL, 100,
      DX_REPLY_REDIRECT },
    /* A flipped bit is found by checksums; the predicate sees nothing. */
    { "M bit flip", OK206 CR CL TAG, 100, DX_REPLY_ACCEPTED },
    { "M two Content-Length", OK206 CR CL "Content-Length: 90\r\n" TAG, 100,
      DX_REPLY_LENGTH_TWICE },
    { "M cut under Content-Length", OK206 CR CL TAG, 99, DX_REPLY_BODY_SHORT },
    { "M cut under chunked", OK206 CR TAG "Transfer-Encoding: chunked\r\n", 99,
      DX_REPLY_BODY_SHORT },
    { "M 503", "HTTP/1.1 503 Slow Down\r\n", 0, DX_REPLY_THROTTLED },
    { "two equal Content-Length", OK206 CR CL CL TAG, 100, DX_REPLY_LENGTH_TWICE },
    { "a list of lengths", OK206 CR "Content-Length: 100, 100\r\n" TAG, 100, DX_REPLY_LENGTH_BAD },
    { "signed length", OK206 CR "Content-Length: +100\r\n" TAG, 100, DX_REPLY_LENGTH_BAD },
    { "overflowing length", OK206 CR "Content-Length: 18446744073709551716\r\n" TAG, 100,
      DX_REPLY_LENGTH_BAD },
    { "empty length", OK206 CR "Content-Length:\r\n" TAG, 100, DX_REPLY_LENGTH_BAD },
    { "length and chunked", OK206 CR CL TAG "Transfer-Encoding: chunked\r\n", 100,
      DX_REPLY_LENGTH_AND_CHUNKED },
    { "gzip, chunked", OK206 CR TAG "Transfer-Encoding: gzip, chunked\r\n", 100,
      DX_REPLY_TRANSFER_CODED },
    { "chunked twice", OK206 CR TAG "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      100, DX_REPLY_TRANSFER_CODED },
    { "two equal Content-Range", OK206 CR CR CL TAG, 100, DX_REPLY_CONTENT_RANGE_TWICE },
    { "two Content-Range", OK206 CR "Content-Range: bytes 0-99/1000\r\n" CL TAG, 100,
      DX_REPLY_CONTENT_RANGE_TWICE },
    { "one byte early", OK206 "Content-Range: bytes 99-198/1000\r\n" CL TAG, 100,
      DX_REPLY_OTHER_RANGE },
    { "one byte less", OK206 "Content-Range: bytes 100-198/1000\r\n" CL TAG, 100,
      DX_REPLY_OTHER_RANGE },
    { "no total", OK206 "Content-Range: bytes 100-199/*\r\n" CL TAG, 100, DX_REPLY_TOTAL_UNKNOWN },
    { "another total", OK206 "Content-Range: bytes 100-199/1001\r\n" CL TAG, 100,
      DX_REPLY_OTHER_TOTAL },
    { "total inside the range", OK206 "Content-Range: bytes 100-199/199\r\n" CL TAG, 100,
      DX_REPLY_CONTENT_RANGE_BAD },
    { "cut at another end", OK206 "Content-Range: bytes 100-149/150\r\n" TAG, 50,
      DX_REPLY_OTHER_RANGE },
    { "no range at all", OK206 "Content-Range: bytes */1000\r\n" CL TAG, 100,
      DX_REPLY_CONTENT_RANGE_BAD },
    { "overflow in a range", OK206 "Content-Range: bytes 100-18446744073709551815/1000\r\n" CL TAG,
      100, DX_REPLY_CONTENT_RANGE_BAD },
    { "a range to the last number",
      OK206 "Content-Range: bytes 100-18446744073709551615/*\r\n" CL TAG, 100,
      DX_REPLY_CONTENT_RANGE_BAD },
    { "a length just over 64 bits", OK206 CR "Content-Length: 18446744073709551616\r\n" TAG, 100,
      DX_REPLY_LENGTH_BAD },
    { "status of four digits", "HTTP/1.1 1206 x\r\n" CR CL TAG, 100, DX_REPLY_NO_STATUS },
    { "status of two digits", "HTTP/1.1 99 x\r\n" CR CL TAG, 100, DX_REPLY_NO_STATUS },
    { "ends before, at the total it should have",
      OK206 "Content-Range: bytes 100-199/1000\r\n" CL TAG, 99, DX_REPLY_BODY_SHORT },
    { "backwards", OK206 "Content-Range: bytes 199-100/1000\r\n" CL TAG, 100,
      DX_REPLY_CONTENT_RANGE_BAD },
    { "another unit", OK206 "Content-Range: rows 100-199/1000\r\n" CL TAG, 100,
      DX_REPLY_CONTENT_RANGE_BAD },
    { "words behind", OK206 "Content-Range: bytes 100-199/1000 x\r\n" CL TAG, 100,
      DX_REPLY_CONTENT_RANGE_BAD },
    { "empty Content-Range", OK206 "Content-Range:\r\n" CL TAG, 100, DX_REPLY_CONTENT_RANGE_BAD },
    { "no ETag", OK206 CR CL, 100, DX_REPLY_NO_ETAG },
    { "weak ETag", OK206 CR CL "ETag: W/\"v1\"\r\n", 100, DX_REPLY_ETAG_WEAK },
    { "another ETag", OK206 CR CL "ETag: \"v2\"\r\n", 100, DX_REPLY_OTHER_ETAG },
    { "ETag without quotes", OK206 CR CL "ETag: v1\r\n", 100, DX_REPLY_OTHER_ETAG },
    { "two ETags", OK206 CR CL TAG TAG, 100, DX_REPLY_ETAG_TWICE },
    { "204", "HTTP/1.1 204 No Content\r\n", 0, DX_REPLY_STATUS },
    { "304 unasked", "HTTP/1.1 304 Not Modified\r\n" TAG, 0, DX_REPLY_STATUS },
    { "301", "HTTP/1.1 301 Moved\r\nLocation: /\r\n", 0, DX_REPLY_REDIRECT },
    { "403", "HTTP/1.1 403 Forbidden\r\n", 10, DX_REPLY_FORBIDDEN },
    { "404", "HTTP/1.1 404 Not Found\r\n", 10, DX_REPLY_NOT_FOUND },
    { "410", "HTTP/1.1 410 Gone\r\n", 10, DX_REPLY_NOT_FOUND },
    { "408", "HTTP/1.1 408 Timeout\r\n", 10, DX_REPLY_SERVER_ERROR },
    { "412", "HTTP/1.1 412 Precondition Failed\r\n", 10, DX_REPLY_CHANGED },
    { "416", "HTTP/1.1 416 x\r\nContent-Range: bytes */50\r\n", 0, DX_REPLY_RANGE_IMPOSSIBLE },
    { "429", "HTTP/1.1 429 x\r\nRetry-After: 1\r\n", 0, DX_REPLY_THROTTLED },
    { "500", "HTTP/1.1 500 x\r\n", 0, DX_REPLY_SERVER_ERROR },
    { "504", "HTTP/1.1 504 x\r\n", 0, DX_REPLY_SERVER_ERROR },
    { "400", "HTTP/1.1 400 x\r\n", 0, DX_REPLY_STATUS },
    { "nothing", "", 0, DX_REPLY_NO_STATUS },
    { "no status line", CR CL TAG, 100, DX_REPLY_NO_STATUS },
    { "bad status", "HTTP/1.1 2O6 x\r\n" CR CL TAG, 100, DX_REPLY_NO_STATUS },
    { "folded line", OK206 CR CL TAG "X: a\r\n b\r\n", 100, DX_REPLY_MALFORMED },
    { "space before the colon", OK206 CR CL TAG "X : a\r\n", 100, DX_REPLY_MALFORMED },
    { "no colon", OK206 CR CL TAG "hello\r\n", 100, DX_REPLY_MALFORMED },
};

static const struct dx_range_want small = { 0, 500, 0, NULL };

static const struct row wholes[] = {
    { "as it should be", "HTTP/1.1 200 OK\r\n" CL TAG, 100, DX_REPLY_ACCEPTED },
    { "chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", 100, DX_REPLY_ACCEPTED },
    { "HTTP/2 without length", "HTTP/2 200\r\n", 100, DX_REPLY_ACCEPTED },
    { "empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", 0, DX_REPLY_ACCEPTED },
    { "304", "HTTP/1.1 304 Not Modified\r\n" TAG, 0, DX_REPLY_NOT_MODIFIED },
    { "304 with a body", "HTTP/1.1 304 Not Modified\r\n" TAG, 5, DX_REPLY_BODY_LONG },
    { "no length", "HTTP/1.1 200 OK\r\n", 100, DX_REPLY_LENGTH_UNKNOWN },
    { "cut", "HTTP/1.1 200 OK\r\n" CL, 99, DX_REPLY_BODY_SHORT },
    { "long", "HTTP/1.1 200 OK\r\n" CL, 101, DX_REPLY_BODY_LONG },
    { "large by length", "HTTP/1.1 200 OK\r\nContent-Length: 501\r\n", 0, DX_REPLY_TOO_LARGE },
    { "large by body", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", 501,
      DX_REPLY_TOO_LARGE },
    { "206", OK206 CR CL TAG, 100, DX_REPLY_PARTIAL },
    { "200 with a range", "HTTP/1.1 200 OK\r\n" CR CL, 100, DX_REPLY_CONTENT_RANGE_BAD },
    { "gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n" CL, 100, DX_REPLY_ENCODED },
    { "two lengths", "HTTP/1.1 200 OK\r\n" CL CL, 100, DX_REPLY_LENGTH_TWICE },
    { "307", "HTTP/1.1 307 x\r\n" CL, 100, DX_REPLY_REDIRECT },
    { "404", "HTTP/1.1 404 x\r\n" CL, 100, DX_REPLY_NOT_FOUND },
};

/* Of an object whose size is known. */
static const struct dx_range_want sized = { 0, 500, 100, NULL };

static const struct row of_size[] = {
    { "as it should be", "HTTP/1.1 200 OK\r\n" CL, 100, DX_REPLY_ACCEPTED },
    { "chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", 100, DX_REPLY_ACCEPTED },
    { "another length", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n", 99, DX_REPLY_OTHER_LENGTH },
    { "chunked, cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", 99,
      DX_REPLY_BODY_SHORT },
    { "chunked, long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", 101,
      DX_REPLY_BODY_LONG },
    { "malformed 304", "HTTP/1.1 304 Not Modified\r\nno colon\r\n", 0, DX_REPLY_MALFORMED },
};

static void feed(struct dx_reply *r, const char *head, uint64_t body)
{
    dx_reply_begin(r);
    while (*head != '\0') {
        size_t n = strcspn(head, "\n");

        n += head[n] == '\n';
        dx_reply_header(r, dx_span_of(head, n));
        head += n;
    }
    for (; body > 7; body -= 7)
        dx_reply_body(r, 7);
    if (body > 0)
        dx_reply_body(r, body);
}

static void expect(const struct row *row, enum dx_refusal got)
{
    EXPECT(got == row->want, "%s: got %s, want %s", row->name, dx_refusal_name(got),
           dx_refusal_name(row->want));
}

static void check_tables(void)
{
    struct dx_reply r;

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        feed(&r, ranges[i].head, ranges[i].body);
        expect(&ranges[i], dx_range_reply_check(&r, &pinned));
    }
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        feed(&r, wholes[i].head, wholes[i].body);
        expect(&wholes[i], dx_whole_reply_check(&r, &small));
    }
    for (size_t i = 0; i < sizeof of_size / sizeof of_size[0]; i++) {
        feed(&r, of_size[i].head, of_size[i].body);
        expect(&of_size[i], dx_whole_reply_check(&r, &sized));
    }
    for (int i = 0; i < DX_REFUSAL_COUNT; i++)
        EXPECT(dx_refusal_name((enum dx_refusal)i) != NULL &&
                   dx_refusal_words((enum dx_refusal)i) != NULL,
               "refusal %d has no words", i);
}

/* Without pins the object may be any, but the range may not. */
static void check_unpinned(void)
{
    static const struct row rows[] = {
        { "no ETag", OK206 CR CL, 100, DX_REPLY_ACCEPTED },
        { "weak ETag", OK206 CR CL "ETag: W/\"v1\"\r\n", 100, DX_REPLY_ACCEPTED },
        { "another total", OK206 "Content-Range: bytes 100-199/200\r\n" CL, 100,
          DX_REPLY_ACCEPTED },
        { "no total", OK206 "Content-Range: bytes 100-199/*\r\n" CL, 100, DX_REPLY_TOTAL_UNKNOWN },
        { "two ETags", OK206 CR CL TAG TAG, 100, DX_REPLY_ETAG_TWICE },
        { "past the end", OK206 "Content-Range: bytes 100-149/150\r\n", 50,
          DX_REPLY_RANGE_IMPOSSIBLE },
        { "other range", OK206 "Content-Range: bytes 0-99/100\r\n" CL, 100, DX_REPLY_OTHER_RANGE },
    };
    const struct dx_range_want nothing = { 100, 0, 0, NULL };
    static char line[DX_REPLY_LINE_MAX + 1];
    struct dx_reply r;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        feed(&r, rows[i].head, rows[i].body);
        expect(&rows[i], dx_range_reply_check(&r, &unpinned));
    }
    feed(&r, OK206 CR CL, 0);
    EXPECT(dx_range_reply_check(&r, &nothing) != DX_REPLY_ACCEPTED, "a range of no bytes");
    feed(&r, OK206 CR CL TAG, 100);
    dx_reply_header(&r, dx_span_str(OK206));
    EXPECT(dx_range_reply_check(&r, &pinned) == DX_REPLY_MALFORMED, "a status line as trailer");
    feed(&r, OK206 CR CL TAG, 0);
    dx_reply_header(&r, dx_span_str("X: a\nContent-Length: 5\r\n"));
    EXPECT(dx_range_reply_head(&r, &pinned) == DX_REPLY_MALFORMED, "a line end in a line");
    feed(&r, OK206 CR CL TAG, 0);
    memset(line, 'x', sizeof line);
    line[1] = ':';
    dx_reply_header(&r, dx_span_of(line, DX_REPLY_LINE_MAX));
    EXPECT(dx_range_reply_head(&r, &pinned) == DX_REPLY_ACCEPTED, "the longest line");
    dx_reply_header(&r, dx_span_of(line, DX_REPLY_LINE_MAX + 1));
    EXPECT(dx_range_reply_head(&r, &pinned) == DX_REPLY_MALFORMED, "a longer line");
    feed(&r, OK206 CR CL TAG, 0);
    dx_reply_body(&r, SIZE_MAX);
    dx_reply_body(&r, SIZE_MAX);
    EXPECT(dx_range_reply_check(&r, &pinned) == DX_REPLY_BODY_LONG, "a body without end");
    feed(&r, OK206 CR CL TAG, 0);
    dx_reply_header(&r, dx_span_of("X: a\0b\r\n", 8));
    EXPECT(dx_range_reply_head(&r, &pinned) == DX_REPLY_MALFORMED, "NUL in a line");
    feed(&r, OK206, 0);
    for (int i = 0; i < DX_REPLY_LINES_MAX; i++)
        dx_reply_header(&r, dx_span_str("X: a\r\n"));
    EXPECT(dx_range_reply_head(&r, &pinned) == DX_REPLY_MALFORMED, "many lines");
}

/* One choice a field: the reply is accepted if and only if every choice is the good one. */
static void check_combinations(void)
{
    static const char *const status[] = { OK206, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 307 x\r\n",
                                          "HTTP/1.1 503 x\r\n", "HTTP/1.1 412 x\r\n" };
    static const char *const range[] = { CR,
                                         "",
                                         CR CR,
                                         "Content-Range: bytes 0-99/1000\r\n",
                                         "Content-Range: bytes 100-199/*\r\n",
                                         "Content-Range: bytes 100-199/999\r\n",
                                         "Content-Range: bytes=100-199/1000\r\n" };
    static const char *const length[] = { CL, "Content-Length: 99\r\n", CL CL,
                                          CL "Transfer-Encoding: chunked\r\n",
                                          "Content-Length: 0x64\r\n" };
    static const char *const etag[] = { TAG, "", "ETag: W/\"v1\"\r\n", "ETag: \"v11\"\r\n",
                                        TAG TAG };
    static const char *const other[] = { "", "Content-Encoding: gzip\r\n",
                                         "Content-Type: Multipart/byteranges\r\n",
                                         "Transfer-Encoding: deflate\r\n", "broken\r\n" };
    static const uint64_t body[] = { 100, 0, 50, 99, 101 };
    size_t pick[6];
    size_t tried = 0;
    size_t accepted = 0;

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define EACH(k, a) for (pick[k] = 0; pick[k] < COUNT(a); pick[k]++)
    EACH(0, status) EACH(1, range) EACH(2, length) EACH(3, etag) EACH(4, other) EACH(5, body)
    {
        char head[1024];
        struct dx_reply r;
        bool good = true;
        bool ok;

        for (size_t k = 0; k < 6; k++)
            good = good && pick[k] == 0;
        (void)snprintf(head, sizeof head, "%s%s%s%s%s\r\n", status[pick[0]], range[pick[1]],
                       length[pick[2]], etag[pick[3]], other[pick[4]]);
        feed(&r, head, body[pick[5]]);
        ok = dx_range_reply_check(&r, &pinned) == DX_REPLY_ACCEPTED;
        EXPECT(ok == good, "%s%llu bytes", head, (unsigned long long)body[pick[5]]);
        tried++;
        accepted += ok;
    }
    printf("%zu combinations of faults, %zu accepted\n", tried, accepted);
}

static void check_etags(void)
{
    char longest[DX_ETAG_MAX + 3];

    EXPECT(dx_etag_strong("\"\"") && dx_etag_strong("\"9b2c-1\""), "strong ones");
    EXPECT(!dx_etag_strong("") && !dx_etag_strong("\"") && !dx_etag_strong("abc") &&
               !dx_etag_strong("W/\"a\"") && !dx_etag_strong("\"a\"b\"") &&
               !dx_etag_strong("\"a\r\nX: b\"") && !dx_etag_strong("\"a b\""),
           "not strong, or not safe in a header");
    memset(longest, 'x', sizeof longest);
    longest[0] = longest[DX_ETAG_MAX - 1] = '"';
    longest[DX_ETAG_MAX] = '\0';
    EXPECT(dx_etag_strong(longest), "128 bytes");
    longest[DX_ETAG_MAX - 1] = 'x';
    longest[DX_ETAG_MAX] = '"';
    longest[DX_ETAG_MAX + 1] = '\0';
    EXPECT(!dx_etag_strong(longest), "129 bytes");
}

/* HTTP/2 as libcurl writes it: no reason, names in lower case. */
static void check_http2(void)
{
    static const struct row http2[] = {
        { "good", "content-range: bytes 100-199/1000\r\ncontent-length: 100\r\netag: \"v1\"\r\n",
          100, DX_REPLY_ACCEPTED },
        { "other range", "content-range: bytes 0-99/1000\r\netag: \"v1\"\r\n", 100,
          DX_REPLY_OTHER_RANGE },
        { "two lengths",
          "content-range: bytes 100-199/1000\r\ncontent-length: 100\r\nContent-Length: 100\r\n"
          "etag: \"v1\"\r\n",
          100, DX_REPLY_LENGTH_TWICE },
        { "other etag", "content-range: bytes 100-199/1000\r\netag: \"v2\"\r\n", 100,
          DX_REPLY_OTHER_ETAG },
        { "encoded",
          "content-range: bytes 100-199/1000\r\netag: \"v1\"\r\ncontent-encoding: br\r\n", 100,
          DX_REPLY_ENCODED },
        { "cut", "content-range: bytes 100-199/1000\r\netag: \"v1\"\r\n", 99, DX_REPLY_BODY_SHORT },
    };
    struct dx_reply r;

    for (size_t i = 0; i < sizeof http2 / sizeof http2[0]; i++) {
        char head[512];
        enum dx_refusal got;

        (void)snprintf(head, sizeof head, "HTTP/2 206 \r\n%s\r\n", http2[i].head);
        feed(&r, head, http2[i].body);
        got = dx_range_reply_check(&r, &pinned);
        EXPECT(got == http2[i].want && !r.http1, "%s: %s", http2[i].name, dx_refusal_name(got));
    }
    feed(&r, "HTTP/2 403 \r\ndate: Sat, 21 Nov 2026 10:00:00 GMT\r\nretry-after: 7\r\n\r\n", 0);
    EXPECT(strcmp(r.date, "Sat, 21 Nov 2026 10:00:00 GMT") == 0 && strcmp(r.retry_after, "7") == 0,
           "%s, %s", r.date, r.retry_after);
    feed(&r,
         "HTTP/1.1 403 x\r\nDate: much longer than any date that a server of the web has ever "
         "sent\r\n\r\n",
         0);
    EXPECT(r.date[0] == '\0', "%s", r.date);
}

int main(void)
{
    check_http2();
    check_tables();
    check_unpinned();
    check_combinations();
    check_etags();
    return failures > 0;
}
