/* SPDX-License-Identifier: Apache-2.0
 * The answers over a small root, compared with the rule that its rows were made by: text for
 * text, every window of every listing, and what is not there.
 */
#include "loader/current.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/task.h"
#include "query/rows/cursor.h"
#include "query/view/view.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#include <jansson.h>

#define DOMAINS 40
#define DATASETS 5
#define BODY_MAX (16u << 20)

static unsigned failures;

struct asker {
    struct dx_version *version;
    struct dx_canon *canon;
    struct dx_buf body;
    struct dx_problem problem;
};

static json_t *parsed(struct asker *a)
{
    json_error_t why;
    json_t *j = json_loadb((const char *)a->body.data, a->body.size, JSON_REJECT_DUPLICATES, &why);

    EXPECT(j != NULL, "%s in %.*s", why.text, (int)a->body.size, (const char *)a->body.data);
    return j;
}

static json_int_t number(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

static int ask_domain(struct asker *a, const char *asked)
{
    dx_buf_clear(&a->body);
    return dx_answer_domain(DX_VIEW_ALL(a->version), a->canon, dx_span_str(asked),
                            DX_DOMAIN_FIELDS_ALL, &a->body, &a->problem);
}

static int ask_urls(struct asker *a, const char *asked, unsigned dataset, uint64_t offset,
                    uint64_t limit)
{
    dx_buf_clear(&a->body);
    return dx_answer_urls(DX_VIEW_ALL(a->version), a->canon, dx_span_str(asked), dataset,
                          (struct dx_page_of){ offset, limit }, DX_FIELDS_DEFAULT, &a->body,
                          &a->problem);
}

static void check_domain(struct asker *a, unsigned i)
{
    char domain[64];
    char id[32];
    size_t at = 0;
    json_t *j;

    dx_test_root_domain(i, domain);
    EXPECT(ask_domain(a, domain) == 1, "%s: %s", domain, a->problem.detail);
    j = parsed(a);
    (void)snprintf(id, sizeof id, "0x%016llx", (unsigned long long)dx_hash64(dx_span_str(domain)));
    EXPECT(strcmp(json_string_value(json_object_get(j, "domain")), domain) == 0, "%s", domain);
    EXPECT(strcmp(json_string_value(json_object_get(j, "domain_id")), id) == 0, "%s", domain);
    EXPECT(json_is_true(json_object_get(j, "complete")), "%s", domain);
    for (unsigned d = 1; d <= DATASETS; d++) {
        const json_t *row;

        if (!dx_test_root_member(i, d))
            continue;
        row = json_array_get(json_object_get(j, "datasets"), at++);
        EXPECT(number(row, "dataset_id") == d, "%s", domain);
        EXPECT(number(row, "url_count") == dx_test_root_rows(i, d), "%s", domain);
        EXPECT(number(row, "url_count_est") == dx_test_root_rows(i, d), "%s", domain);
        EXPECT(number(row, "row_count") == dx_test_root_rows(i, d), "%s", domain);
    }
    EXPECT(json_array_size(json_object_get(j, "datasets")) == at, "%s", domain);
    EXPECT(number(j, "dataset_count") == (json_int_t)at, "%s", domain);
    json_decref(j);
}

static void check_window(struct asker *a, unsigned i, unsigned d, unsigned offset, unsigned limit)
{
    unsigned rows = dx_test_root_rows(i, d);
    unsigned end = offset >= rows ? offset : offset + limit < rows ? offset + limit : rows;
    char domain[64];
    char url[128];
    json_t *j;
    const json_t *items;

    dx_test_root_domain(i, domain);
    EXPECT(ask_urls(a, domain, d, offset, limit) == 1, "%s: %s", domain, a->problem.detail);
    j = parsed(a);
    items = json_object_get(j, "items");
    EXPECT(number(j, "total") == rows && number(j, "total_est") == rows, "%s", domain);
    EXPECT(json_array_size(items) == end - offset, "%s in %u at %u+%u: %zu items", domain, d,
           offset, limit, json_array_size(items));
    for (unsigned row = offset; row < end; row++) {
        const json_t *item = json_array_get(items, row - offset);

        dx_test_root_url(i, d, row, url);
        EXPECT(strcmp(json_string_value(json_object_get(item, "url")), url) == 0, "%s", url);
        EXPECT(json_is_null(json_object_get(item, "ts")) == (row % 4 == 3), "%s", url);
    }
    if (end > offset && end < rows)
        EXPECT(number(j, "next_offset") == end, "%s", domain);
    else
        EXPECT(json_is_null(json_object_get(j, "next_offset")), "%s", domain);
    json_decref(j);
}

static void check_listings(struct asker *a, unsigned i)
{
    for (unsigned d = 1; d <= DATASETS; d++) {
        char domain[64];

        dx_test_root_domain(i, domain);
        if (!dx_test_root_member(i, d)) {
            EXPECT(ask_urls(a, domain, d, 0, 10) == 0 &&
                       strcmp(a->problem.slug, "domain-not-in-dataset") == 0,
                   "%s in %u", domain, d);
            continue;
        }
        for (unsigned offset = 0; offset <= dx_test_root_rows(i, d) + 1; offset++)
            for (unsigned limit = 1; limit <= 8; limit += 3)
                check_window(a, i, d, offset, limit);
    }
}

static int ask_from(struct asker *a, unsigned i, unsigned d, const struct dx_cursor *from,
                    uint64_t limit, unsigned plan)
{
    static const struct dx_cursor_key key = DX_CURSOR_KEY_INIT;
    struct dx_urls_ask ask = { .dataset_id = d,
                               .page = { 0, limit },
                               .fields = DX_FIELDS_DEFAULT,
                               .plan = plan,
                               .paging.from = from,
                               .paging.cursors = &key,
                               .paging.began_s = 1795000000 };
    struct dx_task *task;
    char domain[64];
    int rc;

    dx_test_root_domain(i, domain);
    ask.asked = dx_span_str(domain);
    dx_buf_clear(&a->body);
    rc = dx_task_urls(DX_VIEW_ALL(a->version), a->canon, &ask, &task, NULL, &a->body, &a->problem);
    return dx_task_finish(&task, rc, &a->body, &a->problem);
}

/* The cursor in j, or false at null. */
static bool take_cursor(const json_t *text, struct dx_cursor *c)
{
    static const struct dx_cursor_key key = DX_CURSOR_KEY_INIT;
    struct dx_problem problem;

    if (json_is_null(text))
        return false;
    EXPECT(json_is_string(text), "no cursor");
    EXPECT(json_is_string(text) &&
               dx_cursor_read(dx_span_str(json_string_value(text)), &key, NULL, c, &problem) == 1,
           "%s", problem.detail);
    return true;
}

/* Rows from `row` on, as the rule says; returns the row behind the last. */
static unsigned walk(struct asker *a, unsigned i, unsigned d, struct dx_cursor *c, unsigned row)
{
    bool more = true;
    bool first = true;

    while (more && failures == 0) {
        uint64_t limit = first && c->kind != DX_CURSOR_LISTING ? 3 : 1 + row % 5;
        char url[128];
        const json_t *items;
        json_t *j;

        EXPECT(ask_from(a, i, d, c->kind == DX_CURSOR_LISTING ? c : NULL, limit, 0) == 1, "%s",
               a->problem.detail);
        j = parsed(a);
        items = json_object_get(j, "items");
        EXPECT(number(j, "offset") == row && json_array_size(items) <= limit, "at row %u", row);
        for (size_t k = 0; k < json_array_size(items); k++) {
            dx_test_root_url(i, d, row++, url);
            EXPECT(strcmp(json_string_value(json_object_get(json_array_get(items, k), "url")),
                          url) == 0,
                   "row %u is not %s", row, url);
        }
        more = take_cursor(json_object_get(j, "next_cursor"), c);
        EXPECT(more == !json_is_null(json_object_get(j, "next_offset")), "two ends");
        EXPECT(!more || (c->began_s == 1795000000 && c->limit == limit), "what is carried");
        first = false;
        json_decref(j);
    }
    return row;
}

/* A listing by cursors, whole and in parts, is the listing. */
static void check_cursors(struct asker *a, unsigned i, unsigned d)
{
    static const unsigned plans[] = { 1, 2, 3, 7, DX_PLAN_MAX };
    unsigned rows = dx_test_root_rows(i, d);
    struct dx_cursor c = { .limit = 0 };

    EXPECT(walk(a, i, d, &c, 0) == rows, "domain %u in %u: not all rows", i, d);
    for (size_t p = 0; p < sizeof plans / sizeof plans[0] && failures == 0; p++) {
        const json_t *cursors;
        unsigned row = 0;
        json_t *j;

        EXPECT(ask_from(a, i, d, NULL, 10, plans[p]) == 1, "%s", a->problem.detail);
        j = parsed(a);
        cursors = json_object_get(j, "cursors");
        EXPECT(number(j, "total") == rows && json_array_size(cursors) == plans[p] &&
                   json_object_get(j, "items") == NULL,
               "plan of %u: %zu parts", plans[p], json_array_size(cursors));
        for (size_t k = 0; k < plans[p]; k++) {
            EXPECT(take_cursor(json_array_get(cursors, k), &c), "null in a plan");
            EXPECT(c.next_row == row && c.end_row - c.next_row <= rows / plans[p] + 1, "part %zu",
                   k);
            row = walk(a, i, d, &c, row);
        }
        EXPECT(row == rows, "plan of %u: %u rows of %u", plans[p], row, rows);
        json_decref(j);
    }
}

/* What a cursor with a true MAC may still get wrong. */
static void check_cursor_refusals(struct asker *a)
{
    struct dx_cursor c = { .limit = 0 };
    struct dx_cursor other;
    json_t *j;

    EXPECT(ask_from(a, 0, 1, NULL, 1, 2) == 1, "%s", a->problem.detail);
    j = parsed(a);
    (void)take_cursor(json_array_get(json_object_get(j, "cursors"), 0), &c);
    json_decref(j);
    other = c;
    other.domain_id ^= 1;
    EXPECT(ask_from(a, 0, 1, &other, 1, 0) == 0 && strcmp(a->problem.slug, "cursor-mismatch") == 0,
           "another domain: %s", a->problem.slug);
    other = c;
    other.build.bytes[3] ^= 1;
    EXPECT(ask_from(a, 0, 1, &other, 1, 0) == 0 && a->problem.kind == DX_PROBLEM_GONE,
           "another build: %s", a->problem.slug);
    other = c;
    other.end_row = dx_test_root_rows(0, 1) + 1;
    EXPECT(ask_from(a, 0, 1, &other, 1, 0) == 0 && strcmp(a->problem.slug, "bad-cursor") == 0 &&
               a->body.size == 0,
           "over the end: %s", a->problem.slug);
}

/* Names that are not there, among them every cut and extension of one that is. */
static void check_absent(struct asker *a)
{
    static const struct {
        const char *asked, *slug;
        int kind;
    } rows[] = {
        { "absent.com", "domain-not-found", DX_PROBLEM_NOT_FOUND },
        { "name0.com", "domain-not-found", DX_PROBLEM_NOT_FOUND },
        { "com", "not-a-domain", DX_PROBLEM_BAD_REQUEST },
        { "", "not-a-domain", DX_PROBLEM_BAD_REQUEST },
        { "gopher://x.com/", "not-a-domain", DX_PROBLEM_BAD_REQUEST },
        { "192.0.2.7", "domain-not-found", DX_PROBLEM_NOT_FOUND },
    };
    const size_t strangers = dx_sample(100000, 7000);
    char name[64];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        EXPECT(ask_domain(a, rows[i].asked) == 0, "%s", rows[i].asked);
        EXPECT(strcmp(a->problem.slug, rows[i].slug) == 0, "%s: %s", rows[i].asked,
               a->problem.slug);
        EXPECT((int)a->problem.kind == rows[i].kind, "%s", rows[i].asked);
        EXPECT(a->body.size == 0, "%s", rows[i].asked);
    }
    for (unsigned i = 0; i < strangers; i++) {
        (void)snprintf(name, sizeof name, "stranger%u.%s", i, i % 2 ? "com" : "co.uk");
        EXPECT(ask_domain(a, name) == 0, "%s", name);
    }
    EXPECT(ask_urls(a, "name0-0.com", 99, 0, 1) == 0 &&
               strcmp(a->problem.slug, "dataset-not-found") == 0,
           "%s", a->problem.slug);
}

