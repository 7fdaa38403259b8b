/* SPDX-License-Identifier: Apache-2.0
 * The rows of a domain in all its datasets: those that the rule of small_root.h gives, by dataset and then as each
 * listing goes; by offset from everywhere, by cursors and in parts; of some datasets, and of those that a scope has.
 */
#include <stdlib.h>

#include <jansson.h>

#include "canon/url.h"
#include "query/answers/task.h"
#include "query/rows/cursor.h"
#include "query/view/view.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 40
#define DATASETS 5
#define LINES_MAX (1u << 20)

static unsigned failures;

static const struct dx_cursor_key key = { DX_CURSOR_KEY_SHARED, { 3 } };

struct question {
    const struct dx_scope *scope;
    unsigned domain;
    const char *datasets; /* NULL: all */
    const char *prefix;   /* of paths; NULL: no filter */
    unsigned fields;      /* 0: the usual ones */
    uint64_t offset, limit;
    unsigned plan;
    const struct dx_cursor *from;
};

static bool is_listed(const struct question *q, uint32_t d)
{
    char word[16];

    (void)snprintf(word, sizeof word, "%u", (unsigned)d);
    return dx_test_root_member(q->domain, d) && (q->scope == NULL || dx_scope_has(q->scope, d)) &&
           (q->datasets == NULL || strstr(q->datasets, word) != NULL);
}

/* A line "dataset URL" for each row. */
static unsigned expect(const struct question *q, struct dx_buf *out)
{
    unsigned rows = 0;

    for (uint32_t d = 1; d <= DATASETS; d++)
        for (unsigned n = 0; is_listed(q, d) && n < dx_test_root_rows(q->domain, d); n++) {
            char url[128];

            dx_test_root_url(q->domain, d, n, url);
            dx_buf_fmt(out, "%u %s\n", (unsigned)d, url);
            rows++;
        }
    return rows;
}

static int ask(const struct asker *a, const struct question *q, struct dx_buf *body,
               struct dx_problem *problem)
{
    const struct dx_view view = { a->v, q->scope, false };
    struct dx_all_urls_ask urls = { .page = { q->offset, q->limit },
                                    .fields = q->fields != 0 ? q->fields : DX_FIELDS_DEFAULT,
                                    .plan = q->plan,
                                    .paging.from = q->from,
                                    .paging.cursors = &key,
                                    .paging.began_s = 1795000000 };
    struct dx_task *task = NULL;
    char name[64];
    int rc;

    dx_test_root_domain(q->domain, name);
    urls.asked = dx_span_str(name);
    if (q->datasets != NULL)
        urls.datasets = dx_span_str(q->datasets);
    if (q->prefix != NULL)
        urls.filter.prefix = dx_span_str(q->prefix);
    dx_buf_clear(body);
    rc = dx_task_all_urls(&view, a->canon, &urls, &task, NULL, body, problem);
    return dx_task_finish(&task, rc, body, problem);
}

static json_t *parse(const struct dx_buf *body)
{
    return json_loadb((const char *)body->data, body->size, JSON_REJECT_DUPLICATES, NULL);
}

static bool read_cursor(const json_t *text, struct dx_cursor *c)
{
    struct dx_problem problem;

    if (!json_is_string(text))
        return false;
    EXPECT(dx_cursor_read(dx_span_str(json_string_value(text)), &key, NULL, c, &problem) == 1, "%s",
           json_string_value(text));
    return true;
}

/* The items of a page; each names a dataset that the page does. */
static void take_items(json_t *page, struct dx_buf *out)
{
    json_t *items = json_object_get(page, "items");
    json_t *datasets = json_object_get(page, "datasets");
    size_t at = 0;

    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        json_int_t id = json_integer_value(json_object_get(item, "dataset_id"));

        while (at < json_array_size(datasets) &&
               json_integer_value(json_object_get(json_array_get(datasets, at), "dataset_id")) !=
                   id)
            at++;
        EXPECT(at < json_array_size(datasets), "dataset %lld is not named in order", (long long)id);
        dx_buf_fmt(out, "%lld %s\n", (long long)id,
                   json_string_value(json_object_get(item, "url")));
    }
}

static bool same_text(const struct dx_buf *a, const struct dx_buf *b)
{
    return dx_span_equal(dx_span_of(a->data, a->size), dx_span_of(b->data, b->size));
}

