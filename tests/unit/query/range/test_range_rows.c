/* SPDX-License-Identifier: Apache-2.0
 * Rows of all domains of a suffix: those that the rule of small_root.h gives, of all datasets, of one and of a scope, by pages of any
 * size, also where a page may look at few domains; in two parts; what is hidden makes no page; cursors of others. By URL and in reverse,
 * with the number of all; and where there are too many for that.
 */
#include <stdlib.h>

#include <jansson.h>

#include "format/core/surt.h"
#include "query/answers/task.h"
#include "query/range/answer_suffix.h"
#include "query/range/range_rows.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 40
#define MORE 10
#define DATASETS 4

static unsigned failures;

static const struct dx_cursor_key key = { DX_CURSOR_KEY_SHARED, { 3 } };

struct question {
    const char *suffix;
    const struct dx_scope *scope;
    uint32_t dataset; /* 0: all */
    uint64_t limit, look_max;
    const char *prefix; /* of paths; NULL: no filter */
    unsigned plan;
    int order; /* 1: by URL; -1: in reverse */
};

static int ask(const struct asker *a, const struct question *q, const struct dx_cursor *from,
               struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view view = { a->v, q->scope, false };
    struct dx_suffix_urls_ask urls = { .asked = dx_span_str(q->suffix),
                                       .page = { .one_dataset = q->dataset != 0,
                                                 .dataset_id = q->dataset,
                                                 .limit = q->limit,
                                                 .fields = DX_FIELD_URL,
                                                 .plan = q->plan,
                                                 .paging.from = from,
                                                 .paging.cursors = &key,
                                                 .paging.began_s = 1795000000,
                                                 .look_max = q->look_max } };
    struct dx_task *task;
    int rc;

    if (q->order != 0)
        urls.page.order = (struct dx_url_order){ .sort = DX_CURSOR_SORT_URL,
                                                 .reverse = q->order < 0 };
    if (q->prefix != NULL)
        urls.page.filter.prefix = dx_span_str(q->prefix);
    dx_buf_clear(body);
    rc = dx_task_suffix_urls(&view, a->canon, &urls, &task, body, problem);
    return dx_task_finish(&task, rc, body, problem);
}

/* "dataset url" of each row, a line each; whether the listing goes on, with *next. */
static bool take_page(const struct dx_buf *body, uint64_t limit, struct dx_cursor *next,
                      struct dx_buf *out)
{
    json_t *page = json_loadb((const char *)body->data, body->size, JSON_REJECT_DUPLICATES, NULL);
    json_t *items = json_object_get(page, "items");
    const char *cursor = json_string_value(json_object_get(page, "next_cursor"));
    struct dx_problem problem;

    EXPECT(json_is_array(items) && json_array_size(items) <= limit, "%zu items",
           json_array_size(items));
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);

        dx_buf_fmt(out, "%s %lld %s\n", json_string_value(json_object_get(item, "domain")),
                   json_integer_value(json_object_get(item, "dataset_id")),
                   json_string_value(json_object_get(item, "url")));
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

/* All pages of all parts, one after the other. */
static void follow_plan(const struct asker *a, const struct question *q, unsigned parts,
                        struct dx_buf *out)
{
    struct question planned = *q;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem problem;
    json_t *plan;
    json_t *cursors;

    planned.plan = parts;
    EXPECT(ask(a, &planned, NULL, &body, &problem) == 1, "a plan: %s", problem.detail);
    plan = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
    cursors = json_object_get(plan, "cursors");
    EXPECT(json_array_size(cursors) == parts && json_object_get(plan, "items") == NULL,
           "%zu cursors of %u", json_array_size(cursors), parts);
    for (size_t i = 0; i < json_array_size(cursors); i++) {
        const char *text = json_string_value(json_array_get(cursors, i));
        struct dx_cursor from;
        bool more = dx_cursor_read(dx_span_str(text), &key, NULL, &from, &problem) == 1;

        EXPECT(more, "%s", text);
        while (more) {
            int rc = ask(a, q, &from, &body, &problem);

            EXPECT(rc == 1, "part %zu: %d %s", i, rc, problem.detail);
            more = rc == 1 && take_page(&body, q->limit, &from, out);
        }
    }
    json_decref(plan);
    dx_buf_release(&body);
}

