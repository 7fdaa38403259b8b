/* SPDX-License-Identifier: Apache-2.0
 * Domains in order of keys with their counts: those that the rule of small_root.h gives, of all datasets, of one and of
 * a scope, of a TLD and of a prefix; the same by pages of any size, also where few may be examined for one.
 */
#include <stdlib.h>

#include <jansson.h>

#include "format/core/surt.h"
#include "query/answers/answer.h"
#include "query/rows/cursor.h"
#include "query/view/view.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 60
#define DATASETS 4

static unsigned failures;

static const struct dx_cursor_key key = { DX_CURSOR_KEY_SHARED, { 3 } };

struct question {
    const struct dx_scope *scope;
    uint32_t dataset; /* 0: all */
    const char *suffix, *prefix;
    uint64_t limit, look_max;
};

static bool is_asked(const struct question *q, const char *name)
{
    size_t n = strlen(name);
    size_t suffix = q->suffix == NULL ? 0 : strlen(q->suffix);

    if (q->prefix != NULL && strncmp(name, q->prefix, strlen(q->prefix)) != 0)
        return false;
    return q->suffix == NULL || strcmp(name, q->suffix) == 0 ||
           (n > suffix && name[n - suffix - 1] == '.' && strcmp(name + n - suffix, q->suffix) == 0);
}

static int by_key(const void *a, const void *b)
{
    uint8_t x[DX_SURT_MAX + 1] = { 0 };
    uint8_t y[DX_SURT_MAX + 1] = { 0 };

    (void)dx_surt_key(dx_span_str(a), x);
    (void)dx_surt_key(dx_span_str(b), y);
    return strcmp((const char *)x, (const char *)y);
}

/* As the answer has them, a line each. */
static void expect(const struct question *q, struct dx_buf *out)
{
    char names[DOMAINS][64];

    for (unsigned i = 0; i < DOMAINS; i++)
        dx_test_root_domain(i, names[i]);
    qsort(names, DOMAINS, sizeof names[0], by_key);
    for (unsigned n = 0; n < DOMAINS; n++) {
        unsigned datasets = 0;
        unsigned rows = 0;
        char name[64];
        unsigned i = 0;

        for (; i < DOMAINS; i++) {
            dx_test_root_domain(i, name);
            if (strcmp(name, names[n]) == 0)
                break;
        }
        for (uint32_t d = 1; d <= DATASETS; d++)
            if (dx_test_root_member(i, d) && (q->dataset == 0 || q->dataset == d) &&
                (q->scope == NULL || dx_scope_has(q->scope, d))) {
                datasets++;
                rows += dx_test_root_rows(i, d);
            }
        if (datasets > 0 && is_asked(q, name)) /* each row has a URL of its own */
            dx_buf_fmt(out, "%s %u %u %u\n", name, datasets, rows, rows);
    }
}

static int ask(const struct asker *a, const struct question *q, const struct dx_cursor *from,
               struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view view = { a->v, q->scope, false };
    struct dx_domains_ask domains = { .one_dataset = q->dataset != 0,
                                      .dataset_id = q->dataset,
                                      .limit = q->limit,
                                      .fields = DX_DOMAINS_FIELDS_ALL,
                                      .paging.from = from,
                                      .paging.cursors = &key,
                                      .paging.began_s = 1795000000,
                                      .look_max = q->look_max };

    if (q->suffix != NULL)
        domains.suffix = dx_span_str(q->suffix);
    if (q->prefix != NULL)
        domains.prefix = dx_span_str(q->prefix);
    dx_buf_clear(body);
    return dx_answer_domains(&view, a->canon, &domains, body, problem);
}

/* The items of a page; whether it goes on, with *next. */
static bool take_page(const struct dx_buf *body, const struct question *q, struct dx_cursor *next,
                      struct dx_buf *out)
{
    json_t *page = json_loadb((const char *)body->data, body->size, JSON_REJECT_DUPLICATES, NULL);
    json_t *items = json_object_get(page, "domains");
    const char *cursor = json_string_value(json_object_get(page, "next_cursor"));
    struct dx_problem problem;

    EXPECT(json_array_size(items) <= q->limit, "%zu items", json_array_size(items));
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);

        dx_buf_fmt(out, "%s %lld %lld %lld\n", json_string_value(json_object_get(item, "domain")),
                   json_integer_value(json_object_get(item, "dataset_count")),
                   json_integer_value(json_object_get(item, "url_count")),
                   json_integer_value(json_object_get(item, "row_count")));
    }
    EXPECT(cursor == NULL || dx_cursor_read(dx_span_str(cursor), &key, NULL, next, &problem) == 1,
           "%s", cursor);
    json_decref(page);
    return cursor != NULL;
}

