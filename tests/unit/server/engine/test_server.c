/* SPDX-License-Identifier: Apache-2.0
 * The server over a double of the answers, asked through raw sockets: malformed and odd
 * requests (all kinds of which a stock HTTP library accepted or hung on 16), routes, order,
 * deadlines, ends of connections, pins, overload, draining.
 * "test_server --serve PORT [LOOPS]" serves the double until killed, for a load generator. */
#include "format/root/scope.h"
#include "server/engine/server.h"
#include "server/routes/answers.h"
#include "tests/support/fail.h"
#include "tests/support/fake_server.h"
#include "tests/support/raw_client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

static void finish(struct dx_fake_server *h, const char *name)
{
    CHECK(dx_server_stop(&h->server, 60000), "%s: stop was not clean", name);
    CHECK(dx_fake_free(&h->fake), "%s: a pin or a canonicaliser is left", name);
}

static void open_or_die(struct dx_raw *c, const struct dx_fake_server *h)
{
    if (!dx_raw_open(c, h->port)) {
        perror("connect");
        exit(1);
    }
}

/* So that the kernel does not take a whole big reply off the server's hands. */
static void take_little(struct dx_raw *c)
{
    int bytes = 65536;

    (void)setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

/* Polls a condition for up to a minute. */
#define EVENTUALLY(condition)                        \
    ({                                               \
        bool ok_ = false;                            \
        for (int i_ = 0; i_ < 12000 && !ok_; i_++) { \
            ok_ = (condition);                       \
            if (!ok_)                                \
                (void)usleep(5000);                  \
        }                                            \
        ok_;                                         \
    })

/* Says it, and waits until the server has read the first byte of its head. */
static void say_and_begin(struct dx_raw *c, struct dx_server *server, const char *text)
{
    uint64_t before = dx_server_counts_of(server).begun;

    (void)dx_raw_say(c, text);
    CHECK(EVENTUALLY(dx_server_counts_of(server).begun > before), "not begun: %s", text);
    (void)usleep(20000); /* it goes on with it in the same turn */
}

#define T(text) text, sizeof text - 1
#define HOST "Host: h\r\n"
#define GET(target) "GET " target " HTTP/1.1\r\n" HOST "\r\n"

/* ---- one table of what is sent and what comes back ---- */

static const struct row {
    const char *name;
    const char *text;
    size_t size;
    int status[4];       /* of the replies in order, 0 ends */
    bool open;           /* the connection stays open */
    const char *in_body; /* of the first reply */
} rows[] = {
    /* Routes. */
    { "domain", T(GET("/v1/domain/example.com")), { 200 }, true, "\"asked\":\"example.com\"" },
    { "domain without v1", T(GET("/domain/example.com")), { 200 }, true, "\"answer\":\"domain\"" },
    { "escapes once", T(GET("/v1/domain/a%252fb%2Fc+d")), { 200 }, true, "\"a%2fb/c+d\"" },
    { "utf-8", T(GET("/v1/domain/m%C3%BCnchen.de")), { 200 }, true, "m\xc3\xbcnchen.de" },
    { "NUL and quotes come out escaped",
      T(GET("/v1/domain/%00%22%0d%0a%e2%80%a8%ff")),
      { 200 },
      true,
      "\\u0000\\\"\\r\\n\\u2028\xef\xbf\xbd" },
    { "bad escape", T(GET("/v1/domain/%zz")), { 400 }, true, "bad-percent-encoding" },
    { "cut escape", T(GET("/v1/domain/a%4")), { 400 }, true, "bad-percent-encoding" },
    { "domain takes no cursor",
      T(GET("/v1/domain/a?cursor=1")),
      { 400 },
      true,
      "it takes offset, limit, fields, sort, reverse, view, version" },
    { "fields of a domain", T(GET("/v1/domain/a?fields=share")), { 200 }, true, "\"number\":128," },
    { "all fields", T(GET("/v1/domain/a")), { 200 }, true, "\"number\":511," },
    { "no field of a domain", T(GET("/v1/domain/a?fields=url")), { 400 }, true, "bad-parameter" },
    { "top domains",
      T(GET("/v1/datasets/17/top-domains?share=10%25&limit=7&offset=3")),
      { 200 },
      true,
      "\"answer\":\"top\",\"asked\":\"10%\",\"offset\":3,\"limit\":7,\"number\":17," },
    { "a share as people type it",
      T(GET("/v1/datasets/17/top-domains?share=10%&offset=5")),
      { 200 },
      true,
      "\"asked\":\"10%\",\"offset\":5,\"limit\":1000," },
    { "a share with a bad escape",
      T(GET("/v1/datasets/17/top-domains?share=1%zz%")),
      { 400 },
      true,
      "bad-percent-encoding" },
    { "many top domains",
      T(GET("/v1/datasets/17/top-domains?limit=10000")),
      { 200 },
      true,
      "\"limit\":10000," },
    { "too many top domains",
      T(GET("/v1/datasets/17/top-domains?limit=10001")),
      { 400 },
      true,
      "limit-too-large" },
    { "no format",
      T(GET("/v1/datasets/17/top-domains?format=xml")),
      { 400 },
      true,
      "is none of json, ndjson, csv, arrow and parquet" },
    { "top domains of no dataset",
      T(GET("/v1/datasets/x/top-domains")),
      { 404 },
      true,
      "dataset-not-found" },
    { "versions takes no parameter",
      T(GET("/v1/versions?limit=1")),
      { 400 },
      true,
      "it takes receipt" },
    { "no name of a version", T(GET("/v1/domain/a?version=")), { 400 }, true, "bad-parameter" },
    { "a long name of a version",
      T(GET("/v1/domain/a?version=fake-0000000000000000001")),
      { 400 },
      true,
      "bad-parameter" },
    { "a NUL in the name of a version",
      T(GET("/v1/domain/a?version=fake-1%00")),
      { 400 },
      true,
      "bad-parameter" },
    { "no cursor", T(GET("/v1/domain/e/datasets/17/urls?cursor=")), { 400 }, true, "bad-cursor" },
    { "a cursor of spaces",
      T(GET("/v1/domain/e/datasets/17/urls?cursor=%20%20%20")),
      { 400 },
      true,
      "bad-cursor" },
    { "plan of nothing",
      T(GET("/v1/domain/e/datasets/17/urls?plan=0")),
      { 400 },
      true,
      "bad-parameter" },
    { "plan over the cap",
      T(GET("/v1/domain/e/datasets/17/urls?plan=65")),
      { 400 },
      true,
      "from 1 to 64" },
    { "plan with the offset that holds anyway",
      T(GET("/v1/domain/e/datasets/17/urls?plan=2&offset=0")),
      { 200 },
      true,
      "\"offset\":0" },
    { "plan with an offset",
      T(GET("/v1/domain/e/datasets/17/urls?plan=2&offset=1")),
      { 400 },
      true,
      "it takes no offset" },
    { "absent",
      T(GET("/v1/domain/absent.example")),
      { 404 },
      true,
      "urn:domaindex:problem:domain-not-found" },
    { "bad", T(GET("/v1/domain/bad.example")), { 400 }, true, "\\\"quoted\\\"\\r\\nX-Injected" },
    { "too much", T(GET("/v1/domain/toomuch.example")), { 422 }, true, "\"status\":422" },
    { "damaged", T(GET("/v1/domain/damaged.example")), { 500 }, true, "problem:damaged" },
    { "unavailable", T(GET("/v1/domain/unavailable.example")), { 503 }, true, "\"status\":503" },
    { "urls",
      T(GET("/v1/domain/e/datasets/17/urls?offset=5&limit=7")),
      { 200 },
      true,
      "\"offset\":5,\"limit\":7,\"number\":1707" },
    { "urls, alias, defaults",
      T(GET("/domain/e/dataset/17/urls")),
      { 200 },
      true,
      "\"offset\":0,\"limit\":1000,\"number\":1707" },
    { "urls, empty query", T(GET("/v1/domain/e/datasets/17/urls?")), { 200 }, true, "urls" },
    { "urls, fields",
      T(GET("/v1/domain/e/datasets/17/urls?fields=url")),
      { 200 },
      true,
      "\"number\":1702" },
    { "urls, bad fields",
      T(GET("/v1/domain/e/datasets/17/urls?fields=x%22y")),
      { 400 },
      true,
      "x\\\"y" },
    { "urls at the cap",
      T(GET("/v1/domain/e/datasets/17/urls?limit=10000")),
      { 200 },
      true,
      "10000" },
    { "urls over the cap",
      T(GET("/v1/domain/e/datasets/17/urls?limit=10001")),
      { 400 },
      true,
      "over the cap of 10000" },
    { "urls, limit 0",
      T(GET("/v1/domain/e/datasets/17/urls?limit=0")),
      { 400 },
      true,
      "bad-parameter" },
    { "urls, limit -1",
      T(GET("/v1/domain/e/datasets/17/urls?limit=-1")),
      { 400 },
      true,
      "bad-parameter" },
    { "urls, limit +1",
      T(GET("/v1/domain/e/datasets/17/urls?limit=+1")),
      { 400 },
      true,
      "bad-parameter" },
    { "urls, limit 0x10",
      T(GET("/v1/domain/e/datasets/17/urls?limit=0x10")),
      { 400 },
      true,
      "bad-parameter" },
    { "urls, limit empty",
      T(GET("/v1/domain/e/datasets/17/urls?limit=")),
      { 400 },
      true,
      "bad-parameter" },
    { "urls, limit over 64 bits",
      T(GET("/v1/domain/e/datasets/17/urls?limit=18446744073709551617")),
      { 400 },
      true,
      "bad-parameter" },
    { "urls, offset over 63 bits",
      T(GET("/v1/domain/e/datasets/17/urls?offset=9223372036854775808")),
      { 400 },
      true,
      "bad-parameter" },
    { "urls, largest offset",
      T(GET("/v1/domain/e/datasets/17/urls?offset=9223372036854775807")),
      { 200 },
      true,
      "9223372036854775807" },
    { "urls, limit twice",
      T(GET("/v1/domain/e/datasets/17/urls?limit=1&limit=1")),
      { 400 },
      true,
      "duplicate-parameter" },
    { "urls, limit twice, escaped",
      T(GET("/v1/domain/e/datasets/17/urls?limit=1&%6cimit=1")),
      { 400 },
      true,
      "duplicate-parameter" },
    { "urls, unknown parameter",
      T(GET("/v1/domain/e/datasets/17/urls?limits=1")),
      { 400 },
      true,
      "it takes offset, limit, fields" },
    { "urls, empty pair",
      T(GET("/v1/domain/e/datasets/17/urls?limit=1&&offset=1")),
      { 400 },
      true,
      "unknown-parameter" },
    { "dataset by a name that none has",
      T(GET("/v1/domain/e/datasets/x/urls")),
      { 404 },
      true,
      "dataset-not-found" },
    { "dataset id over 32 bits",
      T(GET("/v1/domain/e/datasets/4294967296/urls")),
      { 400 },
      true,
      "bad-dataset-id" },
    { "largest dataset id", T(GET("/v1/datasets/4294967295")), { 200 }, true, "4294967295" },
    { "datasets",
      T(GET("/v1/datasets?limit=5&offset=2")),
      { 200 },
      true,
      "\"offset\":2,\"limit\":5" },
    { "datasets, long page by a worker",
      T(GET("/v1/datasets?limit=100000")),
      { 200 },
      true,
      "\"limit\":100000" },
    { "datasets over the cap",
      T(GET("/v1/datasets?limit=100001")),
      { 400 },
      true,
      "at most 100000 and go on with next_offset" },
    { "normalize", T(GET("/v1/normalize?q=HTTP%3a//A/%3f&")), { 400 }, true, "unknown-parameter" },
    { "normalize with q",
      T(GET("/v1/normalize?q=HTTP%3a//A/?b=c")),
      { 200 },
      true,
      "HTTP://A/?b=c" },
    { "normalize without q", T(GET("/v1/normalize")), { 400 }, true, "needs the parameter q" },
    { "versions", T(GET("/v1/versions")), { 200 }, true, "versions" },
    { "healthz", T(GET("/healthz")), { 200 }, true, "\"status\":\"ok\"" },
    { "readyz", T(GET("/readyz")), { 200 }, true, "\"version\":\"fake-1\"" },
    { "root", T(GET("/")), { 404 }, true, "/v1/domain/{domain}" },
    { "trailing slash", T(GET("/v1/domain/e/")), { 200 }, true, "\"asked\":\"e\"" },
    { "two of them", T(GET("/v1/domain/e//")), { 404 }, true, "no-such-resource" },
    { "empty domain", T(GET("/v1/domain/")), { 404 }, true, "ones are /v1/domain/{domain}, " },
    { "empty domain inside", T(GET("/v1/domain//hosts")), { 404 }, true, "no-such-resource" },
    { "a slip",
      T(GET("/v1/domian/e/hosts")),
      { 404 },
      true,
      "ones are /v1/domain/{domain}/hosts, " },
    { "a slip with a parameter", T(GET("/v1/ulr")), { 404 }, true, "/v1/url?u=" },
    { "far from all",
      T(GET("/cgi-bin/administration.php")),
      { 404 },
      true,
      "ones are /v1/domain/{domain}, " },
    { "v1", T(GET("/v1")), { 404 }, true, "ones are /v1/domain/{domain}, " },
    { "dot segments are not resolved", T(GET("/v1/../v1/domain/e")), { 404 }, true, "no-such" },
    { "many segments", T(GET("/a/b/c/d/e/f/g/h/i/j")), { 404 }, true, "no-such-resource" },
    { "absolute form", T(GET("http://x.example/v1/domain/e")), { 200 }, true, "\"e\"" },
    { "absolute form, bare", T(GET("http://x.example")), { 404 }, true, "no-such-resource" },

    /* Order and ends. */
    { "two at once", T(GET("/v1/domain/a") GET("/v1/domain/b")), { 200, 200 }, true, "\"a\"" },
    { "a listing, then a lookup",
      T(GET("/v1/domain/slow.example/datasets/1/urls") GET("/v1/domain/b")),
      { 200, 200 },
      true,
      "slow.example" },
    { "an error between",
      T(GET("/v1/domain/a") GET("/x") GET("/v1/domain/b")),
      { 200, 404, 200 },
      true,
      "\"a\"" },
    { "close ends it",
      T("GET /v1/domain/a HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n" GET("/v1/domain/b")),
      { 200 },
      false,
      "\"a\"" },
    { "http/1.0", T("GET /v1/domain/a HTTP/1.0\r\n\r\n"), { 200 }, false, "\"a\"" },
    { "http/1.0 with keep-alive",
      T("GET /v1/domain/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" GET("/v1/domain/b")),
      { 200 },
      false,
      "\"a\"" },
    { "empty line first", T("\r\n" GET("/v1/domain/a")), { 200 }, true, "\"a\"" },
    { "empty line between",
      T(GET("/v1/domain/a") "\r\n" GET("/v1/domain/b")),
      { 200, 200 },
      true,
      "\"a\"" },
    { "good, then malformed",
      T(GET("/v1/domain/a") "GET / HTTP/1.1\r\nHost : h\r\n\r\n" GET("/v1/domain/b")),
      { 200, 400 },
      false,
      "\"a\"" },

    /* What must be refused, and end the connection. */
    { "post",
      T("POST /v1/domain/a HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"),
      { 405 },
      false,
      "method-not-allowed" },
    { "post with a request in its body",
      T("POST / HTTP/1.1\r\n" HOST "Content-Length: 44\r\n\r\n" GET("/v1/domain/smuggled")),
      { 404 },
      false,
      "no-such-resource" },
    { "unknown method",
      T("BREW /v1/domain/a HTTP/1.1\r\n" HOST "\r\n"),
      { 405 },
      false,
      "takes GET" },
    { "put of what takes post",
      T("PUT /v1/domains/ HTTP/1.1\r\n" HOST "\r\n"),
      { 405 },
      false,
      "GET and HEAD, and" },
    { "options of the server",
      T("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"),
      { 405 },
      false,
      "GET and HEAD, and" },
    { "connect", T("CONNECT a:443 HTTP/1.1\r\n" HOST "\r\n"), { 405 }, false, "GET and HEAD, and" },
    { "unknown method of an unknown path",
      T("BREW /coffee HTTP/1.1\r\n" HOST "\r\n"),
      { 404 },
      false,
      "no-such-resource" },
    { "content-length twice",
      T("GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 0"
        "\r\n\r\nhello"),
      { 400 },
      false,
      "Content-Length" },
    { "content-length +5",
      T("GET / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\nhello"),
      { 400 },
      false,
      "Content-Length" },
    { "content-length 5",
      T("GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello"),
      { 400 },
      false,
      "Content-Length" },
    { "content-length over 64 bits",
      T("GET / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n"),
      { 400 },
      false,
      "Content-Length" },
    { "content-length -1",
      T("GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n"),
      { 400 },
      false,
      "Content-Length" },
    { "content-length and chunked",
      T("GET / HTTP/1.1\r\n" HOST
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      { 400 },
      false,
      "Transfer-Encoding" },
    { "chunk size 0x5",
      T("GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0x5\r\n"
        "hello\r\n0\r\n\r\n"),
      { 400 },
      false,
      "Transfer-Encoding" },
    { "chunk size +5",
      T("GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n +5\r\n"
        "hello\r\n0\r\n\r\n"),
      { 400 },
      false,
      "Transfer-Encoding" },
    { "te: xchunked",
      T("GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"),
      { 400 },
      false,
      "Transfer-Encoding" },
    { "bare LF", T("GET / HTTP/1.1\nHost: h\n\n"), { 400 }, false, "HTTP/1.1" },
    { "space before the colon",
      T("GET / HTTP/1.1\r\nHost: h\r\nContent-Length : 0\r\n\r\n"),
      { 400 },
      false,
      "colon" },
    { "folded", T("GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n"), { 400 }, false, "folded" },
    { "NUL in a value", T("GET / HTTP/1.1\r\n" HOST "A: b\0c\r\n\r\n"), { 400 }, false, "control" },
    { "NUL in the target", T("GET /\0 HTTP/1.1\r\n" HOST "\r\n"), { 400 }, false, "percent" },
    { "no host", T("GET / HTTP/1.1\r\n\r\n"), { 400 }, false, "Host" },
    { "two hosts", T("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), { 400 }, false, "Host" },
    { "head with a body that is a request",
      T("HEAD /healthz HTTP/1.1\r\n" HOST "Content-Length: 41\r\n\r\n" GET("/v1/domain/b")),
      { 400 },
      false,
      NULL },
    { "space in the target", T("GET /a b HTTP/1.1\r\n" HOST "\r\n"), { 400 }, false, "HTTP/1.1" },
    { "tab as separator", T("GET\t/\tHTTP/1.1\r\n" HOST "\r\n"), { 400 }, false, "method" },
    { "http/0.9", T("GET /\r\n"), { 400 }, false, NULL },
    { "http/2.0", T("GET / HTTP/2.0\r\n" HOST "\r\n"), { 505 }, false, "http-version" },
    { "http/1.1 with text", T("GET / HTTP/1.1x\r\n" HOST "\r\n"), { 400 }, false, NULL },
    { "no colon", T("GET / HTTP/1.1\r\n" HOST "abc\r\n\r\n"), { 400 }, false, "colon" },
    { "brackets in a name",
      T("GET / HTTP/1.1\r\n" HOST "a[b]: c\r\n\r\n"),
      { 400 },
      false,
      "token" },
    { "bare CR", T("GET / HTTP/1.1\r\n" HOST "a: b\rc\r\n\r\n"), { 400 }, false, "CR" },
    { "raw utf-8", T("GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n"), { 400 }, false, "percent" },
    { "fragment", T("GET /a#b HTTP/1.1\r\n" HOST "\r\n"), { 400 }, false, "percent" },
    { "tls hello", T("\x16\x03\x01\x00\xa5\x01\x00\x00"), { 400 }, false, "method" },
    { "h2 preface", T("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), { 405 }, false, NULL },
    { "garbage", T("\xff\xfe\xfd\xfc"), { 400 }, false, NULL },
};

/* What the resource takes, by what the body says. */
static void check_allow(const struct row *row, const struct dx_raw_reply *reply)
{
    const char *want = dx_raw_body_has(reply, "GET and HEAD, and") ? "Allow: GET, HEAD, POST\r\n"
                       : dx_raw_body_has(reply, "takes POST")      ? "Allow: POST\r\n"
                                                                   : "Allow: GET, HEAD\r\n";

    CHECK(reply->status == 405 ? strstr(reply->head, want) != NULL
                               : strstr(reply->head, "Allow:") == NULL,
          "row '%s': Allow", row->name);
}

/* Sends text in pieces of `step` bytes, pausing between them, and checks replies and end. */
static void check_row(const struct dx_fake_server *h, size_t i, size_t step)
{
    struct dx_raw_reply reply;
    struct dx_raw c;
    size_t n = 0;
    bool is_head = strncmp(rows[i].text, "HEAD", 4) == 0;

    open_or_die(&c, h);
    for (size_t at = 0; at < rows[i].size; at += step) {
        if (at > 0)
            (void)usleep(300);
        if (!dx_raw_send(&c, rows[i].text + at,
                         rows[i].size - at < step ? rows[i].size - at : step))
            break; /* refused before its end */
    }
    for (; n < 4 && rows[i].status[n] != 0; n++) {
        bool got = dx_raw_reply(&c, is_head, &reply, 60000);

        CHECK(got && reply.status == rows[i].status[n], "row '%s', step %zu, reply %zu: %d, %s",
              rows[i].name, step, n, reply.status, got ? "" : c.fault);
        if (!got)
            break;
        if (n == 0 && rows[i].in_body != NULL)
            CHECK(dx_raw_body_has(&reply, rows[i].in_body), "row '%s': body '%.*s'", rows[i].name,
                  (int)reply.body.size, (const char *)reply.body.data);
        CHECK(reply.close == (!rows[i].open && (n == 3 || rows[i].status[n + 1] == 0)),
              "row '%s': Connection: close in reply %zu", rows[i].name, n);
        CHECK((strstr(reply.head, "Retry-After: 1\r\n") != NULL) == (reply.status == 503),
              "row '%s': Retry-After", rows[i].name);
        check_allow(&rows[i], &reply);
        CHECK(strstr(reply.head, reply.status >= 400
                                     ? "Content-Type: application/problem+json\r\n"
                                     : "Content-Type: application/json\r\n") != NULL,
              "row '%s': Content-Type", rows[i].name);
        CHECK(reply.status == 501 ||
                  strstr(reply.head, "X-Domaindex-Version: fake-1\r\n") != NULL ||
                  reply.status == 400,
              "row '%s': version", rows[i].name);
    }
    if (rows[i].open)
        CHECK(!dx_raw_ended(&c, 0) && strcmp(c.fault, "still open") == 0, "row '%s': %s",
              rows[i].name, c.fault == NULL ? "closed" : c.fault);
    else
        CHECK(dx_raw_ended(&c, 60000), "row '%s', step %zu: %s", rows[i].name, step, c.fault);
    dx_raw_close(&c);
}

static void check_rows(const struct dx_fake_server *h)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(h, i, rows[i].size);
        check_row(h, i, 1);
        check_row(h, i, 17);
    }
}

/* before, filling times 'a', after; then more of nothing. */
static void check_long(const struct dx_fake_server *h, const char *before, size_t filling,
                       const char *after, int status)
{
    char *text = malloc(strlen(before) + filling + strlen(after) + 1);
    struct dx_raw_reply reply;
    struct dx_raw c;

    (void)sprintf(text, "%s%*s%s", before, (int)filling, "", after);
    memset(text + strlen(before), 'a', filling);
    open_or_die(&c, h);
    (void)dx_raw_say(&c, text); /* may be cut off */
    CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.status == status,
          "%zu bytes behind '%.20s': %d, %s", filling, before, reply.status,
          c.fault == NULL ? "" : c.fault);
    /* What was not read yet must not turn into a reset that could overtake the reply. */
    if (status >= 400 && filling < 100000 && strlen(after) < 100000)
        CHECK(dx_raw_ended(&c, 60000), "%zu bytes behind '%.20s': %s", filling, before, c.fault);
    dx_raw_close(&c);
    free(text);
}

static void check_lengths(const struct dx_fake_server *h)
{
    static char many[200000];
    size_t n = 0;

    for (int i = 0; i < 10000; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "a%d: b\r\n", i);
    check_long(h, "GET /v1/domain/", 8000, " HTTP/1.1\r\n" HOST "\r\n", 200);
    check_long(h, "GET /", 9000, " HTTP/1.1\r\n" HOST "\r\n", 414);
    check_long(h, "GET /", 1000000, " HTTP/1.1\r\n" HOST "\r\n", 414);
    check_long(h, "GET /healthz HTTP/1.1\r\n" HOST "A: ", 16000, "\r\n\r\n", 200);
    check_long(h, "GET / HTTP/1.1\r\n" HOST "A: ", 17000, "\r\n\r\n", 431);
    check_long(h, "GET / HTTP/1.1\r\n" HOST "A: ", 1000000, "\r\n\r\n", 431);
    check_long(h, "GET / HTTP/1.1\r\n" HOST "", 0, many, 431);
    check_long(h, "", 1000000, "", 501);
}

/* ---- what a table cannot say ---- */

static void check_head_and_etag(const struct dx_fake_server *h)
{
    struct dx_raw_reply get, head;
    struct dx_raw c;
    char etag[64] = "";
    char again[512];
    const char *at;

    open_or_die(&c, h);
    (void)dx_raw_say(&c, "HEAD /v1/domain/a HTTP/1.1\r\n" HOST "\r\n");
    CHECK(dx_raw_reply(&c, true, &head, 60000) && head.status == 200, "HEAD: %s", c.fault);
    (void)dx_raw_say(&c, GET("/v1/domain/a"));
    CHECK(dx_raw_reply(&c, false, &get, 60000) && get.status == 200, "GET: %s", c.fault);
    CHECK(strcmp(strstr(get.head, "Content-Type"), strstr(head.head, "Content-Type")) == 0,
          "HEAD '%s' and GET '%s' differ", head.head, get.head);
    at = strstr(get.head, "ETag: ");
    CHECK(at != NULL && sscanf(at, "ETag: %60s", etag) == 1, "no ETag");
    for (int k = 0; k < 2; k++) { /* on the loop, then from a worker */
        const char *path = k == 0 ? "/v1/domain/a" : "/v1/domain/a/datasets/1/urls";
        static const struct {
            const char *format;
            int status;
        } matches[] = { { "%s", 304 },    { "W/%s", 304 }, { "\"x\" , %s", 304 }, { "*", 304 },
                        { "\"x\"", 200 }, { "x%s", 200 },  { "%s\r\nA: b", 304 } };

        if (k == 1) {
            (void)snprintf(again, sizeof again, "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
            (void)dx_raw_say(&c, again);
            CHECK(dx_raw_reply(&c, false, &get, 60000), "urls: %s", c.fault);
            (void)sscanf(strstr(get.head, "ETag: "), "ETag: %60s", etag);
        }
        for (size_t i = 0; i < sizeof matches / sizeof *matches; i++) {
            char value[200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(value, sizeof value, matches[i].format, etag);
#pragma GCC diagnostic pop
            (void)snprintf(again, sizeof again,
                           "GET %s HTTP/1.1\r\n" HOST "If-None-Match: %s\r\n\r\n", path, value);
            (void)dx_raw_say(&c, again);
            CHECK(dx_raw_reply(&c, false, &get, 60000) && get.status == matches[i].status,
                  "If-None-Match: %s: %d", value, get.status);
        }
    }
    dx_raw_close(&c);
}

/* Thousands of requests before the first reply is read: order kept, memory bounded. */
static void check_pipelining(const struct dx_fake_server *h)
{
    struct dx_raw_reply reply;
    struct dx_raw c;
    static char text[64 * 1024];
    unsigned asked = 0;
    size_t n = 0;

    for (; n + 100 < sizeof text; asked++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              asked % 50 == 49
                                  ? "GET /v1/domain/n%u/datasets/1/urls HTTP/1.1\r\n" HOST "\r\n"
                                  : "GET /v1/domain/n%u HTTP/1.1\r\n" HOST "\r\n",
                              asked);
    open_or_die(&c, h);
    CHECK(dx_raw_send(&c, text, n), "send");
    for (unsigned i = 0; i < asked; i++) {
        char want[40];

        (void)snprintf(want, sizeof want, "\"asked\":\"n%u\"", i);
        if (!dx_raw_reply(&c, false, &reply, 60000) || !dx_raw_body_has(&reply, want)) {
            CHECK(false, "reply %u of %u: %s", i, asked, c.fault == NULL ? "order" : c.fault);
            break;
        }
    }
    dx_raw_close(&c);
}

static void check_half_close(const struct dx_fake_server *h)
{
    static const char *const asks[] = { GET("/v1/domain/a") GET("/v1/domain/b"),
                                        GET("/v1/domain/slow.example/datasets/1/urls")
                                            GET("/v1/domain/b") };

    for (size_t i = 0; i < 2; i++) {
        struct dx_raw_reply reply;
        struct dx_raw c;

        open_or_die(&c, h);
        (void)dx_raw_say(&c, asks[i]);
        (void)shutdown(c.fd, SHUT_WR);
        for (int k = 0; k < 2; k++)
            CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.status == 200, "ask %zu: %s", i,
                  c.fault);
        CHECK(dx_raw_ended(&c, 60000), "ask %zu: %s", i, c.fault);
        dx_raw_close(&c);
    }
}

static void check_big_body(const struct dx_fake_server *h)
{
    struct dx_raw_reply reply;
    struct dx_raw c;

    open_or_die(&c, h);
    take_little(&c);
    (void)dx_raw_say(&c, GET("/v1/domain/big.example") GET("/v1/domain/after"));
    (void)usleep(50000);
    CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.body.size > DX_FAKE_BIG_BYTES, "%s",
          c.fault);
    CHECK(reply.body.size > 0 && reply.body.data[reply.body.size - 1] == '}', "the end is lost");
    CHECK(dx_raw_reply(&c, false, &reply, 60000) && dx_raw_body_has(&reply, "after"), "%s",
          c.fault);
    dx_raw_close(&c);
}

static void check_idle_connections(const struct dx_fake_server *h)
{
    static struct dx_raw idle[200];
    struct dx_raw_reply reply;
    struct rusage before, after;
    long used_ms;

    for (size_t i = 0; i < 200; i++) {
        open_or_die(&idle[i], h);
        if (i % 2 == 0) {
            (void)dx_raw_say(&idle[i], GET("/v1/domain/a"));
            CHECK(dx_raw_reply(&idle[i], false, &reply, 60000), "%zu: %s", i, idle[i].fault);
        }
    }
    CHECK(EVENTUALLY(dx_server_counts_of(h->server).open == 200), "%llu open",
          (unsigned long long)dx_server_counts_of(h->server).open);
    (void)getrusage(RUSAGE_SELF, &before);
    (void)usleep(1000000);
    (void)getrusage(RUSAGE_SELF, &after);
    used_ms = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000 +
              (after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1000 +
              (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000 +
              (after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1000;
    CHECK(used_ms < 300, "200 idle connections use %ld ms of a second", used_ms);
    for (size_t i = 0; i < 200; i++) {
        (void)dx_raw_say(&idle[i], GET("/v1/domain/b"));
        CHECK(dx_raw_reply(&idle[i], false, &reply, 60000), "%zu: %s", i, idle[i].fault);
        dx_raw_close(&idle[i]);
    }
    CHECK(EVENTUALLY(dx_server_counts_of(h->server).open == 0), "not all closed");
}

/* A request stays on the version of its first byte; the old one is let go by all threads. */
static void check_flip(const struct dx_fake_server *h)
{
    struct dx_raw_reply reply;
    struct dx_raw slow, held;

    open_or_die(&slow, h);
    open_or_die(&held, h);
    dx_fake_gate(h->fake, false);
    say_and_begin(&held, h->server, GET("/v1/domain/gate.example/datasets/1/urls"));
    say_and_begin(&slow, h->server, "GET /v1/dom");
    CHECK(EVENTUALLY(dx_fake_pins(h->fake) >= 2), "not pinned at the first byte");
    dx_fake_flip(h->fake);
    dx_server_version_changed(h->server);
    (void)dx_raw_say(&slow, "ain/a HTTP/1.1\r\n" HOST "\r\n" GET("/v1/domain/b"));
    CHECK(dx_raw_reply(&slow, false, &reply, 60000) && dx_raw_body_has(&reply, "\"fake-1\"") &&
              strstr(reply.head, "Version: fake-1\r\n") != NULL,
          "begun before the flip: %s", reply.head);
    CHECK(dx_raw_reply(&slow, false, &reply, 60000) && dx_raw_body_has(&reply, "\"fake-2\"") &&
              strstr(reply.head, "Version: fake-2\r\n") != NULL,
          "begun after the flip: %s", reply.head);
    CHECK(dx_fake_versions(h->fake) == 2, "the old version is pinned by a listing");
    dx_fake_gate(h->fake, true);
    CHECK(dx_raw_reply(&held, false, &reply, 60000) && reply.status == 200 &&
              dx_raw_body_has(&reply, "\"fake-1\""),
          "listing over the flip: %s", reply.head);
    CHECK(EVENTUALLY(dx_fake_versions(h->fake) == 1), "%ld versions are left",
          dx_fake_versions(h->fake));

    /* Without a notification: the next request sees the new version all the same, by its own suffix
     * list, and the tick lets the old one go. */
    dx_fake_flip(h->fake);
    for (int i = 0; i < 2; i++) {
        (void)dx_raw_say(i == 0 ? &slow : &held, GET("/v1/domain/c"));
        CHECK(dx_raw_reply(i == 0 ? &slow : &held, false, &reply, 60000) && reply.status == 200 &&
                  dx_raw_body_has(&reply, "\"fake-3\""),
              "after a flip that nobody told: %s", reply.head);
    }
    CHECK(EVENTUALLY(dx_fake_versions(h->fake) == 1), "%ld versions are left",
          dx_fake_versions(h->fake));
    dx_raw_close(&slow);
    dx_raw_close(&held);
}

/* Versions by name, where check_flip left off: fake-3 is current, and will be kept. */
static void check_named(const struct dx_fake_server *h)
{
    static const struct {
        const char *ask;
        int status;
        const char *has;
        long fetched;
    } asks[] = {
        { GET("/v1/domain/a?version=fake-3"), 200, "\"fake-3\"", 1 }, /* cold: by a worker */
        { GET("/v1/domain/b?version=fake-3"), 200, "\"fake-3\"", 1 },
        { GET("/v1/domain/c"), 200, "\"fake-4\"", 1 },
        { GET("/v1/domain/a?version=fake-4"), 200, "\"fake-4\"", 1 },
        { GET("/v1/domain/a/datasets/1/urls?version=fake-3&limit=7"), 200, "\"fake-3\"", 1 },
        { GET("/v1/datasets?version=fake-3"), 200, "\"fake-3\"", 1 },
        { GET("/v1/datasets/1?version=fake-3"), 200, "\"fake-3\"", 1 },
        { GET("/v1/normalize?q=x&version=fake-3"), 200, "\"fake-3\"", 1 },
        { GET("/v1/domain/absent.example?version=fake-3"), 404, "not in version fake-3", 1 },
        { GET("/v1/domain/a/diff"), 200, "\"answer\":\"fake-3\"", 1 },
        { GET("/v1/domain/a/diff?to=fake-3&from=fake-4"), 200, "\"answer\":\"fake-4\"", 1 },
        { GET("/v1/domain/a/diff?from=fake-5"), 503, "version-newer", 1 },
        { GET("/v1/domain/a/diff?from=fake-1"), 410, "\"restart\":\"/v1/domain/a/diff\"", 1 },
        { GET("/v1/domain/a/diff?to="), 400, "bad-parameter", 1 },
        { GET("/v1/changes?since=fake-3&limit=3"), 200, "\"limit\":3", 1 },
        { GET("/v1/changes?since=fake-2"), 410, "\"restart\":\"/v1/changes\"", 1 },
        { GET("/v1/changes?since="), 400, "bad-version", 1 },
        { GET("/v1/changes?offset=1"), 400, "it takes limit, cursor, since", 1 },
        { GET("/v1/domain/a?version=fake-5"), 503, "version-newer", 1 },
        { GET("/v1/domain/a?version=latest"), 400, "bad-version", 1 },
        { GET("/v1/domain/a%20b?version=fake-1"), 410, "\"restart\":\"/v1/domain/a%20b\"", 1 },
        { GET("/v1/domain/a?version=fake-1&fields=share"), 410,
          "\"restart\":\"/v1/domain/a?fields=share\"", 1 },
        { GET("/v1/datasets/7/top-domains?version=fake-1&share=12.5%25&limit=9"), 410,
          "\"restart\":\"/v1/datasets/7/top-domains?limit=9&share=12.5%25\"", 1 },
        { GET("/v1/domain/a/datasets/7/urls?version=fake-1&limit=9&fields=url"), 410,
          "\"restart\":\"/v1/domain/a/datasets/7/urls?limit=9&fields=url\"", 1 },
    };
    struct dx_raw_reply reply;
    struct dx_raw c;

    dx_fake_keep(h->fake);
    dx_fake_flip(h->fake);
    open_or_die(&c, h);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        (void)dx_raw_say(&c, asks[i].ask);
        CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.status == asks[i].status &&
                  dx_raw_body_has(&reply, asks[i].has),
              "row %zu: %s", i, reply.head);
        CHECK((asks[i].status == 503) == (strstr(reply.head, "Retry-After: 1\r\n") != NULL),
              "row %zu: %s", i, reply.head);
        CHECK(dx_fake_fetched(h->fake) == asks[i].fetched, "row %zu: %ld fetched", i,
              dx_fake_fetched(h->fake));
    }
    dx_fake_forget(h->fake);
    (void)dx_raw_say(&c, asks[0].ask);
    CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.status == 410, "forgotten: %s",
          reply.head);
    dx_raw_close(&c);
}

/* Versions that are opened by all who ask for them leave a worker for listings of those that are.
 * Where check_named left off: fake-4 is current. */
static void check_fetching(const struct dx_fake_server *h)
{
    const long fetched = dx_fake_fetched(h->fake);
    struct dx_raw_reply reply;
    struct dx_raw c[4];

    dx_fake_flip(h->fake);
    dx_fake_gate(h->fake, false);
    for (int i = 0; i < 3; i++) {
        open_or_die(&c[i], h);
        (void)dx_raw_say(&c[i], i < 2 ? GET("/v1/domain/a?version=fake-4")
                                      : GET("/v1/domain/a/diff?from=fake-4"));
        if (i == 0)
            CHECK(EVENTUALLY(dx_fake_fetched(h->fake) > fetched), "not begun");
        else
            (void)usleep(50000);
    }
    open_or_die(&c[3], h);
    (void)dx_raw_say(&c[3], GET("/v1/domain/a/datasets/1/urls"));
    CHECK(dx_raw_reply(&c[3], false, &reply, 60000) && reply.status == 200,
          "a listing beside them: %s", c[3].fault);
    dx_fake_gate(h->fake, true);
    for (int i = 0; i < 3; i++)
        CHECK(dx_raw_reply(&c[i], false, &reply, 60000) && reply.status == 200 &&
                  dx_raw_body_has(&reply, "\"fake-4\""),
              "%d: %s", i, reply.head);
    for (int i = 0; i < 4; i++)
        dx_raw_close(&c[i]);
    dx_fake_forget(h->fake);
}

static void check_disconnect(const struct dx_fake_server *h)
{
    long listings = dx_fake_listings(h->fake);
    struct dx_raw_reply reply;
    struct dx_raw c;

    dx_fake_gate(h->fake, false);
    for (int i = 0; i < 4; i++) { /* two run in the workers, two wait */
        open_or_die(&c, h);
        (void)dx_raw_say(&c, GET("/v1/domain/gate.example/datasets/1/urls"));
        if (i < 2)
            CHECK(EVENTUALLY(dx_fake_listings(h->fake) == listings + i + 1), "not begun");
        else
            (void)usleep(50000);
        dx_raw_reset(&c);
    }
    CHECK(EVENTUALLY(dx_server_counts_of(h->server).open == 0), "a reset was not noticed");
    dx_fake_gate(h->fake, true);
    open_or_die(&c, h);
    (void)dx_raw_say(&c, GET("/v1/domain/e/datasets/1/urls"));
    CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.status == 200, "after it: %s", c.fault);
    CHECK(dx_fake_listings(h->fake) == listings + 3, "listings nobody waits for were read");
    dx_raw_close(&c);
    CHECK(EVENTUALLY(dx_server_counts_of(h->server).open == 0), "not closed");
}

/* Of each request, whatever became of it and of its connection, one record was given away. */
static void check_records(const struct dx_server *server)
{
    struct dx_server_counts counts = dx_server_counts_of(server);

    CHECK(counts.begun >= counts.requests + counts.rejected && counts.begun > 0,
          "%llu begun, %llu answered, %llu refused", (unsigned long long)counts.begun,
          (unsigned long long)counts.requests, (unsigned long long)counts.rejected);
    CHECK(counts.begun == counts.ended, "%llu requests begun, %llu records",
          (unsigned long long)counts.begun, (unsigned long long)counts.ended);
}

static void check_usual(void)
{
    struct dx_server_options o = dx_fake_server_options();
    struct dx_fake_server h;

    dx_fake_server_start(&h, &o);
    check_rows(&h);
    check_lengths(&h);
    check_head_and_etag(&h);
    check_pipelining(&h);
    check_half_close(&h);
    check_big_body(&h);
    check_disconnect(&h);
    check_idle_connections(&h);
    check_flip(&h);
    check_named(&h);
    check_fetching(&h);
    CHECK(EVENTUALLY(dx_server_counts_of(h.server).open == 0), "connections are left");
    check_records(h.server);
    finish(&h, "usual");
}

static long ms_since(const struct timespec *from)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

static void check_deadlines(void)
{
    struct dx_server_options o = dx_fake_server_options();
    struct dx_raw_reply reply;
    struct timespec from;
    struct dx_fake_server h;
    struct dx_raw c;
    long took;

    o.head_timeout_ms = 1000;
    o.idle_timeout_ms = 3000;
    o.job_timeout_ms = 500;
    o.write_timeout_ms = 700;
    dx_fake_server_start(&h, &o);

    /* One byte every 50 ms keeps no read waiting long, yet the head must end in time. */
    open_or_die(&c, &h);
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 60 && dx_raw_say(&c, i == 0   ? "G"
                                             : i == 1 ? "E"
                                             : i == 2 ? "T"
                                             : i == 3 ? " "
                                             : i == 4 ? "/"
                                                      : "a");
         i++) {
        (void)usleep(50000);
        if (dx_raw_reply(&c, false, &reply, 0))
            break;
    }
    took = ms_since(&from);
    CHECK(reply.status == 408 && took >= 950, "slow head: %d after %ld ms, %s", reply.status, took,
          c.fault == NULL ? "" : c.fault);
    dx_raw_close(&c);

    /* Nothing at all: closed without a word. */
    open_or_die(&c, &h);
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    CHECK(dx_raw_ended(&c, 60000), "silent: %s", c.fault);
    took = ms_since(&from);
    CHECK(took >= 950, "silent: closed after %ld ms", took);
    dx_raw_close(&c);

    /* Between requests it may be silent for longer; the next head has its own time. */
    open_or_die(&c, &h);
    (void)dx_raw_say(&c, GET("/v1/domain/a"));
    CHECK(dx_raw_reply(&c, false, &reply, 60000), "%s", c.fault);
    (void)usleep(1200000);
    (void)dx_raw_say(&c, "GET /v1/domain/b HTTP/1.1\r\n");
    (void)usleep(300000);
    (void)dx_raw_say(&c, HOST "\r\n");
    CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.status == 200, "after a pause: %s",
          c.fault);
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    CHECK(dx_raw_ended(&c, 60000), "idle: %s", c.fault);
    took = ms_since(&from);
    CHECK(took >= 2900, "idle: closed after %ld ms", took);
    dx_raw_close(&c);

    /* A worker that does not come back. */
    open_or_die(&c, &h);
    dx_fake_gate(h.fake, false);
    (void)dx_raw_say(&c, GET("/v1/domain/gate.example/datasets/1/urls"));
    CHECK(dx_raw_reply(&c, false, &reply, 60000) && reply.status == 503 &&
              dx_raw_body_has(&reply, "problem:timeout"),
          "worker: %d", reply.status);
    CHECK(dx_raw_ended(&c, 60000), "worker: %s", c.fault);
    dx_fake_gate(h.fake, true);
    dx_raw_close(&c);

    /* A client that does not read. */
    open_or_die(&c, &h);
    take_little(&c);
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    say_and_begin(&c, h.server, GET("/v1/domain/big.example"));
    CHECK(EVENTUALLY(dx_server_counts_of(h.server).open == 0), "a client that reads nothing stays");
    check_records(h.server);
    took = ms_since(&from);
    CHECK(took >= 650, "it was closed after %ld ms", took);
    dx_raw_close(&c);
    CHECK(dx_server_counts_of(h.server).timeouts >= 4, "%llu timeouts counted",
          (unsigned long long)dx_server_counts_of(h.server).timeouts);
    finish(&h, "deadlines");
}