/* Follows cursors, or offsets, to the end. */
static void follow(const struct asker *a, const struct question *first, bool by_offset,
                   uint64_t total, struct dx_buf *out)
{
    struct dx_buf body = DX_BUF_INIT(LINES_MAX);
    struct question q = *first;
    struct dx_cursor from;
    struct dx_problem problem;
    bool more = true;

    for (unsigned pages = 0; more && pages < 10000; pages++) {
        int rc = ask(a, &q, &body, &problem);
        json_t *page = parse(&body);

        EXPECT(rc == 1, "page %u of domain %u: %d %s", pages, q.domain, rc, problem.detail);
        EXPECT((uint64_t)json_integer_value(json_object_get(page, "total")) == total, "total of %u",
               q.domain);
        take_items(page, out);
        more = read_cursor(json_object_get(page, "next_cursor"), &from);
        EXPECT(more == json_is_integer(json_object_get(page, "next_offset")), "two ends");
        if (by_offset)
            q.offset = (uint64_t)json_integer_value(json_object_get(page, "next_offset"));
        else
            q.from = &from;
        json_decref(page);
    }
    dx_buf_release(&body);
}

static void check_pages(const struct asker *a, const struct question *q)
{
    static const uint64_t limits[] = { 1, 3, 1000 };
    struct dx_buf want = DX_BUF_INIT(LINES_MAX);
    unsigned rows = expect(q, &want);

    for (unsigned i = 0; i < 6; i++) {
        struct dx_buf got = DX_BUF_INIT(LINES_MAX);
        struct question page = *q;

        page.limit = limits[i % 3];
        follow(a, &page, i < 3, rows, &got);
        EXPECT(same_text(&want, &got), "domain %u by %u:\n%.*snot\n%.*s", q->domain,
               (unsigned)page.limit, (int)got.size, (const char *)got.data, (int)want.size,
               (const char *)want.data);
        dx_buf_release(&got);
    }
    dx_buf_release(&want);
}

/* Parts that are together the whole, and differ by a row at most. */
static void check_plan(const struct asker *a, const struct question *q, unsigned parts)
{
    struct dx_buf body = DX_BUF_INIT(LINES_MAX);
    struct dx_buf want = DX_BUF_INIT(LINES_MAX);
    struct dx_buf got = DX_BUF_INIT(LINES_MAX);
    unsigned rows = expect(q, &want);
    struct question plan = *q;
    struct dx_problem problem;
    json_t *page;

    plan.plan = parts;
    plan.limit = 1000;
    EXPECT(ask(a, &plan, &body, &problem) == 1, "%s", problem.detail);
    page = parse(&body);
    EXPECT(json_array_size(json_object_get(page, "cursors")) == parts, "parts");
    for (size_t i = 0; i < parts; i++) {
        struct question part = *q;
        struct dx_cursor from;

        part.limit = 2;
        part.from = &from;
        if (read_cursor(json_array_get(json_object_get(page, "cursors"), i), &from))
            follow(a, &part, false, rows, &got);
    }
    EXPECT(same_text(&want, &got), "domain %u in %u parts:\n%.*snot\n%.*s", q->domain, parts,
           (int)got.size, (const char *)got.data, (int)want.size, (const char *)want.data);
    json_decref(page);
    dx_buf_release(&body);
    dx_buf_release(&want);
    dx_buf_release(&got);
}

static void check_domain(const struct asker *a, struct question q)
{
    struct dx_buf want = DX_BUF_INIT(LINES_MAX);
    struct dx_buf body = DX_BUF_INIT(LINES_MAX);
    struct dx_problem problem;

    if (expect(&q, &want) > 0) {
        check_pages(a, &q);
        check_plan(a, &q, 1 + q.domain % 4);
        check_plan(a, &q, 64);
    } else {
        q.limit = 10;
        EXPECT(ask(a, &q, &body, &problem) == 0 && problem.kind == DX_PROBLEM_NOT_FOUND,
               "domain %u", q.domain);
    }
    dx_buf_release(&want);
    dx_buf_release(&body);
}

static void check_scopes(const struct asker *a)
{
    for (unsigned bits = 1; bits < 1u << DATASETS; bits += 3) {
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
        for (unsigned i = 0; i < DOMAINS; i += (unsigned)dx_sample(3, 11))
            check_domain(a, (struct question){ .scope = held, .domain = i });
        dx_scope_drop(&held);
    }
}

static void refused(const struct asker *a, const struct question *q, const char *slug)
{
    struct dx_buf body = DX_BUF_INIT(LINES_MAX);
    struct dx_problem problem = { .slug = "" };
    int rc = ask(a, q, &body, &problem);

    EXPECT(rc == 0 && strcmp(problem.slug, slug) == 0, "%d %s, not %s: %s", rc, problem.slug, slug,
           problem.detail);
    dx_buf_release(&body);
}

