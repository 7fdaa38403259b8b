/* SPDX-License-Identifier: Apache-2.0
 * A rule that is written by hand hides what its text says, or is refused; and rows and rules have
 * one canonical form, so that each row can be hidden, by itself, with its host, and with its
 * domain.
 */
#include "builder/policy/suppress_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "canon/url.h"
#include "format/root/rules.h"
#include "tests/support/fail.h"

#define FIFTY "01234567890123456789012345678901234567890123456789"

static unsigned failures;

static const struct {
    enum dx_suppress_kind kind;
    const char *given;
    const char *want; /* NULL: refused */
} spellings[] = {
    { DX_SUPPRESS_DOMAIN, "a.com", "a.com" },
    { DX_SUPPRESS_DOMAIN, "A.COM", "a.com" },
    { DX_SUPPRESS_DOMAIN, "münchen.de", "xn--mnchen-3ya.de" },
    { DX_SUPPRESS_DOMAIN, "http://a.com/", "a.com" },
    { DX_SUPPRESS_DOMAIN, "::1", "[::1]" },
    { DX_SUPPRESS_DOMAIN, "[::1]", "[::1]" },
    { DX_SUPPRESS_DOMAIN, "[::1]:81", NULL },
    { DX_SUPPRESS_DOMAIN, "www.a.com", NULL },
    { DX_SUPPRESS_DOMAIN, "a.com.", NULL },
    { DX_SUPPRESS_DOMAIN, "a.com/x", NULL },
    { DX_SUPPRESS_DOMAIN, "http://a.com/x", NULL },
    { DX_SUPPRESS_DOMAIN, "a.com/?", NULL },
    { DX_SUPPRESS_DOMAIN, "a.com#x", NULL },
    { DX_SUPPRESS_DOMAIN, "a.com/.", NULL },
    { DX_SUPPRESS_DOMAIN, "a.com:8080", NULL },
    { DX_SUPPRESS_DOMAIN, "me@a.com", NULL },
    { DX_SUPPRESS_DOMAIN, "co.uk", NULL },
    { DX_SUPPRESS_DOMAIN, "a b.com", NULL },
    { DX_SUPPRESS_HOST, "WWW.a.com", "www.a.com" },
    { DX_SUPPRESS_HOST, "www.a.com.", "www.a.com." },
    { DX_SUPPRESS_HOST, "a.com.:8080", "a.com.:8080" },
    { DX_SUPPRESS_HOST, "a.com:8080", "a.com:8080" },
    { DX_SUPPRESS_HOST, "https://a.com:80", "a.com:80" },
    { DX_SUPPRESS_HOST, "http://a.com:443/", "a.com:443" },
    { DX_SUPPRESS_HOST, "a.com:443", NULL },
    { DX_SUPPRESS_HOST, "a.com:80", NULL },
    { DX_SUPPRESS_HOST, "a.com:21", NULL },
    { DX_SUPPRESS_HOST, "http://a.com:21", "a.com:21" },
    { DX_SUPPRESS_HOST, "co.uk", NULL },
    { DX_SUPPRESS_HOST, "https://a.com:443", NULL },
    { DX_SUPPRESS_HOST, "a.com:", NULL },
    { DX_SUPPRESS_HOST, "me@a.com", NULL },
    { DX_SUPPRESS_HOST, "a.com/x", NULL },
    { DX_SUPPRESS_HOST, "a.com/..", NULL },
    { DX_SUPPRESS_HOST, "a.com?", NULL },
    { DX_SUPPRESS_HOST, "a.com/#x", NULL },
    { DX_SUPPRESS_HOST, "a.com\t", NULL },
    { DX_SUPPRESS_HOST, "[2001:DB8::0:1]:81", "[2001:db8::1]:81" },
    { DX_SUPPRESS_HOST, "0x7f.1", "127.0.0.1" },
    { DX_SUPPRESS_PREFIX, "http://a.com", "a.com/" },
    { DX_SUPPRESS_PREFIX, "http://a.com/", "a.com/" },
    { DX_SUPPRESS_PREFIX, "a.com./x", "a.com./x" },
    { DX_SUPPRESS_PREFIX, "http://a.com/.", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/x/..", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/x/%2E%2e", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/x/./y", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/x//", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/\\x", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/.well-known/", "a.com/.well-known/" },
    { DX_SUPPRESS_PREFIX, "http://a.com/x?", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/x#y", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com?x", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/?b=1&a", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/?a=1&b", "a.com/?a=1&b" },
    { DX_SUPPRESS_PREFIX, "http://a.com/%70riv", "a.com/priv" },
    { DX_SUPPRESS_PREFIX, "http://a.com/%c3%a4/ö", "a.com/%C3%A4/%C3%B6" },
    { DX_SUPPRESS_PREFIX, "http://a.com/a%2fb", "a.com/a%2Fb" },
    { DX_SUPPRESS_PREFIX, "http://a.com/%7", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/%", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/%zz", "a.com/%zz" },
    { DX_SUPPRESS_PREFIX, "http://a.com/a b", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com/a\x7f", NULL },
    { DX_SUPPRESS_PREFIX, "http:\\\\a.com/x", "a.com/x" },
    { DX_SUPPRESS_PREFIX, "http://a.com/" FIFTY FIFTY FIFTY FIFTY "/../", NULL },
    { DX_SUPPRESS_PREFIX, "http://me:pw@a.com/x", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com:80/x", NULL },
    { DX_SUPPRESS_PREFIX, "http://a.com:8080/x", "a.com:8080/x" },
    { DX_SUPPRESS_URL, "http://a.com./x", "http://a.com./x" },
    { DX_SUPPRESS_URL, "HTTP://A.com:80/x/../y?b&a", "http://a.com/y?a&b" },
    { DX_SUPPRESS_URL, "http://me@a.com/", "http://a.com/" },
    { DX_SUPPRESS_URL, "a.com/x", NULL },
    { DX_SUPPRESS_URL, "http://a.com/#!/x", NULL },
    { DX_SUPPRESS_URL, "http://a.com/x # ticket", NULL },
    { DX_SUPPRESS_URL, "http://co.uk/", NULL },
};

static void check_spellings(struct dx_suppress_values *v)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        struct dx_error err = DX_ERROR_INIT;
        size_t before = v->count;
        int rc = dx_suppress_values_add(v, spellings[i].kind, dx_span_str(spellings[i].given),
                                        &err);
        const char *want = spellings[i].want;

        if (rc != (want == NULL ? DX_E_INVALID : DX_OK) || v->count != before + (want != NULL) ||
            (want != NULL && strcmp(v->value[before].text, want) != 0))
            FAIL("--%s %s: %d, %s, want %s", dx_suppress_kind_name(spellings[i].kind),
                 spellings[i].given, rc, rc < 0 ? err.text : v->value[v->count - 1].text,
                 want == NULL ? "a refusal" : want);
    }
}

/* Rows as they are given to ingest; no two have one canonical form. */
static const char *const rows[] = {
    "http://a.com/x",        "http://a.com./x",        "http://www.a.com./x?",
    "https://a.com.:8080/x", "http://A.com:8080//x/.", "http://x.y.a.com./p?b&a",
    "http://[::1]:81/z",     "http://1.2.3.4/",        "http://1.2.3.4:8/",
    "http://münchen.de./ä",  "ftp://b.co.uk./%41",     "http://1.2.3.4.5.6.7.8.a.b.c.d.com./",
    "http://u:p@c.com/#x",   "http://me.github.io.",   "https://d.com/a/%2e%2e/b",
};
#define ROWS (sizeof rows / sizeof *rows)

/* What a canonical row has, copied. */
struct row {
    char text[300];
    struct dx_span url, scheme, host, domain, path_query;
};

static void read_row(struct dx_canon *canon, const char *given, struct row *r)
{
    enum dx_reject why;
    struct dx_url u;
    size_t scheme;

    if (dx_canon_url(canon, dx_span_str(given), &u, &why) != 1)
        abort();
    scheme = u.scheme.size;
    (void)snprintf(r->text, sizeof r->text, "%.*s %.*s", (int)u.url.size, (const char *)u.url.data,
                   (int)u.domain.size, (const char *)u.domain.data);
    r->url = dx_span_of((const uint8_t *)r->text, u.url.size);
    r->scheme = dx_span_of(r->url.data, scheme);
    r->host = dx_span_of(r->url.data + scheme + 3, u.host.size);
    r->path_query = dx_span_of(r->host.data + u.host.size, u.path_query.size);
    r->domain = dx_span_of(r->url.data + u.url.size + 1, u.domain.size);
}

static bool same(const struct row *a, const struct row *b, enum dx_suppress_kind kind)
{
    return kind == DX_SUPPRESS_DOMAIN ? dx_span_equal(a->domain, b->domain)
           : kind == DX_SUPPRESS_HOST ? dx_span_equal(a->host, b->host)
                                      : dx_span_equal(a->url, b->url);
}

static void check_rule(struct dx_suppress_values *v, const struct row *all, size_t row,
                       enum dx_suppress_kind kind)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_rules *rules = NULL;
    struct dx_suppress_rule rule = { .kind = kind };
    uint64_t number;
    int rc = dx_suppress_values_canonical(v, kind,
                                          kind == DX_SUPPRESS_DOMAIN ? all[row].domain
                                          : kind == DX_SUPPRESS_HOST ? all[row].host
                                                                     : dx_span_str(rows[row]),
                                          &rule.value, &err);

    if (rc == DX_OK)
        rc = dx_suppressions_add(&log, &rule, &number, &err);
    if (rc == DX_OK)
        rc = dx_rules_new(&rules, &log, &err);
    if (rc < 0)
        FAIL("%s as %s: %s", rows[row], dx_suppress_kind_name(kind), err.text);
    for (size_t i = 0; rc == DX_OK && i < ROWS; i++)
        if ((dx_rules_match(rules, all[i].domain, all[i].scheme, all[i].host, all[i].path_query) !=
             0) != same(&all[row], &all[i], kind))
            FAIL("the rule for %s of %s: %s", dx_suppress_kind_name(kind), rows[row], rows[i]);
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
}

