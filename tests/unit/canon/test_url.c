/* SPDX-License-Identifier: Apache-2.0
 * test_url.c - the canonical form: its edges, the examples of docs/CANON.md, its properties.
 *
 * Each input ends at a page that cannot be read.
 */
#include "canon/ids.h"
#include "canon/url.h"
#include "tests/support/canon_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char list[] = "com\norg\nde\nuk\nco.uk\nio\ngithub.io\n";

static const struct {
    const char *input, *url; /* "!reason" for a rejection */
} rows[] = {
    { "", "!empty" },
    { " \t\r\n\001", "!empty" },
    { "  \001http://a.com \n", "http://a.com/" },
    { "ht\ntp:\t//a.\rcom/\tb", "http://a.com/b" },
    { "http://a.com/0123456789\t01234567\n\001\002", "http://a.com/012345678901234567" },
    { "http://a.com/01234567890\00101234567", "http://a.com/01234567890%0101234567" },
    { "HtTpS://a.com", "https://a.com/" },
    { "http", "!public_suffix" }, /* a name, not a scheme */
    { "http:", "!host_missing" },
    { "http://", "!host_missing" },
    { "://a.com", "!host_missing" },
    { "?a", "!host_missing" },
    { "#a", "!host_missing" },
    { "/", "!host_missing" },
    { "\\a.com", "!host_missing" },
    { "\\\\a.com", "http://a.com/" },
    { "///a.com", "http://a.com/" },
    { "http:////\\a.com", "http://a.com/" },
    { "httpx://a.com", "!scheme" },
    { "ws://a.com", "!scheme" },
    { "file:///etc/x.com", "!scheme" },
    { "javascript:void(0)", "!scheme" },
    { "git@github.com:a/b", "!port_invalid" },
    { "a.com:", "!scheme" },
    { "a.com:80:80", "!scheme" },
    { "a.com:8x", "!scheme" },
    { "a.com:81\\b", "http://a.com:81/b" },
    { "a.com:81?b", "http://a.com:81/?b" },
    { "a.com:81#b", "http://a.com:81/" },
    { "a.com:99999", "!port_invalid" },
    { "a_b.com:81", "http://a_b.com:81/" },
    { "1a.com:81", "http://1a.com:81/" },
    { "u@a.com/b@c", "http://a.com/b@c" },
    { "http://u:p@q@a.com", "http://a.com/" },
    { "http://a.com\\@b.com", "http://a.com/@b.com" },
    { "http://a.com?@b.com", "http://a.com/?@b.com" },
    { "http://:80/", "!host_missing" },
    { "http://:x/", "!host_missing" },
    { "http://a.com:/", "http://a.com/" },
    { "http://a.com:0/", "http://a.com:0/" },
    { "http://a.com:65535/", "http://a.com:65535/" },
    { "http://a.com:443/", "http://a.com:443/" },
    { "https://a.com:80/", "https://a.com:80/" },
    { "http://a.com:000000000000000000000081/", "http://a.com:81/" },
    { "http://a.com:99999999999999999999/", "!port_invalid" },
    { "http://a.com:-1/", "!port_invalid" },
    { "http://[::1]x/", "!host_invalid" },
    { "http://[::1/", "!host_invalid" },
    { "http://[]/", "!host_invalid" },
    { "http://[::1%25eth0]/", "!host_invalid" },
    { "http://[1:2:3:4:5:6:7::8]/", "!host_invalid" }, /* "::" is one piece at least */
    { "http://[::1:2:3:4:5:6:7:8]/", "!host_invalid" },
    { "http://[1::3:4:5:6:7:8]/", "http://[1:0:3:4:5:6:7:8]/" },
    { "http://[1::4:5:6:1.2.3.4]/", "http://[1::4:5:6:102:304]/" },
    { "http://[1:2:3:4:5::1.2.3.4]/", "http://[1:2:3:4:5:0:102:304]/" },
    { "http://[1:2:3:4:5:6::1.2.3.4]/", "!host_invalid" },
    { "http://[1:2:3:4:5:6:7::]/", "http://[1:2:3:4:5:6:7:0]/" },
    { "http://[::2:3:4:5:6:7:8]/", "http://[0:2:3:4:5:6:7:8]/" },
    { "http://[1:2:3:4:5:6:7:8:9]/", "!host_invalid" },
    { "http://[1::2::3]/", "!host_invalid" },
    { "http://[:::]/", "!host_invalid" },
    { "http://[1:]/", "!host_invalid" },
    { "http://[00001::]/", "!host_invalid" },
    { "http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/" },
    { "http://[1:0:0:2:3:0:0:4]/", "http://[1::2:3:0:0:4]/" },
    { "http://[::]/", "http://[::]/" },
    { "http://[ABCD::EF]/", "http://[abcd::ef]/" },
    { "http://[::1.2.3.4]/", "http://[::102:304]/" },
    { "http://[::1.2.3]/", "!host_invalid" },
    { "http://[::1.2.3.04]/", "!host_invalid" },
    { "http://[::1.2.3.4.5]/", "!host_invalid" },
    { "http://[1:2:3:4:5:6:7:1.2.3.4]/", "!host_invalid" },
    { "http://4294967295/", "http://255.255.255.255/" },
    { "http://4294967296/", "!host_invalid" },
    { "http://1.2/", "http://1.0.0.2/" },
    { "http://1.2.65535/", "http://1.2.255.255/" },
    { "http://1.2.65536/", "!host_invalid" },
    { "http://1.2.3.4./", "http://1.2.3.4/" },
    { "http://1.2.3.4.5/", "!host_invalid" },
    { "http://1..2/", "!host_invalid" },
    { "http://a.com.1/", "!host_invalid" },
    { "http://a.0x/", "!host_invalid" },
    { "http://0x/", "http://0.0.0.0/" },
    { "http://09/", "!host_invalid" },
    { "http://0xg.com/", "http://0xg.com/" },
    { "http://1.2.3.4../", "!public_suffix" }, /* a name that ends in an empty label */
    { "http://a.com../", "!public_suffix" },
    { "http://.a.com/", "!public_suffix" },
    { "http://a..com/", "http://a..com/" },
    { "http://%31.%32.%33.%34/", "http://1.2.3.4/" },
    { "http://a%2ecom/", "http://a.com/" },
    { "http://a%00b.com/", "!host_invalid" },
    { "http://a%2fb.com/", "!host_invalid" },
    { "http://a%25.com/", "!host_invalid" },
    { "http://a%.com/", "!host_invalid" },
    { "http://a<b.com/", "!host_invalid" },
    { "http://a^b.com/", "!host_invalid" },
    { "http://a|b.com/", "!host_invalid" },
    { "http://\"a'b*c.com/", "http://\"a'b*c.com/" },
    { "http://\xff.com/", "!utf8_invalid" },
    { "http://\xc0\xaf.com/", "!utf8_invalid" },
    { "http://\xed\xa0\x80.com/", "!utf8_invalid" },
    { "http://\xf4\x90\x80\x80.com/", "!utf8_invalid" },
    { "http://\xc3.com/", "!utf8_invalid" },
    { "http://a\xc2\xad/", "!public_suffix" },
    { "http://\xc2\xad/", "!host_invalid" }, /* nothing is left of it */
    { "http://XN--MNCHEN-3YA.de/", "http://xn--mnchen-3ya.de/" },
    { "http://xn--a.de/", "http://xn--a.de/" },
    /* ToASCII: wants from tr46 6.0.0 */
    { "http://a\u0363\u0301.com", "http://xn--a-xbb70a.com/" }, /* U+0363 blocks the acute */
    { "http://a\u0302\u0323.com", "http://xn--zkg.com/" },      /* marks in another order */
    { "http://a\u0344.com", "http://xn--4ca69h.com/" },         /* a mark that is two */
    { "http://\u1100\u1161\u11a8.com", "http://xn--p39a.com/" },
    { "http://\uac00\u11a8.com", "http://xn--p39a.com/" },
    { "http://=\u0338.com", "http://xn--1ch.com/" },
    { "http://\u0301a.com", "!host_invalid" }, /* begins with a mark */
    { "http://\u0628\u200c\u0628.com", "http://xn--ngba799q.com/" },
    { "http://\u0628\u200d\u0628.com", "!host_invalid" }, /* CheckJoiners */
    { "http://\u0915\u094d\u200d\u0937.com", "http://xn--11b2ezcw70k.com/" },
    { "http://\u064aa.com", "!host_invalid" }, /* CheckBidi */
    { "http://1.\u05d0.com", "!host_invalid" },
    { "http://\u05d01.com", "http://xn--1-zhc.com/" },
    { "http://xn--abc-.\u00fc.com", "!host_invalid" }, /* Punycode of ASCII alone */
    { "http://xn---4fsn.\u00fc.com", "!host_invalid" },
    { "http://xn--xn---epa.\u00fc.com", "!host_invalid" }, /* xn-- within */
    { "http://xn--e-ufa.\u00fc.com", "http://xn--e-ufa.xn--tda.com/" },
    { "http://256.1/", "!host_invalid" },
    { "http://a.com/\xff\xc3", "http://a.com/%FF%C3" },
    { "http://a.com/..", "http://a.com/" },
    { "http://a.com/../..", "http://a.com/" },
    { "http://a.com/a/..", "http://a.com/" },
    { "http://a.com/a/b/..", "http://a.com/a/" },
    { "http://a.com/a/b/../", "http://a.com/a/" },
    { "http://a.com/a/.", "http://a.com/a/" },
    { "http://a.com/./a", "http://a.com/a" },
    { "http://a.com/...", "http://a.com/..." },
    { "http://a.com/.a/..b/.%2e/c", "http://a.com/.a/c" },
    { "http://a.com//", "http://a.com/" },
    { "http://a.com////a", "http://a.com/a" },
    { "http://a.com//..//a", "http://a.com/a" },
    { "http://a.com/a///", "http://a.com/a/" },
    { "http://a.com/a/.//..//b", "http://a.com/a/b" },
    { "http://a.com/a;b=c,d!e$f(g)*+@:", "http://a.com/a;b=c,d!e$f(g)*+@:" },
    { "http://a.com/ \"<>`{}^|[]", "http://a.com/%20%22%3C%3E%60%7B%7D%5E|[]" },
    { "http://a.com/? \"<>'`{}^|[]", "http://a.com/?%20%22%3C%3E%27`{}^|[]" },
    { "http://a.com/%", "http://a.com/%" },
    { "http://a.com/%4", "http://a.com/%4" },
    { "http://a.com/%2%65", "http://a.com/%2%65" },
    { "http://a.com/%%32e", "http://a.com/%%32e" },
    { "http://a.com/%%32%65", "http://a.com/%%32e" },
    { "http://a.com/%%2e", "http://a.com/%." },
    { "http://a.com/%g%41", "http://a.com/%gA" },
    { "http://a.com/%252e", "http://a.com/%252e" },
    { "http://a.com/%2e", "http://a.com/" },
    { "http://a.com/a%2Fb%5cc", "http://a.com/a%2Fb%5Cc" },
    { "http://a.com/%c3%a4", "http://a.com/%C3%A4" },
    { "http://a.com/?%41=%2e&%3d", "http://a.com/?%3D&A=." },
    { "http://a.com/?#x", "http://a.com/" },
    { "http://a.com/??", "http://a.com/??" },
    { "http://a.com/?&", "http://a.com/?&" },
    { "http://a.com/?=", "http://a.com/?=" },
    { "http://a.com/?b=1&a=1&b=0&a=0", "http://a.com/?a=1&a=0&b=1&b=0" },
    { "http://a.com/?ab=1&a=2", "http://a.com/?a=2&ab=1" },
    { "http://a.com/?a-=1&a=2", "http://a.com/?a=2&a-=1" }, /* keys, not whole pairs */
    { "http://a.com/?b;a", "http://a.com/?b;a" },
    { "http://a.com/?/../a//b", "http://a.com/?/../a//b" },
};

