/* SPDX-License-Identifier: Apache-2.0
 * test_suffix_rules.c - the table of rules against libpsl, which reads the same text.
 */
#include "base/buf.h"
#include "canon/idna.h"
#include "canon/suffix_rules.h"
#include "tests/support/canon_rules.h"
#include "tests/support/sample.h"

#include <libpsl.h>
#include <stdio.h>
#include <stdlib.h>

#define OWN_EVERY dx_sample(199, 499)

enum { NAME_MAX_BYTES = 400 };

struct pair {
    psl_ctx_t *theirs;
    struct dx_suffix_rules *ours;
    struct dx_suffix_rules *below; /* the rules of names in .uk */
    struct dx_span text;
    size_t asked, asked_below, asked_own, failed;
};

static bool ends_in_uk(struct dx_span name)
{
    return name.size > 3 && memcmp(name.data + name.size - 3, ".uk", 3) == 0;
}

static void open_pair(struct pair *p, struct dx_span text)
{
    struct dx_error err = DX_ERROR_INIT;
    FILE *stream = fmemopen((void *)(uintptr_t)text.data, text.size, "r");

    *p = (struct pair){ .theirs = stream == NULL ? NULL : psl_load_fp(stream), .text = text };
    if (p->theirs == NULL ||
        dx_suffix_rules_new_below(&p->ours, text, dx_span_of(NULL, 0), &err) < 0 ||
        dx_suffix_rules_new_below(&p->below, text, dx_span_str("uk"), &err) < 0) {
        printf("cannot read the list: %s\n", err.text);
        exit(1);
    }
    (void)fclose(stream);
}

static void close_pair(struct pair *p)
{
    psl_free(p->theirs);
    dx_suffix_rules_free(&p->below);
    dx_suffix_rules_free(&p->ours);
    dx_suffix_rules_free(&p->ours); /* twice is safe */
}

static void compare(struct pair *p, const char *name, int rc, struct dx_span domain,
                    const char *want, const char *words)
{
    if (rc == (want != NULL) && dx_span_equal(domain, want == NULL ? domain : dx_span_str(want)))
        return;
    p->failed++;
    if (p->failed < 20)
        printf("FAILED '%s'%s: '%.*s', libpsl '%s'\n", name, words, (int)domain.size,
               (const char *)domain.data, want == NULL ? "none" : want);
}

static void compare_both(struct pair *p, const struct dx_suffix_rules *of, struct dx_span name,
                         const char *text)
{
    struct dx_span domain = { NULL, 0 };
    const char *want = psl_registrable_domain(p->theirs, text);
    int rc = dx_suffix_rules_find(of, name, DX_SUFFIX_ALL, &domain);

    compare(p, text, rc, domain, want, "");
    domain = dx_span_of(NULL, 0);
    rc = dx_suffix_rules_find(of, name, DX_SUFFIX_ICANN, &domain);
    want = NULL;
    for (const char *at = text;
         at != NULL && psl_is_public_suffix2(p->theirs, at, PSL_TYPE_ICANN) == 0;) {
        want = at;
        at = strchr(at, '.');
        at += at != NULL;
    }
    compare(p, text, rc, domain, want, " by ICANN's rules");
}

