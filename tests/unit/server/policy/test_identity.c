/* SPDX-License-Identifier: Apache-2.0
 * The caller: whole request heads of clients and proxies, each with the expected principal;
 * networks.
 */
#include "server/policy/identity.h"

#include "base/crypto/sha256.h"
#include "format/root/access_token.h"
#include "server/http/reply.h"
#include "tests/support/damage.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <time.h>

static int failures;

#define NOW_S INT64_C(1795257000)

static struct dx_span str(const char *s)
{
    return dx_span_str(s);
}

/* ---- networks ---- */

static void test_networks(void)
{
    static const struct {
        const char *network, *in, *out; /* in NULL: not an address */
    } rows[] = {
        { "127.0.0.1", "127.0.0.1", "127.0.0.2" },
        { "10.0.0.0/8", "10.255.1.2", "11.0.0.0" },
        { "10.128.0.0/9", "10.128.0.0", "10.127.255.255" },
        { "192.0.2.6/31", "192.0.2.7", "192.0.2.8" },
        { "0.0.0.0/0", "203.0.113.9", "2001:db8::1" },
        { "::1", "::1", "::2" },
        { "2001:db8::/32", "2001:db8:ffff::1", "2001:db9::" },
        { "2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::" },
        { "::/0", "127.0.0.1", NULL },
        { "::ffff:10.0.0.0/104", "10.1.2.3", "11.1.2.3" },
        { "", NULL, NULL },
        { "/8", NULL, NULL },
        { "10.0.0.0/", NULL, NULL },
        { "10.0.0.0/33", NULL, NULL },
        { "10.0.0.0/08", NULL, NULL },
        { "10.0.0.0/-1", NULL, NULL },
        { "10.0.0.0/8/8", NULL, NULL },
        { "10.0.0.1/8", NULL, NULL },
        { "10.0.0", NULL, NULL },
        { "010.0.0.1", NULL, NULL },
        { "10.0.0.1 ", NULL, NULL },
        { "::1/129", NULL, NULL },
        { "[::1]", NULL, NULL },
        { "localhost", NULL, NULL },
        { "2001:db8::1/32", NULL, NULL },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL, NULL },
    };
    const struct sockaddr_un local = { .sun_family = AF_UNIX };
    struct dx_network n;
    struct dx_network one;
    struct dx_address a;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool ok = dx_network_parse(str(rows[i].network), &n);

        EXPECT(ok == (rows[i].in != NULL), "'%s': %d", rows[i].network, ok);
        if (ok && dx_network_parse(str(rows[i].in), &one))
            EXPECT(dx_network_has(&n, &one.address), "%s is not in %s", rows[i].in,
                   rows[i].network);
        if (ok && rows[i].out != NULL && dx_network_parse(str(rows[i].out), &one))
            EXPECT(!dx_network_has(&n, &one.address), "%s is in %s", rows[i].out, rows[i].network);
    }
    dx_address_of((const struct sockaddr *)(const void *)&local, &a);
    EXPECT(dx_network_parse(str("unix"), &n) && dx_network_has(&n, &a), "a local socket");
    EXPECT(dx_network_parse(str("0.0.0.0/0"), &n) && !dx_network_has(&n, &a), "IPv4 is not local");
}

static struct dx_address address_of(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct dx_address a;

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        dx_address_of((const struct sockaddr *)(const void *)&v4, &a);
    else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
        dx_address_of((const struct sockaddr *)(const void *)&v6, &a);
    else
        abort();
    return a;
}

/* ---- requests ---- */

static char tokens[4][DX_ACCESS_TOKEN_TEXT]; /* of a, of b, of b and over, of no principal */

static const struct dx_access_table *make_table(const char *everybody)
{
    struct dx_access_json j = DX_ACCESS_JSON_INIT;
    struct dx_buf text = DX_BUF_INIT(1u << 20);
    struct dx_access_principal *p = NULL;
    const struct dx_access_table *t = NULL;
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < 4; i++) {
        uint8_t random[DX_ACCESS_TOKEN_RANDOM];

        memset(random, 17 * ((int)i + 1), sizeof random);
        dx_access_token_write(random, tokens[i]);
        if (i != 2 && i < 3)
            (void)dx_access_json_add(&j, str(i == 0 ? "a" : "b"), &p, &err);
        if (i == 3)
            continue;
        (void)dx_sha256(str(tokens[i]), p->token[p->token_count].sha256);
        p->token[p->token_count].created_s = 1;
        p->token[p->token_count++].expires_s = i == 2 ? NOW_S : i == 1 ? NOW_S + 1 : 0;
    }
    (void)dx_access_json_grant(&j, 1, str("c"), &err);
    if (everybody != NULL)
        (void)dx_access_json_grant(&j, 2, str(everybody), &err);
    (void)dx_access_json_note(&j, NOW_S * 1000000, "test", "made", &err);
    (void)dx_access_json_write(&j, &text, &err);
    EXPECT(dx_access_table_parse(&t, dx_span_of(text.data, text.size), "t", NULL, &err) == DX_OK,
           "%s", err.text);
    dx_access_json_release(&j);
    dx_buf_release(&text);
    return t;
}