static const struct {
    const char *input, *domain;
} names[] = {
    { "WWW.Example.COM.", "example.com" },
    { "m\xc3\xbcnchen.de", "xn--mnchen-3ya.de" },
    { "https://user@foo.co.uk:8443/x", "foo.co.uk" },
    { "foo.co.uk:1", "foo.co.uk" },
    { "[::1]:80", "[::1]" },
    { "::1", "[::1]" },
    { " 2001:DB8::0:1 ", "[2001:db8::1]" },
    { "::1.2.3.4", "[::102:304]" },
    { "::1/x", "!host_missing" },
    { "1.2.3.4", "1.2.3.4" },
    { "1.2.3.4:99", "1.2.3.4" },
    { "co.uk", "!public_suffix" },
    { "com.", "!public_suffix" },
    { "", "!empty" },
    { ".", "!public_suffix" },
    { "a b.com", "!host_invalid" },
};

/* s again, so that reading behind it faults. */
static struct dx_span guarded(struct dx_span s)
{
    static uint8_t *end;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = 16 * page;

    if (end == NULL) {
        uint8_t *base = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0);

        if (base == MAP_FAILED || mprotect(base + room, page, PROT_NONE) != 0)
            exit(1);
        end = base + room;
    }
    if (s.size > 0)
        memcpy(end - s.size, s.data, s.size);
    return (struct dx_span){ end - s.size, s.size };
}