/* What people type leads to the same domain. */
static void check_spellings(struct asker *a)
{
    static const char *const spellings[] = { "name0-0.com", "NAME0-0.COM.", "www.name0-0.com",
                                             "https://u:p@a.b.name0-0.com:8443/x?y#z",
                                             "name0-0.com:80" };

    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        EXPECT(ask_domain(a, spellings[i]) == 1, "%s", spellings[i]);
        EXPECT(memmem(a->body.data, a->body.size, "\"domain\":\"name0-0.com\"", 22) != NULL, "%s",
               spellings[i]);
    }
}

static void check_datasets(struct asker *a)
{
    json_t *j;

    dx_buf_clear(&a->body);
    EXPECT(dx_answer_datasets(DX_VIEW_ALL(a->version), (struct dx_page_of){ 1, 3 }, &a->body,
                              &a->problem) == 1,
           "%s", a->problem.detail);
    j = parsed(a);
    EXPECT(json_array_size(json_object_get(j, "datasets")) == 3, "page of datasets");
    EXPECT(number(j, "next_offset") == 4 && number(j, "total") == DATASETS, "page of datasets");
    EXPECT(strcmp(json_string_value(
                      json_object_get(json_array_get(json_object_get(j, "datasets"), 0), "name")),
                  "dataset \"2\"") == 0,
           "name");
    json_decref(j);
    dx_buf_clear(&a->body);
    EXPECT(dx_answer_dataset(DX_VIEW_ALL(a->version), 1, NULL, &a->body, &a->problem) == 1,
           "dataset 1");
    j = parsed(a);
    EXPECT(number(j, "domain_count") == DOMAINS, "every domain is in dataset 1");
    json_decref(j);
    EXPECT(dx_answer_dataset(DX_VIEW_ALL(a->version), 0, NULL, &a->body, &a->problem) == 0,
           "dataset 0");
    dx_buf_clear(&a->body);
    EXPECT(dx_answer_versions(DX_VIEW_ALL(a->version), NULL, NULL, &a->body, &a->problem) == 1,
           "versions");
    json_decref(parsed(a));
}

