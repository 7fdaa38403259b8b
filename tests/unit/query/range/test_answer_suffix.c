/* SPDX-License-Identifier: Apache-2.0
 * Datasets of a suffix with domains, URLs and rows: those that the rule of small_root.h gives, of all datasets, of one and of a
 * scope; the same by pages of any size, also where one dataset takes many; not over two states of the suppressions.
 */
#include <stdlib.h>

#include <jansson.h>

#include "canon/url.h"
#include "query/range/answer_suffix.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 60
#define DATASETS 4

static unsigned failures;

static const struct dx_cursor_key key = { DX_CURSOR_KEY_SHARED, { 3 } };

struct question {
    const char *suffix;
    const struct dx_scope *scope;
    uint32_t dataset; /* 0: all */
    uint64_t limit, look_max;
};

static bool is_below(unsigned i, const char *suffix)
{
    static const char *const tlds[] = { "com", "org", "co.uk" };
    size_t size = strlen(suffix);
    size_t of = strlen(tlds[i % 3]);

    return i % 7 != 6 && size <= of && strcmp(tlds[i % 3] + of - size, suffix) == 0 &&
           (size == of || tlds[i % 3][of - size - 1] == '.');
}

static bool asks(const struct question *q, uint32_t d)
{
    return (q->dataset == 0 || q->dataset == d) && (q->scope == NULL || dx_scope_has(q->scope, d));
}

/* A line for each dataset, and one of all; each row has a URL of its own. */
static void expect(const struct question *q, struct dx_buf *out)
{
    unsigned all = 0;
    unsigned all_rows = 0;

    for (uint32_t d = 1; d <= DATASETS; d++) {
        unsigned domains = 0;
        unsigned rows = 0;

        for (unsigned i = 0; i < DOMAINS; i++)
            if (is_below(i, q->suffix) && asks(q, d) && dx_test_root_member(i, d)) {
                rows += dx_test_root_rows(i, d);
                domains++;
            }
        if (domains > 0)
            dx_buf_fmt(out, "%u: %u %u %u\n", d, domains, rows, rows);
        all_rows += rows;
    }
    for (unsigned i = 0; i < DOMAINS; i++) {
        bool shown = false;

        for (uint32_t d = 1; d <= DATASETS; d++)
            shown |= asks(q, d) && dx_test_root_member(i, d);
        all += is_below(i, q->suffix) && shown;
    }
    dx_buf_fmt(out, "all: %u %u %u\n", all, all_rows, all_rows);
}

static int ask(const struct asker *a, const struct question *q, const struct dx_cursor *from,
               struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view view = { a->v, q->scope, false };
    const struct dx_suffix_ask suffix = { .asked = dx_span_str(q->suffix),
                                          .one_dataset = q->dataset != 0,
                                          .dataset_id = q->dataset,
                                          .limit = q->limit,
                                          .paging.from = from,
                                          .paging.cursors = &key,
                                          .paging.began_s = 1795000000,
                                          .look_max = q->look_max };

    dx_buf_clear(body);
    return dx_answer_suffix(&view, a->canon, &suffix, body, problem);
}

static void take_counts(const json_t *of, struct dx_buf *out)
{
    dx_buf_fmt(out, " %lld %lld %lld\n", json_integer_value(json_object_get(of, "domain_count")),
               json_integer_value(json_object_get(of, "url_count")),
               json_integer_value(json_object_get(of, "row_count")));
}

/* The items of a page, and its totals once they are known; whether it goes on, with *next. */
static bool take_page(const struct dx_buf *body, uint64_t limit, struct dx_cursor *next,
                      struct dx_buf *items, struct dx_buf *totals)
{
    json_t *page = json_loadb((const char *)body->data, body->size, JSON_REJECT_DUPLICATES, NULL);
    json_t *datasets = json_object_get(page, "datasets");
    json_t *all = json_object_get(page, "totals");
    const char *cursor = json_string_value(json_object_get(page, "next_cursor"));
    struct dx_problem problem;

