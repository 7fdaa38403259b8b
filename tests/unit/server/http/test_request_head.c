/* SPDX-License-Identifier: Apache-2.0
 * The request-head parser: a table of heads, each also cut at every byte, and the request
 * vectors of llhttp: what its strict mode refuses is never accepted here. Those with a method are
 * asked again as a POST of the one path that takes it, body and all. */
#include "server/http/request_head.h"

#include "server/http/body.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int failures;

/* The bytes end where the next page cannot be read. */
static struct dx_span guarded(const void *data, size_t size)
{
    static uint8_t *area;
    static const size_t room = 64 * 4096;

    if (area == NULL) {
        area = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (area == MAP_FAILED || mprotect(area + room, 4096, PROT_NONE) != 0 || size > room)
            abort();
    }
    if (size > 0)
        memcpy(area + room - size, data, size);
    return (struct dx_span){ area + room - size, size };
}

#define H "Host: h\r\n"
#define P "POST /v1/domains HTTP/1.1\r\n" H
#define T(text) text, sizeof text - 1

static const struct {
    const char *name;
    const char *text;
    size_t size;
    int status; /* 0: accepted; -1: more is needed */
    const char *target;
    bool close;
} rows[] = {
    { "plain", T("GET /a?b HTTP/1.1\r\n" H "\r\n"), 0, "/a?b", false },
    { "head", T("HEAD / HTTP/1.1\r\n" H "\r\n"), 0, "/", false },
    { "http/1.0 without host", T("GET / HTTP/1.0\r\n\r\n"), 0, "/", true },
    { "http/1.0 keep-alive is closed", T("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), 0,
      "/", true },
    { "close", T("GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n"), 0, "/", true },
    { "close in a list, any case",
      T("GET / HTTP/1.1\r\n" H "connection: keep-alive , CLOSE\r\n\r\n"), 0, "/", true },
    { "keep-alive", T("GET / HTTP/1.1\r\n" H "Connection: keep-alive\r\n\r\n"), 0, "/", false },
    { "closet is not close", T("GET / HTTP/1.1\r\n" H "Connection: closet\r\n\r\n"), 0, "/",
      false },
    { "no space behind the colon", T("GET / HTTP/1.1\r\nHost:h\r\nA:\r\n\r\n"), 0, "/", false },
    { "value trimmed", T("GET / HTTP/1.1\r\nHost: \t h \t \r\n\r\n"), 0, "/", false },
    { "obs-text in a value", T("GET / HTTP/1.1\r\n" H "A: \xc3\xa9\r\n\r\n"), 0, "/", false },
    { "content-length 0", T("GET / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n"), 0, "/", false },
    { "expect without a body", T("GET / HTTP/1.1\r\n" H "Expect: 100-continue\r\n\r\n"), 0, "/",
      false },
    { "one empty line first", T("\r\nGET / HTTP/1.1\r\n" H "\r\n"), 0, "/", false },
    { "absolute form", T("GET http://a.example:80/b?c HTTP/1.1\r\n" H "\r\n"), 0, "/b?c", false },
    { "absolute form, https, any case", T("GET HttpS://a/b HTTP/1.1\r\n" H "\r\n"), 0, "/b",
      false },
    { "absolute form, bare", T("GET http://a HTTP/1.1\r\n" H "\r\n"), 0, "", false },
    { "absolute form, bare with query", T("GET http://a?x HTTP/1.1\r\n" H "\r\n"), 0, "?x", false },
    { "absolute form, v6", T("GET http://[::1]:8080/x HTTP/1.1\r\n" H "\r\n"), 0, "/x", false },
    { "host with port", T("GET / HTTP/1.1\r\nHost: h:8080\r\n\r\n"), 0, "/", false },
    { "host v6", T("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"), 0, "/", false },
    { "host with an empty port", T("GET / HTTP/1.1\r\nHost: h:\r\n\r\n"), 0, "/", false },
    { "browsers' raw bytes", T("GET /a|b{c}\"d\"\\e HTTP/1.1\r\n" H "\r\n"), 0, "/a|b{c}\"d\"\\e",
      false },

    { "post, length", T(P "Content-Length: 3\r\n\r\n"), 0, "/v1/domains", false },
    { "post, length 0", T(P "Content-Length: 0\r\n\r\n"), 0, "/v1/domains", false },
    { "post, the longest", T(P "Content-Length: 1099511627776\r\n\r\n"), 0, "/v1/domains", false },
    { "post, chunked", T(P "Transfer-Encoding: chunked\r\n\r\n"), 0, "/v1/domains", false },
    { "post, all fields",
      T(P "Content-Type: text/csv; charset=utf-8\r\nExpect: 100-Continue\r\nContent-Encoding: "
          "identity\r\nconnection: close\r\ntransfer-encoding:chunked \r\n\r\n"),
      0, "/v1/domains", true },
    { "post, query, no version",
      T("POST /domains?format=csv HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n"), 0,
      "/domains?format=csv", false },
    { "post, absolute form",
      T("POST http://a/v1/domains HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n"), 0, "/v1/domains",
      false },

    { "post, neither", T(P "\r\n"), 411, NULL, false },
    { "post, both", T(P "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, NULL,
      false },
    { "post, both the other way", T(P "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"),
      400, NULL, false },
    { "post, two lengths", T(P "Content-Length: 3\r\nContent-Length: 3\r\n\r\n"), 400, NULL,
      false },
    { "post, list of lengths", T(P "Content-Length: 3, 3\r\n\r\n"), 400, NULL, false },
    { "post, no digits", T(P "Content-Length: \r\n\r\n"), 400, NULL, false },
    { "post, plus", T(P "Content-Length: +3\r\n\r\n"), 400, NULL, false },
    { "post, minus", T(P "Content-Length: -3\r\n\r\n"), 400, NULL, false },
    { "post, hex", T(P "Content-Length: 0x3\r\n\r\n"), 400, NULL, false },
    { "post, zero before", T(P "Content-Length: 03\r\n\r\n"), 400, NULL, false },
    { "post, space inside", T(P "Content-Length: 1 2\r\n\r\n"), 400, NULL, false },
    { "post, over the longest", T(P "Content-Length: 1099511627777\r\n\r\n"), 413, NULL, false },
    { "post, over 64 bits", T(P "Content-Length: 18446744073709551617\r\n\r\n"), 413, NULL, false },
    { "post, far over 64 bits", T(P "Content-Length: 99999999999999999999999999999999999\r\n\r\n"),
      413, NULL, false },
    { "post, digits then none", T(P "Content-Length: 99999999999999999999999999999999999x\r\n\r\n"),
      400, NULL, false },
    { "post, Chunked", T(P "Transfer-Encoding: Chunked\r\n\r\n"), 400, NULL, false },
    { "post, chunked twice",
      T(P "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, NULL, false },
    { "post, gzip, chunked", T(P "Transfer-Encoding: gzip, chunked\r\n\r\n"), 400, NULL, false },
    { "post, chunked,", T(P "Transfer-Encoding: chunked,\r\n\r\n"), 400, NULL, false },
    { "post, xchunked", T(P "Transfer-Encoding: xchunked\r\n\r\n"), 400, NULL, false },
    { "post, vertical tab chunked", T(P "Transfer-Encoding: \vchunked\r\n\r\n"), 400, NULL, false },
    { "post, identity", T(P "Transfer-Encoding: identity\r\n\r\n"), 400, NULL, false },
    { "post, no coding", T(P "Transfer-Encoding:\r\n\r\n"), 400, NULL, false },
    { "post, space before the colon", T(P "Transfer-Encoding : chunked\r\n\r\n"), 400, NULL,
      false },
    { "post, folded", T(P "Transfer-Encoding:\r\n chunked\r\n\r\n"), 400, NULL, false },
    { "post, bare LF", T(P "Content-Length: 3\n\r\n"), 400, NULL, false },
    { "post, gzip", T(P "Content-Length: 3\r\nContent-Encoding: gzip\r\n\r\n"), 415, NULL, false },
    { "post, another Expect", T(P "Content-Length: 3\r\nExpect: 200-ok\r\n\r\n"), 417, NULL,
      false },
    { "post, two types", T(P "Content-Type: a/b\r\nContent-Type: a/b\r\n\r\n"), 400, NULL, false },
    { "post, http/1.0", T("POST /v1/domains HTTP/1.0\r\nContent-Length: 3\r\n\r\n"), 505, NULL,
      false },
    { "post, deeper", T("POST /v1/domains/a HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\n"), 405, NULL,
      false },
    { "options, bad target", T("OPTIONS /a#b HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "get *", T("GET * HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "post, bare authority", T("POST http://a HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\n"), 405,
      NULL, false },
    { "put there", T("PUT /v1/domains HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\n"), 405, NULL,
      false },
    { "get there with a length", T("GET /v1/domains HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\n"),
      400, NULL, false },

    { "nothing", T(""), -1, NULL, false },
    { "half a line", T("GET / HT"), -1, NULL, false },
    { "half a field", T("GET / HTTP/1.1\r\nHost: h"), -1, NULL, false },
    { "no empty line", T("GET / HTTP/1.1\r\n" H), -1, NULL, false },

    { "post", T("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"), 405, NULL, false },
    { "options *", T("OPTIONS * HTTP/1.1\r\n" H "\r\n"), 405, NULL, false },
    { "connect", T("CONNECT a:443 HTTP/1.1\r\n" H "\r\n"), 405, NULL, false },
    { "delete", T("DELETE / HTTP/1.1\r\n" H "\r\n"), 405, NULL, false },
    { "trace", T("TRACE / HTTP/1.1\r\n" H "\r\n"), 405, NULL, false },
    { "unknown method", T("BREW / HTTP/1.1\r\n" H "\r\n"), 405, NULL, false },
    { "lower case", T("get / HTTP/1.1\r\n" H "\r\n"), 405, NULL, false },
    { "http/2 preface", T("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 405, NULL, false },
    { "endless method", T("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), 501, NULL, false },
    { "tls", T("\x16\x03\x01\x02\x00\x01"), 400, NULL, false },
    { "two empty lines first", T("\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "bare LF first", T("\nGET / HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "space first", T(" GET / HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "tab behind the method", T("GET\t/ HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "two spaces behind the method", T("GET  / HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "space in the target", T("GET /a b HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "two spaces behind the target", T("GET /  HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "fragment", T("GET /a#b HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "raw utf-8 in the target", T("GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "NUL in the target", T("GET /a\0b HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "DEL in the target", T("GET /a\x7f HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "relative target", T("GET a HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "star", T("GET * HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "other scheme", T("GET ftp://a/ HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "half a scheme", T("GET http:/a HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "no authority", T("GET http:///a HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "user in the authority", T("GET http://u@a/ HTTP/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "no version", T("GET /\r\n\r\n"), 400, NULL, false },
    { "http/0.9 with a space", T("GET / \r\n\r\n"), 400, NULL, false },
    { "version 1.2", T("GET / HTTP/1.2\r\n" H "\r\n"), 505, NULL, false },
    { "version 2.0", T("GET / HTTP/2.0\r\n" H "\r\n"), 505, NULL, false },
    { "version 0.9", T("GET / HTTP/0.9\r\n" H "\r\n"), 505, NULL, false },
    { "version 11", T("GET / HTTP/11\r\n" H "\r\n"), 400, NULL, false },
    { "version 1.10", T("GET / HTTP/1.10\r\n" H "\r\n"), 400, NULL, false },
    { "lower-case version", T("GET / http/1.1\r\n" H "\r\n"), 400, NULL, false },
    { "text behind the version", T("GET / HTTP/1.1 x\r\n" H "\r\n"), 400, NULL, false },
    { "bare LF ends the line", T("GET / HTTP/1.1\n" H "\r\n"), 400, NULL, false },
    { "bare LF ends a field", T("GET / HTTP/1.1\r\nHost: h\n\r\n"), 400, NULL, false },
    { "bare LF ends the head", T("GET / HTTP/1.1\r\n" H "\n"), 400, NULL, false },
    { "bare CR in the line", T("GET / HTTP/1.1\rX\r\n" H "\r\n"), 400, NULL, false },
    { "bare CR in a value", T("GET / HTTP/1.1\r\n" H "A: b\rC: d\r\n\r\n"), 400, NULL, false },
    { "CR CR LF", T("GET / HTTP/1.1\r\n" H "A: b\r\r\n\r\n"), 400, NULL, false },
    { "folded line", T("GET / HTTP/1.1\r\n" H "A: b\r\n c\r\n\r\n"), 400, NULL, false },
    { "folded by a tab", T("GET / HTTP/1.1\r\n" H "A: b\r\n\tc\r\n\r\n"), 400, NULL, false },
    { "fold behind the line", T("GET / HTTP/1.1\r\n " H "\r\n"), 400, NULL, false },
    { "space before the colon", T("GET / HTTP/1.1\r\nHost : h\r\n\r\n"), 400, NULL, false },
    { "tab before the colon", T("GET / HTTP/1.1\r\nHost\t: h\r\n\r\n"), 400, NULL, false },
    { "no name", T("GET / HTTP/1.1\r\n" H ": v\r\n\r\n"), 400, NULL, false },
    { "no colon", T("GET / HTTP/1.1\r\n" H "name\r\n\r\n"), 400, NULL, false },
    { "parenthesis in a name", T("GET / HTTP/1.1\r\n" H "a(b): c\r\n\r\n"), 400, NULL, false },
    { "utf-8 in a name", T("GET / HTTP/1.1\r\n" H "\xc3\xa9: c\r\n\r\n"), 400, NULL, false },
    { "NUL in a name", T("GET / HTTP/1.1\r\n" H "a\0: c\r\n\r\n"), 400, NULL, false },
    { "NUL in a value", T("GET / HTTP/1.1\r\n" H "a: b\0c\r\n\r\n"), 400, NULL, false },
    { "control byte in a value", T("GET / HTTP/1.1\r\n" H "a: b\x01\r\n\r\n"), 400, NULL, false },
    { "DEL in a value", T("GET / HTTP/1.1\r\n" H "a: \x7f\r\n\r\n"), 400, NULL, false },
    { "no host", T("GET / HTTP/1.1\r\n\r\n"), 400, NULL, false },
    { "two hosts", T("GET / HTTP/1.1\r\n" H H "\r\n"), 400, NULL, false },
    { "two hosts, http/1.0", T("GET / HTTP/1.0\r\n" H H "\r\n"), 400, NULL, false },
    { "empty host", T("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400, NULL, false },
    { "host list", T("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), 400, NULL, false },
    { "host with a path", T("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400, NULL, false },
    { "host with a user", T("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"), 400, NULL, false },
    { "host with a bad port", T("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"), 400, NULL, false },
    { "host with a long port", T("GET / HTTP/1.1\r\nHost: a:123456\r\n\r\n"), 400, NULL, false },
    { "host, half a bracket", T("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), 400, NULL, false },
    { "content-length 5", T("GET / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello"), 400, NULL,
      false },
    { "content-length 00", T("GET / HTTP/1.1\r\n" H "Content-Length: 00\r\n\r\n"), 400, NULL,
      false },
    { "content-length +0", T("GET / HTTP/1.1\r\n" H "Content-Length: +0\r\n\r\n"), 400, NULL,
      false },
    { "content-length -0", T("GET / HTTP/1.1\r\n" H "Content-Length: -0\r\n\r\n"), 400, NULL,
      false },
    { "content-length empty", T("GET / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n"), 400, NULL,
      false },
    { "content-length 0, 0", T("GET / HTTP/1.1\r\n" H "Content-Length: 0, 0\r\n\r\n"), 400, NULL,
      false },
    { "content-length twice",
      T("GET / HTTP/1.1\r\n" H "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"), 400, NULL,
      false },
    { "content-length over 64 bits",
      T("GET / HTTP/1.1\r\n" H "Content-Length: 18446744073709551616\r\n\r\n"), 400, NULL, false },
    { "chunked", T("GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400, NULL,
      false },
    { "chunked head", T("HEAD / HTTP/1.1\r\n" H "transfer-encoding: chunked\r\n\r\n"), 400, NULL,
      false },
    { "transfer-encoding identity", T("GET / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n"),
      400, NULL, false },
    { "transfer-encoding empty", T("GET / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n"), 400, NULL,
      false },
};

static int outcome(const struct dx_request_head *h, enum dx_head_verdict verdict)
{
    return verdict == DX_HEAD_DONE ? 0 : verdict == DX_HEAD_MORE ? -1 : h->reject_status;
}

/* Fed in growing pieces of `step` bytes, each time from another place in memory. */
static enum dx_head_verdict parse_in_steps(struct dx_request_head *h, const void *text, size_t size,
                                           size_t step)
{
    enum dx_head_verdict verdict = DX_HEAD_MORE;

    dx_request_head_begin(h);
    for (size_t n = 0; n <= size && verdict == DX_HEAD_MORE; n += step)
        verdict = dx_request_head_parse(h, guarded(text, n));
    if (verdict == DX_HEAD_MORE)
        verdict = dx_request_head_parse(h, guarded(text, size));
    return verdict;
}

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t step = 1; step <= rows[i].size + 1; step++) {
            struct dx_request_head h;
            int got = outcome(&h, parse_in_steps(&h, rows[i].text, rows[i].size, step));
            struct dx_span target = { (const uint8_t *)rows[i].text + h.target.at, h.target.size };
            bool ok = got == rows[i].status;

            if (ok && got == 0)
                ok = h.close == rows[i].close && h.size == rows[i].size &&
                     dx_span_equal(target, dx_span_str(rows[i].target));
            if (!ok) {
                printf("row '%s', steps of %zu: got %d (%s) target '%.*s' close %d\n", rows[i].name,
                       step, got, h.reject_reason == NULL ? "" : h.reject_reason, (int)target.size,
                       (const char *)target.data, h.close);
                failures++;
                break;
            }
        }
    }
}

/* Each byte at each place of a host, a name and a value that are longer than a block of 16: whole fields and blocks are taken at once,
 * and must be what they are when they come three by three. */
static void check_bytes(void)
{
    static const char text[] =
        "GET / HTTP/1.1\r\nHost: a.host-of.example.org:8080\r\n"
        "X-Forwarded-Protocol-Of: gzip, deflate;q=0.5  \r\nAccept: a/b\r\n\r\n";
    size_t begin = strlen("GET / HTTP/1.1\r\n");
    char copy[sizeof text];

    memcpy(copy, text, sizeof text);
    for (size_t at = begin; at < sizeof text - 1; at++) {
        for (unsigned c = 0; c < 256; c++) {
            struct dx_request_head whole;
            struct dx_request_head steps;
            int one, other;

            copy[at] = (char)c;
            one = outcome(&whole, parse_in_steps(&whole, copy, sizeof text - 1, sizeof text));
            other = outcome(&steps, parse_in_steps(&steps, copy, sizeof text - 1, 3));
            if (one != other || whole.size != steps.size ||
                whole.field_count != steps.field_count ||
                memcmp(&whole.accept, &steps.accept, sizeof whole.accept) != 0 ||
                memcmp(&whole.name, &steps.name, sizeof whole.name) != 0) {
                printf("byte 0x%02x at %zu: as a whole %d (%u bytes), in steps %d (%u bytes)\n", c,
                       at, one, (unsigned)whole.size, other, (unsigned)steps.size);
                failures++;
            }
        }
        copy[at] = text[at];
    }
}

/* All that a caller sees of a head, but for the memory. */
static bool same_heads(const struct dx_request_head *a, const struct dx_request_head *b)
{
    struct dx_request_head x = *a;
    struct dx_request_head y = *b;

    x.memory = y.memory = NULL;
    x.name = y.name = (struct dx_head_span){ 0, 0 };
    x.mark = y.mark = x.value_end = y.value_end = 0;
    return memcmp(&x, &y, sizeof x) == 0; /* all of both was cleared */
}

static enum dx_head_verdict parse_with(struct dx_request_head *h, struct dx_head_memory *m,
                                       const void *text, size_t size)
{
    memset(h, 0, sizeof *h);
    dx_request_head_begin(h);
    h->memory = m;
    return dx_request_head_parse(h, guarded(text, size));
}

/* What is remembered is what is read: of the same head again, with another target, cut, and behind another head. */
static void check_memory_of(struct dx_head_memory *m, const char *text, size_t size,
                            unsigned *recalled)
{
    static const char other[] = "GET /another/target?q=1 HTTP/1.1\r\n";
    const char *fields = memmem(text, size, "\r\n", 2);
    size_t left = fields == NULL ? 0 : size - (size_t)(fields + 2 - text);
    char *with = malloc(sizeof other + left);

    memcpy(with, other, sizeof other - 1);
    if (left > 0)
        memcpy(with + sizeof other - 1, fields + 2, left);
    for (unsigned round = 0; round < 4; round++) {
        const char *now = round % 2 == 0 ? text : with;
        size_t now_size = round % 2 == 0 ? size : sizeof other - 1 + left;
        struct dx_request_head want, got;
        enum dx_head_verdict read = parse_with(&want, NULL, now, now_size);
        bool known = m->size > 0 && read == DX_HEAD_DONE && want.method == DX_METHOD_GET &&
                     want.size - want.fields_at == m->size &&
                     memcmp(now + want.fields_at, m->text, m->size) == 0;
        enum dx_head_verdict again = parse_with(&got, m, now, now_size);

        *recalled += known;
        if (read != again || !same_heads(&want, &got)) {
            printf("round %u of '%.*s': with a memory %d, %u bytes; without %d, %u\n", round,
                   (int)size, text, outcome(&got, again), (unsigned)got.size, outcome(&want, read),
                   (unsigned)want.size);
            failures++;
        }
    }
    if (m->size > 0 && memmem(m->text, m->size, "uthorization", 12) != NULL) {
        printf("a token is remembered\n");
        failures++;
    }
    free(with);
}

static void check_memory(void)
{
    static const char text[] =
        "GET /v1/domain/example.com HTTP/1.1\r\nHost: example.org:8080\r\n"
        "Connection: close\r\nAccept-Encoding: gzip, br\r\nX-Caller: me\r\n"
        "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: 10.0.0.2\r\n"
        "Accept: text/csv\r\nIf-None-Match: \"a\"\r\ntraceparent: 00-1\r\n\r\n";
    static const char secret[] = "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n";
    static struct dx_head_memory m;
    char copy[sizeof text];
    unsigned recalled = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_memory_of(&m, rows[i].text, rows[i].size, &recalled);
    check_memory_of(&m, text, sizeof text - 1, &recalled);
    check_memory_of(&m, secret, sizeof secret - 1, &recalled);
    memcpy(copy, text, sizeof text);
    for (size_t at = 0; at < sizeof text - 1; at++) {
        copy[at] ^= 1;
        check_memory_of(&m, copy, sizeof text - 1, &recalled);
        copy[at] = text[at];
        check_memory_of(&m, copy, at, &recalled);
    }
    if (recalled < 100) {
        printf("fields were recalled %u times only\n", recalled);
        failures++;
    }
}

static void check_size(const char *name, const char *before, size_t filling, const char *after,
                       int status)
{
    size_t size = strlen(before) + filling + strlen(after);
    char *text = malloc(size + 1);
    static const size_t steps[] = { 1, 7, 4096, 1u << 20 };

    memcpy(text, before, strlen(before));
    memset(text + strlen(before), 'a', filling);
    memcpy(text + strlen(before) + filling, after, strlen(after));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct dx_request_head h;
        int got = outcome(&h, parse_in_steps(&h, text, size, steps[i]));

        if (got != status) {
            printf("size row '%s', steps of %zu: got %d, want %d\n", name, steps[i], got, status);
            failures++;
        }
        if (got == 0 && h.size > DX_HEAD_MAX) {
            printf("size row '%s': a head of %u bytes\n", name, (unsigned)h.size);
            failures++;
        }
    }
    free(text);
}

/* `count` fields "Host: h", "a: b", "a: b"... */
static void check_count(unsigned count, int status)
{
    struct dx_request_head h;
    char text[8192] = "GET / HTTP/1.1\r\n" H;
    size_t n = strlen(text);
    int got;

    for (unsigned i = 1; i < count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "a: b\r\n");
    n += (size_t)snprintf(text + n, sizeof text - n, "\r\n");
    got = outcome(&h, parse_in_steps(&h, text, n, n));
    if (got != status) {
        printf("%u fields: got %d, want %d\n", count, got, status);
        failures++;
    }
}

static void check_sizes(void)
{
    size_t fixed = strlen(H "A: \r\n\r\n");

    check_size("target at the limit", "GET /", DX_TARGET_MAX - 1, " HTTP/1.1\r\n" H "\r\n", 0);
    check_size("target over it", "GET /", DX_TARGET_MAX, " HTTP/1.1\r\n" H "\r\n", 414);
    check_size("absolute target at the limit", "GET http://h/", DX_TARGET_MAX - 9,
               " HTTP/1.1\r\n" H "\r\n", 0);
    check_size("absolute target over it", "GET http://h/", DX_TARGET_MAX - 8,
               " HTTP/1.1\r\n" H "\r\n", 414);
    check_size("endless target", "GET /", 100000, "", 414);
    check_size("endless authority", "GET http://", 100000, "", 414);
    check_size("fields at the limit", "GET / HTTP/1.1\r\n" H "A: ", DX_HEAD_FIELDS_MAX - fixed,
               "\r\n\r\n", 0);
    check_size("fields over it", "GET / HTTP/1.1\r\n" H "A: ", DX_HEAD_FIELDS_MAX - fixed + 1,
               "\r\n\r\n", 431);
    check_size("endless value", "GET / HTTP/1.1\r\n" H "A: ", 100000, "", 431);
    check_size("endless name", "GET / HTTP/1.1\r\n" H, 100000, "", 431);
    check_count(DX_HEAD_FIELD_COUNT_MAX, 0);
    check_count(DX_HEAD_FIELD_COUNT_MAX + 1, 431);
}

static void check_lists(void)
{
    struct dx_span rest = dx_span_str(" ,a,, b\t, c d ,");
    static const char *const want[] = { "a", "b", "c d" };
    struct dx_span one;
    size_t n = 0;

    while (dx_head_list_next(&rest, &one)) {
        if (n >= 3 || !dx_span_equal(one, dx_span_str(want[n]))) {
            printf("list element %zu is '%.*s'\n", n, (int)one.size, (const char *)one.data);
            failures++;
        }
        n++;
    }
    if (n != 3) {
        printf("%zu list elements\n", n);
        failures++;
    }
}

/* ---- llhttp's vectors ---- */

struct vectors {
    unsigned posts, bodies; /* asked as POST; of those, with a body that was taken to its end */
    unsigned files, requests, refused_by_both, refused_by_us, accepted_by_both;
    unsigned by_status[600];
};

/* A field that stands twice with a value is known as that, whatever stands between. */
static void check_twice(void)
{
    static const struct {
        const char *values[3];
        bool want;
    } twice[] = { { { "a", "", "b" }, true },
                  { { "a", "b", "" }, true },
                  { { "", "", "b" }, false } };
    static const char *const names[] = { "If-None-Match", "Accept-Encoding", "Accept" };

    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            const char *const *v = twice[i].values;
            struct dx_request_head h;
            char text[200];
            int size = snprintf(text, sizeof text,
                                "GET / HTTP/1.1\r\nHost: a\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n\r\n",
                                names[n], v[0], names[n], v[1], names[n], v[2]);
            bool got[3];

            dx_request_head_begin(&h);
            if (dx_request_head_parse(&h, dx_span_of(text, (size_t)size)) != DX_HEAD_DONE)
                failures++;
            got[0] = h.if_none_match_twice;
            got[1] = h.accept_encoding_twice;
            got[2] = h.accept_twice;
            if (got[n] != twice[i].want) {
                printf("%s: '%s', '%s', '%s': %d\n", names[n], v[0], v[1], v[2], got[n]);
                failures++;
            }
        }
}

static size_t unescape(const char *from, size_t size, char *to)
{
    size_t n = 0;

    if (size > 0 && from[size - 1] == '\n')
        size--;
    for (size_t i = 0; i < size; i++) {
        char c = from[i];

        if (c == '\\' && i + 1 < size) {
            char e = from[i + 1];

            if (e == '\n') { /* an escaped newline does not count */
                i++;
                continue;
            }
            if (e == 'r' || e == 'n' || e == 't' || e == 'f') {
                to[n++] = (char)(e == 'r' ? '\r' : e == 'n' ? '\n' : e == 't' ? '\t' : '\f');
                i++;
                continue;
            }
            if (e == 'x' && i + 3 < size) {
                to[n++] = (char)strtol((char[]){ from[i + 2], from[i + 3], 0 }, NULL, 16);
                i += 3;
                continue;
            }
            if (e >= '0' && e <= '7') {
                unsigned v = 0;

                for (unsigned k = 0;
                     k < 3 && i + 1 < size && from[i + 1] >= '0' && from[i + 1] <= '7'; k++, i++)
                    v = v * 8 + (unsigned)(from[i + 1] - '0');
                to[n++] = (char)v;
                continue;
            }
        }
        if (c == '\n')
            to[n++] = '\r';
        to[n++] = c;
    }
    return n;
}

/* error_at: offset at which llhttp refuses, -1 if it does not. */
static void check_vector(const char *file, const char *title, const char *text, size_t size,
                         long error_at, bool after_close, size_t added, struct vectors *v)
{
    size_t at = 0;
    int got = -1;
    bool violated = false;

    while (at < size) {
        struct dx_request_head h;
        enum dx_head_verdict verdict;

        dx_request_head_begin(&h);
        verdict = dx_request_head_parse(&h, guarded(text + at, size - at));
        got = outcome(&h, verdict);
        if (verdict != DX_HEAD_DONE)
            break;
        /* The byte llhttp refuses, or the one before it that made it, lies in what we took. */
        if (error_at >= 0 && (size_t)error_at + added <= at + h.size &&
            !(after_close && (size_t)error_at + added == at + h.size))
            violated = true;
        at += h.size;
        if (h.close)
            break;
    }
    v->requests++;
    if (error_at >= 0 && got > 0)
        v->refused_by_both++;
    else if (error_at < 0 && got > 0)
        v->refused_by_us++;
    else if (error_at < 0)
        v->accepted_by_both++;
    if (error_at < 0 && got > 0)
        v->by_status[got]++;
    if (violated) {
        printf("%s: '%s': llhttp refuses at %ld, we accepted%s\n", file, title, error_at,
               added > 0 ? " (with a Host added)" : "");
        failures++;
    }
}

/* Again with a Host behind the first line, so that its absence does not hide other faults. */
static void check_with_host(const char *file, const char *title, const char *text, size_t size,
                            long error_at, bool after_close, struct vectors *v)
{
    const char *end = memmem(text, size, "\r\n", 2);
    size_t line = end == NULL ? 0 : (size_t)(end - text) + 2;
    char *with = malloc(size + 16);

    if (end != NULL && memmem(text, size, "Host:", 5) == NULL && line > 4 &&
        (error_at < 0 || error_at >= (long)line)) {
        memcpy(with, text, line);
        memcpy(with + line, H, 9);
        memcpy(with + line + 9, text + line, size - line);
        check_vector(file, title, with, size + 9, error_at, after_close, 9, v);
    }
    free(with);
}

/* As a POST of the path that takes one. The bytes that are accepted must end before what llhttp
 * refuses, and where it refuses nothing and both see the end, both see as large a body. */
static void check_as_post(const char *file, const char *title, const char *text, size_t size,
                          long error_at, bool after_close, long body_size, struct vectors *v)
{
    static const char line[] = "POST /v1/domains HTTP/1.1\r\n" H;
    const char *end = memmem(text, size, "\r\n", 2);
    size_t first = end == NULL ? 0 : (size_t)(end - text) + 2;
    const char *method = text + strspn(text, "\r\n");
    bool has_host = memmem(text, size, "ost:", 4) != NULL;
    size_t head = sizeof line - 1 - (has_host ? sizeof H - 1 : 0);
    struct dx_request_head h;
    struct dx_body b;
    enum dx_body_verdict verdict = DX_BODY_MORE;
    size_t at;
    long got = 0;
    char *with;

    if (first < 15 || method != text || strchr("PGH", *method) == NULL ||
        memcmp(text + first - 10, "HTTP/1.1", 8) != 0 || (error_at >= 0 && error_at < (long)first))
        return;
    with = malloc(size + sizeof line);
    memcpy(with, line, head);
    memcpy(with + head, text + first, size - first);
    size = size - first + head;
    error_at = error_at < 0 ? -1 : error_at - (long)first + (long)head;
    dx_request_head_begin(&h);
    v->posts++;
    if (dx_request_head_parse(&h, guarded(with, size)) == DX_HEAD_DONE) {
        at = h.size;
        dx_body_begin(&b, h.chunked, h.body_size);
        do {
            struct dx_span data = { NULL, 0 };
            size_t used;

            verdict = dx_body_next(&b, guarded(with + at, size - at), 3, &used, &data);
            at += used;
            got += verdict == DX_BODY_DATA ? (long)data.size : 0;
        } while (verdict == DX_BODY_DATA);
        v->bodies += verdict == DX_BODY_END;
        if ((error_at >= 0 && verdict != DX_BODY_REJECT && (size_t)error_at <= at &&
             !(after_close && (size_t)error_at == at)) ||
            (error_at < 0 && verdict == DX_BODY_END && got != body_size)) {
            printf("%s: '%s' as POST: llhttp refuses at %ld, body %ld; we took %zu, body %ld\n",
                   file, title, error_at, body_size, at, got);
            failures++;
        }
    }
    free(with);
}

/* Bytes of the first request's body, as llhttp saw it. */
static long body_of(const char *log, const char *log_end)
{
    const char *end = strstr(log, "message complete");
    long sum = 0;

    if (end != NULL && end < log_end)
        log_end = end;

    for (const char *p = log; (p = strstr(p, " span[body]")) != NULL && p < log_end; p++) {
        const char *line = p;

        while (line > log && line[-1] != '\n')
            line--;
        line = strstr(line, "len=");
        sum += line == NULL ? 0 : strtol(line + 4, NULL, 10);
    }
    return sum;
}

static void check_markdown(const char *file, char *text, struct vectors *v)
{
    char *at = text;
    char *meta;

    while ((meta = strstr(at, "<!-- meta=")) != NULL) {
        char *meta_end = strstr(meta, "-->");
        char *http = strstr(meta, "```http\n");
        char *http_end = http == NULL ? NULL : strstr(http + 8, "\n```");
        char *log = http_end == NULL ? NULL : strstr(http_end, "```log\n");
        char *log_end = log == NULL ? NULL : strstr(log + 7, "\n```");
        char title[80] = "?";
        char *strict;

        if (log_end == NULL || meta_end == NULL)
            break;
        strict = strstr(meta, "\"request\"");
        for (char *p = meta; p > text; p--)
            if (p[-1] == '\n' && p[0] == '#') {
                (void)snprintf(title, sizeof title, "%.*s", (int)strcspn(p, "\n"), p);
                break;
            }
        if (strict != NULL && strict < meta_end) {
            char *raw = malloc((size_t)(http_end - http) * 2 + 16);
            size_t size = unescape(http + 8, (size_t)(http_end + 1 - (http + 8)), raw);
            char *error = strstr(log, " error code=");
            long error_at = -1;
            bool after_close = false;

            /* A pause hands the connection over to another protocol: no refusal. */
            if (error != NULL && error < log_end && strncmp(error, " error code=22", 14) != 0) {
                char *line = error;

                while (line[-1] != '\n')
                    line--;
                error_at = strtol(line + 4, NULL, 10);
                after_close = strstr(error, "Data after") != NULL &&
                              strstr(error, "Data after") < log_end;
            }
            check_vector(file, title, raw, size, error_at, after_close, 0, v);
            check_with_host(file, title, raw, size, error_at, after_close, v);
            check_as_post(file, title, raw, size, error_at, after_close, body_of(log, log_end), v);
            free(raw);
        }
        at = log_end;
    }
}

static bool check_llhttp(void)
{
    const char *shared = getenv("DX_SHARED_DATA");
    char folder[512];
    struct vectors v = { 0 };
    struct dirent *entry;
    DIR *dir;

    (void)snprintf(folder, sizeof folder, "%s/conformance/http-llhttp/test/request",
                   shared == NULL ? "../shared/data" : shared);
    dir = opendir(folder);
    if (dir == NULL) {
        printf("SKIPPED: llhttp's vectors: no folder %s\n", folder);
        return false;
    }
    while ((entry = readdir(dir)) != NULL) {
        char path[1024];
        static char text[1 << 20];
        size_t n;
        FILE *f;

        if (strstr(entry->d_name, ".md") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        f = fopen(path, "r");
        if (f == NULL)
            continue;
        n = fread(text, 1, sizeof text - 1, f);
        text[n] = '\0';
        (void)fclose(f);
        v.files++;
        check_markdown(entry->d_name, text, &v);
    }
    (void)closedir(dir);
    printf("llhttp: %u files, %u requests: %u refused by both, %u accepted by both, %u refused "
           "here only:",
           v.files, v.requests, v.refused_by_both, v.accepted_by_both, v.refused_by_us);
    for (unsigned s = 0; s < 600; s++)
        if (v.by_status[s] > 0)
            printf(" %u with %u", v.by_status[s], s);
    printf("; %u as POST, %u with a whole body\n", v.posts, v.bodies);
    if (v.posts < 30 || v.bodies < 5 || v.requests < 120 || v.refused_by_both < 20) {
        printf("llhttp: too few vectors were found: the reader of their files is broken\n");
        failures++;
    }
    return true;
}

int main(void)
{
    bool complete;

    check_rows();
    check_bytes();
    check_memory();
    check_sizes();
    check_lists();
    check_twice();
    complete = check_llhttp();
    printf("%zu rows, %d failures\n", sizeof rows / sizeof *rows, failures);
    if (failures > 0)
        return 1;
    return complete ? 0 : 77;
}