static void check_fields(void)
{
    static const struct {
        const char *text;
        unsigned fields;
        bool ok;
    } rows[] = { { "url", DX_FIELD_URL, true },
                 { "ts,url_id,url", DX_FIELDS_DEFAULT, true },
                 { "extras,raw_url", DX_FIELD_EXTRAS | DX_FIELD_RAW_URL, true },
                 { "", 0, false },
                 { "url,", 0, false },
                 { "url,nothing", 0, false } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_span bad;
        unsigned fields;
        bool ok = dx_fields_parse(dx_span_str(rows[i].text), &fields, &bad);

        EXPECT(ok == rows[i].ok && (!ok || fields == rows[i].fields), "'%s'", rows[i].text);
    }
}

/* The current version moves on while an old one is pinned. */
static void check_reload(struct dx_test_root *r, const struct dx_version_options *options)
{
    struct dx_current_options kept = DX_CURRENT_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur = NULL;
    struct dx_version *old;
    struct dx_version *next;
    char before[32];
    char path[256];

    kept.version = options;
    EXPECT(dx_current_open(&cur, r->path, &kept, &err) == DX_OK, "%s", err.text);
    if (cur == NULL)
        return;
    old = dx_current_pin(cur);
    EXPECT(dx_current_reload(cur, &err) == 0, "nothing newer: %s", err.text);
    (void)snprintf(before, sizeof before, "%s", r->version);
    (void)snprintf(path, sizeof path,
                   "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-00000.parquet", r->path,
                   DATASETS);
    EXPECT(remove(path) == 0, "%s", path);
    dx_test_root_publish(r);
    EXPECT(strcmp(before, r->version) != 0, "a new version");
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    next = dx_current_pin(cur);
    EXPECT(strcmp(dx_version_name(next), r->version) == 0, "%s", dx_version_name(next));
    EXPECT(strcmp(dx_version_name(old), before) == 0, "%s", dx_version_name(old));
    EXPECT(next->entry.pairs < old->entry.pairs, "a dataset went");
    dx_version_unpin(old);
    dx_version_unpin(next);
    dx_current_close(&cur);
}

int main(void)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct asker a = { .body = DX_BUF_INIT(BODY_MAX) };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;

    options.verify = true;
    dx_test_root_make(&r, DOMAINS, DATASETS);
    if (dx_caches_new(&caches, &options, &err) < 0 ||
        dx_version_open_named(&a.version, r.path, NULL, caches, &options, &err) < 0 ||
        dx_version_canon_new(a.version, &a.canon, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    /* Twice: cold caches and warm ones. */
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < DOMAINS; i++) {
            check_domain(&a, i);
            check_listings(&a, i);
        }
    for (unsigned i = 0; i < DOMAINS; i += 7)
        for (unsigned d = 1; d <= DATASETS; d++)
            if (dx_test_root_member(i, d))
                check_cursors(&a, i, d);
    check_cursor_refusals(&a);
    check_absent(&a);
    check_spellings(&a);
    check_datasets(&a);
    check_fields();
    dx_canon_free(&a.canon);
    dx_version_unpin(a.version);
    dx_caches_free(&caches);
    check_reload(&r, &options);
    dx_buf_release(&a.body);
    dx_test_root_remove(&r);
    return failures > 0;
}