static bool asks(const struct question *q, uint32_t d)
{
    return (q->dataset == 0 || q->dataset == d) && (q->scope == NULL || dx_scope_has(q->scope, d));
}

/* Domains in order of their reversed labels. */
static int compare_keys(const void *a, const void *b)
{
    char x[2][64];
    uint8_t keys[2][DX_SURT_MAX];
    size_t sizes[2];

    dx_test_root_domain(*(const unsigned *)a, x[0]);
    dx_test_root_domain(*(const unsigned *)b, x[1]);
    for (size_t i = 0; i < 2; i++)
        sizes[i] = dx_surt_key(dx_span_str(x[i]), keys[i]);
    return dx_span_compare(dx_span_of(keys[0], sizes[0]), dx_span_of(keys[1], sizes[1]));
}

static bool is_below(const char *domain, const char *suffix)
{
    size_t size = strlen(domain);
    size_t of = strlen(suffix);

    return size >= of && strcmp(domain + size - of, suffix) == 0 &&
           (size == of || domain[size - of - 1] == '.');
}

static void expect(const struct question *q, struct dx_buf *out)
{
    unsigned order[DOMAINS + MORE];

    for (unsigned i = 0; i < DOMAINS + MORE; i++)
        order[i] = i;
    qsort(order, DOMAINS + MORE, sizeof *order, compare_keys);
    for (unsigned k = 0; k < DOMAINS + MORE; k++) {
        unsigned i = order[k];
        char domain[64];

        dx_test_root_domain(i, domain);
        for (uint32_t d = 1; d <= DATASETS && is_below(domain, q->suffix); d++) {
            bool is_there = i < DOMAINS ? dx_test_root_member(i, d) : d == 1;

            for (unsigned row = 0; is_there && asks(q, d) && row < dx_test_root_rows(i, d); row++) {
                char url[128];

                dx_test_root_url(i, d, row, url);
                if (q->prefix == NULL ||
                    strncmp(strchr(url + 8, '/'), q->prefix, strlen(q->prefix)) == 0)
                    dx_buf_fmt(out, "%s %u %s\n", domain, (unsigned)d, url);
            }
        }
    }
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
    static const char *const suffixes[] = { "com", "uk", "org", "k" };
    static const uint64_t limits[] = { 1, 3, 7, 1000 };
    static const uint64_t looks[] = { 1, 5, 0 };

    for (size_t i = dx_sample(0, dataset); i < 4 * 4 * 3 * 2; i += dx_sample(1, 11)) {
        const struct question q = { suffixes[i / 24],
                                    scope,
                                    dataset,
                                    limits[i % 4],
                                    looks[i / 4 % 3],
                                    i / 12 % 2 == 0 ? NULL : "/1",
                                    0,
                                    0 };
        struct dx_buf want = DX_BUF_INIT(1 << 20);
        struct dx_buf got = DX_BUF_INIT(1 << 20);
        unsigned pages;

        expect(&q, &want);
        pages = follow(a, &q, &got);
        EXPECT(dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size)),
               "%s, dataset %u, limit %u, look %u, prefix %s:\n%.*snot\n%.*s", q.suffix,
               (unsigned)dataset, (unsigned)q.limit, (unsigned)q.look_max,
               q.prefix == NULL ? "none" : q.prefix, (int)got.size, (const char *)got.data,
               (int)want.size, (const char *)want.data);
        if (q.prefix == NULL && q.look_max == 0 && lines(&want) > 0)
            EXPECT(pages == (lines(&want) + q.limit - 1) / q.limit, "%u pages of %zu", pages,
                   lines(&want));
        if (q.look_max == 0) {
            dx_buf_clear(&got);
            follow_plan(a, &q, 1 + (unsigned)(i % 7) * 9, &got);
            EXPECT(dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size)),
                   "%s, dataset %u, a plan of %u:\n%.*snot\n%.*s", q.suffix, (unsigned)dataset,
                   1 + (unsigned)(i % 7) * 9, (int)got.size, (const char *)got.data, (int)want.size,
                   (const char *)want.data);
        }
        dx_buf_release(&want);
        dx_buf_release(&got);
    }
}

/* ---- in another order ---- */

