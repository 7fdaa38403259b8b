/* SPDX-License-Identifier: Apache-2.0
 * test_url_wpt.c - web-platform-tests: urltestdata.json and toascii.json.
 *
 * Every row whose input is an absolute URL is decided: with http, https or ftp it must be
 * taken or refused as the row says, with its scheme, host and port, and with the path and
 * query that the extra rules (tests/support/canon_rules.c) make of the row's; with another
 * scheme it must be refused for that. Left out are rows that need a base; they are counted.
 */
#include "canon/url.h"
#include "tests/support/canon_rules.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const char builtin_urls[] =
    "[\"comment\","
    "{\"input\":\"http://ex\\u00e4mple.com:80/a/../b?c'#d\",\"base\":null,\"protocol\":\"http:\","
    "\"href\":\"http://xn--exmple-cua.com/b?c%27#d\","
    "\"hostname\":\"xn--exmple-cua.com\",\"port\":\"\",\"pathname\":\"/b\",\"search\":\"?c%27\"},"
    "{\"input\":\"http://a b/\",\"base\":null,\"failure\":true},"
    "{\"input\":\"mailto:a@b\",\"base\":null,\"href\":\"mailto:a@b\",\"protocol\":\"mailto:\"}]";
static const char builtin_hosts[] = "[{\"input\":\"xn--a.\\u00df\",\"output\":null},"
                                    "{\"input\":\"x..\\u00df\",\"output\":\"x..xn--zca\"}]";

struct tally {
    size_t taken, refused, other_scheme, with_base, failed;
};

static struct dx_span text_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    return json_is_string(value) ? dx_span_of(json_string_value(value), json_string_length(value))
                                 : (struct dx_span){ NULL, 0 };
}

static void complain(struct tally *tally, const json_t *row, const char *what)
{
    char *shown = json_dumps(row, JSON_COMPACT | JSON_ENSURE_ASCII);

    printf("FAILED %s: %s\n", what, shown == NULL ? "?" : shown);
    free(shown);
    tally->failed++;
}

/* The input as the parser sees it: controls and spaces around dropped, tabs and line ends. */
static void cleaned(struct dx_span in, struct dx_buf *out)
{
    dx_buf_clear(out);
    while (in.size > 0 && in.data[0] <= ' ')
        in = (struct dx_span){ in.data + 1, in.size - 1 };
    while (in.size > 0 && in.data[in.size - 1] <= ' ')
        in.size--;
    for (size_t i = 0; i < in.size; i++)
        if (strchr("\t\n\r", in.data[i]) == NULL || in.data[i] == '\0')
            dx_buf_u8(out, in.data[i]);
    dx_buf_u8(out, '\0');
    out->size--;
}

/* Scheme in lower case; false if the text begins with none. */
static bool scheme_of(const struct dx_buf *text, char scheme[64], const char **behind)
{
    size_t n = 0;

    while (n < text->size && n < 63 &&
           (isalnum(text->data[n]) || (text->data[n] != '\0' && strchr("+-.", text->data[n])))) {
        scheme[n] = (char)tolower(text->data[n]);
        n++;
    }
    scheme[n] = '\0';
    if (n == 0 || n == text->size || !isalpha((unsigned char)scheme[0]) || text->data[n] != ':')
        return false;
    *behind = (const char *)text->data + n + 1;
    return true;
}

static bool is_ours(const char *scheme)
{
    return strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0 ||
           strcmp(scheme, "ftp") == 0;
}

/* What is behind "name:" is a port and the name a host: rule 2 of docs/CANON.md. */
static bool reads_as_port(const char *behind)
{
    size_t n = strspn(behind, "0123456789");

    return n > 0 && (behind[n] == '\0' || strchr("/\\?#", behind[n]) != NULL);
}

/* "http:foo" with a base of that scheme is relative. */
static bool needs_base(const json_t *row, const char *scheme, const char *behind)
{
    struct dx_span base = text_of(row, "base");
    size_t n = strlen(scheme);

    return base.size > n && memcmp(base.data, scheme, n) == 0 && base.data[n] == ':' &&
           strncmp(behind, "//", 2) != 0;
}

static struct dx_span port_of(const struct dx_url *url)
{
    size_t cut = url->hostname.size + (url->host.size > url->hostname.size);

    return (struct dx_span){ url->host.data + cut, url->host.size - cut };
}

static const char *differs(const struct dx_url *url, const json_t *row)
{
    struct dx_buf want = DX_BUF_INIT(1 << 20);
    struct dx_buf query = DX_BUF_INIT(1 << 20);
    struct dx_span protocol = text_of(row, "protocol");
    const char *what = NULL;

    protocol.size--; /* its ':' */
    dx_test_path_rules(text_of(row, "pathname"), &want);
    dx_test_query_rules(text_of(row, "search"), &query);
    dx_buf_append(&want, query.data, query.size);
    if (!dx_span_equal(url->scheme, protocol))
        what = "scheme";
    else if (!dx_span_equal(url->hostname, text_of(row, "hostname")))
        what = "hostname";
    else if (!dx_span_equal(port_of(url), text_of(row, "port")))
        what = "port";
    else if (!dx_span_equal(url->path_query, (struct dx_span){ want.data, want.size }))
        what = "path or query";
    dx_buf_release(&want);
    dx_buf_release(&query);
    return what;
}