static void check_rows(struct dx_suppress_values *v)
{
    static struct row all[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        read_row(v->canon, rows[i], &all[i]);
    for (size_t i = 0; i < ROWS; i++) {
        check_rule(v, all, i, DX_SUPPRESS_URL);
        check_rule(v, all, i, DX_SUPPRESS_HOST);
        check_rule(v, all, i, DX_SUPPRESS_DOMAIN);
    }
}

/* Files of values, for `suppress add --file`. */
static void check_files(struct dx_suppress_values *v, const char *folder)
{
    static char long_line[4 * DX_URL_MAX + 1];
    static const struct {
        const char *text;
        size_t size;
        const char *want; /* kind and value of each, or what the refusal says */
        bool refused;
    } files[] = {
#define TEXT(text) (text), sizeof(text) - 1
        { TEXT("domain a.com\nhost www.b.com\nprefix c.com/x\nurl http://d.com/\n"),
          "domain a.com;host www.b.com;prefix c.com/x;url http://d.com/;", false },
        { TEXT("# a comment\r\n\r\n \t \n  host \t a.com \t\r\nhost\tb.com"),
          "host a.com;host b.com;", false },
        { TEXT(""), "", false },
        { TEXT("domain a.com\nhosts b.com\n"),
          "line 2: does not begin with domain, host, prefix or url, and a blank", true },
        { TEXT("domain\n"), "line 1: ", true },
        { TEXT("\n\nhost a.com/x\n"), "line 3: ", true },
        { TEXT("host a.com\0\n"), "line 1: ", true }, /* a NUL is not a blank */
        { TEXT("host a.com # why\n"), "line 1: --host 'a.com # why': it has no canonical form",
          true },
        { long_line, sizeof long_line, "line 1: over ", true },
#undef TEXT
    };

    memset(long_line, 'x', sizeof long_line);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct dx_error err = DX_ERROR_INIT;
        size_t before = v->count, at = 0;
        char path[80], got[300] = "";
        int rc;

        (void)snprintf(path, sizeof path, "%s/values", folder);
        if (dx_file_replace(path, dx_span_of((const uint8_t *)files[i].text, files[i].size), &err) <
            0)
            abort();
        rc = dx_suppress_values_read(v, path, &err);
        for (size_t k = before; k < v->count; k++)
            at += (size_t)snprintf(got + at, sizeof got - at, "%s %s;",
                                   dx_suppress_kind_name(v->value[k].kind), v->value[k].text);
        if ((rc < 0) != files[i].refused || (rc == DX_OK && strcmp(got, files[i].want) != 0) ||
            (rc < 0 && (strstr(err.text, files[i].want) == NULL ||
                        strncmp(err.text, path, strlen(path)) != 0)))
            FAIL("file %zu: %d %s %s", i, rc, got, err.text);
        (void)unlink(path);
    }
}

static void check_no_file(struct dx_suppress_values *v, const char *folder)
{
    struct dx_error err = DX_ERROR_INIT;

    CHECK(dx_suppress_values_read(v, "/nonexistent/values", &err) < 0 &&
              strstr(err.text, "/nonexistent/values") != NULL,
          "a file that is not there: %s", err.text);
    err = (struct dx_error)DX_ERROR_INIT;
    CHECK(dx_suppress_values_read(v, folder, &err) < 0 && strstr(err.text, folder) != NULL,
          "a folder: %s", err.text);
}

int main(void)
{
    char root[] = "/tmp/domaindex-test-XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    struct dx_suppress_values v;

    if (mkdtemp(root) == NULL)
        abort();
    if (dx_suppress_values_open(&v, root, &err) < 0) {
        FAIL("%s", err.text);
    } else {
        check_spellings(&v);
        check_rows(&v);
        check_files(&v, root);
        check_no_file(&v, root);
    }
    dx_suppress_values_release(&v);
    (void)rmdir(root);
    return failures == 0 ? 0 : 1;
}