struct line {
    const char *text; /* "domain dataset url" */
    size_t size;
    const char *host, *path; /* in it */
    size_t host_size, path_size;
};

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;
    int c = dx_span_compare(dx_span_of(x->host, x->host_size), dx_span_of(y->host, y->host_size));

    if (c == 0)
        c = dx_span_compare(dx_span_of(x->path, x->path_size), dx_span_of(y->path, y->path_size));
    return c != 0 ? c : x->text < y->text ? -1 : 1; /* as they came: by dataset and place */
}

/* Lines by URL, where `in` has them by domain and dataset. */
static void sort_lines(const struct dx_buf *in, bool reverse, struct dx_buf *out)
{
    struct line *all = calloc(lines(in) + 1, sizeof *all);
    const char *p = (const char *)in->data;
    size_t n = 0;

    for (; n < lines(in); n++) {
        const char *end = strchr(p, '\n');

        all[n].text = p;
        all[n].size = (size_t)(end + 1 - p);
        all[n].host = strstr(p, "://") + 3;
        all[n].path = strchr(all[n].host, '/');
        all[n].host_size = (size_t)(all[n].path - all[n].host);
        all[n].path_size = (size_t)(end - all[n].path);
        p = end + 1;
    }
    if (n > 1)
        qsort(all, n, sizeof *all, compare_lines);
    for (size_t i = 0; i < n; i++) {
        const struct line *l = &all[reverse ? n - 1 - i : i];

        dx_buf_append(out, l->text, l->size);
    }
    free(all);
}

static void check_order(const struct asker *a, const struct dx_scope *scope, uint32_t dataset)
{
    static const char *const suffixes[] = { "com", "uk", "org", "k" };
    static const uint64_t limits[] = { 3, 7, 1000 };

    for (size_t i = 0; i < 4 * 3 * 2 * 2; i += dx_sample(1, 5)) {
        const struct question q = { suffixes[i / 12],
                                    scope,
                                    dataset,
                                    limits[i % 3],
                                    0,
                                    i / 3 % 2 == 0 ? NULL : "/1",
                                    0,
                                    i / 6 % 2 == 0 ? 1 : -1 };
        struct dx_buf plain = DX_BUF_INIT(1 << 20);
        struct dx_buf want = DX_BUF_INIT(1 << 20);
        struct dx_buf got = DX_BUF_INIT(1 << 20);

        expect(&q, &plain);
        dx_buf_u8(&plain, '\0');
        plain.size--;
        sort_lines(&plain, q.order < 0, &want);
        (void)follow(a, &q, &got);
        EXPECT(dx_span_equal(dx_span_of(want.data, want.size), dx_span_of(got.data, got.size)),
               "%s by URL, dataset %u, limit %u, prefix %s:\n%.*snot\n%.*s", q.suffix,
               (unsigned)dataset, (unsigned)q.limit, q.prefix == NULL ? "none" : q.prefix,
               (int)got.size, (const char *)got.data, (int)want.size, (const char *)want.data);
        dx_buf_release(&plain);
        dx_buf_release(&want);
        dx_buf_release(&got);
    }
}

/* Of too many domains, before a row is read; and the number of all rows, on each page. */
static void check_price(const struct asker *a)
{
    struct question q = { .suffix = "com", .limit = 3, .look_max = 5, .order = 1 };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf want = DX_BUF_INIT(1 << 20);
    struct dx_problem problem;
    json_t *page;

    EXPECT(ask(a, &q, NULL, &body, &problem) < 0 && problem.kind == DX_PROBLEM_TOO_MUCH &&
               strstr(problem.detail, "over 5 domains") != NULL,
           "six domains of five: %s", problem.detail);
    q.look_max = 0;
    expect(&q, &want);
    EXPECT(ask(a, &q, NULL, &body, &problem) == 1, "%s", problem.detail);
    page = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
    EXPECT((size_t)json_integer_value(json_object_get(page, "total")) == lines(&want),
           "total of %zu rows", lines(&want));
    json_decref(page);
    dx_buf_release(&body);
    dx_buf_release(&want);
}

