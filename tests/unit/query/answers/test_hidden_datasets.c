/* SPDX-License-Identifier: Apache-2.0
 * Single URLs, diffs and changes of what a principal may see: byte for byte the answers of an index
 * that was built without the datasets that it may not, whatever was requested of the same files
 * before. All answers under rules of each kind too; those without rules in test_view.
 */
#include "base/clock.h"
#include "canon/ids.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/answers/answer_names.h"
#include "query/answers/task.h"
#include "query/changes/answer_changes.h"
#include "query/rows/cursor.h"
#include "query/suppression/suppression_view.h"
#include "query/view/view.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/twin_roots.h"

#define DOMAINS_MAX 70
#define DOMAINS (unsigned)dx_sample(DOMAINS_MAX, 41)
#define DATASETS 6
#define SEEN (1u << 2 | 1u << 3 | 1u << 5) /* of datasets 1 to 6 */
#define GONE (1u << 3 | 1u << 4) /* in the second version: one that is seen, one that is not */
#define BODY_MAX (8u << 20)

static unsigned failures;
static unsigned compared, found, withheld, absent;

/* One of the two roots: both of its versions, as one view of each. */
struct side {
    struct dx_caches *caches;
    struct dx_view before, after;
    struct dx_canon *canon;
    struct dx_buf body;
    struct dx_problem problem;
    int rc;
};