static struct dx_span shown(int rc, struct dx_span value, enum dx_reject why)
{
    static char text[64];

    if (rc == 1)
        return value;
    (void)snprintf(text, sizeof text, "!%s", dx_reject_name(why));
    return dx_span_str(text);
}

static bool same(const char *what, struct dx_span input, struct dx_span got, struct dx_span want)
{
    if (dx_span_equal(got, want))
        return true;
    printf("FAILED %s of '%.*s': '%.*s', not '%.*s'\n", what, (int)input.size,
           (const char *)input.data, (int)got.size, (const char *)got.data, (int)want.size,
           (const char *)want.data);
    return false;
}

static bool url_is(struct dx_canon *canon, struct dx_span input, struct dx_span want)
{
    struct dx_url url;
    enum dx_reject why;
    int rc = dx_canon_url(canon, guarded(input), &url, &why);

    return same("URL", input, shown(rc, url.url, why), want);
}

static bool domain_is(struct dx_canon *canon, struct dx_span input, struct dx_span want)
{
    struct dx_span domain;
    enum dx_reject why;
    int rc = dx_canon_domain(canon, guarded(input), &domain, &why);

    return same("domain", input, shown(rc, domain, why), want);
}

static size_t check_rows(struct dx_canon *canon)
{
    size_t failed = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        failed += !url_is(canon, dx_span_str(rows[i].input), dx_span_str(rows[i].url));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        failed += !domain_is(canon, dx_span_str(names[i].input), dx_span_str(names[i].domain));
    return failed;
}