static int status_of(struct dx_raw *c, const char *text)
{
    struct dx_raw_reply reply;

    (void)dx_raw_say(c, text);
    return dx_raw_reply(c, false, &reply, 60000) ? reply.status : 0;
}

static void check_overload(void)
{
    struct dx_server_options o = dx_fake_server_options();
    struct dx_raw_reply reply;
    struct dx_raw c[6];
    struct dx_fake_server h;

    o.workers = 1;
    o.queue_max = 2;
    o.reply_memory = 1 << 20;
    dx_fake_server_start(&h, &o);
    dx_fake_gate(h.fake, false);
    for (int i = 0; i < 6; i++) {
        open_or_die(&c[i], &h);
        say_and_begin(&c[i], h.server, GET("/v1/domain/gate.example/datasets/1/urls"));
        if (i == 0)
            CHECK(EVENTUALLY(dx_fake_listings(h.fake) == 1), "not begun");
    }
    for (int i = 3; i < 6; i++) {
        CHECK(dx_raw_reply(&c[i], false, &reply, 60000) && reply.status == 503 &&
                  dx_raw_body_has(&reply, "problem:overloaded"),
              "request %d: %d", i, reply.status);
        (void)dx_raw_say(&c[i], GET("/v1/domain/a"));
        CHECK(dx_raw_reply(&c[i], false, &reply, 60000) && reply.status == 200,
              "a lookup beside it: %d", reply.status);
    }
    dx_fake_gate(h.fake, true);
    for (int i = 0; i < 3; i++)
        CHECK(dx_raw_reply(&c[i], false, &reply, 60000) && reply.status == 200, "request %d: %d", i,
              reply.status);

    /* One big reply that is not taken fills the memory for replies: no other big one, but small
     * ones. */
    take_little(&c[0]);
    (void)dx_raw_say(&c[0], GET("/v1/domain/big.example"));
    /* Not before it is there: else the other one may fill the memory, and this one is refused. */
    CHECK(poll(&(struct pollfd){ c[0].fd, POLLIN, 0 }, 1, 60000) == 1,
          "the big one does not begin");
    CHECK(EVENTUALLY(status_of(&c[1], GET("/v1/domain/big.example")) == 503), "beside a big one");
    CHECK(status_of(&c[2], GET("/v1/domain/a")) == 200, "a small one beside a big one");
    CHECK(dx_raw_reply(&c[0], false, &reply, 60000) && reply.status == 200, "the big one: %s",
          c[0].fault);
    (void)dx_raw_say(&c[1], GET("/v1/domain/a"));
    CHECK(dx_raw_reply(&c[1], false, &reply, 60000) && reply.status == 200, "after it: %d",
          reply.status);
    for (int i = 0; i < 6; i++)
        dx_raw_close(&c[i]);
    finish(&h, "overload");
}

