/* SPDX-License-Identifier: Apache-2.0
 * Completion against a search of all names of a small root by their text: every beginning of names,
 * limits and scopes; what is typed as URLs, in other case, as IDN, and what is nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "canon/url.h"
#include "query/answers/answer.h"
#include "query/view/completion.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 150
#define DOMAINS_MAX 400
#define DATASETS 4
#define NAME 64

static unsigned failures;
static unsigned domain_count = DOMAINS;                                       /* of the root */
static bool (*is_member)(unsigned i, unsigned dataset) = dx_test_root_member; /* in it */

static bool is_visible(const struct dx_scope *scope, unsigned i)
{
    bool some = false;

    for (uint32_t d = 1; d <= DATASETS; d++)
        some |= is_member(i, d) && (scope == NULL || dx_scope_has(scope, d));
    return some;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Names LABEL.SUFFIX whose label is that text, or goes on from it, in byte order. */
static void expect_suffix(const struct dx_scope *scope, const char *text, const char *suffix,
                          bool whole, struct dx_buf *out)
{
    static char names[DOMAINS_MAX][NAME];
    size_t n = 0;

    for (unsigned i = 0; i < domain_count; i++) {
        char name[NAME];
        size_t label;

        dx_test_root_domain(i, name);
        label = strcspn(name, ".");
        if (i % 7 != 6 && is_visible(scope, i) && strcmp(name + label + 1, suffix) == 0 &&
            strncmp(name, text, strlen(text)) == 0 && (label == strlen(text)) == whole)
            memcpy(names[n++], name, NAME);
    }
    qsort(names, n, NAME, by_text);
    for (size_t i = 0; i < n; i++)
        dx_buf_fmt(out, "%s\n", names[i]);
}

/* Of a text without a dot. */
static void expect(const struct dx_scope *scope, const char *text, struct dx_buf *out)
{
    static const char *const in_order[] = { "com", "org", "co.uk" }; /* those of the root */

    for (unsigned whole = 2; whole-- > 0;)
        for (size_t i = 0; i < 3; i++)
            expect_suffix(scope, text, in_order[i], whole == 1, out);
}

static bool ask(const struct asker *a, const struct dx_scope *scope, const char *q, uint64_t limit,
                struct dx_buf *out)
{
    const struct dx_view view = { a->v, scope, false };
    const struct dx_complete_ask complete = { dx_span_str(q), limit };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem problem;
    json_t *page;
    json_t *domains;
    bool more;
    int rc = dx_answer_complete(&view, a->canon, &complete, &body, &problem);

    dx_buf_clear(out);
    EXPECT(rc == 1, "%s: %d %s", q, rc, problem.detail);
    page = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
    domains = json_object_get(page, "domains");
    EXPECT(page != NULL && json_array_size(domains) <= limit, "%s: %.*s", q, (int)body.size,
           (const char *)body.data);
    for (size_t i = 0; i < json_array_size(domains); i++)
        dx_buf_fmt(out, "%s\n", json_string_value(json_array_get(domains, i)));
    more = json_is_true(json_object_get(page, "more"));
    json_decref(page);
    dx_buf_release(&body);
    return more;
}

/* The first `limit` lines; whether there are more. */
static bool cut_lines(struct dx_buf *text, uint64_t limit)
{
    for (size_t i = 0; i < text->size; i++)
        if (text->data[i] == '\n' && --limit == 0) {
            bool more = i + 1 < text->size;

            text->size = i + 1;
            return more;
        }
    return false;
}

static void check(const struct asker *a, const struct dx_scope *scope, const char *text)
{
    static const uint64_t limits[] = { 1, 2, 10, 100 };
    struct dx_buf got = DX_BUF_INIT(100000);
    struct dx_buf whole = DX_BUF_INIT(100000);
    struct dx_buf want = DX_BUF_INIT(100000);

    expect(scope, text, &whole);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        bool more;

        dx_buf_clear(&want);
        dx_buf_append(&want, whole.data, whole.size);
        more = cut_lines(&want, limits[i]);
        EXPECT(ask(a, scope, text, limits[i], &got) == more, "%s, limit %u: more", text,
               (unsigned)limits[i]);
        EXPECT(dx_span_equal(dx_span_of(got.data, got.size), dx_span_of(want.data, want.size)),
               "%s, limit %u:\n%.*snot\n%.*s", text, (unsigned)limits[i], (int)got.size,
               (const char *)got.data, (int)want.size, (const char *)want.data);
    }
    dx_buf_release(&got);
    dx_buf_release(&whole);
    dx_buf_release(&want);
}

