/* SPDX-License-Identifier: Apache-2.0
 * test_psl.c - registered domains: the rules of a small list, and the list's own tests.
 */
#include "canon/host.h"
#include "canon/psl.h"
#include "tests/support/canon_rules.h"

#include <stdio.h>
#include <stdlib.h>

static const char small[] = "// comment\n"
                            "com\nuk\nco.uk\n*.ck\n!www.ck\n"
                            "公司.cn\ncn\n"
                            "// ===BEGIN PRIVATE DOMAINS===\n"
                            "github.io\nio\n"
                            "// ===END PRIVATE DOMAINS===\n";

static const struct {
    const char *host, *want; /* NULL: none */
} rows[] = {
    { "example.com", "example.com" },
    { "a.b.example.com", "example.com" },
    { "a.b.co.uk", "b.co.uk" },
    { "co.uk", NULL }, /* a suffix has no domain */
    { "uk", NULL },
    { "b.uk", "b.uk" },
    { "github.io", NULL }, /* private rules count */
    { "me.github.io", "me.github.io" },
    { "test.ck", NULL },
    { "a.test.ck", "a.test.ck" },
    { "www.ck", "www.ck" }, /* an exception */
    { "a.www.ck", "www.ck" },
    { "localhost", NULL }, /* the rule "*" */
    { "a.localhost", "a.localhost" },
    { "x.xn--55qx5d.cn", "x.xn--55qx5d.cn" }, /* rules in UTF-8 meet A-labels */
    { "xn--55qx5d.cn", NULL },
    { "example.com.", "example.com" },
    { "example.com..", NULL },
    { "com.", NULL },
    { ".", NULL },
    { "", NULL },
    { ".com", NULL },
    { ".example.com", NULL },
    { "a..com", "a..com" }, /* as libpsl has it */
    { "a...com", NULL },
};

static bool text_is(struct dx_span s, const char *want)
{
    return want == NULL ? s.size == 0 : dx_span_equal(s, dx_span_str(want));
}

static size_t check_rows(void)
{
    struct dx_psl *psl = dx_test_psl(small);
    size_t failed = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_span domain;
        int rc = dx_psl_domain(psl, dx_span_str(rows[i].host), &domain);

        if (rc == (rows[i].want != NULL) && text_is(domain, rows[i].want))
            continue;
        printf("FAILED '%s': %d '%.*s', not '%s'\n", rows[i].host, rc, (int)domain.size,
               (const char *)domain.data, rows[i].want == NULL ? "none" : rows[i].want);
        failed++;
    }
    dx_psl_free(&psl);
    dx_psl_free(&psl); /* twice is safe */
    return failed;
}

/* Hosts longer than DNS allows: the domain still is at their end, or too long to be one. */
static size_t check_long(void)
{
    static const struct {
        size_t label, labels;
        const char *end, *want;
    } longs[] = {
        { 10, 700, "example.com", "example.com" },
        { 600, 1, "b.co.uk", "b.co.uk" },
        { 7000, 1, "com", NULL },
        { 245, 1, "com", "itself" }, /* 249 bytes */
        { 249, 1, "com", "itself" }, /* 253 */
        { 250, 1, "com", NULL },     /* 254 */
        { 600, 2, "com", NULL },
    };
    struct dx_psl *psl = dx_test_psl(small);
    size_t failed = 0;

    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) {
        struct dx_buf host = DX_BUF_INIT(1 << 20);
        struct dx_span domain;
        struct dx_span want;
        int rc;

        for (size_t label = 0; label < longs[i].labels; label++) {
            for (size_t k = 0; k < longs[i].label; k++)
                dx_buf_u8(&host, 'x');
            dx_buf_u8(&host, '.');
        }
        dx_buf_str(&host, longs[i].end);
        rc = dx_psl_domain(psl, (struct dx_span){ host.data, host.size }, &domain);
        want = longs[i].want == NULL                  ? (struct dx_span){ NULL, 0 }
               : strcmp(longs[i].want, "itself") == 0 ? (struct dx_span){ host.data, host.size }
                                                      : dx_span_str(longs[i].want);
        if (rc != (longs[i].want != NULL) || !dx_span_equal(domain, want)) {
            printf("FAILED long row %zu: %d, %zu bytes\n", i, rc, domain.size);
            failed++;
        }
        dx_buf_release(&host);
    }
    dx_psl_free(&psl);
    return failed;
}