static void check_stop(void)
{
    struct dx_server_options o = dx_fake_server_options();
    struct dx_raw idle, busy, begun;
    struct dx_raw_reply reply;
    struct timespec from;
    struct dx_fake_server h;
    struct dx_raw c;

    dx_fake_server_start(&h, &o);
    open_or_die(&idle, &h);
    open_or_die(&busy, &h);
    open_or_die(&begun, &h);
    (void)dx_raw_say(&idle, GET("/readyz"));
    CHECK(dx_raw_reply(&idle, false, &reply, 60000) && reply.status == 200, "%s", idle.fault);
    dx_server_drain(h.server);
    (void)dx_raw_say(&idle, GET("/readyz"));
    CHECK(dx_raw_reply(&idle, false, &reply, 60000) && reply.status == 503,
          "readyz while draining");
    (void)dx_raw_say(&idle, GET("/v1/domain/a"));
    CHECK(dx_raw_reply(&idle, false, &reply, 60000) && reply.status == 200,
          "draining still serves");
    (void)dx_raw_say(&busy, GET("/v1/domain/slow.example/datasets/1/urls") GET("/v1/domain/a"));
    CHECK(EVENTUALLY(dx_fake_listings(h.fake) == 1), "not begun");
    say_and_begin(&begun, h.server, "GET /v1/domain/a HT"); /* never finished */
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    CHECK(dx_server_stop(&h.server, 1500), "stop was not clean");
    CHECK(ms_since(&from) >= 1400, "stop took %ld ms", ms_since(&from));
    CHECK(dx_raw_reply(&busy, false, &reply, 60000) && reply.status == 200 && reply.close,
          "in flight at the stop: %s", busy.fault);
    CHECK(dx_raw_ended(&busy, 60000) && dx_raw_ended(&idle, 60000), "not closed");
    CHECK(!dx_raw_open(&c, h.port), "still listening");
    CHECK(dx_fake_free(&h.fake), "a pin is left");
    dx_raw_close(&idle);
    dx_raw_close(&busy);
    dx_raw_close(&begun);
}