#define PROXY "10.0.0.1"
#define OTHER "192.0.2.1"
#define IS_400 "400"
#define IS_401 "401"

/* $0 ... $3 in fields stand for tokens. */
static const struct {
    const char *peer, *fields;
    const char *open;    /* the principal where everybody may see something */
    const char *closed;  /* and where not */
    const char *address; /* NULL: the peer's */
} rows[] = {
    { OTHER, "", "anonymous", IS_401, NULL },
    { OTHER, "Authorization: Bearer $0\r\n", "a", "a", NULL },
    { OTHER, "authorization: bearer   $0 \r\n", "a", "a", NULL },
    { OTHER, "Authorization: BEARER $1\r\n", "b", "b", NULL },
    { OTHER, "Authorization: Bearer $2\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Bearer $3\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Bearer $0x\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Bearer\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Bearer \r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Bearer$0\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: $0\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Basic YTpi\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Bearer\t$0\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization: Bearer $0, Bearer $1\r\n", IS_401, IS_401, NULL },
    { OTHER, "Authorization:\r\n", "anonymous", IS_401, NULL },
    { OTHER, "Authorization: Bearer $0\r\nAuthorization: Bearer $0\r\n", IS_400, IS_400, NULL },
    { OTHER, "Authorization:\r\nAuthorization: Bearer $0\r\n", IS_400, IS_400, NULL },
    /* names that only a proxy may set */
    { OTHER, "X-User: a\r\n", "anonymous", IS_401, NULL },
    { OTHER, "X-User: a\r\nX-User: b\r\n", "anonymous", IS_401, NULL },
    { OTHER, "X-User: b\r\nAuthorization: Bearer $0\r\n", "a", "a", NULL },
    { PROXY, "X-User: a\r\n", "a", "a", NULL },
    { PROXY, "x-uSER: c\r\n", "c", "c", NULL },
    { PROXY, "X-User: nobody\r\n", "anonymous", "anonymous", NULL },
    { PROXY, "X-User: anonymous\r\n", "anonymous", "anonymous", NULL },
    { PROXY, "X-User: *\r\n", "anonymous", "anonymous", NULL },
    { PROXY, "X-User: \xff\r\n", "anonymous", "anonymous", NULL },
    { PROXY, "X-User:\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-User: a\r\nX-User: a\r\n", IS_400, IS_400, NULL },
    { PROXY, "X-User: a\r\nAuthorization: Bearer $1\r\n", "b", "b", NULL },
    { PROXY, "X-User: a\r\nAuthorization: Bearer $3\r\n", IS_401, IS_401, NULL },
    { PROXY, "X-User: a\r\nAuthorization: Basic YTpi\r\n", "a", "a", NULL },
    { PROXY, "Authorization: Basic YTpi\r\n", IS_401, IS_401, NULL },
    { PROXY, "Authorization: Bearer $1\r\n", "b", "b", NULL },
    { PROXY, "", "anonymous", IS_401, NULL },
    /* addresses */
    { OTHER, "X-Forwarded-For: 203.0.113.9\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: 203.0.113.9\r\n", "anonymous", IS_401, "203.0.113.9" },
    { PROXY, "X-Forwarded-For: 1.2.3.4, 203.0.113.9\r\n", "anonymous", IS_401, "203.0.113.9" },
    { PROXY, "X-Forwarded-For: 1.2.3.4,203.0.113.9 , 10.7.0.1\r\n", "anonymous", IS_401,
      "203.0.113.9" },
    { PROXY, "X-Forwarded-For: 10.1.1.1,10.2.2.2\r\n", "anonymous", IS_401, "10.1.1.1" },
    { PROXY, "X-Forwarded-For: 9.9.9.9, junk, 10.2.2.2\r\n", "anonymous", IS_401, "10.2.2.2" },
    { PROXY, "X-Forwarded-For: 9.9.9.9, junk\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: 9.9.9.9,,\r\n", "anonymous", IS_401, "9.9.9.9" },
    { PROXY, "X-Forwarded-For:\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: 9.9.9.9:1234\r\n", "anonymous", IS_401, "9.9.9.9" },
    { PROXY, "X-Forwarded-For: [2001:db8::7]:1234\r\n", "anonymous", IS_401, "2001:db8::7" },
    { PROXY, "X-Forwarded-For: 2001:db8::7\r\n", "anonymous", IS_401, "2001:db8::7" },
    { PROXY, "X-Forwarded-For: [2001:db8::7\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: []\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: [junk]:80\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: junk:80\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: :80\r\n", "anonymous", IS_401, NULL },
    { PROXY, "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 8.8.8.8\r\n", "anonymous", IS_401,
      "8.8.8.8" },
    { PROXY, "X-Forwarded-For: 9.9.9.9\r\nA: b\r\nX-Forwarded-For: 10.8.8.8\r\n", "anonymous",
      IS_401, "9.9.9.9" },
    { PROXY,
      "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 10.0.0.2\r\nX-Forwarded-For: 10.0.0.3\r\n"
      "X-Forwarded-For: 10.0.0.4\r\nX-Forwarded-For: 10.0.0.5\r\n",
      "anonymous", IS_401, "10.0.0.2" },
};

