/* SPDX-License-Identifier: Apache-2.0
 * test_url_oracle.c - real URLs against what ada and libpsl made of them.
 *
 * Scheme, host, port and registered domain must agree in every row; path and query after
 * the extra rules, stated on their own in tests/support/canon_rules.c.
 */
#include "canon/url.h"
#include "tests/support/canon_rules.h"

#include <stdio.h>

enum { SOURCE, INPUT, HREF, SCHEME, HOSTNAME, PORT, PATHNAME, SEARCH, SORTED, DOMAIN, COLUMNS };

static const char psl_text[] = "com\nuk\nco.uk\n";
static const char *const rows[] = {
    "x\thttp://A.b.co.uk:80/%7e//?b&a#f\t-\thttp\ta.b.co.uk\t\t/%7e//\t?b&a\t-\tb.co.uk\t",
    "x\thttps://u:p@co.uk:81\t-\thttps\tco.uk\t81\t/\t\t-\t(null)\t",
    "x\thttp://1.2.3.4/\t-\thttp\t1.2.3.4\t\t/\t\t-\t!ip\t",
    "x\thttp://[x]/\t!invalid\t\t\t\t\t\t-\t!invalid\t",
    "x\tgit://a.com/\tgit://a.com/\tgit\ta.com\t\t/\t\t-\ta.com\t",
};

static bool is(struct dx_span s, const char *text)
{
    return dx_span_equal(s, dx_span_str(text));
}

static struct dx_span without_port(struct dx_span host, struct dx_span hostname)
{
    size_t cut = hostname.size + (host.size > hostname.size);

    return (struct dx_span){ host.data + cut, host.size - cut };
}

/* What differs, or NULL. */
static const char *differs(struct dx_canon *canon, const struct dx_span f[COLUMNS])
{
    static struct dx_buf want = DX_BUF_INIT(1 << 20);
    static struct dx_buf query = DX_BUF_INIT(1 << 20);
    struct dx_span domain;
    struct dx_url url;
    enum dx_reject why;
    int rc = dx_canon_url(canon, f[INPUT], &url, &why);
    bool ours = is(f[SCHEME], "http") || is(f[SCHEME], "https") || is(f[SCHEME], "ftp");

    if (is(f[HREF], "!invalid"))
        return rc == 1 || why == DX_REJECT_PUBLIC_SUFFIX ? "taken, but invalid" : NULL;
    if (!ours)
        return rc == 1 || why != DX_REJECT_SCHEME ? "not rejected for its scheme" : NULL;
    if (rc != 1 && why != DX_REJECT_PUBLIC_SUFFIX)
        return dx_reject_name(why);
    if (!dx_span_equal(url.scheme, f[SCHEME]))
        return "scheme";
    if (!dx_span_equal(url.hostname, f[HOSTNAME]))
        return "hostname";
    if (!dx_span_equal(without_port(url.host, url.hostname), f[PORT]))
        return "port";
    if ((rc == 1) == is(f[DOMAIN], "(null)"))
        return "has a domain or has none";
    if (rc == 1 && !dx_span_equal(url.domain, is(f[DOMAIN], "!ip") ? f[HOSTNAME] : f[DOMAIN]))
        return "domain";
    dx_test_path_rules(f[PATHNAME], &want);
    dx_test_query_rules(f[SEARCH], &query);
    dx_buf_append(&want, query.data, query.size);
    if (!dx_span_equal(url.path_query, (struct dx_span){ want.data, want.size }))
        return "path or query";
    if (rc == 1 && (dx_canon_domain(canon, f[INPUT], &domain, &why) != 1 ||
                    !dx_span_equal(domain, is(f[DOMAIN], "!ip") ? f[HOSTNAME] : f[DOMAIN])))
        return "dx_canon_domain";
    return NULL;
}

/* Rows that fail. */
static size_t check(struct dx_canon *canon, struct dx_span text, size_t *count)
{
    struct dx_span line;
    size_t failed = 0;

    while (dx_test_line(&text, &line)) {
        struct dx_span shown = line;
        struct dx_span field[COLUMNS];
        const char *what;

        if (line.size == 0 || line.data[0] == '#')
            continue;
        for (size_t i = 0; i < COLUMNS; i++)
            field[i] = dx_test_field(&line, '\t');
        what = differs(canon, field);
        ++*count;
        if (what == NULL)
            continue;
        printf("FAILED %s: %.*s\n", what, (int)shown.size, (const char *)shown.data);
        failed++;
    }
    return failed;
}

static struct dx_canon *canon_of(const struct dx_psl *psl)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;

    if (dx_canon_new(&canon, psl, &err) < 0)
        printf("%s\n", err.text);
    return canon;
}

static size_t check_rows(size_t *count)
{
    struct dx_psl *psl = dx_test_psl(psl_text);
    struct dx_canon *canon = canon_of(psl);
    size_t failed = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        failed += check(canon, dx_span_str(rows[i]), count);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    return failed;
}

static size_t check_oracle(size_t *count)
{
    struct dx_buf text = DX_BUF_INIT(256 << 20);
    char path[DX_TEST_PATH];
    struct dx_canon *canon;
    struct dx_psl *psl;
    size_t failed;

    if (!dx_test_shared(path, "oracle/public_suffix_list.e8c9a2b2.dat")) {
        printf("SKIPPED oracle: no %s\n", path);
        return 0;
    }
    psl = dx_test_psl_file(path);
    canon = canon_of(psl);
    if (!dx_test_shared(path, "oracle/oracle-public.tsv.zst")) {
        printf("SKIPPED oracle: no %s\n", path);
        failed = 0;
    } else {
        dx_test_read_zst(path, &text);
        failed = check(canon, (struct dx_span){ text.data, text.size }, count);
    }
    dx_buf_release(&text);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    return failed;
}

int main(void)
{
    size_t count = 0;
    size_t failed = check_rows(&count) + check_oracle(&count);

    printf("%zu rows, %zu failed\n", count, failed);
    return failed == 0 ? 0 : 1;
}
