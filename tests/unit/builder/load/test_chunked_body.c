/* SPDX-License-Identifier: Apache-2.0
 * Chunked bodies of replies: what they hold, wherever the bytes are cut; and what is refused.
 */
#include "builder/load/chunked_body.h"

#include "tests/support/damage.h"
#include "tests/support/fail.h"

static unsigned failures;

#define WHOLE DX_CHUNKED_END

static const struct {
    const char *bytes;
    const char *body; /* NULL: refused */
    enum dx_chunked_at end;
    size_t left; /* bytes behind the end */
} rows[] = {
    { "0\r\n\r\n", "", WHOLE, 0 },
    { "5\r\nhello\r\n0\r\n\r\n", "hello", WHOLE, 0 },
    { "0005\r\nhello\r\n000\r\n\r\n", "hello", WHOLE, 0 },
    { "1\r\nh\r\n4\r\nello\r\n0\r\n\r\nHTTP", "hello", WHOLE, 4 },
    { "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789", WHOLE, 0 },
    { "2;a=b\r\n\r\n\r\n0 ; \"x\"\t\r\n\r\n", "\r\n", WHOLE, 0 },
    { "1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\n", "x", WHOLE, 0 },
    { "5\r\nhel", "hel", DX_CHUNKED_DATA, 0 },
    { "5\r\nhello\r\n0\r\n", "hello", DX_CHUNKED_TRAILERS, 0 },
    { "ffffffffffff\r\nx", "x", DX_CHUNKED_DATA, 0 },
    { "\r\n", NULL, 0, 0 },
    { "-1\r\n", NULL, 0, 0 },
    { "+5\r\nhello\r\n", NULL, 0, 0 },
    { "0x5\r\nhello\r\n", NULL, 0, 0 },
    { " 5\r\nhello\r\n", NULL, 0, 0 },
    { ";a\r\n", NULL, 0, 0 },
    { "g\r\n", NULL, 0, 0 },
    { "5\nhello\r\n", NULL, 0, 0 },
    { "5\r\rhello\r\n", NULL, 0, 0 },
    { "5\r\nhello0\r\n\r\n", NULL, 0, 0 },
    { "5\r\nhello\n0\r\n\r\n", NULL, 0, 0 },
    { "5\r\nhello\r0\r\n\r\n", NULL, 0, 0 },
    { "00000000000000\r\n\r\n", NULL, 0, 0 },
    { "0\r\nA: b\n\r\n", NULL, 0, 0 },
    { "0\r\nA: b\r\r\n", NULL, 0, 0 },
    { "0\r\n b\r\n\r\n", NULL, 0, 0 },
    { "0\r\n: b\r\n\r\n", NULL, 0, 0 },
    { "0\r\nA: \x01\r\n\r\n", NULL, 0, 0 },
    { "0\r\n\rx", NULL, 0, 0 },
    { "1;\x7f\r\nx\r\n", NULL, 0, 0 },
};

struct seen {
    char body[64];
    size_t size;
    size_t left;
    int rc;
};

static void feed(struct dx_chunked *c, struct dx_span bytes, struct seen *s)
{
    struct damaged d = damaged_copy(bytes); /* a byte behind the end cannot be read */
    struct dx_span in = { d.bytes, d.size }, piece;

    while (s->rc >= 0 && (s->rc = dx_chunked_next(c, &in, &piece, NULL)) > 0) {
        memcpy(s->body + s->size, piece.data, piece.size);
        s->size += piece.size;
    }
    s->left += in.size;
    damaged_free(&d);
}

/* In parts of `part` bytes. */
static void check_row(size_t row, size_t part)
{
    struct dx_span bytes = dx_span_str(rows[row].bytes);
    struct dx_chunked c = { .at = DX_CHUNKED_SIZE };
    struct seen s = { .rc = 0 };

    for (size_t at = 0; at < bytes.size && s.rc >= 0; at += part)
        feed(&c, dx_span_of(bytes.data + at, part < bytes.size - at ? part : bytes.size - at), &s);
    if ((s.rc < 0) != (rows[row].body == NULL)) {
        FAIL("row %zu in parts of %zu is %s", row, part, s.rc < 0 ? "refused" : "taken");
        return;
    }
    if (rows[row].body == NULL)
        return;
    if (s.size != strlen(rows[row].body) || memcmp(s.body, rows[row].body, s.size) != 0 ||
        c.size != s.size)
        FAIL("row %zu in parts of %zu: %.*s", row, part, (int)s.size, s.body);
    if (c.at != rows[row].end || s.left != rows[row].left)
        FAIL("row %zu in parts of %zu: ends at %d with %zu bytes", row, part, (int)c.at, s.left);
}

/* One byte more than what extensions and trailers may have. */
static void check_limit(const char *begin)
{
    static char text[DX_CHUNKED_LINES_MAX + 64];

    for (size_t over = 0; over < 2; over++) {
        struct dx_chunked c = { .at = DX_CHUNKED_SIZE };
        struct dx_span in, piece;
        size_t n = strlen(begin);
        int rc;

        memset(text, 'x', sizeof(text));
        memcpy(text, begin, n);
        in = dx_span_of(text, n + DX_CHUNKED_LINES_MAX - 1 + over);
        rc = dx_chunked_next(&c, &in, &piece, NULL);
        if (rc != (over ? DX_E_LIMIT : 0))
            FAIL("%zu bytes behind %s: %d", over, begin, rc);
    }
}

int main(void)
{
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        for (size_t part = 1; part <= strlen(rows[row].bytes); part++)
            check_row(row, part);
    check_limit("1;x");
    check_limit("0\r\nx");
    return failures != 0;
}
