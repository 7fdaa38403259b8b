/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/reply.h"

#include "base/hash.h"
#include "base/json_out.h"
#include "base/put.h"
#include "server/http/request_head.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct status_row {
    int status;
    const char *phrase;
    const char *slug; /* of problems that HTTP itself makes */
    unsigned retry_s; /* Retry-After unless more is known; 0: none */
} rows[] = {
    { 200, "OK", NULL, 0 },
    { 204, "No Content", NULL, 0 },
    { 303, "See Other", NULL, 0 },
    { 304, "Not Modified", NULL, 0 },
    { 400, "Bad Request", "bad-request", 0 },
    { 401, "Unauthorized", NULL, 0 },
    { 403, "Forbidden", NULL, 0 },
    { 404, "Not Found", NULL, 0 },
    { 405, "Method Not Allowed", "method-not-allowed", 0 },
    { 408, "Request Timeout", "request-timeout", 0 },
    { 409, "Conflict", NULL, 0 },
    { 410, "Gone", NULL, 0 },
    { 411, "Length Required", "length-required", 0 },
    { 413, "Content Too Large", "body-too-large", 0 },
    { 414, "URI Too Long", "target-too-long", 0 },
    { 415, "Unsupported Media Type", "body-not-taken", 0 },
    { 417, "Expectation Failed", "expectation-failed", 0 },
    { 422, "Unprocessable Content", NULL, 0 },
    { 451, "Unavailable For Legal Reasons", NULL, 0 },
    { 429, "Too Many Requests", NULL, 1 },
    { 431, "Request Header Fields Too Large", "head-too-large", 0 },
    { 500, "Internal Server Error", "internal-error", 0 },
    { 501, "Not Implemented", "method-unknown", 0 },
    { 503, "Service Unavailable", NULL, 1 },
    { 505, "HTTP Version Not Supported", "http-version", 0 },
};

static const struct status_row *row_of(int status)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status)
            return &rows[i];
    return row_of(500);
}

static uint8_t *put_text(uint8_t *p, const char *text)
{
    return (uint8_t *)stpcpy((char *)p, text); /* one pass; the zero is written over */
}

#define LINE_BEGIN "HTTP/1.1 200 "
#define DATE_BEGIN "\r\nDate: "

size_t dx_reply_date_at(int status)
{
    return DX_PUT_SIZE(LINE_BEGIN) + strlen(row_of(status)->phrase) + DX_PUT_SIZE(DATE_BEGIN);
}

/* Texts of others stand in answers (URLs, names): no browser shall take one for anything but the
 * type that is said, nor run, load or frame anything of it. No field names program or version. */
#define SECURITY_FIELDS                   \
    "\r\nX-Content-Type-Options: nosniff" \
    "\r\nContent-Security-Policy: "
#define POLICY "default-src 'none'; frame-ancestors 'none'"

/* "Vary: Accept, Accept-Encoding, Authorization" */
static uint8_t *put_vary(const struct dx_reply *r, uint8_t *p)
{
    const char *const fields[] = { r->by_accept ? "Accept" : NULL,
                                   r->negotiated ? "Accept-Encoding" : NULL, r->vary };
    const char *before = "\r\nVary: ";

    if (r->negotiated && r->vary == NULL) /* nearly all */
        return r->by_accept ? DX_PUT(p, "\r\nVary: Accept, Accept-Encoding")
                            : DX_PUT(p, "\r\nVary: Accept-Encoding");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i] == NULL)
            continue;
        p = put_text(put_text(p, before), fields[i]);
        before = ", ";
    }
    return p;
}

/* The same origin for each client, so no cache has to tell origins apart. Credentials are never allowed:
 * a script must know the token that it sends. */
static uint8_t *put_origin(const struct dx_reply *r, uint8_t *p)
{
    if (r->origin == NULL)
        return p;
    p = put_text(DX_PUT(p, "Access-Control-Allow-Origin: "), r->origin);
    p = DX_PUT(p, "\r\nAccess-Control-Expose-Headers: Content-Disposition, Domaindex-Receipt, "
                  "ETag, Retry-After, Server-Timing, X-Domaindex-By-Paths, X-Domaindex-More-Rows, "
                  "X-Domaindex-Untimed-Rows, "
                  "X-Domaindex-Version\r\n");
    if (r->methods != NULL)
        p = DX_PUT(put_text(DX_PUT(p, "Access-Control-Allow-Methods: "), r->methods),
                   "\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, If-None-Match"
                   "\r\nAccess-Control-Max-Age: 7200\r\n");
    return p;
}