/* The text between the backticks of the next cell. */
static bool take_cell(struct dx_span *line, struct dx_span *cell)
{
    (void)dx_test_field(line, '`');
    *cell = dx_test_field(line, '`');
    return cell->size > 0;
}

/* The table of docs/CANON.md. */
static size_t check_document(struct dx_canon *canon)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_span rest;
    struct dx_span line;
    bool inside = false;
    size_t failed = 0;
    size_t count = 0;

    dx_test_read("docs/CANON.md", &text);
    rest = (struct dx_span){ text.data, text.size };
    while (dx_test_line(&rest, &line)) {
        struct dx_span input;
        struct dx_span url;
        struct dx_span domain;

        inside = (inside || dx_span_equal(line, dx_span_str("<!-- examples -->"))) &&
                 !dx_span_equal(line, dx_span_str("<!-- end of examples -->"));
        if (!inside || !take_cell(&line, &input) || !take_cell(&line, &url) ||
            !take_cell(&line, &domain))
            continue;
        failed += !url_is(canon, input, url) + !domain_is(canon, input, domain);
        count++;
    }
    dx_buf_release(&text);
    if (count < 30) {
        printf("FAILED: %zu examples found in docs/CANON.md\n", count);
        failed++;
    }
    return failed;
}

static size_t check_idna_limit(struct dx_canon *canon)
{
    size_t failed = 0;

    for (size_t count = 507; count <= 509; count++) { /* with ".com" 512 is the last */
        struct dx_buf text = DX_BUF_INIT(1 << 12);
        struct dx_url url;
        enum dx_reject why;

        for (size_t i = 0; i < count; i++)
            dx_buf_str(&text, i % 50 == 49 ? "." : "\u00e4");
        dx_buf_str(&text, ".com");
        (void)dx_canon_url(canon, guarded((struct dx_span){ text.data, text.size }), &url, &why);
        if ((why == DX_REJECT_TOO_LONG) != (count > 508)) {
            printf("FAILED: %zu code points: %s\n", count + 4, dx_reject_name(why));
            failed++;
        }
        dx_buf_release(&text);
    }
    return failed;
}