/* Domain 3 is in datasets 1, 2, 4 and 5. */
static void check_refusals(const struct asker *a)
{
    struct question q = { .domain = 3, .limit = 1 };
    struct dx_buf body = DX_BUF_INIT(LINES_MAX);
    struct dx_cursor from = { .limit = 0 };
    struct dx_cursor changed;
    struct dx_problem problem;
    json_t *page;

    EXPECT(ask(a, &q, &body, &problem) == 1, "%s", problem.detail);
    page = parse(&body);
    EXPECT(read_cursor(json_object_get(page, "next_cursor"), &from), "it has one row");
    json_decref(page);
    dx_buf_release(&body);
    refused(a, &(struct question){ .domain = 3, .limit = 1, .datasets = "99" },
            "dataset-not-found");
    refused(a, &(struct question){ .domain = 3, .limit = 1, .datasets = "1,none" },
            "dataset-not-found");
    refused(a, &(struct question){ .domain = 3, .limit = 1, .datasets = "1,,2" }, "bad-parameter");
    refused(a, &(struct question){ .domain = 3, .limit = 1, .datasets = "3" },
            "domain-not-in-dataset");
    refused(a, &(struct question){ .domain = 4, .limit = 1, .from = &from }, "cursor-mismatch");
    refused(a, &(struct question){ .domain = 3, .limit = 1, .from = &from, .datasets = "1,2,4,5" },
            "cursor-mismatch");
    changed = from;
    changed.build.bytes[0] ^= 1;
    refused(a, &(struct question){ .domain = 3, .limit = 1, .from = &changed }, "version-gone");
    changed = from;
    changed.next_dataset = 1;
    changed.next_row = 1u << 30;
    refused(a, &(struct question){ .domain = 3, .limit = 1, .from = &changed }, "bad-cursor");
    changed = from;
    changed.end_dataset = 1;
    changed.end_row = (uint64_t)INT64_MAX;
    refused(a, &(struct question){ .domain = 3, .limit = 1, .from = &changed }, "bad-cursor");
}

struct without_memory_of {
    const struct asker *asker;
    const char *prefix;
    unsigned fields;
};

static int without_memory(void *ctx, struct dx_error *err)
{
    const struct without_memory_of *of = ctx;
    const struct question q = {
        .domain = 3, .limit = 1000, .prefix = of->prefix, .fields = of->fields
    };
    struct dx_buf body = DX_BUF_INIT(LINES_MAX);
    struct dx_problem p = { 0 };
    int rc = ask(of->asker, &q, &body, &p);

    dx_buf_release(&body);
    if (rc == 1)
        return DX_OK;
    return dx_fail(err, rc < 0 ? (enum dx_code)rc : DX_E_CORRUPT, "%s: %s", p.slug, p.detail);
}

/* From pages; of rows that a filter takes; of pairs that are kept, which the second of two makes them. */
static void check_memory(const struct dx_test_root *root)
{
    static const struct {
        const char *what, *prefix;
        unsigned fields;
    } of[] = { { "all URLs", NULL, DX_FIELDS_DEFAULT | DX_FIELD_EXTRAS },
               { "filtered", "/", 0 },
               { "kept", NULL, 0 } };
    struct asker a;

    open_asker(&a, root->path); /* nothing is cached */
    for (unsigned i = 0; i < 3; i++) {
        struct without_memory_of w = { &a, of[i].prefix, of[i].fields };
        struct dx_error err = DX_ERROR_INIT;

        for (unsigned k = 0; k < 2 && i == 2; k++)
            EXPECT(without_memory(&w, &err) == DX_OK, "%s: %s", of[i].what, err.text);
        failures += fail_alloc_each(of[i].what, FAIL_ALLOC_GOES_ON | 300, without_memory, &w) > 0;
    }
    close_asker(&a);
}

int main(void)
{
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    open_asker(&a, root.path);
    for (unsigned i = 0; i < DOMAINS; i += (unsigned)dx_sample(1, 3)) {
        check_domain(&a, (struct question){ .domain = i });
        check_domain(&a, (struct question){ .domain = i, .datasets = "4,1" });
        check_domain(&a, (struct question){ .domain = i, .datasets = "2" });
    }
    check_scopes(&a);
    check_refusals(&a);
    close_asker(&a);
    check_memory(&root);
    dx_test_root_remove(&root);
    return failures > 0;
}