static size_t fill(char *to, size_t room, const char *method, const char *fields)
{
    size_t n = (size_t)snprintf(to, room, "%s HTTP/1.1\r\nHost: h\r\n", method);

    for (; *fields != '\0'; fields++)
        if (*fields == '$')
            n += (size_t)snprintf(to + n, room - n, "%s", tokens[*++fields - '0']);
        else
            to[n++] = *fields;
    return n + (size_t)snprintf(to + n, room - n, "\r\n");
}

static void check_row(size_t i, const struct dx_identity_rules *rules,
                      const struct dx_access_table *t, const char *want, const char *method)
{
    struct dx_address peer = address_of(rows[i].peer);
    struct dx_address address = address_of(rows[i].address == NULL ? rows[i].peer
                                                                   : rows[i].address);
    struct dx_problem problem = { .slug = NULL };
    struct dx_buf body = DX_BUF_INIT(4096);
    struct dx_request_head head;
    struct dx_who who;
    const char *got;
    char text[2048];
    size_t n = fill(text, sizeof text, method, rows[i].fields);
    int rc;

    dx_request_head_begin(&head);
    head.names = &rules->names;
    for (size_t k = 0; k <= n; k++) /* however it was cut */
        (void)dx_request_head_parse(&head, dx_span_of(text, k));
    EXPECT(dx_request_head_parse(&head, dx_span_of(text, n)) == DX_HEAD_DONE, "row %zu: %s", i,
           head.reject_reason);
    rc = dx_identify(rules, t, &head, dx_span_of(text, n), &peer, NOW_S, &who, &problem);
    if (rc == 1)
        got = who.principal == NULL ? "" : who.principal->name;
    else
        got = dx_reply_problem(&problem, 0, true, &body) == 401 ? IS_401 : IS_400;
    EXPECT(strcmp(got, want) == 0, "row %zu '%s' from %s: %s, not %s", i, rows[i].fields,
           rows[i].peer, got, want);
    EXPECT(memcmp(who.address.bytes, address.bytes, sizeof address.bytes) == 0,
           "row %zu '%s': another address", i, rows[i].fields);
    dx_buf_release(&body);
}

static void test_rows(void)
{
    struct dx_identity_rules rules = { .names = { "x-user", "x-forwarded-for" }, .proxy_count = 1 };
    const struct dx_access_table *open = make_table("*");
    const struct dx_access_table *closed = make_table(NULL);

    (void)dx_network_parse(str("10.0.0.0/8"), &rules.proxies[0]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(i, &rules, open, rows[i].open, "GET /");
        check_row(i, &rules, closed, rows[i].closed, "GET /");
        check_row(i, &rules, closed, rows[i].closed,
                  "POST /v1/domains HTTP/1.1\r\nContent-Length: 0\r\nX: ");
        check_row(i, &rules, NULL, "", "HEAD /");
    }
    dx_access_table_drop(&open);
    dx_access_table_drop(&closed);
}

