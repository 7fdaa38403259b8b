/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/reply_head.h"

#include <assert.h>

#define BODY_MAX (UINT64_C(1) << 53)

/* 1: token characters of a name (RFC 9110, 5.6.2); 2: what a value may have, tab and 0x20 on but
 * DEL. */
static const uint8_t kinds[256] = {
    ['\t'] = 2,        [' '] = 2,         ['!'] = 3,         ['"'] = 2,         ['#' ... '\''] = 3,
    ['(' ... ')'] = 2, ['*' ... '+'] = 3, [','] = 2,         ['-' ... '.'] = 3, ['/'] = 2,
    ['0' ... '9'] = 3, [':' ... '@'] = 2, ['A' ... 'Z'] = 3, ['[' ... ']'] = 2, ['^' ... 'z'] = 3,
    ['{'] = 2,         ['|'] = 3,         ['}'] = 2,         ['~'] = 3,         [0x80 ... 0xff] = 2,
};

size_t dx_reply_head_size(struct dx_span bytes, size_t from)
{
    const uint8_t *end;

    assert(from <= bytes.size);
    from = from < 3 ? 0 : from - 3; /* the end may lie across what was looked at */
    if (bytes.size < from + 4)
        return 0;
    end = memmem(bytes.data + from, bytes.size - from, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end - bytes.data) + 4;
}

static int parse_status(struct dx_span line, struct dx_reply_head *out, struct dx_error *err)
{
    const uint8_t *p = line.data;

    if (line.size < 12 || memcmp(p, "HTTP/1.", 7) != 0 || (p[7] != '1' && p[7] != '0') ||
        p[8] != ' ' || p[9] < '2' || p[9] > '5' || p[10] < '0' || p[10] > '9' || p[11] < '0' ||
        p[11] > '9' || (line.size > 12 && p[12] != ' '))
        return dx_fail(err, DX_E_CORRUPT, "reply: not a status line: %.*s",
                       (int)(line.size < 40 ? line.size : 40), (const char *)p);
    for (size_t i = 12; i < line.size; i++)
        if ((kinds[p[i]] & 2) == 0)
            return dx_fail(err, DX_E_CORRUPT, "reply: byte %zu of the status line is 0x%02x", i,
                           p[i]);
    out->status = (unsigned)(100 * (p[9] - '0') + 10 * (p[10] - '0') + p[11] - '0');
    out->close = p[7] == '0';
    return DX_OK;
}

static int parse_length(struct dx_span value, bool *known, struct dx_reply_head *out,
                        struct dx_error *err)
{
    uint64_t n = 0;

    if (*known)
        return dx_fail(err, DX_E_CORRUPT, "reply: Content-Length twice");
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' || n >= BODY_MAX)
            return dx_fail(err, DX_E_CORRUPT, "reply: Content-Length is not a number below 2^53");
        n = 10 * n + value.data[i] - '0';
    }
    if (value.size == 0 || n >= BODY_MAX)
        return dx_fail(err, DX_E_CORRUPT, "reply: Content-Length is not a number below 2^53");
    *known = true;
    out->body_size = n;
    return DX_OK;
}

static int parse_field(struct dx_span line, bool *known, struct dx_reply_head *out,
                       struct dx_error *err)
{
    struct dx_span name = line, value;
    size_t n = 0;

    while (n < line.size && (kinds[line.data[n]] & 1) != 0)
        n++;
    if (n == 0 || n == line.size || line.data[n] != ':')
        return dx_fail(err, DX_E_CORRUPT, "reply: a line that is not a field: %.*s",
                       (int)(line.size < 40 ? line.size : 40), (const char *)line.data);
    name.size = n;
    value = dx_span_trimmed((struct dx_span){ line.data + n + 1, line.size - n - 1 });
    for (size_t i = 0; i < value.size; i++)
        if ((kinds[value.data[i]] & 2) == 0)
            return dx_fail(err, DX_E_CORRUPT, "reply: %.*s has byte 0x%02x", (int)n,
                           (const char *)name.data, value.data[i]);
    if (dx_span_is_word(name, "content-length"))
        return parse_length(value, known, out, err);
    if (dx_span_is_word(name, "transfer-encoding")) {
        if (out->chunked || !dx_span_is_word(value, "chunked"))
            return dx_fail(err, DX_E_UNSUPPORTED, "reply: a Transfer-Encoding other than chunked");
        out->chunked = true;
    }
    if (dx_span_is_word(name, "connection") && dx_span_is_word(value, "close"))
        out->close = true;
    return DX_OK;
}

int dx_reply_head_parse(struct dx_span head, struct dx_reply_head *out, struct dx_error *err)
{
    bool known = false, first = true, http_1_0;

    *out = (struct dx_reply_head){ .status = 0 };
    http_1_0 = head.size > 7 && head.data[7] == '0';
    if (head.size < 4 || head.size > DX_REPLY_HEAD_MAX)
        return dx_fail(err, DX_E_LIMIT, "reply: a head of %zu bytes", head.size);
    head.size -= 2; /* the empty line */
    while (head.size > 0) {
        const uint8_t *end = memchr(head.data, '\n', head.size);
        struct dx_span line = { head.data, 0 };
        int rc;

        if (end == NULL || end == head.data || end[-1] != '\r')
            return dx_fail(err, DX_E_CORRUPT, "reply: a line that does not end with CRLF");
        line.size = (size_t)(end - head.data) - 1;
        rc = first ? parse_status(line, out, err) : parse_field(line, &known, out, err);
        if (rc < 0)
            return rc;
        first = false;
        head.size -= line.size + 2;
        head.data += line.size + 2;
    }
    if (out->chunked && (known || http_1_0))
        return dx_fail(err, DX_E_CORRUPT, "reply: Transfer-Encoding %s",
                       known ? "beside Content-Length" : "of HTTP/1.0");
    if (out->status == 204 || out->status == 304) {
        out->body_size = 0;
        out->chunked = false;
    } else if (!known && !out->chunked) {
        return dx_fail(err, DX_E_UNSUPPORTED, "reply: %u without Content-Length", out->status);
    }
    return DX_OK;
}
