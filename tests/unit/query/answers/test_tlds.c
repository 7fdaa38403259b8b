/* SPDX-License-Identifier: Apache-2.0
 * Domains, URLs and rows of each TLD: those that the rule of small_root.h gives, of all datasets,
 * of one and of a scope; the same by pages of any size, also where a TLD takes many; not over two
 * states of the suppressions.
 */
#include <stdlib.h>

#include <jansson.h>

#include "canon/url.h"
#include "query/answers/answer.h"
#include "query/rows/cursor.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 60
#define DATASETS 4

static unsigned failures;

static const struct dx_cursor_key key = { DX_CURSOR_KEY_SHARED, { 3 } };

struct question {
    const struct dx_scope *scope;
    uint32_t dataset; /* 0: all */
    uint64_t limit, look_max;
};

/* As the answer writes an item. */
static void expect(const struct question *q, const char *tld, bool (*is)(unsigned i),
                   struct dx_buf *out)
{
    unsigned domains = 0;
    unsigned rows = 0;

    for (unsigned i = 0; i < DOMAINS; i++) {
        unsigned before = rows;

        for (uint32_t d = 1; is(i) && d <= DATASETS; d++)
            if (dx_test_root_member(i, d) && (q->dataset == 0 || q->dataset == d) &&
                (q->scope == NULL || dx_scope_has(q->scope, d)))
                rows += dx_test_root_rows(i, d);
        domains += rows > before;
    }
    if (domains > 0) /* each row has a URL of its own */
        dx_buf_fmt(out, "%s %u %u %u\n", tld, domains, rows, rows);
}

static bool is_address(unsigned i)
{
    return i % 7 == 6;
}

static bool is_com(unsigned i)
{
    return !is_address(i) && i % 3 == 0;
}

static bool is_org(unsigned i)
{
    return !is_address(i) && i % 3 == 1;
}

static bool is_uk(unsigned i)
{
    return !is_address(i) && i % 3 == 2;
}

static int ask(const struct asker *a, const struct question *q, const struct dx_cursor *from,
               struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view view = { a->v, q->scope, false };
    const struct dx_tlds_ask tlds = { .one_dataset = q->dataset != 0,
                                      .dataset_id = q->dataset,
                                      .limit = q->limit,
                                      .paging.from = from,
                                      .paging.cursors = &key,
                                      .paging.began_s = 1795000000,
                                      .look_max = q->look_max };

    dx_buf_clear(body);
    return dx_answer_tlds(&view, a->canon, &tlds, body, problem);
}

/* The items of a page; whether it goes on, with *next. */
static bool take_page(const struct dx_buf *body, uint64_t limit, struct dx_cursor *next,
                      struct dx_buf *out)
{
    json_t *page = json_loadb((const char *)body->data, body->size, JSON_REJECT_DUPLICATES, NULL);
    json_t *items = json_object_get(page, "tlds");
    const char *cursor = json_string_value(json_object_get(page, "next_cursor"));
    struct dx_problem problem;

    EXPECT(json_array_size(items) <= limit, "%zu items", json_array_size(items));
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        const char *tld = json_string_value(json_object_get(item, "tld"));

        dx_buf_fmt(out, "%s %lld %lld %lld\n", tld == NULL ? "-" : tld,
                   json_integer_value(json_object_get(item, "domain_count")),
                   json_integer_value(json_object_get(item, "url_count")),
                   json_integer_value(json_object_get(item, "row_count")));
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
    struct dx_cursor from;
    struct dx_problem problem;
    bool more = true;
    unsigned pages = 0;

    for (; more && pages < 10000; pages++) {
        int rc = ask(a, q, pages == 0 ? NULL : &from, &body, &problem);

        EXPECT(rc == 1, "page %u: %d %s", pages, rc, problem.detail);
        more = rc == 1 && take_page(&body, q->limit, &from, out);
    }
    dx_buf_release(&body);
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
    static const uint64_t limits[] = { 1, 2, 3, 1000 };
    static const uint64_t looks[] = { 1, 2, 5, 17, 0 };

    for (size_t i = 0; i < 20; i++) {
        const struct question q = { scope, dataset, limits[i % 4], looks[i / 4] };
        struct dx_buf want = DX_BUF_INIT(1000);
        struct dx_buf got = DX_BUF_INIT(10000);
        unsigned pages;

        expect(&q, "-", is_address, &want);
        expect(&q, "com", is_com, &want);
        expect(&q, "org", is_org, &want);
        expect(&q, "uk", is_uk, &want);
        pages = follow(a, &q, &got);
        EXPECT(dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size)),
               "dataset %u, limit %u, look %u:\n%.*snot\n%.*s", (unsigned)dataset,
               (unsigned)q.limit, (unsigned)q.look_max, (int)got.size, (const char *)got.data,
               (int)want.size, (const char *)want.data);
        if (q.look_max == 0) /* what is not shown makes no page */
            EXPECT(pages == (lines(&want) + q.limit - 1) / q.limit, "%u pages", pages);
        dx_buf_release(&want);
        dx_buf_release(&got);
    }
}

static void check_scopes(const struct asker *a)
{
    for (unsigned bits = 1; bits < 1u << DATASETS; bits++) {
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

/* What was added up by other suppressions is not added to. */
static void check_line(const struct asker *a)
{
    const struct question q = { NULL, 0, 1000, 12 };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf items = DX_BUF_INIT(1000);
    struct dx_cursor from;
    struct dx_problem problem;

    EXPECT(ask(a, &q, NULL, &body, &problem) == 1 && take_page(&body, 1000, &from, &items),
           "a first page");
    EXPECT(from.sums[0] > 0 && from.sums[1] > 0, "it does not end within a TLD");
    from.line++;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_GONE,
           "a sum of two states: %s", problem.detail);
    memset(from.sums, 0, sizeof from.sums);
    EXPECT(ask(a, &q, &from, &body, &problem) == 1, "nothing was added up: %s", problem.detail);
    from.next_row = DOMAINS + 1;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0, "behind the last domain");
    from.build.bytes[0] ^= 1;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_GONE,
           "another version of this name");
    dx_buf_release(&body);
    dx_buf_release(&items);
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
    check_line(&a);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