/* Requests that last, when the table is another one by then. */
static void test_holds(void)
{
    enum { NONE, OPEN, CLOSED };
    static const struct {
        int began;
        const char *fields;
        int then;
        int64_t later_s;
        int want;
    } holds[] = {
        { OPEN, "", OPEN, 0, 1 },
        { OPEN, "", NONE, 0, 1 },
        { OPEN, "", CLOSED, 0, 0 },
        { NONE, "", NONE, 0, 1 },
        { NONE, "", OPEN, 0, 0 },
        { CLOSED, "Authorization: Bearer $0\r\n", OPEN, 99,
          1 }, /* the principal sees more by now */
        { OPEN, "Authorization: Bearer $0\r\n", CLOSED, 0, 0 },
        { CLOSED, "Authorization: Bearer $1\r\n", CLOSED, 0, 1 },
        { CLOSED, "Authorization: Bearer $1\r\n", CLOSED, 1, 0 }, /* the token is over */
        { CLOSED, "X-User: c\r\n", CLOSED, 99, 1 },
        { CLOSED, "X-User: b\r\n", CLOSED, 99, 1 }, /* named, not by a token */
        { OPEN, "X-User: c\r\n", CLOSED, 0, 0 },
        { OPEN, "X-User: stranger\r\n", OPEN, 0, 1 },
        { OPEN, "X-User: stranger\r\n", CLOSED, 0, 0 },
    };
    struct dx_identity_rules rules = { .names = { "x-user", NULL }, .proxy_count = 1 };
    const struct dx_access_table *tables[] = { NULL, make_table("*"), make_table(NULL) };
    struct dx_address peer = address_of(PROXY);

    (void)dx_network_parse(str("10.0.0.0/8"), &rules.proxies[0]);
    for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
        struct dx_problem problem;
        struct dx_request_head head;
        struct dx_who who;
        char text[2048];
        size_t n = fill(text, sizeof text, "GET /", holds[i].fields);
        int rc;

        dx_request_head_begin(&head);
        head.names = &rules.names;
        EXPECT(dx_request_head_parse(&head, dx_span_of(text, n)) == DX_HEAD_DONE &&
                   dx_identify(&rules, tables[holds[i].began], &head, dx_span_of(text, n), &peer,
                               NOW_S, &who, &problem) == 1,
               "held row %zu", i);
        rc = dx_identity_holds(&who, tables[holds[i].then], NOW_S + holds[i].later_s, &problem);
        EXPECT(rc == holds[i].want, "held row %zu: %d", i, rc);
    }
    dx_access_table_drop(&tables[OPEN]);
    dx_access_table_drop(&tables[CLOSED]);
}

/* Every refusal is the same bytes, whatever was wrong. */
static void test_uniform(void)
{
    static const char *const fields[] = { "", "Authorization: Basic YTpi\r\n",
                                          "Authorization: Bearer $2\r\n",
                                          "Authorization: Bearer $3\r\n",
                                          "Authorization: Bearer dxk_\r\n" };
    const struct dx_identity_rules rules = { .proxy_count = 0 };
    const struct dx_access_table *t = make_table(NULL);
    struct dx_address peer = address_of(OTHER);
    struct dx_buf first = DX_BUF_INIT(4096);
    struct dx_buf body = DX_BUF_INIT(4096);

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct dx_problem problem;
        struct dx_request_head head;
        struct dx_who who;
        char text[2048];
        size_t n = fill(text, sizeof text, "GET /", fields[i]);

        dx_request_head_begin(&head);
        EXPECT(dx_request_head_parse(&head, dx_span_of(text, n)) == DX_HEAD_DONE, "row %zu", i);
        EXPECT(dx_identify(&rules, t, &head, dx_span_of(text, n), &peer, NOW_S, &who, &problem) ==
                   0,
               "row %zu", i);
        EXPECT(dx_reply_problem(&problem, 0, true, i == 0 ? &first : &body) == 401, "row %zu", i);
        EXPECT(i == 0 || dx_span_equal(dx_span_of(first.data, first.size),
                                       dx_span_of(body.data, body.size)),
               "row %zu: other bytes", i);
    }
    dx_buf_release(&first);
    dx_buf_release(&body);
    dx_access_table_drop(&t);
}

/* DX_IDENTITY_TIMES: how long it takes to know a token, in rounds. */
static void measure(void)
{
    const char *rounds = getenv("DX_IDENTITY_TIMES");
    const struct dx_identity_rules rules = { .proxy_count = 0 };
    const struct dx_access_table *t = make_table(NULL);
    struct dx_address peer = address_of(OTHER);
    struct dx_request_head head;
    struct timespec begin;
    struct timespec end;
    char text[2048];
    size_t n = fill(text, sizeof text, "GET /", "Authorization: Bearer $0\r\n");
    long count = rounds == NULL ? 0 : atol(rounds);

    dx_request_head_begin(&head);
    (void)dx_request_head_parse(&head, dx_span_of(text, n));
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < count; i++) {
        struct dx_problem problem;
        struct dx_who who;

        EXPECT(dx_identify(&rules, t, &head, dx_span_of(text, n), &peer, NOW_S, &who, &problem) ==
                   1,
               "round %ld", i);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    if (count > 0)
        printf("%.0f ns\n",
               ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
                   (double)count);
    dx_access_table_drop(&t);
}

int main(void)
{
    test_networks();
    test_rows();
    test_holds();
    test_uniform();
    measure();
    return failures > 0;
}