/* Whether a table may be read for this tail alone. */
static bool is_tail(const char *text)
{
    const char *last = strrchr(text, '.');

    last = last == NULL ? text : last + 1;
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] == '\0' &&
           strstr(text, "..") == NULL && last[strspn(last, "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

/* By a table for the name alone, and by one for what is behind its first dot. */
static void ask_own(struct pair *p, struct dx_span name, const char *text)
{
    const char *tails[] = { text, strchr(text, '.') };

    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const char *tail = tails[i] == NULL ? NULL : tails[i] + i;
        struct dx_suffix_rules *own = NULL;

        if (tail == NULL || !is_tail(tail))
            continue;
        if (dx_suffix_rules_new_below(&own, p->text, dx_span_str(tail), NULL) < 0 ||
            (own == NULL && p->ours != NULL) || (own != NULL && dx_suffix_rules_count(own) == 0)) {
            printf("FAILED '%s': no table of its own\n", tail);
            p->failed++;
        } else if (own != NULL) {
            compare_both(p, own, name, text);
        }
        dx_suffix_rules_free(&own);
        p->asked_own++;
    }
}

static void ask(struct pair *p, struct dx_span name)
{
    char text[NAME_MAX_BYTES + 1];
    const struct dx_suffix_rules *of = p->ours;

    if (name.size == 0 || name.size > NAME_MAX_BYTES || name.data[0] == '.' ||
        name.data[name.size - 1] == '.')
        return;
    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    p->asked++;
    if (p->text.size < 1000 || p->asked % OWN_EVERY == 0)
        ask_own(p, name, text);
    if (p->ours == NULL)
        return;
    if (p->below != NULL && ends_in_uk(name)) {
        p->asked_below++;
        of = p->below;
    }
    compare_both(p, of, name, text);
}

/* A name below each rule, at it and above it: without its first label, and with others before. Of a rule in
 * UTF-8 also in A-labels. */
static void ask_around(struct pair *p, struct dx_span rule)
{
    static const char *const before[] = { "",      "a.",           "a.b.", "www.x.y.",
                                          "city.", "x-1.a.b.c.d.", "a..",  "a..b." };
    uint8_t ascii[DX_DOMAIN_MAX];
    char name[NAME_MAX_BYTES];
    enum dx_reject why;
    size_t size;

    while (rule.size > 0 && (rule.data[0] == '!' || rule.data[0] == '*' || rule.data[0] == '.')) {
        rule.data++;
        rule.size--;
    }
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        int n = snprintf(name, sizeof name, "%s%.*s", before[i], (int)rule.size,
                         (const char *)rule.data);

        ask(p, dx_span_of((const uint8_t *)name, (size_t)n));
    }
    for (size_t i = 0; i < rule.size; i++)
        if (rule.data[i] >= 0x80 && dx_idna_to_ascii(rule, ascii, sizeof ascii, &size, &why)) {
            ask_around(p, dx_span_of(ascii, size));
            break;
        }
    (void)dx_test_field(&rule, '.');
    ask(p, rule);
}

static void ask_rules(struct pair *p, struct dx_span text)
{
    struct dx_span line;

    while (dx_test_line(&text, &line))
        if (line.size > 0 && line.data[0] != '/' && line.size < 200)
            ask_around(p, line);
}

/* Column `column` of a list: real hosts and domains. */
static void ask_list(struct pair *p, const char *name, size_t column, size_t every)
{
    struct dx_buf bytes = DX_BUF_INIT(1 << 28);
    char path[DX_TEST_PATH];
    struct dx_span text;
    struct dx_span line;

    if (!dx_test_shared(path, name)) {
        printf("SKIPPED: no %s\n", path);
        return;
    }
    dx_test_read_zst(path, &bytes);
    text = dx_span_of(bytes.data, bytes.size);
    for (size_t i = 0; dx_test_line(&text, &line); i++) {
        for (size_t k = 0; k < column; k++)
            (void)dx_test_field(&line, '\t');
        if (i % every == 0)
            ask(p, dx_test_field(&line, '\t'));
    }
    dx_buf_release(&bytes);
}

static size_t check_file(const char *path, bool with_lists)
{
    struct dx_buf bytes = DX_BUF_INIT(1 << 26);
    struct dx_span text;
    struct pair p;
    size_t failed;

    dx_test_read(path, &bytes);
    text = dx_span_of(bytes.data, bytes.size);
    open_pair(&p, text);
    ask_rules(&p, text);
    if (with_lists) {
        ask_list(&p, "lists/gsa-federal-website-index/dap-hosts-pageviews.tsv.zst", 0,
                 dx_sample(1, 5));
        ask_list(&p, "lists/derived/registered-domains-permissive.txt.zst", 0, dx_sample(4, 23));
        ask_list(&p, "oracle/oracle-public.tsv.zst", 4, dx_sample(1, 7));
    }
    failed = p.failed;
    if (p.ours == NULL || p.below == NULL || p.asked < 50000 || p.asked_below < 100 ||
        p.asked_own < 100 || dx_suffix_rules_count(p.below) == 0) {
        printf("FAILED %s: %zu names asked, %zu in .uk\n", path, p.asked, p.asked_below);
        failed++;
    }
    printf("%s: %zu names, %zu with a table of their own, %zu failed\n", path, p.asked, p.asked_own,
           p.failed);
    close_pair(&p);
    dx_buf_release(&bytes);
    return failed;
}