static void check(const struct asker *a, struct question q)
{
    static const uint64_t limits[] = { 1, 3, 1000 };
    static const uint64_t looks[] = { 1, 5, 17, 0 };
    static size_t turn;

    for (size_t i = dx_sample(0, turn++ % 5); i < 12; i += dx_sample(1, 5)) {
        struct dx_buf want = DX_BUF_INIT(10000);
        struct dx_buf got = DX_BUF_INIT(10000);
        struct dx_buf body = DX_BUF_INIT(1 << 20);
        struct dx_cursor from = { .limit = 0 };
        struct dx_problem problem;
        bool more = true;

        q.limit = limits[i % 3];
        q.look_max = looks[i / 3];
        expect(&q, &want);
        for (unsigned pages = 0; more && pages < 10000; pages++) {
            int rc = ask(a, &q, pages == 0 ? NULL : &from, &body, &problem);

            EXPECT(rc == 1, "page %u: %d %s", pages, rc, problem.detail);
            more = rc == 1 && take_page(&body, &q, &from, &got);
        }
        EXPECT(dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size)),
               "dataset %u, limit %u, look %u:\n%.*snot\n%.*s", (unsigned)q.dataset,
               (unsigned)q.limit, (unsigned)q.look_max, (int)got.size, (const char *)got.data,
               (int)want.size, (const char *)want.data);
        dx_buf_release(&want);
        dx_buf_release(&got);
        dx_buf_release(&body);
    }
}

static void check_questions(const struct asker *a, const struct dx_scope *scope, uint32_t dataset)
{
    static const char *const parts[][2] = { { NULL, NULL }, { "com", NULL },  { "co.uk", NULL },
                                            { "uk", NULL }, { "none", NULL }, { NULL, "d" },
                                            { "org", "d" }, { NULL, "zz" } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        check(a, (struct question){ .scope = scope,
                                    .dataset = dataset,
                                    .suffix = parts[i][0],
                                    .prefix = parts[i][1] });
}

static void check_scopes(const struct asker *a)
{
    for (unsigned bits = 1; bits < 1u << DATASETS; bits += 2) {
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
        check_questions(a, held, 0);
        check_questions(a, held, ids[0]);
        dx_scope_drop(&held);
    }
}

static void check_refusals(const struct asker *a)
{
    const struct question q = { .suffix = "com", .limit = 1 };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf items = DX_BUF_INIT(10000);
    struct dx_cursor from = { .limit = 0 };
    struct dx_cursor changed;
    struct dx_problem problem;

    EXPECT(ask(a, &q, NULL, &body, &problem) == 1 && take_page(&body, &q, &from, &items), "a page");
    changed = from;
    changed.next_row = DOMAINS + 1;
    EXPECT(ask(a, &q, &changed, &body, &problem) == 0, "behind the last domain");
    changed = from;
    changed.build.bytes[0] ^= 1;
    EXPECT(ask(a, &q, &changed, &body, &problem) == 0 && problem.kind == DX_PROBLEM_GONE,
           "another version of this name");
    dx_buf_release(&body);
    dx_buf_release(&items);
}

struct starved {
    const struct asker *a;
    struct dx_buf want; /* the answer where there is memory */
};

static int without_memory(void *ctx, struct dx_error *err)
{
    const struct question q = { .dataset = 2, .limit = 1000 };
    struct starved *s = ctx;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem p = { 0 };
    int rc = ask(s->a, &q, NULL, &body, &p);

    if (rc == 1 && s->want.size == 0)
        dx_buf_append(&s->want, body.data, body.size);
    if (rc == 1) /* a short page must not pass for an answer */
        EXPECT(
            dx_span_equal(dx_span_of(body.data, body.size), dx_span_of(s->want.data, s->want.size)),
            "%.*s", (int)body.size, (const char *)body.data);
    dx_buf_release(&body);
    if (rc == 1)
        return DX_OK;
    return dx_fail(err, rc < 0 ? (enum dx_code)rc : DX_E_CORRUPT, "%s: %s", p.slug, p.detail);
}

int main(void)
{
    struct dx_test_root root;
    struct asker a;
    struct starved starved = { &a, DX_BUF_INIT(1 << 20) };

    dx_test_root_make(&root, DOMAINS, DATASETS);
    open_asker(&a, root.path);
    for (uint32_t d = 0; d <= DATASETS; d++)
        check_questions(&a, NULL, d);
    check_scopes(&a);
    check_refusals(&a);
    failures += fail_alloc_each("domains", FAIL_ALLOC_GOES_ON, without_memory, &starved) > 0;
    dx_buf_release(&starved.want);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