/* Once as long as it can get: the longest of each part, and names are bounded by their types. */
void dx_reply_head(const struct dx_reply *r, struct dx_buf *out)
{
    const struct status_row *row = row_of(r->status);
    uint8_t *begin = dx_buf_reserve(out, DX_REPLY_HEAD_MAX + r->receipt.size);
    unsigned retry_s = r->retry_s > 0 ? r->retry_s : row->retry_s;
    uint8_t *p;

    if (begin == NULL)
        return;
    p = dx_put_u64(DX_PUT(begin, "HTTP/1.1 "), (uint64_t)row->status);
    *p++ = ' ';
    p = put_text(p, row->phrase);
    p = dx_put(DX_PUT(p, DATE_BEGIN), r->date, DX_HTTP_DATE_TEXT - 1);
    if (r->content_type != NULL) {
        p = put_text(DX_PUT(p, "\r\nContent-Type: "), r->content_type);
        if (r->chunked)
            p = DX_PUT(p, "\r\nTransfer-Encoding: chunked");
        else if (!r->until_close)
            p = dx_put_u64(DX_PUT(p, "\r\nContent-Length: "), r->body_size);
    }
    if (r->disposition != NULL)
        p = put_text(DX_PUT(p, "\r\nContent-Disposition: "), r->disposition);
    /* A cache must ask again: the next version may be published at any moment. */
    if (r->etag == NULL)
        p = DX_PUT(p, "\r\nCache-Control: no-store");
    else if (r->caching != NULL)
        p = put_text(DX_PUT(p, "\r\nCache-Control: "), r->caching);
    else
        p = r->vary != NULL ? DX_PUT(p, "\r\nCache-Control: private, no-cache")
                            : DX_PUT(p, "\r\nCache-Control: no-cache");
    if (r->etag != NULL)
        p = put_text(DX_PUT(p, "\r\nETag: "), r->etag);
    if (r->coding != NULL)
        p = put_text(DX_PUT(p, "\r\nContent-Encoding: "), r->coding);
    p = put_vary(r, p);
    if (row->status == 401)
        p = DX_PUT(p, "\r\nWWW-Authenticate: Bearer realm=\"domaindex\"");
    p = r->policy == NULL ? DX_PUT(p, SECURITY_FIELDS POLICY "\r\n")
                          : DX_PUT(put_text(DX_PUT(p, SECURITY_FIELDS), r->policy), "\r\n");
    if (r->version != NULL)
        p = DX_PUT(put_text(DX_PUT(p, "X-Domaindex-Version: "), r->version), "\r\n");
    if (r->untimed > 0)
        p = DX_PUT(dx_put_u64(DX_PUT(p, "X-Domaindex-Untimed-Rows: "), r->untimed), "\r\n");
    if (r->more)
        p = DX_PUT(p, "X-Domaindex-More-Rows: yes\r\n");
    if (r->by_paths)
        p = DX_PUT(p, "X-Domaindex-By-Paths: yes\r\n");
    if (r->receipt.size > 0)
        p = DX_PUT(dx_put_span(DX_PUT(p, "Domaindex-Receipt: "), r->receipt), "\r\n");
    p = put_origin(r, p);
    if (retry_s > 0)
        p = DX_PUT(dx_put_u64(DX_PUT(p, "Retry-After: "), retry_s), "\r\n");
    if (r->allow != NULL)
        p = DX_PUT(put_text(DX_PUT(p, "Allow: "), r->allow), "\r\n");
    if (r->location != NULL)
        p = DX_PUT(put_text(DX_PUT(p, "Location: "), r->location), "\r\n");
    if (r->timing != NULL)
        p = DX_PUT(put_text(DX_PUT(p, "Server-Timing: "), r->timing), "\r\n");
    if (r->close)
        p = DX_PUT(p, "Connection: close\r\n");
    p = DX_PUT(p, "\r\n");
    assert((size_t)(p - begin) <= DX_REPLY_HEAD_MAX + r->receipt.size);
    out->size += (size_t)(p - begin);
}