    EXPECT(json_array_size(datasets) <= limit, "%zu items", json_array_size(datasets));
    EXPECT(json_is_object(all) ||
               (json_array_size(datasets) == 0 && cursor != NULL && totals->size == 0),
           "no totals: %.*s", (int)body->size, (const char *)body->data);
    for (size_t i = 0; i < json_array_size(datasets); i++) {
        json_t *item = json_array_get(datasets, i);

        dx_buf_fmt(items, "%lld:", json_integer_value(json_object_get(item, "dataset_id")));
        take_counts(item, items);
    }
    if (json_is_object(all)) {
        dx_buf_clear(totals);
        dx_buf_str(totals, "all:");
        take_counts(all, totals);
    }
    EXPECT(cursor == NULL || dx_cursor_read(dx_span_str(cursor), &key, NULL, next, &problem) == 1,
           "%s", cursor);
    json_decref(page);
    return cursor != NULL;
}

/* All pages, one after the other; how many. */
static unsigned follow(const struct asker *a, const struct question *q, struct dx_buf *out)
{
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf totals = DX_BUF_INIT(1000);
    struct dx_cursor from;
    struct dx_problem problem;
    bool more = true;
    unsigned pages = 0;

    for (; more && pages < 10000; pages++) {
        int rc = ask(a, q, pages == 0 ? NULL : &from, &body, &problem);

        EXPECT(rc == 1, "page %u: %d %s", pages, rc, problem.detail);
        more = rc == 1 && take_page(&body, q->limit, &from, out, &totals);
    }
    dx_buf_append(out, totals.data, totals.size);
    dx_buf_release(&body);
    dx_buf_release(&totals);
    return pages;
}

static size_t lines(const struct dx_buf *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->size; i++)
        n += text->data[i] == '\n';
    return n;
}

static void check(const struct asker *a, const struct dx_scope *scope, uint32_t dataset)
{
    static const char *const suffixes[] = { "com", "uk", "co.uk", "org", "k", "nobody" };
    static const uint64_t limits[] = { 1, 2, 3, 1000 };
    static const uint64_t looks[] = { 1, 2, 5, 17, 0 };
    static size_t turn;

    for (size_t i = dx_sample(0, turn++ % 7); i < 6 * 20; i += dx_sample(1, 7)) {
        const struct question q = { suffixes[i / 20], scope, dataset, limits[i % 4],
                                    looks[i % 20 / 4] };
        struct dx_buf want = DX_BUF_INIT(1000);
        struct dx_buf got = DX_BUF_INIT(10000);
        unsigned pages;

        expect(&q, &want);
        pages = follow(a, &q, &got);
        EXPECT(dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size)),
               "%s, dataset %u, limit %u, look %u:\n%.*snot\n%.*s", q.suffix, (unsigned)dataset,
               (unsigned)q.limit, (unsigned)q.look_max, (int)got.size, (const char *)got.data,
               (int)want.size, (const char *)want.data);
        if (q.look_max == 0 && lines(&want) > 1) /* what is not shown makes no page */
            EXPECT(pages == (lines(&want) - 2 + q.limit) / q.limit, "%u pages", pages);
        if (q.look_max == 1 && lines(&want) > 1)
            EXPECT(pages > 2, "%s by single looks in %u pages", q.suffix, pages);
        dx_buf_release(&want);
        dx_buf_release(&got);
    }
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
        check(a, held, 0);
        check(a, held, ids[0]);
        dx_scope_drop(&held);
    }
}

/* What was added up by other suppressions is not added to; nor is what was of another name. */
static void check_cursors(const struct asker *a)
{
    struct question q = { "com", NULL, 0, 1000, 12 };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf items = DX_BUF_INIT(1000);
    struct dx_buf totals = DX_BUF_INIT(1000);
    struct dx_cursor from;
    struct dx_problem problem;

    EXPECT(ask(a, &q, NULL, &body, &problem) == 1 &&
               take_page(&body, 1000, &from, &items, &totals) && totals.size == 0,
           "a first page without totals");
    from.line++;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_GONE,
           "a sum of two states: %s", problem.detail);
    from.line--;
    q.suffix = "org";
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST,
           "another suffix: %s", problem.detail);
    q.suffix = "com";
    from.build.bytes[0] ^= 1;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_GONE,
           "another version of this name");
    dx_buf_release(&body);
    dx_buf_release(&items);
    dx_buf_release(&totals);
}

int main(void)
{
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    open_asker(&a, root.path);
    check(&a, NULL, 0);
    for (uint32_t d = 1; d <= DATASETS; d++)
        check(&a, NULL, d);
    check_scopes(&a);
    check_cursors(&a);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