/* Rows that another program's cursor names, which are looked at where it does not say where they stand. */
static void check_order_cursors(const struct asker *a)
{
    struct question q = { .suffix = "com", .limit = 2, .order = 1 };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf items = DX_BUF_INIT(1000);
    struct dx_cursor from = { 0 };
    struct dx_cursor other;
    struct dx_problem problem;

    EXPECT(ask(a, &q, NULL, &body, &problem) == 1 && take_page(&body, 2, &from, &items) &&
               from.sort == DX_CURSOR_SORT_URL,
           "a first page");
    other = from;
    other.next_number = UINT32_MAX;
    EXPECT(ask(a, &q, &other, &body, &problem) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST,
           "a domain behind all: %s", problem.detail);
    other = from;
    other.next_row = 1 << 20;
    other.next_dataset = DATASETS + 1;
    EXPECT(ask(a, &q, &other, &body, &problem) == 1, "a position needs no row: %s", problem.detail);
    from.position.given = from.position.has_ts = false;
    other = from;
    other.next_row = 1 << 20;
    EXPECT(ask(a, &q, &other, &body, &problem) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST,
           "a row behind all: %s", problem.detail);
    other = from;
    other.next_dataset = DATASETS + 1;
    EXPECT(ask(a, &q, &other, &body, &problem) == 0 && problem.kind == DX_PROBLEM_GONE,
           "a dataset that there is not: %s", problem.detail);
    dx_buf_release(&body);
    dx_buf_release(&items);
}

static void check_scopes(const struct asker *a)
{
    for (unsigned bits = 1; bits < 1u << DATASETS; bits += 4) {
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
        check_order(a, held, 0);
        dx_scope_drop(&held);
    }
}

/* Those of another suffix or build, and places that there are not. */
static void check_cursors(const struct asker *a)
{
    struct question q = { "com", NULL, 0, 2, 0, NULL, 0, 0 };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf items = DX_BUF_INIT(1000);
    struct dx_cursor from;
    struct dx_problem problem;

    EXPECT(ask(a, &q, NULL, &body, &problem) == 1 && take_page(&body, 2, &from, &items),
           "a first page");
    q.suffix = "org";
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST,
           "another suffix: %s", problem.detail);
    q.suffix = "com";
    from.next_row = 1 << 20;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST,
           "a row behind all: %s", problem.detail);
    from.next_row = 0;
    from.next_number = UINT32_MAX;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST,
           "a domain behind all: %s", problem.detail);
    from.next_number = 0;
    from.build.bytes[0] ^= 1;
    EXPECT(ask(a, &q, &from, &body, &problem) == 0 && problem.kind == DX_PROBLEM_GONE,
           "another version of this name");
    dx_buf_release(&body);
    dx_buf_release(&items);
}

/* ---- the one that takes the rows refuses one ---- */

static int refuse_third(void *ctx, const struct dx_range_row *row, struct dx_error *err)
{
    unsigned *taken = ctx;

    (void)row;
    return ++*taken == 3 ? dx_fail(err, DX_E_LIMIT, "the third row") : DX_OK;
}

static void check_refused_row(const struct asker *a, bool whole)
{
    const struct dx_view view = { a->v, NULL, false };
    const struct dx_range_what what = {
        .suffix = dx_span_str("com"), .limit = 1000, .whole = whole, .fields = DX_FIELD_URL
    };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_range_rows r;
    unsigned taken = 0;
    int rc;

    EXPECT(dx_range_rows_init(&r, &view, &what, refuse_third, &taken, &err) == DX_OK, "%s",
           err.text);
    while ((rc = dx_range_rows_step(&r, &problem)) == DX_TASK_WAITS) {
        rc = dx_read_batch_perform(dx_range_rows_reading(&r), &err);
        if (dx_range_rows_fetched(&r, rc, &err) < 0)
            break;
    }
    EXPECT(rc < 1 && strstr(problem.detail, "the third row") != NULL, "%d, %u rows", rc, taken);
    EXPECT(taken == 3, "%u rows", taken);
    dx_range_rows_release(&r);
}

int main(void)
{
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    dx_test_root_grow(&root, MORE);
    open_asker(&a, root.path);
    check(&a, NULL, 0);
    for (uint32_t d = 1; d <= DATASETS; d++)
        check(&a, NULL, d);
    check_order(&a, NULL, 0);
    check_order(&a, NULL, 2);
    check_price(&a);
    check_scopes(&a);
    check_cursors(&a);
    check_order_cursors(&a);
    check_refused_row(&a, false);
    check_refused_row(&a, true);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