static void check_all(const struct asker *a, const struct dx_scope *scope)
{
    static const char *const texts[] = { "n",      "name", "name1", "name12",
                                         "name29", "nam-", "o",     "zzz",
                                         "0",      "-",    "_",     "name1-9e3779b1x",
                                         "com" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(a, scope, texts[i]);
    for (unsigned i = 0; i < 12; i++) {
        char name[NAME];

        dx_test_root_domain(i, name);
        name[strcspn(name, ".")] = '\0';
        if (i % 7 != 6)
            check(a, scope, name);
    }
}

/* Other forms of a name are the name. 15 is of com, 16 of org, 17 of co.uk. */
static void check_forms(const struct asker *a)
{
    static const struct {
        const char *before, *behind;
        bool some;
    } rows[] = {
        { "", "", true },
        { "https://www.", "/a?b#c", true },
        { "HTTP://user@WWW.", ":8080/", true },
        { "  ", ". ", true },
        { "//", "/x", true },
        { "a.b.c.", "", true },
        { "", "/", true },
        { "", ".b", false },
        { "x", "", false },
    };
    struct dx_buf got = DX_BUF_INIT(100000);

    for (unsigned i = 15; i < 18; i++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            char name[NAME];
            char q[200];

            dx_test_root_domain(i, name);
            (void)snprintf(q, sizeof q, "%s%s%s", rows[r].before, name, rows[r].behind);
            EXPECT(!ask(a, NULL, q, 100, &got), "%s: more", q);
            (void)snprintf(q, sizeof q, "%s%s", rows[r].some ? name : "", rows[r].some ? "\n" : "");
            EXPECT(dx_span_equal(dx_span_of(got.data, got.size), dx_span_str(q)), "%s %s %s: %.*s",
                   rows[r].before, name, rows[r].behind, (int)got.size, (const char *)got.data);
        }
    dx_buf_release(&got);
}

/* With a dot, what follows it is the beginning of a suffix. */
static void check_dots(const struct asker *a)
{
    struct dx_buf got = DX_BUF_INIT(100000);

    for (unsigned i = 15; i < 18; i++) {
        char name[NAME];
        char line[NAME + 1];
        size_t label;

        dx_test_root_domain(i, name);
        (void)snprintf(line, sizeof line, "%s\n", name);
        label = strcspn(name, ".");
        for (size_t n = strlen(name); n > label; n--) {
            name[n] = '\0';
            (void)ask(a, NULL, name, 10, &got);
            EXPECT(dx_span_equal(dx_span_of(got.data, got.size), dx_span_str(line)), "%s: %.*s",
                   name, (int)got.size, (const char *)got.data);
        }
    }
    dx_buf_release(&got);
}

static void check_nothing(const struct asker *a)
{
    static const char *const texts[] = {
        "",      " ",     ".",    "...",      "http://", "http:///n",       "//",
        "@",     ":80",   "[::1", "\xff\xfe", "\xc3",    "n\x01m",          "n me",
        "/name", "?name", "www.", "..name",   "xn--",    "\xf0\x9f\x98\x80"
    };
    struct dx_buf got = DX_BUF_INIT(100000);
    char text[400];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        EXPECT(!ask(a, NULL, texts[i], 10, &got), "%s", texts[i]);
        EXPECT(got.size == 0, "'%s': %.*s", texts[i], (int)got.size, (const char *)got.data);
    }
    for (size_t n = 1; n < sizeof text; n++) { /* of every length, of a byte or two a letter */
        memset(text, n % 3 == 0 ? 'n' : 'q', n);
        text[n] = '\0';
        EXPECT(!ask(a, NULL, text, 10, &got) && got.size == 0, "%zu", n);
        for (size_t i = 0; i + 1 < n; i += 2)
            memcpy(text + i, "\xc3\xbc", 2);
        EXPECT(!ask(a, NULL, text, 10, &got) && got.size == 0, "%zu in UTF-8", n);
    }
    dx_buf_release(&got);
}