/* A worker that hangs is left behind, and said so: the process is expected to end, so a child
 * does it. */
static void check_hanging_worker(void)
{
    struct dx_server_options o = dx_fake_server_options();
    struct dx_fake_server h;
    struct dx_raw c;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        failures = 0;
        dx_fake_server_start(&h, &o);
        dx_fake_gate(h.fake, false);
        open_or_die(&c, &h);
        (void)dx_raw_say(&c, GET("/v1/domain/gate.example/datasets/1/urls"));
        CHECK(EVENTUALLY(dx_fake_listings(h.fake) == 1), "not begun");
        CHECK(!dx_server_stop(&h.server, 100), "a hanging worker was not reported");
        (void)fflush(stdout);
        _exit(failures > 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "status %d", status);
}

static void check_listen(void)
{
    static const struct {
        const char *listen;
        const char *error; /* NULL: fine */
    } listens[] = {
        { "127.0.0.1:0", NULL },
        { "localhost:0", NULL },
        { "127.0.0.1", "not HOST:PORT" },
        { "127.0.0.1:", "not HOST:PORT" },
        { ":80", "not HOST:PORT" },
        { "127.0.0.1:x", "not HOST:PORT" },
        { "::1:80", "not HOST:PORT" },
        { "127.0.0.1:65536", "over 65535" },
        { "127.0.0.1:123456", "not HOST" },
        { "[127.0.0.1:80", "listen" },
        { "no.such.host.invalid:0", "listen" },
    };
    struct dx_server_options o = dx_fake_server_options();
    struct dx_fake_server h;

    for (size_t i = 0; i < sizeof listens / sizeof *listens; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_server *s;
        int rc;

        h.fake = dx_fake_new();
        h.answers = dx_fake_answers(h.fake);
        o.listen = listens[i].listen;
        rc = dx_server_start(&s, &o, &h.answers, &err);
        CHECK(listens[i].error == NULL ? rc == DX_OK
                                       : rc < 0 && strstr(err.text, listens[i].error) != NULL,
              "'%s': %d %s", listens[i].listen, rc, err.text);
        CHECK((s != NULL) == (rc == DX_OK) && dx_server_stop(&s, 100), "'%s'", listens[i].listen);
        CHECK(dx_fake_free(&h.fake), "'%s': a pin is left", listens[i].listen);
    }
    /* A port that is taken is refused, also when the other one is such a server. */
    o.listen = "127.0.0.1:0";
    dx_fake_server_start(&h, &o);
    {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_server *s;

        o.listen = dx_server_address(h.server);
        CHECK(dx_server_start(&s, &o, &h.answers, &err) < 0 && strstr(err.text, "in use") != NULL,
              "a second server on the port: %s", err.text);
        CHECK(dx_server_stop(&s, 0), "stop");
    }
    finish(&h, "listen");
}