static int status_of(enum dx_problem_kind kind)
{
    switch (kind) {
    case DX_PROBLEM_NOT_FOUND:
        return 404;
    case DX_PROBLEM_BAD_REQUEST:
        return 400;
    case DX_PROBLEM_UNAUTHORIZED:
        return 401;
    case DX_PROBLEM_FORBIDDEN:
        return 403;
    case DX_PROBLEM_WITHHELD:
        return 451;
    case DX_PROBLEM_CONFLICT:
        return 409;
    case DX_PROBLEM_TOO_MUCH:
        return 422;
    case DX_PROBLEM_TOO_MANY:
        return 429;
    case DX_PROBLEM_GONE:
        return 410;
    case DX_PROBLEM_UNAVAILABLE:
        return 503;
    case DX_PROBLEM_DAMAGED:
        return 500;
    }
    return 500;
}

static void member(struct dx_buf *body, const char *name, const char *text)
{
    dx_buf_str(body, ",\"");
    dx_buf_str(body, name);
    dx_buf_str(body, "\":\"");
    dx_json_escape(body, dx_span_str(text));
    dx_buf_str(body, "\"");
}

/* All but the closing brace. */
static void open_document(int status, const char *slug, const char *title, struct dx_buf *body)
{
    uint8_t digits[DX_PUT_U64_MAX];

    dx_buf_clear(body);
    dx_buf_str(body, "{\"type\":\"" DX_PROBLEM_TYPE);
    dx_buf_str(body, slug);
    dx_buf_str(body, "\"");
    member(body, "title", title);
    dx_buf_str(body, ",\"status\":");
    dx_buf_append(body, digits, (size_t)(dx_put_u64(digits, (uint64_t)status) - digits));
}

/* Without memory none: a part of it cannot be parsed. */
static bool close_document(struct dx_buf *body)
{
    dx_buf_str(body, "}");
    if (!body->failed)
        return true;
    dx_buf_clear(body);
    return false;
}

int dx_reply_problem(const struct dx_problem *problem, uint64_t number, bool words,
                     struct dx_buf *body)
{
    int status = status_of(problem->kind);

    open_document(status, problem->slug, problem->title, body);
    if (words)
        member(body, "detail", problem->detail);
    if (words && problem->says_message)
        member(body, "message", problem->detail);
    if (problem->restart[0] != '\0')
        member(body, "restart", problem->restart);
    if (number != 0)
        dx_buf_fmt(body, ",\"instance\":\"" DX_PROBLEM_INSTANCE "%016" PRIx64 "\"", number);
    return close_document(body) ? status : 503;
}

const char *dx_reply_http_slug(int status)
{
    const struct status_row *row = row_of(status);

    assert(row->slug != NULL); /* the others are made by dx_problem_set */
    return row->slug;
}

void dx_reply_http_problem(int status, const char *detail, struct dx_buf *body)
{
    const struct status_row *row = row_of(status);

    open_document(row->status, dx_reply_http_slug(status), row->phrase, body);
    member(body, "detail", detail);
    (void)close_document(body);
}

void dx_reply_etag(struct dx_span body, char etag[DX_ETAG_TEXT])
{
    struct dx_hash128 h = dx_hash128_of(body);
    uint8_t *p = (uint8_t *)etag;

    *p++ = '"';
    p = dx_put_hex64(p, __builtin_bswap64(dx_load_u64(h.bytes)));
    p = dx_put_hex64(p, __builtin_bswap64(dx_load_u64(h.bytes + 8)));
    *p++ = '"';
    *p = '\0';
}

/* Our tags hold no comma, so splitting at commas cannot make one out of parts of others: a
 * foreign tag with a comma in it falls into pieces that keep at most one of its quotes. */
bool dx_reply_etag_matches(struct dx_span value, const char *etag)
{
    struct dx_span one;

    while (dx_head_list_next(&value, &one)) {
        if (one.size == 1 && one.data[0] == '*')
            return true;
        if (one.size > 2 && one.data[0] == 'W' && one.data[1] == '/')
            one = (struct dx_span){ one.data + 2, one.size - 2 };
        if (dx_span_equal(one, dx_span_str(etag)))
            return true;
    }
    return false;
}