static void open_side(struct side *s, const struct dx_test_root *r, const char *first,
                      const struct dx_scope *scope)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    *s = (struct side){ .before = { .scope = scope }, .after = { .scope = scope } };
    dx_buf_init(&s->body, BODY_MAX);
    rc = dx_caches_new(&s->caches, &options, &err);
    if (rc == DX_OK)
        rc = dx_suppressions_live_open(&s->caches->suppressions, r->path, NULL,
                                       DX_SUPPRESSIONS_LIVE_WAIT, &err);
    if (rc == DX_OK)
        rc = dx_version_open_named(&s->before.version, r->path, first, s->caches, &options, &err);
    if (rc == DX_OK)
        rc = dx_version_open_named(&s->after.version, r->path, NULL, s->caches, &options, &err);
    if (rc == DX_OK)
        rc = dx_version_canon_new(s->after.version, &s->canon, &err);
    if (rc < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void close_side(struct side *s)
{
    dx_buf_release(&s->body);
    dx_canon_free(&s->canon);
    dx_version_unpin(s->before.version);
    dx_version_unpin(s->after.version);
    dx_caches_free(&s->caches);
}

/* ---- questions ---- */

struct question {
    enum kind {
        ASK_URL,
        ASK_URLID,
        ASK_DIFF,
        ASK_DOMAIN,
        ASK_CHANGES,
        ASK_URLS,
        ASK_ALL_URLS,
        ASK_HOSTS,
        ASK_PATHS,
        ASK_TOP,
        ASK_OVERLAP,
        ASK_NAMES
    } kind;
    const char *text;
    uint32_t dataset, other;
    uint64_t offset, limit;
    const struct dx_cursor *from;
};

static const struct dx_cursor_key key = { DX_CURSOR_KEY_RANDOM, { 3 } };

static int ask_urls(struct side *s, const struct question *q, struct dx_task **task)
{
    const struct dx_urls_ask urls = { .asked = dx_span_str(q->text),
                                      .dataset_id = q->dataset,
                                      .page = { q->offset, q->limit },
                                      .fields = DX_FIELDS_ALL,
                                      .paging.from = q->from,
                                      .paging.cursors = &key,
                                      .paging.principal = "he",
                                      .paging.began_s = 1795000000 };

    return dx_task_urls(&s->after, s->canon, &urls, task, NULL, &s->body, &s->problem);
}

/* dataset 0: of all; else of two. */
static int ask_all_urls(struct side *s, const struct question *q, struct dx_task **task)
{
    struct dx_all_urls_ask urls = { .asked = dx_span_str(q->text),
                                    .page = { q->offset, q->limit },
                                    .fields = DX_FIELDS_ALL,
                                    .paging.from = q->from,
                                    .paging.cursors = &key,
                                    .paging.principal = "he",
                                    .paging.began_s = 1795000000 };
    char datasets[32];

    (void)snprintf(datasets, sizeof datasets, "%u,2", (unsigned)q->dataset);
    if (q->dataset > 0)
        urls.datasets = dx_span_str(datasets);
    return dx_task_all_urls(&s->after, s->canon, &urls, task, NULL, &s->body, &s->problem);
}

/* dataset 0: over all. */
static int ask_hosts(struct side *s, const struct question *q, struct dx_task **task)
{
    const struct dx_hosts_ask hosts = { .asked = dx_span_str(q->text),
                                        .one_dataset = q->dataset > 0,
                                        .dataset_id = q->dataset,
                                        .page = { q->offset, q->limit } };

    return dx_task_hosts(&s->after, s->canon, &hosts, task, NULL, &s->body, &s->problem);
}

static int ask_paths(struct side *s, const struct question *q, struct dx_task **task)
{
    const struct dx_paths_ask paths = { .asked = dx_span_str(q->text),
                                        .dataset_id = q->dataset,
                                        .limit = q->limit };

    return dx_task_paths(&s->after, s->canon, &paths, task, NULL, &s->body, &s->problem);
}

static int ask_top(struct side *s, const struct question *q)
{
    const struct dx_top_ask top = { .dataset_id = q->dataset, .page = { q->offset, q->limit } };

    return dx_answer_top_domains(&s->after, s->canon, &top, &s->body, &s->problem);
}

/* All domains, and one more; other: the format. */
static int ask_names(struct side *s, const struct question *q)
{
    const struct dx_names_ask ask = { .format = (enum dx_names_format)q->other };
    char text[DOMAINS_MAX + 1][DX_TEST_TEXT];
    struct dx_names *n;
    int rc = dx_names_new(&n, &s->after, &ask, &s->problem);

    if (rc != 1)
        return rc;
    dx_names_begin(n, &s->body);
    for (unsigned i = 0; i <= DOMAINS; i++) {
        dx_test_root_domain(i, text[i]);
        EXPECT(dx_names_add(n, &(struct dx_name){ .line = i + 1, .asked = dx_span_str(text[i]) }),
               "no room");
    }
    do
        rc = dx_names_write(n, &s->body, SIZE_MAX, &s->problem);
    while (rc == DX_NAMES_MORE);
    dx_names_end(n, &s->body);
    dx_names_free(&n);
    return rc < 0 ? rc : 1;
}

static int ask_task(struct side *s, const struct question *q)
{
    struct dx_task *task = NULL;
    int rc;

    if (q->kind == ASK_URLID)
        rc = dx_task_urlid(&s->after, dx_url_id(dx_span_str(q->text)), 0, &task, &s->body,
                           &s->problem);
    else if (q->kind == ASK_URLS)
        rc = ask_urls(s, q, &task);
    else if (q->kind == ASK_ALL_URLS)
        rc = ask_all_urls(s, q, &task);
    else if (q->kind == ASK_HOSTS)
        rc = ask_hosts(s, q, &task);
    else
        rc = ask_paths(s, q, &task);
    return dx_task_finish(&task, rc, &s->body, &s->problem);
}

static void ask(struct side *s, const struct question *q)
{
    const struct dx_changes_ask changes = { .limit = q->limit,
                                            .paging.from = q->from,
                                            .paging.cursors = &key,
                                            .paging.principal = "he",
                                            .paging.began_s = 1795000000 };
    struct dx_span text = dx_span_str(q->text);

    dx_buf_clear(&s->body);
    s->problem = (struct dx_problem){ .slug = "" };
    switch (q->kind) {
    case ASK_URL:
        s->rc = dx_answer_url(&s->after, s->canon, text, q->limit, &s->body, &s->problem);
        break;
    case ASK_URLID:
    case ASK_URLS:
    case ASK_ALL_URLS:
    case ASK_HOSTS:
    case ASK_PATHS:
        s->rc = ask_task(s, q);
        break;
    case ASK_TOP:
        s->rc = ask_top(s, q);
        break;
    case ASK_OVERLAP:
        s->rc = dx_answer_overlap(&s->after, s->canon, q->dataset, q->other, &s->body, &s->problem);
        break;
    case ASK_NAMES:
        s->rc = ask_names(s, q);
        break;
    case ASK_DIFF:
        s->rc = dx_answer_diff(&s->before, &s->after, s->canon, text, NULL, &s->body, &s->problem);
        break;
    case ASK_DOMAIN:
        s->rc = dx_answer_domain(&s->after, s->canon, text, DX_DOMAIN_FIELDS_ALL, &s->body,
                                 &s->problem);
        break;
    case ASK_CHANGES:
        s->rc = dx_answer_changes(&s->before, &s->after, &changes, &s->body, &s->problem);
        break;
    }
}

/* Takes the cursor out of the body: 1; 0 if it ends with it. */
static int take_cursor(struct side *s, struct dx_cursor *c)
{
    static const char before[] = "\"next_cursor\":\"";
    uint8_t *at = memmem(s->body.data, s->body.size, before, sizeof before - 1);
    uint8_t *end;
    struct dx_problem problem;

    if (at == NULL)
        return 0;
    at += sizeof before - 1;
    end = memchr(at, '"', s->body.size - (size_t)(at - s->body.data));
    EXPECT(dx_cursor_read(dx_span_of(at, (size_t)(end - at)), &key, "he", c, &problem) == 1, "%s",
           problem.detail);
    memset(at, '-', (size_t)(end - at)); /* their length is to be the same */
    return 1;
}

static bool same(const struct side *a, const struct side *b)
{
    return a->rc == b->rc && (a->rc == 1 ? dx_span_equal(dx_span_of(a->body.data, a->body.size),
                                                         dx_span_of(b->body.data, b->body.size))
                                         : a->problem.kind == b->problem.kind &&
                                               strcmp(a->problem.slug, b->problem.slug) == 0 &&
                                               strcmp(a->problem.title, b->problem.title) == 0 &&
                                               strcmp(a->problem.detail, b->problem.detail) == 0);
}

static void compare(const struct side *whole, const struct side *shown, const struct question *q)
{
    EXPECT(whole->rc >= 0 && same(whole, shown), "%d %s\n%d: %.*s%s\n%d: %.*s%s", q->kind, q->text,
           whole->rc, (int)whole->body.size, (const char *)whole->body.data, whole->problem.detail,
           shown->rc, (int)shown->body.size, (const char *)shown->body.data, shown->problem.detail);
    compared++;
    found += whole->rc == 1;
    withheld += whole->rc == 0 && whole->problem.kind == DX_PROBLEM_WITHHELD;
    absent += whole->rc == 0 && whole->problem.kind == DX_PROBLEM_NOT_FOUND;
}

static void ask_both(struct side *whole, struct side *shown, const struct question *q)
{
    ask(whole, q);
    ask(shown, q);
    compare(whole, shown, q);
}

/* ---- all of them ---- */

static void check_domain(struct side *whole, struct side *shown, unsigned i)
{
    char text[128];

    dx_test_root_domain(i, text);
    ask_both(whole, shown, &(struct question){ .kind = ASK_DIFF, .text = text });
    ask_both(whole, shown, &(struct question){ .kind = ASK_DOMAIN, .text = text });
    for (unsigned n = 0; n < TWIN_URLS; n++) {
        twin_roots_url(i, n, text);
        ask_both(whole, shown, &(struct question){ .kind = ASK_URL, .text = text, .limit = 100 });
        ask_both(whole, shown, &(struct question){ .kind = ASK_URL, .text = text, .limit = 1 });
        ask_both(whole, shown, &(struct question){ .kind = ASK_URLID, .text = text });
    }
}

/* Page by page, each by its own cursors; how many. */
static unsigned check_pages(struct side *whole, struct side *shown, const struct question *first)
{
    struct question q[2] = { *first, *first };
    struct dx_cursor c[2];
    unsigned pages = 0;
    int more = 1;

    for (; more == 1 && failures == 0; pages++) {
        ask(whole, &q[0]);
        ask(shown, &q[1]);
        more = take_cursor(whole, &c[0]);
        EXPECT(take_cursor(shown, &c[1]) == more, "page %u is the last of one", pages);
        compare(whole, shown, &q[0]);
        q[0].from = &c[0];
        q[1].from = &c[1];
    }
    return pages;
}

static void check_changes(struct side *whole, struct side *shown, uint64_t limit)
{
    const struct question q = { .kind = ASK_CHANGES, .text = "changes", .limit = limit };
    unsigned pages = check_pages(whole, shown, &q);

    EXPECT(limit > DOMAINS || pages > 5, "%u pages of %u", pages, (unsigned)limit);
}

/* What other answers say of a domain. */
static void check_rest(struct side *whole, struct side *shown, unsigned i)
{
    char text[128];

    dx_test_root_domain(i, text);
    for (uint32_t d = 0; d <= DATASETS; d++) {
        struct question q = { .kind = ASK_HOSTS, .text = text, .dataset = d, .limit = 10 };

        ask_both(whole, shown, &q);
        q.kind = ASK_PATHS;
        ask_both(whole, shown, &q);
        q.kind = ASK_URLS;
        (void)check_pages(whole, shown, &q);
        q.kind = ASK_ALL_URLS;
        (void)check_pages(whole, shown, &q);
        q.offset = 1;
        q.limit = 2;
        (void)check_pages(whole, shown, &q);
        q.kind = ASK_URLS;
        (void)check_pages(whole, shown, &q);
    }
}

static void check_datasets(struct side *whole, struct side *shown)
{
    for (uint32_t d = 1; d <= DATASETS; d++) {
        struct question q = { .kind = ASK_TOP, .text = "top", .dataset = d, .limit = 1000 };

        ask_both(whole, shown, &q);
        q.offset = 3;
        q.limit = 2;
        ask_both(whole, shown, &q);
        q.kind = ASK_OVERLAP;
        for (q.other = 1; q.other <= DATASETS; q.other++)
            ask_both(whole, shown, &q);
    }
    for (uint32_t format = DX_NAMES_NDJSON; format <= DX_NAMES_MATRIX; format++)
        ask_both(whole, shown,
                 &(struct question){ .kind = ASK_NAMES, .text = "names", .other = format });
}

/* What others asked before is in the caches of the whole one. */
static void ask_as_others(struct side *whole, unsigned i)
{
    const struct dx_scope *scope = whole->after.scope;
    char text[128];

    whole->before.scope = whole->after.scope = NULL;
    dx_test_root_domain(i, text);
    ask(whole, &(struct question){ .kind = ASK_DIFF, .text = text });
    ask(whole, &(struct question){ .kind = ASK_DOMAIN, .text = text });
    twin_roots_url(i, i % TWIN_URLS, text);
    ask(whole, &(struct question){ .kind = ASK_URL, .text = text, .limit = 100 });
    whole->before.scope = whole->after.scope = scope;
}

static void check_all(const struct twin_roots *t, const char *what)
{
    unsigned was = failures;
    struct side whole, shown;

    compared = found = withheld = absent = 0;
    open_side(&whole, &t->whole, t->first, t->scope);
    open_side(&shown, &t->shown, t->first, t->scope);
    for (unsigned i = 0; i < DOMAINS && failures == was; i++) {
        if (i % 2 == 1)
            ask_as_others(&whole, i);
        check_domain(&whole, &shown, i);
        check_rest(&whole, &shown, i);
    }
    check_datasets(&whole, &shown);
    check_changes(&whole, &shown, 1);
    check_changes(&whole, &shown, 4);
    check_changes(&whole, &shown, 1000);
    (void)printf("%s: %u answers compared, %u found, %u withheld, %u absent\n", what, compared,
                 found, withheld, absent);
    EXPECT(found > 300 && absent > 300, "%s", what);
    close_side(&whole);
    close_side(&shown);
}

/* The same of a caller that may see everything in an index that has only that. */
static void check_unrestricted(const struct twin_roots *t)
{
    struct side whole, shown;

    open_side(&whole, &t->whole, t->first, t->scope);
    open_side(&shown, &t->shown, t->first, NULL);
    for (unsigned i = 0; i < DOMAINS; i += 5) {
        char text[128];

        dx_test_root_domain(i, text);
        ask_both(&whole, &shown, &(struct question){ .kind = ASK_DIFF, .text = text });
        twin_roots_url(i, i % TWIN_URLS, text);
        ask_both(&whole, &shown, &(struct question){ .kind = ASK_URL, .text = text, .limit = 100 });
        ask_both(&whole, &shown, &(struct question){ .kind = ASK_URLID, .text = text });
    }
    check_changes(&whole, &shown, 3);
    close_side(&whole);
    close_side(&shown);
}

/* ---- rules ---- */

static void suppress_some(const struct twin_roots *t)
{
    char domain[64];
    char text[160];

    for (unsigned i = 0; i < DOMAINS; i++) {
        enum dx_suppress_policy policy = i % 2 == 0 ? DX_SUPPRESS_WITHHELD : DX_SUPPRESS_ABSENT;

        dx_test_root_domain(i, domain);
        if (i % 5 == 0) {
            twin_roots_suppress(t, i % 4 == 0 ? DX_SUPPRESS_HOST : DX_SUPPRESS_DOMAIN, policy,
                                domain);
        } else if (i % 5 == 1) {
            for (unsigned n = 0; n < TWIN_URLS; n += 3) {
                twin_roots_url(i, n, text);
                twin_roots_suppress(t, DX_SUPPRESS_URL, policy, text);
            }
        } else if (i % 5 == 2) {
            for (unsigned p = 0; p < 4; p++) {
                (void)snprintf(text, sizeof text, "%s/p%u/", domain, p);
                twin_roots_suppress(t, DX_SUPPRESS_PREFIX, policy, text);
                if (i % 7 != 6) {
                    (void)snprintf(text, sizeof text, "www.%s/p%u/", domain, p);
                    twin_roots_suppress(t, DX_SUPPRESS_PREFIX,
                                        p == 0 ? DX_SUPPRESS_ABSENT : DX_SUPPRESS_WITHHELD, text);
                }
            }
        }
    }
}

/* ---- more URLs than are counted one by one ---- */

/* One domain with 700 URLs in each of four datasets, of which neighbours share 400. */
static unsigned dense_rows(unsigned i, unsigned dataset)
{
    (void)dataset;
    return i == 0 ? 700 : 0;
}

/* Nothing of the fourth is hit by a rule. */
static void dense_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    unsigned number = row + 300 * dataset;

    dx_test_root_domain(i, out->host);
    (void)snprintf(out->path, sizeof out->path, "/s%u/%05u", dataset == 4 ? 0 : number % 5, number);
}