/* Lengths at the limit, given and canonical. */
static size_t check_limits(struct dx_canon *canon)
{
    static const struct {
        size_t fill;
        char with;
        bool taken;
    } limits[] = {
        { DX_URL_MAX - 13, 'x', true }, /* "http://a.com/" has 13 */
        { DX_URL_MAX - 12, 'x', false },
        { (DX_URL_MAX - 13) / 3 + 1, ' ', true }, /* "%20" each, the last an x: 8192 bytes */
        { (DX_URL_MAX - 13) / 3 + 2, ' ', false },
        { DX_URL_MAX - 13, '/', true },
        { DX_URL_MAX - 13, '%', true },
        { DX_URL_MAX - 13, '\xff', false },
    };
    size_t failed = 0;

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct dx_buf text = DX_BUF_INIT(1 << 16);
        struct dx_url url;
        enum dx_reject why;
        int rc;

        dx_buf_str(&text, "http://a.com/");
        for (size_t k = 0; k < limits[i].fill; k++)
            dx_buf_u8(&text, (uint8_t)limits[i].with);
        if (limits[i].with == ' ')
            text.data[text.size - 1] = 'x'; /* else it would be stripped */
        rc = dx_canon_url(canon, guarded((struct dx_span){ text.data, text.size }), &url, &why);
        if ((rc == 1) != limits[i].taken || (rc == 0 && why != DX_REJECT_TOO_LONG)) {
            printf("FAILED limit row %zu: %d %s\n", i, rc, dx_reject_name(why));
            failed++;
        }
        dx_buf_release(&text);
    }
    return failed;
}