/* By rules between the markers of ICANN's section. */
static size_t check_icann(void)
{
    static const char list[] = "// ===BEGIN ICANN DOMAINS===\n"
                               "io\nck\n*.ck\n!www.ck\nno\nsande.more.no\n公司.cn\ncn\n"
                               "// ===END ICANN DOMAINS===\n"
                               "// ===BEGIN PRIVATE DOMAINS===\n"
                               "github.io\nus.github.io\n*.paas.www.ck\n"
                               "// ===END PRIVATE DOMAINS===\n";
    static const struct {
        const char *host, *all, *icann;
    } names[] = {
        { "me.github.io", "me.github.io", "github.io" },
        { "a.me.us.github.io", "me.us.github.io", "github.io" },
        { "github.io", NULL, "github.io" },
        { "io", NULL, NULL },
        { "a.b.ck", "a.b.ck", "a.b.ck" },
        { "b.ck", NULL, NULL },
        { "x.y.paas.www.ck", "x.y.paas.www.ck", "www.ck" },
        { "more.no", "more.no", "more.no" },
        { "x.sande.more.no", "x.sande.more.no", "x.sande.more.no" },
        { "a.xn--55qx5d.cn", "a.xn--55qx5d.cn", "a.xn--55qx5d.cn" },
        { "a.b.unlisted", "b.unlisted", "b.unlisted" },
    };
    struct dx_psl *psl = dx_test_psl(list);
    size_t failed = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dx_span all;
        struct dx_span icann;

        (void)dx_psl_domain(psl, dx_span_str(names[i].host), &all);
        (void)dx_psl_icann_domain(psl, dx_span_str(names[i].host), &icann);
        if (text_is(all, names[i].all) && text_is(icann, names[i].icann))
            continue;
        printf("FAILED '%s': '%.*s', by ICANN '%.*s'\n", names[i].host, (int)all.size,
               (const char *)all.data, (int)icann.size, (const char *)icann.data);
        failed++;
    }
    dx_psl_free(&psl);
    return failed;
}

static size_t check_refused(void)
{
    static const char *const texts[] = { "", "// only a comment\n", "\n\n" };
    size_t failed = 0;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_psl *psl = NULL;

        if (dx_psl_new(&psl, dx_span_str(texts[i]), &err) >= 0 || psl != NULL ||
            strstr(err.text, "public suffix list") == NULL) {
            printf("FAILED: list without rules taken: row %zu, '%s'\n", i, err.text);
            dx_psl_free(&psl);
            failed++;
        }
    }
    return failed;
}

/* One of the list's own tests: input and domain, "null" for none; both may be in Unicode. */
static bool vector_holds(const struct dx_psl *psl, struct dx_span input, struct dx_span want)
{
    uint8_t host_bytes[DX_HOST_ROOM];
    uint8_t want_bytes[DX_HOST_ROOM];
    struct dx_host host;
    struct dx_host wanted;
    struct dx_span domain;
    enum dx_reject why;
    int rc;

    if (dx_host_parse(input, host_bytes, sizeof host_bytes, &host, &why) != 1)
        return false;
    rc = dx_psl_domain(psl, host.text, &domain);
    if (dx_span_equal(want, dx_span_str("null")))
        return rc == 0;
    return rc == 1 && dx_host_parse(want, want_bytes, sizeof want_bytes, &wanted, &why) == 1 &&
           dx_span_equal(domain, wanted.text);
}

static size_t check_vectors(const struct dx_psl *psl, const char *name, char by, size_t *count)
{
    struct dx_buf bytes = DX_BUF_INIT(1 << 20);
    char path[DX_TEST_PATH];
    struct dx_span text;
    struct dx_span line;
    size_t failed = 0;

    if (!dx_test_shared(path, name)) {
        printf("SKIPPED: no %s\n", path);
        return 0;
    }
    dx_test_read(path, &bytes);
    text = (struct dx_span){ bytes.data, bytes.size };
    while (dx_test_line(&text, &line)) {
        struct dx_span input;
        struct dx_span want;

        if (line.size == 0 || line.data[0] == '#' || line.data[0] == '/')
            continue;
        input = dx_test_field(&line, by);
        want = dx_test_field(&line, by);
        ++*count;
        if (vector_holds(psl, input, want))
            continue;
        printf("FAILED %s: '%.*s' is not '%.*s'\n", name, (int)input.size, (const char *)input.data,
               (int)want.size, (const char *)want.data);
        failed++;
    }
    dx_buf_release(&bytes);
    return failed;
}

static size_t check_lists(size_t *count)
{
    static const char *const lists[] = { "conformance/psl/public_suffix_list.dat",
                                         "oracle/public_suffix_list.e8c9a2b2.dat" };
    size_t failed = 0;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char path[DX_TEST_PATH];
        struct dx_psl *psl;

        if (!dx_test_shared(path, lists[i])) {
            printf("SKIPPED: no %s\n", path);
            continue;
        }
        psl = dx_test_psl_file(path);
        failed += check_vectors(psl, "vectors/psl-vectors.tsv", '\t', count);
        failed += check_vectors(psl, "conformance/psl/tests/tests.txt", ' ', count);
        dx_psl_free(&psl);
    }
    return failed;
}

int main(void)
{
    size_t count = 0;
    size_t failed = check_rows() + check_long() + check_icann() + check_refused() +
                    check_lists(&count);

    printf("%zu rows, %zu vectors, %zu failed\n", sizeof rows / sizeof *rows, count, failed);
    return failed == 0 ? 0 : 1;
}