/* Of what rules leave, the distinct URLs of two datasets or three are the union of their
 * sketches. */
static void check_dense(unsigned seen)
{
    const struct dx_test_shape all = { .rows = dense_rows, .row = dense_row };
    const struct dx_test_shape some = { .without = ~(uint64_t)seen,
                                        .rows = dense_rows,
                                        .row = dense_row };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_scope *scope = NULL;
    struct twin_roots t = { .visible = seen };
    struct side whole, shown;
    uint32_t ids[4];
    size_t n = 0;
    char text[128];

    for (uint32_t d = 1; d <= 4; d++)
        if ((seen >> d & 1) != 0)
            ids[n++] = d;
    EXPECT(dx_scope_more(&scope, NULL, ids, n, &err) == DX_OK, "%s", err.text);
    t.scope = scope;
    dx_test_root_make_of(&t.whole, 1, 4, &all);
    dx_test_root_make_of(&t.shown, 1, 4, &some);
    dx_test_root_domain(0, text);
    (void)snprintf(text + strlen(text), 16, "/s1/");
    twin_roots_suppress(&t, DX_SUPPRESS_PREFIX, DX_SUPPRESS_WITHHELD, text);
    open_side(&whole, &t.whole, t.whole.version, t.scope);
    open_side(&shown, &t.shown, t.shown.version, t.scope);
    dx_test_root_domain(0, text);
    ask_both(&whole, &shown, &(struct question){ .kind = ASK_DOMAIN, .text = text });
    EXPECT(whole.rc == 1 && (memmem(whole.body.data, whole.body.size, "\"distinct_error\":0,",
                                    19) == NULL) == (n > 1),
           "%.*s", (int)whole.body.size, (const char *)whole.body.data);
    close_side(&whole);
    close_side(&shown);
    twin_roots_remove(&t);
}