/* A query full of pairs, four keys in falling order: sorted, stable, nothing lost. */
static size_t check_many_pairs(struct dx_canon *canon)
{
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct dx_buf want = DX_BUF_INIT(1 << 16);
    struct dx_span query;
    struct dx_url url;
    enum dx_reject why;
    size_t failed = 0;

    dx_buf_str(&text, "http://a.com/?z");
    for (size_t i = 0; text.size < DX_URL_MAX - 8; i++)
        dx_buf_fmt(&text, "&%c=%zu", "dcba"[i % 4], i);
    query = (struct dx_span){ text.data + 13, text.size - 13 };
    dx_test_query_rules(query, &want);
    if (dx_canon_url(canon, guarded((struct dx_span){ text.data, text.size }), &url, &why) != 1 ||
        url.path_query.size != want.size + 1 ||
        memcmp(url.path_query.data + 1, want.data, want.size) != 0) {
        printf("FAILED: many pairs\n");
        failed++;
    }
    dx_buf_release(&text);
    dx_buf_release(&want);
    return failed;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A capital letter in the scheme means nothing; but a URL that is canonical already is seen to be, and one with
 * that letter is written like any other: both must say the same. */
static bool same_when_written(struct dx_canon *canon, const struct dx_buf *text)
{
    struct dx_buf other = DX_BUF_INIT(1 << 12);
    struct dx_buf kept = DX_BUF_INIT(1 << 14);
    struct dx_url url;
    enum dx_reject kept_why;
    enum dx_reject why;
    int rc = dx_canon_url(canon, dx_span_of(text->data, text->size), &url, &kept_why);
    size_t domain_at = rc == 1 ? (size_t)(url.domain.data - url.url.data) : 0;
    struct dx_url first = url;
    bool same;

    dx_buf_append(&kept, url.url.data, url.url.size);
    dx_buf_append(&other, text->data, text->size);
    other.data[1] = 'T';
    same = dx_canon_url(canon, dx_span_of(other.data, other.size), &url, &why) == rc &&
           why == kept_why && dx_span_equal(url.url, dx_span_of(kept.data, kept.size)) &&
           url.scheme.size == first.scheme.size && url.host.size == first.host.size &&
           url.hostname.size == first.hostname.size &&
           url.path_query.size == first.path_query.size && url.domain.size == first.domain.size &&
           (rc == 0 || (size_t)(url.domain.data - url.url.data) == domain_at);
    if (!same)
        printf("FAILED: '%.*s' is another URL with hT\n", (int)text->size,
               (const char *)text->data);
    dx_buf_release(&other);
    dx_buf_release(&kept);
    return same;
}

/* Pieces of the built-in rows in random order: the form is its own, the id that of its text. */
static size_t check_random(struct dx_canon *canon)
{
    static const char *const pieces[] = {
        "http://", "a.com",    "/",
        "//",      "..",       ".",
        "%2e",     "%",        "%%",
        "34",      "%34",      "%31",
        "%65",     "%2",       "?",
        "&",       "=",        "a",
        "b",       "#",        ":",
        "80",      "@",        "[",
        "::1]",    "\xc3\xbc", "\\",
        " ",       "xn--",     "\xcc\xb8",
        "<",       "0x7f",     "1.2",
        "\t",      "\xff",     "'",
        "^",       "\xd7\x90", "\xe2\x80\x8d",
    };
    uint64_t state = 1;
    size_t failed = 0;
    size_t taken = 0;

    for (size_t round = 0; round < 200000; round++) {
        struct dx_buf text = DX_BUF_INIT(1 << 12);
        struct dx_buf once = DX_BUF_INIT(1 << 14);
        struct dx_url url;
        enum dx_reject why;
        size_t count = next_random(&state) % 12;
        uint64_t id;

        if (next_random(&state) % 2 == 0)
            dx_buf_str(&text, "http://b.a.com/");
        while (count-- > 0)
            dx_buf_str(&text, pieces[next_random(&state) % (sizeof pieces / sizeof *pieces)]);
        if (text.size > 7 && memcmp(text.data, "http://", 7) == 0 &&
            !same_when_written(canon, &text))
            failed++;
        if (dx_canon_url(canon, guarded((struct dx_span){ text.data, text.size }), &url, &why)) {
            taken++;
            id = dx_url_id(url.url);
            dx_buf_append(&once, url.url.data, url.url.size);
            if (!url_is(canon, (struct dx_span){ once.data, once.size },
                        (struct dx_span){ once.data, once.size }) ||
                id != dx_url_id((struct dx_span){ once.data, once.size }))
                failed++;
        }
        dx_buf_release(&text);
        dx_buf_release(&once);
    }
    if (taken < 10000) {
        printf("FAILED: only %zu random URLs were taken\n", taken);
        failed++;
    }
    return failed;
}

/* More hosts than the cache has slots, twice: what it answers is what the list says. */
static size_t check_cache(struct dx_canon *canon)
{
    static const char *const ends[] = { "com", "co.uk", "github.io", "example.org", "x.y.de" };
    size_t failed = 0;

    for (size_t round = 0; round < 2; round++)
        for (unsigned i = 0; i < 5000; i++) {
            char host[64];
            char want[64];

            (void)snprintf(host, sizeof host, "h%u.d%u.%s", i % 7, i, ends[i % 5]);
            if (i % 5 < 3)
                (void)snprintf(want, sizeof want, "d%u.%s", i, ends[i % 5]);
            else
                (void)snprintf(want, sizeof want, "%s", i % 5 == 3 ? "example.org" : "y.de");
            failed += !domain_is(canon, dx_span_str(host), dx_span_str(want));
        }
    return failed;
}

/* A name that needs no work is taken as it is; a space before it makes the whole parser look at
 * it. Around the size that the short way ends at, too, and where a name is an address. */
static size_t check_plain_names(struct dx_canon *canon)
{
    static const char letters[] = "abfx019.-zgcom.uk";
    static const char *const ends[] = { "", "", ".com", ".co.uk", ".0x7f", ".1", "." };
    uint64_t seed = 1;
    size_t failed = 0;

    for (size_t i = 0; i < 200000; i++) {
        char text[96] = " ";
        char first[96] = "";
        size_t size = 1;
        size_t most = i % 8 == 0 ? 66 : 12;
        enum dx_reject why[2];
        struct dx_span domain;
        int rc[2];

        for (uint64_t n = (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33;
             size <= n % most; size++)
            text[size] = letters[(seed = seed * 6364136223846793005u + 1) >> 40 & 15];
        (void)snprintf(text + size, sizeof text - size, "%s", ends[i % 7]);
        rc[0] = dx_canon_domain(canon, guarded(dx_span_str(text + 1)), &domain, &why[0]);
        memcpy(first, domain.data == NULL ? (const uint8_t *)"" : domain.data, domain.size);
        rc[1] = dx_canon_domain(canon, guarded(dx_span_str(text)), &domain, &why[1]);
        if (rc[0] != rc[1] || why[0] != why[1] ||
            !dx_span_equal(domain, dx_span_of(first, domain.size)) || first[domain.size] != '\0') {
            printf("FAILED: '%s' is '%s' (%s), with a space before it '%.*s' (%s)\n", text + 1,
                   first, dx_reject_name(why[0]), (int)domain.size, (const char *)domain.data,
                   dx_reject_name(why[1]));
            failed++;
        }
    }
    return failed;
}

/* Of hosts as rows have them, with their port. */
static size_t check_host_domains(const struct dx_psl *psl)
{
    static const struct {
        const char *host;
        const char *domain; /* NULL: none */
    } hosts[] = {
        { "www.example.com", "example.com" },
        { "www.example.com:8080", "example.com" },
        { "127.0.0.1", "127.0.0.1" },
        { "127.0.0.1:80", "127.0.0.1" },
        { "[::1]", "[::1]" },
        { "[::1]:80", "[::1]" },
        { "com", NULL },
        { ":80", NULL },
        { "", NULL },
    };
    size_t bad = 0;

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct dx_span domain = { NULL, 0 };
        int rc = dx_canon_host_domain(psl, dx_span_str(hosts[i].host), &domain);

        if (rc != (hosts[i].domain != NULL) ||
            (rc == 1 && !dx_span_equal(domain, dx_span_str(hosts[i].domain)))) {
            printf("host '%s': %d, '%.*s'\n", hosts[i].host, rc, (int)domain.size,
                   (const char *)domain.data);
            bad++;
        }
    }
    return bad;
}

int main(void)
{
    struct dx_psl *psl = dx_test_psl(list);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;
    size_t failed;

    if (dx_canon_new(&canon, psl, &err) < 0)
        return 1;
    failed = check_rows(canon) + check_document(canon) + check_limits(canon) +
             check_idna_limit(canon) + check_many_pairs(canon) + check_random(canon) +
             check_cache(canon) + check_plain_names(canon);
    failed += check_host_domains(psl);
    dx_canon_free(&canon);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    printf("%zu rows, %zu names, %zu failed\n", sizeof rows / sizeof *rows,
           sizeof names / sizeof *names, failed);
    return failed == 0 ? 0 : 1;
}