static void check_read(const struct asker *a)
{
    static const struct {
        const char *q, *text, *domain;
    } rows[] = {
        { "b\xc3\xbc", "xn--b-eha", "" },
        { "B\xc3\x9c"
          "CHER.de",
          "xn--bcher-kva.de", "xn--bcher-kva.de" },
        { "b\xc3\xbc"
          "cher.",
          "xn--bcher-kva.", "" },
        { "www.b\xc3\xbc"
          "cher.de/x",
          "xn--bcher-kva.de", "xn--bcher-kva.de" },
        { "WWW.Example.COM", "example.com", "example.com" },
        { "exam", "exam", "" },
        { "exam-", "exam-", "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_completion_typed t;

        dx_completion_read(&t, a->canon, dx_span_str(rows[i].q));
        EXPECT(dx_span_equal(dx_span_of(t.text, t.size), dx_span_str(rows[i].text)), "%s: %.*s",
               rows[i].q, (int)t.size, (const char *)t.text);
        EXPECT(dx_span_equal(dx_span_of(t.domain, t.domain_size), dx_span_str(rows[i].domain)),
               "%s: %.*s", rows[i].q, (int)t.domain_size, (const char *)t.domain);
    }
}

static void check_scopes(const struct asker *a)
{
    for (unsigned bits = 1; bits < 1u << DATASETS; bits += (unsigned)dx_sample(1, 3)) {
        struct dx_error err = DX_ERROR_INIT;
        const struct dx_scope *held;
        struct dx_scope *scope;
        uint32_t ids[DATASETS];
        size_t n = 0;

        for (uint32_t d = 0; d < DATASETS; d++)
            if ((bits >> d & 1) != 0)
                ids[n++] = d + 1;
        EXPECT(dx_scope_more(&scope, NULL, ids, n, &err) == DX_OK, "%s", err.text);
        held = scope;
        check_all(a, held);
        dx_scope_drop(&held);
    }
}

/* Dataset 1 has all, the others few that lie far apart. */
static bool is_far_member(unsigned i, unsigned dataset)
{
    return dataset == 1 || (dataset == 2 ? i % 97 == 50 : i == (dataset == 3 ? 399 : 1));
}

static unsigned far_rows(unsigned i, unsigned dataset)
{
    return is_far_member(i, dataset) ? 1 : 0;
}

/* A caller that does not see dataset 1 has more hidden domains in a row than are passed one by one. */
static void check_far(void)
{
    struct dx_test_root root;
    struct dx_test_shape shape;
    struct asker a;

    dx_test_root_usual(&shape);
    shape.rows = far_rows;
    domain_count = DOMAINS_MAX;
    is_member = is_far_member;
    dx_test_root_make_of(&root, DOMAINS_MAX, DATASETS, &shape);
    open_asker(&a, root.path);
    check_scopes(&a);
    close_asker(&a);
    dx_test_root_remove(&root);
}

int main(void)
{
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    open_asker(&a, root.path);
    check_all(&a, NULL);
    check_scopes(&a);
    check_forms(&a);
    check_dots(&a);
    check_nothing(&a);
    check_read(&a);
    close_asker(&a);
    dx_test_root_remove(&root);
    check_far();
    return failures > 0;
}