static size_t check_files(void)
{
    static const char *const shared[] = { "conformance/psl/public_suffix_list.dat",
                                          "oracle/public_suffix_list.e8c9a2b2.dat" };
    static const char system_list[] = "/usr/share/publicsuffix/public_suffix_list.dat";
    char path[DX_TEST_PATH];
    size_t failed = 0;
    FILE *there = fopen(system_list, "r");

    if (there != NULL) {
        (void)fclose(there);
        failed += check_file(system_list, false);
    }
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        if (dx_test_shared(path, shared[i]))
            failed += check_file(path, i == 0);
        else
            printf("SKIPPED: no %s\n", path);
    }
    return failed;
}

/* Small lists with what a list could have; names are made of few labels, so that they meet rules. */
static size_t check_small(void)
{
    static const struct {
        const char *text;
        bool table;
    } lists[] = {
        { "com\nuk\nco.uk\n*.ck\n!www.ck\nb.a.com\n", true },
        { "*.com\n!a.com\na.com\n", false }, /* a rule and its exception */
        { "*.com\n!a.com\n", true },
        { "*.a.com\n*.com\n!b.a.com\n", true },
        { " co.uk trailing words\n\t*.ck\r\n\r\n// a comment\n", true },
        { "a.b.c.d.uk\nco.uk", true },
        { "*\n*b.com\n!\nco.uk\n", false },
        { "公司.cn\nco.uk\n", true },
        { "*.公司.cn\n!a.xn--55qx5d.cn\n!a.公司.cn\n", true },
        { "公司.cn\n*.xn--55qx5d.cn\n", false }, /* two rules in one */
        { "ａ.com\nco.uk\n", false },            /* which may become a.com */
        { "stra\xC3\x9F"
          "e.de\nco.uk\n",
          false },
        { "CO.uk\n", false },
        { "co..uk\n", false },
        { ".uk\nco.uk\n", false },
        { "\xff.uk\nco.uk\n", false },
        { "a.b.c.d.e.f.g.h.i\n", false },
        { "c.a。b.uk\nco.uk\n", false },
        { "公司。uk\nco.uk\n", false },
        { "\n\nco.uk\nb.uk\n\n*.b.ck\n!a.b.ck\nwww.ck x\nck", true },
    };
    static const char *const labels[] = { "com",        "uk", "co",       "ck",  "www",
                                          "a",          "b",  "c",        "d",   "cn",
                                          "xn--55qx5d", "",   "\xC3\xA9", "co_", "de" };
    enum { LABELS = sizeof labels / sizeof *labels };
    const size_t names = dx_sample(20000, 1500);
    uint64_t state = 7;
    size_t failed = 0;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct pair p;

        open_pair(&p, dx_span_str(lists[i].text));
        if ((p.ours != NULL) != lists[i].table) {
            printf("FAILED list %zu: %s\n", i, p.ours != NULL ? "a table" : "no table");
            failed++;
        }
        for (size_t k = 0; k < names; k++) {
            char name[NAME_MAX_BYTES] = "";
            size_t count;

            state = state * 6364136223846793005u + 1442695040888963407u;
            count = 1 + (state >> 60) % (k % 8 == 0 ? 14 : 6);
            for (size_t n = 0; n < count; n++) {
                (void)strcat(name, n > 0 ? "." : "");
                (void)strcat(name, labels[(state >> (8 * (n % 7))) % LABELS]);
            }
            ask(&p, dx_span_str(name));
        }
        failed += p.failed;
        close_pair(&p);
    }
    return failed;
}

int main(void)
{
    size_t failed = check_small() + check_files();

    printf("%zu failed\n", failed);
    return failed == 0 ? 0 : 1;
}