static void check_ours(struct dx_canon *canon, const json_t *row, struct tally *tally)
{
    struct dx_buf once = DX_BUF_INIT(1 << 20);
    struct dx_url url;
    enum dx_reject why;
    bool taken = dx_canon_url(canon, text_of(row, "input"), &url, &why) == 1 ||
                 why == DX_REJECT_PUBLIC_SUFFIX;
    bool fails = json_is_true(json_object_get(row, "failure"));
    const char *what;

    if (taken == fails) {
        complain(tally, row, fails ? "taken" : dx_reject_name(why));
    } else if (fails) {
        tally->refused++;
    } else {
        tally->taken++;
        what = differs(&url, row);
        if (what != NULL)
            complain(tally, row, what);
        dx_buf_append(&once, url.url.data, url.url.size);
        (void)dx_canon_url(canon, text_of(row, "href"), &url, &why);
        if (!dx_span_equal(url.url, (struct dx_span){ once.data, once.size }))
            complain(tally, row, "href has another canonical form than input");
    }
    dx_buf_release(&once);
}

static void check_other(struct dx_canon *canon, const json_t *row, struct tally *tally)
{
    struct dx_url url;
    enum dx_reject why;

    tally->other_scheme++;
    if (dx_canon_url(canon, text_of(row, "input"), &url, &why) == 1 || why != DX_REJECT_SCHEME)
        complain(tally, row, "not refused for its scheme");
}

static void check_urls(struct dx_canon *canon, const json_t *rows, struct tally *tally)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *behind = NULL;
        char scheme[64];

        if (!json_is_object(row)) /* a comment */
            continue;
        cleaned(text_of(row, "input"), &text);
        if (!scheme_of(&text, scheme, &behind) || needs_base(row, scheme, behind))
            tally->with_base++;
        else if (is_ours(scheme))
            check_ours(canon, row, tally);
        else if (!reads_as_port(behind))
            check_other(canon, row, tally);
    }
    dx_buf_release(&text);
}

static void check_hosts(struct dx_canon *canon, const json_t *rows, struct tally *tally)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        struct dx_span input = text_of(row, "input");
        struct dx_span want = text_of(row, "output");
        struct dx_url url;
        enum dx_reject why;
        bool taken;

        if (!json_is_object(row))
            continue;
        dx_buf_clear(&text);
        dx_buf_str(&text, "https://");
        dx_buf_append(&text, input.data, input.size);
        dx_buf_str(&text, "/x");
        taken = dx_canon_url(canon, (struct dx_span){ text.data, text.size }, &url, &why) == 1 ||
                why == DX_REJECT_PUBLIC_SUFFIX;
        if (taken != (want.size > 0))
            complain(tally, row, taken ? "taken" : dx_reject_name(why));
        else if (taken && !dx_span_equal(url.hostname, want))
            complain(tally, row, "host");
        tally->taken += taken;
        tally->refused += !taken;
    }
    dx_buf_release(&text);
}

static unsigned long escape_at(const struct dx_buf *b, size_t at)
{
    char digits[5] = "";

    if (at + 6 > b->size || b->data[at] != '\\' || b->data[at + 1] != 'u')
        return 0;
    memcpy(digits, b->data + at + 2, 4);
    return strtoul(digits, NULL, 16);
}

/* Surrogates on their own are U+FFFD to the parser (a USVString), but an error to jansson. */
static void replace_lone_surrogates(struct dx_buf *b)
{
    for (size_t i = 0; i + 6 <= b->size; i++) {
        unsigned long unit = escape_at(b, i);
        unsigned long next = escape_at(b, i + 6);

        if (b->data[i] == '\\' && unit == 0)
            i++; /* another escape: its second byte does not begin another */
        else if (unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000)
            i += 11;
        else if (unit >= 0xd800 && unit < 0xe000)
            memcpy(b->data + i + 2, "FFFD", 4);
    }
}

typedef void check_fn(struct dx_canon *, const json_t *, struct tally *);

static void check_text(struct dx_canon *canon, const char *name, struct dx_buf *text,
                       check_fn *check)
{
    struct tally tally = { 0 };
    json_error_t error;
    json_t *rows;

    replace_lone_surrogates(text);
    rows = json_loadb((const char *)text->data, text->size, JSON_ALLOW_NUL, &error);
    if (!json_is_array(rows)) {
        printf("FAILED %s: %s\n", name, error.text);
        exit(1);
    }
    check(canon, rows, &tally);
    printf("%s: %zu taken, %zu refused, %zu of other schemes, %zu need a base, %zu failed\n", name,
           tally.taken, tally.refused, tally.other_scheme, tally.with_base, tally.failed);
    json_decref(rows);
    if (tally.failed > 0)
        exit(1);
}

static void check_builtin(struct dx_canon *canon, const char *json, check_fn *check)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);

    dx_buf_str(&text, json);
    check_text(canon, "built-in rows", &text, check);
    dx_buf_release(&text);
}

static void check_file(struct dx_canon *canon, const char *name, check_fn *check)
{
    struct dx_buf text = DX_BUF_INIT(64 << 20);
    char path[DX_TEST_PATH];

    if (!dx_test_shared(path, name)) {
        printf("SKIPPED: no %s\n", path);
        return;
    }
    dx_test_read(path, &text);
    check_text(canon, name, &text, check);
    dx_buf_release(&text);
}

int main(void)
{
    struct dx_psl *psl = dx_test_psl("com\n");
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;

    if (dx_canon_new(&canon, psl, &err) < 0)
        return 1;
    check_builtin(canon, builtin_urls, check_urls);
    check_builtin(canon, builtin_hosts, check_hosts);
    check_file(canon, "conformance/url-ada-wpt/tests/wpt/urltestdata.json", check_urls);
    check_file(canon, "conformance/url-ada-wpt/tests/wpt/toascii.json", check_hosts);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    return 0;
}