/* ---- one URL in more places than an answer may have ---- */

/* So many hidden datasets have it, and two that are seen: more than 4096 places in all, and with
 * 16,400 also more pages of ids than are read at once (DX_PLACES). */
static void check_many_places(unsigned hidden)
{
    struct twin_roots t;
    struct side all, some, none;
    char url[128];

    twin_roots_url(0, 0, url);
    twin_roots_make_places(&t, hidden);
    open_side(&all, &t.whole, t.first, NULL);
    open_side(&some, &t.whole, t.first, t.scope);
    open_side(&none, &t.shown, t.first, t.scope);
    for (unsigned i = 0; i < 2; i++) {
        const struct question q = { .kind = i == 0 ? ASK_URL : ASK_URLID, .text = url, .limit = 9 };

        ask(&all, &q);
        EXPECT(all.rc < 0 && all.problem.kind == DX_PROBLEM_TOO_MUCH, "%d: %s", all.rc,
               all.problem.detail);
        ask_both(&some, &none, &q);
        EXPECT(some.rc == 1, "%s", some.problem.detail);
    }
    close_side(&all);
    close_side(&some);
    close_side(&none);
    twin_roots_remove(&t);
}

int main(void)
{
    const char *places = getenv("DX_PLACES");
    struct twin_roots t;

    twin_roots_make(&t, DOMAINS, DATASETS, SEEN);
    twin_roots_more(&t, GONE);
    check_all(&t, "without rules");
    check_unrestricted(&t);
    suppress_some(&t);
    check_all(&t, "with rules");
    EXPECT(withheld > 50, "nothing is withheld");
    check_unrestricted(&t);
    twin_roots_remove(&t);
    check_dense(1u << 2);
    check_dense(1u << 1 | 1u << 4);
    check_dense(1u << 1 | 1u << 2 | 1u << 4);
    check_many_places(places == NULL ? 4100 : (unsigned)strtoul(places, NULL, 10));
    return failures > 0;
}
