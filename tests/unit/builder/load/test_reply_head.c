/* SPDX-License-Identifier: Apache-2.0
 * Heads of HTTP replies as the load generator takes them: what is right, and what is refused.
 */
#include "builder/load/reply_head.h"

#include "tests/support/damage.h"
#include "tests/support/fail.h"

static unsigned failures;

static const struct {
    const char *head;
    unsigned status; /* 0: refused */
    uint64_t body;
    bool close;
    bool chunked;
} rows[] = {
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, 5, false, false },
    { "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", 200, 5, false, false },
    { "HTTP/1.1 200 \r\ncontent-LENGTH:5 \t\r\n\r\n", 200, 5, false, false },
    { "HTTP/1.1 404 Not \xc3\x84\r\nX:\r\nContent-Length: \t0\r\n\r\n", 404, 0, false, false },
    { "HTTP/1.1 503 Busy\r\nContent-Length: 1\r\nConnection: Close\r\n\r\n", 503, 1, true, false },
    { "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", 200, 1, true, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n", 200, 1, false,
      false },
    { "HTTP/1.1 204 No\r\n\r\n", 204, 0, false, false },
    { "HTTP/1.1 304 Same\r\nContent-Length: 77\r\n\r\n", 304, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 9007199254740991\r\n\r\n", 200, 9007199254740991, false,
      false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 9007199254740992\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5,5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n folded\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\n: 5\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\nX: y\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nX: \x01\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nX: \x7f\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 O\x02K\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\ntransfer-ENCODING: Chunked \r\n\r\n", 200, 0, false, true },
    { "HTTP/1.1 304 Same\r\nTransfer-Encoding: chunked\r\n\r\n", 304, 0, false, false },
    { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0,
      false, false },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 0, 0, false,
      false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, false,
      false },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ntransfer-encoding: identity\r\n\r\n", 0, 0, false,
      false },
    { "HTTP/1.1 200 OK\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 100 Continue\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 600 OK\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "http/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { " HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0, 0, false, false },
    { "\r\n\r\n", 0, 0, false, false },
};

static int parse(struct dx_span text, struct dx_reply_head *out)
{
    struct damaged d = damaged_copy(text); /* a byte behind the end cannot be read */
    int rc = DX_E_TRUNCATED;
    size_t size = dx_reply_head_size((struct dx_span){ d.bytes, d.size }, 0);

    if (size == text.size)
        rc = dx_reply_head_parse((struct dx_span){ d.bytes, size }, out, NULL);
    damaged_free(&d);
    return rc;
}

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dx_reply_head head = { .status = 0 };
        int rc = parse(dx_span_str(rows[i].head), &head);

        if ((rc == DX_OK) != (rows[i].status != 0))
            FAIL("row %zu is %s: %s", i, rc == DX_OK ? "taken" : "refused", rows[i].head);
        if (rc == DX_OK && (head.status != rows[i].status || head.body_size != rows[i].body ||
                            head.close != rows[i].close || head.chunked != rows[i].chunked))
            FAIL("row %zu: %u, %llu bytes, close %d", i, head.status,
                 (unsigned long long)head.body_size, head.close);
    }
}

/* However it comes in parts, the end is found where it is, and not before. */
static void check_parts(void)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nbody\r\n\r\n";
    size_t end = strlen(text) - strlen("body\r\n\r\n");

    for (size_t first = 0; first <= end; first++)
        for (size_t second = first; second <= strlen(text); second++) {
            size_t a = dx_reply_head_size(dx_span_of(text, first), 0);
            size_t b = dx_reply_head_size(dx_span_of(text, second), first);

            if (a != (first == end ? end : 0) || (a == 0 && b != (second >= end ? end : 0)))
                FAIL("%zu, then %zu bytes: head of %zu, %zu", first, second, a, b);
        }
}

static void check_limit(void)
{
    static char text[DX_REPLY_HEAD_MAX + 8];
    struct dx_reply_head head;
    const char begin[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: ";

    for (int over = 0; over < 2; over++) {
        size_t size = DX_REPLY_HEAD_MAX + (size_t)over;

        memset(text, 'x', size);
        memcpy(text, begin, strlen(begin));
        memcpy(text + size - 4, "\r\n\r\n", 4);
        if (parse(dx_span_of(text, size), &head) != (over ? DX_E_LIMIT : DX_OK))
            FAIL("a head of %zu bytes", size);
    }
}

int main(void)
{
    check_rows();
    check_parts();
    check_limit();
    return failures != 0;
}