_Noreturn static void serve(const char *port, const char *loops)
{
    struct dx_server_options o = dx_fake_server_options();
    struct dx_fake_server h;
    char listen[40];

    (void)snprintf(listen, sizeof listen, "127.0.0.1:%s", port);
    o.listen = listen;
    o.loops = loops == NULL ? 1 : (unsigned)atoi(loops);
    dx_fake_server_start(&h, &o);
    printf("serving on %s\n", dx_server_address(h.server));
    (void)fflush(stdout);
    for (;;)
        (void)pause();
}

/* What may take long must not run on a loop: of a ranking even a row, since all suppressions may
 * change it. */
static void check_may_block(void)
{
    static const struct {
        enum dx_route_id route;
        bool blocks;
        bool scoped_blocks; /* the same where not all may be seen */
        bool scoped_brief;
    } asks[] = {
        { DX_ROUTE_DOMAIN, false, true, true },    { DX_ROUTE_TOP_DOMAINS, true, true, false },
        { DX_ROUTE_OVERLAP, true, true, false },   { DX_ROUTE_HOSTS, true, true, false },
        { DX_ROUTE_PATHS, true, true, false },     { DX_ROUTE_URL, true, true, true },
        { DX_ROUTE_URLID, true, true, false },     { DX_ROUTE_DATASETS, false, false, false },
        { DX_ROUTE_DATASET, false, false, false }, { DX_ROUTE_TAGS, true, true, false },
        { DX_ROUTE_TAG, true, true, false },
    };
    static const struct dx_answers answers = { .urls_brief = true };
    const struct dx_scope *held;
    struct dx_scope *scope;
    struct dx_error err = DX_ERROR_INIT;

    CHECK(dx_scope_more(&scope, NULL, NULL, 0, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct dx_ask ask = { .route = asks[i].route, .page = { 0, 1 } };

        CHECK(dx_ask_may_block(&ask) == asks[i].blocks, "route %d", (int)asks[i].route);
        ask.scope = scope;
        CHECK(dx_ask_may_block(&ask) == asks[i].scoped_blocks &&
                  dx_ask_may_be_brief(&answers, &ask) == asks[i].scoped_brief,
              "route %d under a scope", (int)asks[i].route);
    }
    held = scope;
    dx_scope_drop(&held);
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "--serve") == 0)
        serve(argv[2], argc > 3 ? argv[3] : NULL);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    check_may_block();
    check_usual();
    check_deadlines();
    check_overload();
    check_stop();
    check_hanging_worker();
    check_listen();
    printf("%zu rows, %d failures\n", sizeof rows / sizeof *rows, failures);
    return failures > 0;
}
