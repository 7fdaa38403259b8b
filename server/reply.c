/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reply.h"

#include "base/hash.h"
#include "base/json_out.h"
#include "server/request_head.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct status_row {
    int status;
    const char *phrase;
    const char *slug;    /* of problems that HTTP itself makes */
    const char *headers; /* that go with the status */
} rows[] = {
    { 200, "OK", NULL, "" },
    { 304, "Not Modified", NULL, "" },
    { 400, "Bad Request", "bad-request", "" },
    { 404, "Not Found", NULL, "" },
    { 405, "Method Not Allowed", "method-not-allowed", "Allow: GET, HEAD\r\n" },
    { 408, "Request Timeout", "request-timeout", "" },
    { 410, "Gone", NULL, "" },
    { 414, "URI Too Long", "target-too-long", "" },
    { 422, "Unprocessable Content", NULL, "" },
    { 451, "Unavailable For Legal Reasons", NULL, "" },
    { 431, "Request Header Fields Too Large", "head-too-large", "" },
    { 500, "Internal Server Error", "internal-error", "" },
    { 501, "Not Implemented", "method-unknown", "" },
    { 503, "Service Unavailable", NULL, "Retry-After: 1\r\n" },
    { 505, "HTTP Version Not Supported", "http-version", "" },
};

static const struct status_row *row_of(int status)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status)
            return &rows[i];
    return row_of(500);
}

static void field(struct dx_buf *out, const char *name, const char *value)
{
    dx_buf_str(out, name);
    dx_buf_str(out, value);
    dx_buf_append(out, "\r\n", 2);
}

static void number(struct dx_buf *out, size_t v)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    dx_buf_append(out, digits + n, sizeof digits - n);
}

void dx_reply_head(const struct dx_reply *r, struct dx_buf *out)
{
    const struct status_row *row = row_of(r->status);

    dx_buf_str(out, "HTTP/1.1 ");
    number(out, (size_t)row->status);
    field(out, " ", row->phrase);
    field(out, "Date: ", r->date);
    if (r->content_type != NULL) {
        field(out, "Content-Type: ", r->content_type);
        dx_buf_str(out, "Content-Length: ");
        number(out, r->body_size);
        dx_buf_append(out, "\r\n", 2);
    }
    /* A cache must ask again: the next version may be published at any moment. */
    dx_buf_str(out,
               r->etag != NULL ? "Cache-Control: no-cache\r\n" : "Cache-Control: no-store\r\n");
    if (r->etag != NULL)
        field(out, "ETag: ", r->etag);
    dx_buf_str(out, "X-Content-Type-Options: nosniff\r\n");
    if (r->version != NULL)
        field(out, "X-Domaindex-Version: ", r->version);
    dx_buf_str(out, row->headers);
    if (r->close)
        dx_buf_str(out, "Connection: close\r\n");
    dx_buf_append(out, "\r\n", 2);
}

static int status_of(enum dx_problem_kind kind)
{
    switch (kind) {
    case DX_PROBLEM_NOT_FOUND:
        return 404;
    case DX_PROBLEM_BAD_REQUEST:
        return 400;
    case DX_PROBLEM_WITHHELD:
        return 451;
    case DX_PROBLEM_TOO_MUCH:
        return 422;
    case DX_PROBLEM_GONE:
        return 410;
    case DX_PROBLEM_UNAVAILABLE:
        return 503;
    case DX_PROBLEM_DAMAGED:
        return 500;
    }
    return 500;
}

static void document(int status, const char *slug, const char *title, const char *detail,
                     const char *restart, struct dx_buf *body)
{
    struct dx_json j;
    char type[128];

    (void)snprintf(type, sizeof type, "%s%s", DX_PROBLEM_TYPE, slug);
    dx_buf_clear(body);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "type");
    dx_json_str(&j, type);
    dx_json_key(&j, "title");
    dx_json_str(&j, title);
    dx_json_key(&j, "status");
    dx_json_u64(&j, (uint64_t)status);
    dx_json_key(&j, "detail");
    dx_json_str(&j, detail);
    if (restart[0] != '\0') {
        dx_json_key(&j, "restart");
        dx_json_str(&j, restart);
    }
    dx_json_end(&j);
}

int dx_reply_problem(const struct dx_problem *problem, struct dx_buf *body)
{
    int status = status_of(problem->kind);

    document(status, problem->slug, problem->title, problem->detail, problem->restart, body);
    return status;
}

void dx_reply_http_problem(int status, const char *detail, struct dx_buf *body)
{
    const struct status_row *row = row_of(status);

    assert(row->slug != NULL); /* the others are made by dx_problem_set */
    document(row->status, row->slug, row->phrase, detail, "", body);
}

void dx_reply_etag(struct dx_span body, char etag[DX_ETAG_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    struct dx_hash128 h = dx_hash128_of(body);
    size_t n = 0;

    etag[n++] = '"';
    for (size_t i = 0; i < sizeof h.bytes; i++) {
        etag[n++] = digits[h.bytes[i] >> 4];
        etag[n++] = digits[h.bytes[i] & 15];
    }
    etag[n++] = '"';
    etag[n] = '\0';
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

void dx_http_date(time_t t, char out[DX_HTTP_DATE_TEXT])
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    struct tm tm;

    (void)gmtime_r(&t, &tm); /* not strftime: names must not follow the locale */
    (void)snprintf(out, DX_HTTP_DATE_TEXT, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                   days[tm.tm_wday % 7], tm.tm_mday, months[tm.tm_mon % 12],
                   (tm.tm_year + 1900) % 10000, tm.tm_hour, tm.tm_min, tm.tm_sec);
}
