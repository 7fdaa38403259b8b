/* SPDX-License-Identifier: Apache-2.0
 * labels: threads
 * What suppressions do to a version: positions against a row-by-row restatement, visible counts of
 * a small root, which callers wait and which must retry; and which logs a log of suppressions follows.
 */
#include "query/suppression/suppression_view.h"
#include "query/view/view.h"

#include "base/clock.h"
#include "base/file.h"
#include "builder/policy/suppress.h"
#include "canon/url.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/guard/guard.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/changes/answer_changes.h"
#include "query/suppression/ruled_domains.h"
#include "query/suppression/suppression_cache.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOMAINS 12
#define DATASETS 2
#define BODY_MAX (1u << 20)

static int failures;

/* ---- positions ---- */

static uint64_t random_state = 1234;

static unsigned pick(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((random_state >> 33) % n);
}

#define ROWS_MAX 60

static struct dx_suppression_pair pair_of(const bool *hidden, unsigned rows,
                                          struct dx_suppression_range ranges[ROWS_MAX])
{
    struct dx_suppression_pair p = { .row_count = rows, .ranges = ranges };
    uint64_t before = 0;

    for (unsigned i = 0; i < rows; i++) {
        if (hidden[i] && (i == 0 || !hidden[i - 1]))
            ranges[p.range_count++] = (struct dx_suppression_range){ i, i + 1, before };
        else if (hidden[i])
            ranges[p.range_count - 1].end++;
        before += hidden[i];
    }
    p.visible.row_count = rows - before;
    return p;
}

/* The window has the rows that are wanted, in order, and no more than fit. */
static void check_window(const struct dx_suppression_pair *p, const bool *hidden, unsigned rows,
                         unsigned offset, unsigned limit)
{
    struct dx_page_of w = dx_suppression_view_window(p, offset, limit);
    unsigned seen = 0;
    unsigned before = 0;

    for (unsigned i = 0; i < rows; i++) {
        bool inside = i >= w.offset && i < w.offset + w.limit;

        if (hidden[i])
            continue;
        EXPECT(inside == (before >= offset && before < offset + limit),
               "%u from %u: row %u is visible number %u", limit, offset, i, before);
        seen += inside;
        before++;
    }
    EXPECT(w.limit == 0 || seen > 0, "%u from %u: a window without rows", limit, offset);
    EXPECT(dx_suppression_view_visible_before(p, w.offset + w.limit) ==
               (offset < before ? offset + seen : before),
           "%u from %u: next is not behind it", limit, offset);
}

static void test_positions(void)
{
    for (unsigned round = 0; round < 300; round++) {
        struct dx_suppression_range ranges[ROWS_MAX];
        bool hidden[ROWS_MAX];
        unsigned rows = 1 + pick(ROWS_MAX);
        unsigned in = 1 + pick(5);
        struct dx_suppression_pair p;
        unsigned visible = 0;

        for (unsigned i = 0; i < rows; i++)
            hidden[i] = pick(in) == 0;
        p = pair_of(hidden, rows, ranges);
        if (p.range_count == 0)
            continue;
        for (unsigned i = 0; i < rows; i++) {
            EXPECT(dx_suppression_view_hidden(&p, i) == hidden[i], "row %u", i);
            EXPECT(dx_suppression_view_visible_before(&p, i) == visible, "before %u", i);
            visible += !hidden[i];
        }
        for (unsigned offset = 0; offset <= rows; offset++)
            check_window(&p, hidden, rows, offset, 1 + pick(rows));
    }
}

/* A page ends early rather than to read any number of hidden rows. */
static void test_long_stretch(void)
{
    struct dx_suppression_range ranges[1] = { { 10, 1000010, 0 } };
    const struct dx_suppression_pair p = {
        .row_count = 1000020, .visible = { .row_count = 20 }, .ranges = ranges, .range_count = 1
    };
    struct dx_page_of w = dx_suppression_view_window(&p, 5, 10);

    EXPECT(w.offset == 5 && w.limit == DX_LIMIT_MAX, "%llu rows", (unsigned long long)w.limit);
    EXPECT(dx_suppression_view_visible_before(&p, w.offset + w.limit) == 10, "next");
    w = dx_suppression_view_window(&p, 10, 10);
    EXPECT(w.offset == 1000010 && w.limit == 10, "behind it");
    w = dx_suppression_view_window(&p, 20, 10);
    EXPECT(w.limit == 0, "at the end");
}

/* ---- a small root ---- */

struct said {
    enum dx_suppress_kind kind;
    enum dx_suppress_policy policy;
    const char *value;
};

static int say(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    const struct said *s = ctx;
    const struct dx_suppress_rule rule = { .kind = s->kind,
                                           .policy = s->policy,
                                           .value = dx_span_str(s->value) };
    uint64_t number;
    int rc = dx_suppressions_add(log, &rule, &number, err);

    return rc < 0 ? rc : 1;
}

static void suppress(const struct dx_test_root *r, enum dx_suppress_kind kind,
                     enum dx_suppress_policy policy, const char *value)
{
    struct said s = { kind, policy, value };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_suppress_change(r->path, say, &s, &err) == 1, "%s", err.text);
}

static int lift_one(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    uint64_t number;
    int rc = dx_suppressions_lift(log, 0, *(const uint64_t *)ctx, dx_span_str(""), &number, err);

    return rc < 0 ? rc : 1;
}

static void log_path(const struct dx_test_root *r, char path[256])
{
    (void)snprintf(path, 256, "%s/" DX_SUPPRESSIONS_FILE, r->path);
}

static int find(const struct asker *a, const char *name, struct dx_found *found,
                struct dx_problem *problem)
{
    return dx_lookup_domain(DX_VIEW_ALL(a->v), a->canon, dx_span_str(name), found, problem);
}

/* Of one pair: rows below `from` stay, those from there on are hidden. */
static void check_pair(const struct asker *a, unsigned domain, unsigned dataset, unsigned from,
                       uint64_t withheld)
{
    unsigned rows = dx_test_root_rows(domain, dataset);
    const struct dx_suppression_pair *pair;
    struct dx_problem problem;
    struct dx_suppression_view w;
    struct dx_found found;
    char name[64];

    dx_test_root_domain(domain, name);
    EXPECT(find(a, name, &found, &problem) == 1, "%s", problem.detail);
    EXPECT(dx_suppression_view_of(DX_VIEW_ALL(a->v), &found, &w, &problem) == 1, "%s",
           problem.detail);
    pair = dx_suppression_view_pair(&w, dataset);
    EXPECT((pair != NULL) == (from < rows), "%s has a pair", name);
    if (pair != NULL) {
        EXPECT(pair->visible.row_count == from && pair->visible.url_count == from,
               "%llu rows, %llu URLs", (unsigned long long)pair->visible.row_count,
               (unsigned long long)pair->visible.url_count);
        EXPECT(pair->row_count == rows && pair->withheld_rows == withheld, "withheld");
        EXPECT(pair->range_count == 1 && pair->ranges[0].first == from &&
                   pair->ranges[0].end == rows,
               "ranges");
        /* Row n has time 1300000000 + i * 1000 + n but each fourth has none. */
        EXPECT(pair->visible.last_us == (from % 4 == 0 && from > 0
                                             ? (int64_t)(1300000000 + domain * 1000 + from - 2)
                                             : (int64_t)(1300000000 + domain * 1000 + from - 1)) *
                                            1000000,
               "last time");
    }
    dx_suppression_view_release(&w);
}

static void test_prefix(const struct dx_test_root *r)
{
    unsigned rows = dx_test_root_rows(3, 1);
    struct asker a;
    char name[64];
    char value[128];

    dx_test_root_domain(3, name);
    for (unsigned row = 1; row < rows; row++) {
        (void)snprintf(value, sizeof value, "%s/d1/%02u", name, row);
        suppress(r, DX_SUPPRESS_PREFIX, row == 1 ? DX_SUPPRESS_ABSENT : DX_SUPPRESS_WITHHELD,
                 value);
    }
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    EXPECT(rows >= 4, "%u rows", rows);
    check_pair(&a, 3, 1, 1, rows - 2);
    close_asker(&a);
}

static bool body_has(const struct asker *a, const char *name, const char *text, int want_rc)
{
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);
    struct dx_problem problem;
    int rc = dx_answer_domain(DX_VIEW_ALL(a->v), a->canon, dx_span_str(name), DX_DOMAIN_FIELDS_ALL,
                              &body, &problem);
    bool found;

    EXPECT(rc == want_rc, "%s: %d, %s", name, rc, rc == 1 ? "" : problem.detail);
    if (rc == 1) {
        dx_buf_u8(&body, 0);
        found = strstr((const char *)body.data, text) != NULL;
    } else {
        found = strcmp(problem.slug, text) == 0;
    }
    dx_buf_release(&body);
    return found;
}

static void test_answers(const struct dx_test_root *r)
{
    struct asker a;
    char names[5][64];

    for (unsigned i = 0; i < 5; i++)
        dx_test_root_domain(i, names[i]);
    suppress(r, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, names[0]);
    suppress(r, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, names[2]);
    suppress(r, DX_SUPPRESS_HOST, DX_SUPPRESS_ABSENT, names[4]);
    suppress(r, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "nobody.com");
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    EXPECT(body_has(&a, names[0], "withheld", 0), "the domain is withheld");
    EXPECT(body_has(&a, names[2], "domain-not-found", 0), "the domain is absent");
    EXPECT(body_has(&a, names[4], "domain-not-found", 0), "its only host is absent");
    EXPECT(body_has(&a, "nobody.com", "withheld", 0), "withheld whether it is there or not");
    EXPECT(body_has(&a, names[3], "\"withheld_rows\":", 1), "some rows are withheld");
    EXPECT(!body_has(&a, names[1], "withheld", 1), "nothing is");
    close_asker(&a);
}

/* The words of an absent domain are those of a domain that never was. */
static void test_same_words(const struct dx_test_root *r)
{
    struct dx_problem absent, never;
    struct dx_found found;
    struct asker a;
    char name[64];
    char shown[64];

    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    dx_test_root_domain(2, name);
    EXPECT(find(&a, name, &found, &absent) == 0, "absent");
    (void)snprintf(shown, sizeof shown, "%s", name);
    shown[0] = 'x';
    EXPECT(find(&a, shown, &found, &never) == 0, "never was");
    never.detail[0] = name[0];
    EXPECT(strcmp(absent.detail, never.detail) == 0 && strcmp(absent.slug, never.slug) == 0 &&
               strcmp(absent.title, never.title) == 0 && absent.kind == never.kind,
           "%s / %s", absent.detail, never.detail);
    close_asker(&a);
}

/* A server's threads do not read: they must retry until the rows are known. */
static void test_served(const struct dx_test_root *r)
{
    uint64_t until_ms = dx_clock_ms() + 20000;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_suppression_view w;
    struct dx_ruled_domains *ruled;
    struct dx_found found;
    struct asker a;
    char name[64];
    int rc;

    dx_test_root_domain(3, name);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    EXPECT(find(&a, name, &found, &problem) == 1, "%s", problem.detail);
    rc = dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem);
    EXPECT(rc == DX_E_BUSY && problem.kind == DX_PROBLEM_UNAVAILABLE, "%d", rc);
    while (rc == DX_E_BUSY && dx_clock_ms() < until_ms) {
        (void)usleep(1000);
        rc = dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem);
    }
    EXPECT(rc == 1, "%d: %s", rc, problem.detail);
    dx_suppression_view_release(&w);
    close_asker(&a);

    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    EXPECT(dx_suppression_view_prepare(a.v, dx_clock_ms() + 20000, &err) == 1, "%s", err.text);
    rc = dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem);
    EXPECT(rc == 1, "prepared, and yet %d", rc);
    dx_suppression_view_release(&w);
    rc = dx_ruled_domains_get(&ruled, a.v, NULL,
                              &err); /* without a canonicaliser it can find none */
    EXPECT(rc == 1 && ruled->whole_count + ruled->part_count > 0, "prepared, and yet %d", rc);
    dx_ruled_domains_put(&ruled);
    close_asker(&a);

    /* Closed while its thread has work. */
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    (void)dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem);
    close_asker(&a);
}

/* 1: what is hidden of all of these domains is known at once. */
static int ask_domains(const struct asker *a, unsigned first, unsigned end)
{
    struct dx_suppression_view w[DOMAINS];
    struct dx_problem problem;
    struct dx_found found;
    unsigned n = 0;
    char name[64];
    int all = 1;

    for (unsigned i = first; i < end; i++) {
        int rc;

        dx_test_root_domain(i, name);
        EXPECT(find(a, name, &found, &problem) == 1, "%s", problem.detail);
        rc = dx_suppression_view_of(DX_VIEW_ALL(a->v), &found, &w[n], &problem);
        EXPECT(rc == 1 || rc == DX_E_BUSY, "%s: %d", name, rc);
        if (rc == 1)
            n++;
        else
            all = rc;
    }
    while (n > 0)
        dx_suppression_view_release(&w[--n]);
    return all;
}

/* An answer about many domains was never given where what is hidden of them was more than is kept: each that was read drove out another one. */
static void test_more_than_is_kept(const struct dx_test_root *r)
{
    uint64_t until_ms = dx_clock_ms() + 20000;
    struct dx_error err = DX_ERROR_INIT;
    struct asker a;
    char name[64];
    char value[128];
    int rc;

    for (unsigned i = 6; i < DOMAINS; i++) {
        dx_test_root_domain(i, name);
        (void)snprintf(value, sizeof value, "%s/d1/00", name);
        suppress(r, DX_SUPPRESS_PREFIX, DX_SUPPRESS_ABSENT, value);
    }
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    dx_suppression_cache_keep(a.v->caches->suppressions, 1);
    while ((rc = ask_domains(&a, 6, DOMAINS)) == DX_E_BUSY && dx_clock_ms() < until_ms)
        (void)usleep(1000);
    EXPECT(rc == 1, "never known at once");
    EXPECT(dx_suppression_view_prepare(a.v, dx_clock_ms() + 20000, &err) == 1, "%s", err.text);
    close_asker(&a);
}

/* Rows of rules that are others by now, and of versions that are closed, go a minute after their last use. */
static void test_sweep(const struct dx_test_root *r)
{
    struct dx_suppressions_live *o;
    struct dx_error err = DX_ERROR_INIT;
    struct asker a;
    char value[128];
    char name[64];
    size_t kept, more;

    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    o = a.caches->suppressions;
    EXPECT(dx_suppression_cache_bytes(o) == 0, "nothing was asked for");
    EXPECT(dx_suppression_view_prepare(a.v, dx_clock_ms() + 20000, &err) == 1, "%s", err.text);
    kept = dx_suppression_cache_bytes(o);
    dx_test_root_domain(7, name);
    (void)snprintf(value, sizeof value, "%s/d0/00", name);
    suppress(r, DX_SUPPRESS_PREFIX, DX_SUPPRESS_ABSENT, value);
    EXPECT(dx_suppression_view_follow(a.caches, &err) == 1, "%s", err.text);
    EXPECT(dx_suppression_view_prepare(a.v, dx_clock_ms() + 20000, &err) == 1, "%s", err.text);
    more = dx_suppression_cache_bytes(o);
    EXPECT(more > kept && kept > 0, "%zu, %zu bytes", kept, more);
    dx_suppression_cache_sweep(a.caches, dx_clock_ms() + 30000);
    EXPECT(dx_suppression_cache_bytes(o) == more, "used half a minute ago");
    dx_suppression_cache_sweep(a.caches, dx_clock_ms() + 90000);
    EXPECT(dx_suppression_cache_bytes(o) < more, "rows of other rules stay");
    EXPECT(ask_domains(&a, 6, DOMAINS) == 1, "those of the rules in force are gone");
    a.v->entry.build.bytes[0] ^= 1;
    dx_suppression_cache_sweep(a.caches, dx_clock_ms() + 180000);
    EXPECT(dx_suppression_cache_bytes(o) == 0, "rows of a version that is not open stay");
    a.v->entry.build.bytes[0] ^= 1;
    close_asker(&a);
}

/* Rows that cannot be read: an answer of the whole domain would show too much. */
static void test_unreadable(const struct dx_test_root *r)
{
    char lake[256];
    char aside[300];
    struct dx_problem problem;
    struct dx_suppression_view w;
    struct dx_found found;
    struct asker a;
    char name[64];
    int rc;

    (void)snprintf(lake, sizeof lake, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet",
                   r->path);
    (void)snprintf(aside, sizeof aside, "%s.aside", lake);
    dx_test_root_domain(3, name);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    EXPECT(find(&a, name, &found, &problem) == 1, "%s", problem.detail);
    EXPECT(rename(lake, aside) == 0, "rename");
    rc = dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem);
    EXPECT(rc < 0 && problem.kind == DX_PROBLEM_UNAVAILABLE, "%d: %s", rc, problem.detail);
    EXPECT(rename(aside, lake) == 0, "rename");
    rc = dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem);
    EXPECT(rc == 1, "%d: %s", rc, problem.detail);
    dx_suppression_view_release(&w);
    close_asker(&a);
}

/* Rules that a compaction has applied are not looked for again, unless the log is not the one that
 * it went by: it has fewer lines. */
static void test_cleansed(const struct dx_test_root *r)
{
    const struct dx_rules *rules;
    struct dx_problem problem;
    struct dx_suppression_view w;
    struct dx_found found;
    struct asker a;
    char name[64];

    dx_test_root_domain(3, name);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    EXPECT(find(&a, name, &found, &problem) == 1, "%s", problem.detail);
    rules = dx_suppressions_live_pin(a.v->caches->suppressions);
    a.v->entry.cleansed = rules->number;
    EXPECT(dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem) == 1 && w.entry == NULL,
           "it was read again");
    a.v->entry.cleansed = rules->number + 1;
    EXPECT(dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem) != 1 || w.entry != NULL,
           "rules of a log that was begun anew are left out");
    dx_suppression_view_release(&w);
    dx_suppressions_live_unpin(a.v->caches->suppressions, rules);
    close_asker(&a);
}

/* ---- the log that a log of suppressions follows ---- */

static int poll_rules(struct dx_suppressions_live *o, struct dx_error *err)
{
    int rc = dx_suppressions_live_look(o, err);

    dx_suppressions_live_exchange(o);
    return rc;
}

static uint64_t in_force(struct dx_suppressions_live *o)
{
    struct dx_suppressions_live_health health;

    dx_suppressions_live_health(o, &health);
    return health.number;
}

static bool sound(struct dx_suppressions_live *o)
{
    struct dx_suppressions_live_health health;

    dx_suppressions_live_health(o, &health);
    return health.sound;
}

static void write_bytes(const char *path, const struct dx_buf *bytes, size_t size)
{
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_file_replace(path, dx_span_of(bytes->data, size), &err) == DX_OK, "%s", err.text);
}

/* ---- two versions, or one with itself ---- */

static int diff_of(const struct asker *a, const char *name, struct dx_buf *body,
                   struct dx_problem *problem)
{
    return dx_answer_diff(DX_VIEW_ALL(a->v), DX_VIEW_ALL(a->v), a->canon, dx_span_str(name), NULL,
                          body, problem);
}

/* As the answer about the domain: withheld is said, absent is as if it never was. */
static void test_diff_words(const struct dx_test_root *r)
{
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);
    struct dx_problem problem, never;
    struct asker a;
    char name[64];

    dx_test_root_domain(6, name);
    suppress(r, DX_SUPPRESS_HOST, DX_SUPPRESS_WITHHELD, name);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    EXPECT(diff_of(&a, name, &body, &problem) == 0 && problem.kind == DX_PROBLEM_WITHHELD, "%s",
           problem.detail);
    dx_test_root_domain(2, name);
    EXPECT(diff_of(&a, name, &body, &problem) == 0, "absent");
    name[0] = 'x';
    EXPECT(diff_of(&a, name, &body, &never) == 0, "never was");
    name[0] = problem.detail[0];
    never.detail[0] = problem.detail[0];
    EXPECT(strcmp(problem.detail, never.detail) == 0 && strcmp(problem.slug, never.slug) == 0,
           "%s / %s", problem.detail, never.detail);
    close_asker(&a);
    dx_buf_release(&body);
}

struct changer {
    const struct dx_test_root *root;
    struct dx_suppressions_live *suppressions;
    const char *host;
    _Atomic bool done;
};

static void *change_rules(void *argument)
{
    struct changer *c = argument;
    struct dx_error err = DX_ERROR_INIT;

    for (unsigned i = 0; i < 60; i++) {
        struct dx_suppressions_live_health health;

        suppress(c->root, DX_SUPPRESS_HOST, DX_SUPPRESS_ABSENT, c->host);
        EXPECT(poll_rules(c->suppressions, &err) == 1, "%s", err.text);
        dx_suppressions_live_health(c->suppressions, &health);
        EXPECT(dx_suppress_change(c->root->path, lift_one, &health.number, &err) == 1 &&
                   poll_rules(c->suppressions, &err) == 1,
               "%s", err.text);
    }
    atomic_store(&c->done, true);
    return NULL;
}

/* A rule that comes between its two sides would show as a change. */
static void test_diff_state(const struct dx_test_root *r)
{
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);
    struct changer c = { .root = r };
    struct dx_problem problem;
    unsigned mixed = 0;
    pthread_t thread;
    struct asker a;
    char name[64];

    dx_test_root_domain(7, name);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    c.host = name;
    c.suppressions = a.caches->suppressions;
    EXPECT(pthread_create(&thread, NULL, change_rules, &c) == 0, "no thread");
    while (!atomic_load(&c.done)) {
        int rc = diff_of(&a, name, &body, &problem);

        EXPECT(rc >= 0, "%s", problem.detail);
        mixed += rc == 1 && memmem(body.data, body.size, "\"change\":\"same\"", 15) == NULL;
        dx_buf_clear(&body);
    }
    (void)pthread_join(thread, NULL);
    EXPECT(mixed == 0, "%u answers of two states", mixed);
    close_asker(&a);
    dx_buf_release(&body);
}

/* What is found out is kept for the build, and so for the version that is reopened: nothing is kept
 * that came from files that were changed. */
static void test_changed_files(const struct dx_test_root *r)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_suppression_view w;
    struct dx_found found;
    struct asker a;
    char name[64];
    char path[256];
    char byte;
    int fd;

    dx_test_root_domain(3, name);
    (void)snprintf(path, sizeof path, "%s/index/%s/domain_to_datasets.roar", r->path, r->version);
    EXPECT(dx_guard_start(0, &err) == DX_OK, "%s", err.text);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    EXPECT(find(&a, name, &found, &problem) == 1, "%s", problem.detail);
    (void)chmod(path, 0644);
    fd = open(path, O_RDWR | O_CLOEXEC); /* waits until the guard has let go */
    EXPECT(fd >= 0 && pread(fd, &byte, 1, 0) == 1 && pwrite(fd, &byte, 1, 0) == 1, "%s", path);
    (void)close(fd);
    EXPECT(!dx_version_intact(a.v), "unnoticed");
    EXPECT(dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem) < 0,
           "taken from changed files");
    close_asker(&a);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    EXPECT(find(&a, name, &found, &problem) == 1, "%s", problem.detail);
    EXPECT(dx_suppression_view_of(DX_VIEW_ALL(a.v), &found, &w, &problem) == 1 && w.entry != NULL,
           "opened again: %s", problem.detail);
    dx_suppression_view_release(&w);
    close_asker(&a);
    dx_guard_stop();
}

static void test_followed_log(const struct dx_test_root *r)
{
    struct dx_buf kept = DX_BUF_INIT(BODY_MAX);
    struct dx_buf earlier = DX_BUF_INIT(BODY_MAX);
    struct dx_suppressions other = DX_SUPPRESSIONS_INIT;
    struct dx_buf other_text = DX_BUF_INIT(BODY_MAX);
    struct said s = { DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "other.com" };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_suppressions_live *o;
    struct dx_suppressions_live *refused;
    const struct dx_rules *rules;
    uint64_t one = 1;
    uint64_t lines = 0;
    char path[256];

    /* No log yet, and none ever: without what floor and manifest say of the log that other tests wrote. */
    log_path(r, path);
    (void)unlink(path);
    EXPECT(dx_suppress_accept(r->path, false, &lines, &err) >= 0, "%s", err.text);
    EXPECT(dx_suppressions_live_open(&o, r->path, NULL, DX_SUPPRESSIONS_LIVE_SERVE, &err) == DX_OK,
           "%s", err.text);
    EXPECT(dx_suppressions_live_pin(o) == NULL && sound(o), "no log: no rules");
    EXPECT(poll_rules(o, &err) == 0, "still none");
    suppress(r, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "a.com");
    EXPECT(poll_rules(o, &err) == 1 && in_force(o) == 1, "%s", err.text);
    EXPECT(poll_rules(o, &err) == 0, "twice");
    rules = dx_suppressions_live_pin(o);
    EXPECT(rules != NULL && rules->count == 1, "one rule");
    EXPECT(dx_file_read(path, BODY_MAX, &earlier, &err) == DX_OK, "%s", err.text);
    suppress(r, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "b.com");
    EXPECT(poll_rules(o, &err) == 1 && in_force(o) == 2, "%s", err.text);
    EXPECT(rules->count == 1, "a pinned snapshot changed");
    dx_suppressions_live_unpin(o, rules);
    EXPECT(dx_file_read(path, BODY_MAX, &kept, &err) == DX_OK, "%s", err.text);

    (void)unlink(path);
    EXPECT(poll_rules(o, &err) < 0 && in_force(o) == 2 && !sound(o), "gone");
    write_bytes(path, &kept, kept.size - 1);
    EXPECT(poll_rules(o, &err) < 0 && in_force(o) == 2, "cut");
    EXPECT(dx_suppressions_live_open(&refused, r->path, NULL, DX_SUPPRESSIONS_LIVE_SERVE, &err) < 0,
           "begins with it");
    write_bytes(path, &earlier, earlier.size); /* whole lines, but fewer than the floor says */
    EXPECT(poll_rules(o, &err) < 0 && in_force(o) == 2, "an older log");
    EXPECT(dx_suppressions_live_open(&refused, r->path, NULL, DX_SUPPRESSIONS_LIVE_SERVE, &err) < 0,
           "begins with an older log");
    dx_buf_release(&earlier);
    EXPECT(say(&s, &other, &err) == 1 && dx_suppressions_write(&other, &other_text, &err) == DX_OK,
           "%s", err.text);
    write_bytes(path, &other_text, other_text.size);
    EXPECT(poll_rules(o, &err) < 0 && in_force(o) == 2 && !sound(o), "another log");
    write_bytes(path, &kept, kept.size);
    EXPECT(poll_rules(o, &err) == 0 && sound(o), "the log is back: %s", err.text);
    EXPECT(dx_suppress_change(r->path, lift_one, &one, &err) == 1, "%s", err.text);
    EXPECT(poll_rules(o, &err) == 1 && in_force(o) == 3, "lifted");
    rules = dx_suppressions_live_pin(o);
    EXPECT(rules != NULL && rules->count == 1, "one is left");
    dx_suppressions_live_unpin(o, rules);
    dx_suppressions_live_close(&o);
    dx_suppressions_release(&other);
    dx_buf_release(&other_text);
    dx_buf_release(&kept);
}

/* ---- exchange of rules ---- */

/* As a version that is opened after the exchange finds them, from all rules. */
static void check_ruled(const struct dx_test_root *r, struct dx_version *v, unsigned step)
{
    struct dx_ruled_domains *kept, *fresh;
    struct dx_error err = DX_ERROR_INIT;
    struct asker a;

    /* Without a canonicaliser it finds none: these were found before. */
    EXPECT(dx_ruled_domains_get(&kept, v, NULL, &err) >= 0, "%s", err.text);
    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    EXPECT(dx_ruled_domains_get(&fresh, a.v, a.canon, &err) >= 0, "%s", err.text);
    EXPECT((kept == NULL) == (fresh == NULL), "step %u: rules", step);
    if (kept != NULL && fresh != NULL) {
        EXPECT(kept->whole_count == fresh->whole_count && kept->part_count == fresh->part_count,
               "step %u: %zu and %zu, not %zu and %zu", step, kept->whole_count, kept->part_count,
               fresh->whole_count, fresh->part_count);
        EXPECT(
            memcmp(kept->whole, fresh->whole, fresh->whole_count * sizeof *fresh->whole) == 0 &&
                (fresh->part_count == 0 ||
                 memcmp(kept->parts, fresh->parts, fresh->part_count * sizeof *fresh->parts) == 0),
            "step %u", step);
    }
    dx_ruled_domains_put(&kept);
    dx_ruled_domains_put(&fresh);
    close_asker(&a);
}

/* A rule more, or one less: its number. */
static uint64_t change_one(const struct dx_test_root *r, struct dx_suppressions_live *o,
                           uint64_t lifted)
{
    const enum dx_suppress_kind kind = pick(2) == 0 ? DX_SUPPRESS_DOMAIN : DX_SUPPRESS_HOST;
    struct dx_suppressions_live_health health;
    struct dx_error err = DX_ERROR_INIT;
    char name[64];

    dx_suppressions_live_health(o, &health);
    dx_test_root_domain(pick(DOMAINS), name);
    if (lifted == 0)
        suppress(r, kind, DX_SUPPRESS_ABSENT, name);
    else
        EXPECT(dx_suppress_change(r->path, lift_one, &lifted, &err) == 1, "%s", err.text);
    return health.number + 1;
}

/* Rules that others follow before they held: what was found for them is not of the others. */
static void test_two_looks(const struct dx_test_root *r)
{
    struct dx_error err = DX_ERROR_INIT;
    struct asker a;
    char name[64];

    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    EXPECT(dx_suppression_view_prepare(a.v, dx_clock_ms() + 20000, &err) == 1, "%s", err.text);
    for (unsigned i = 8; i < 10; i++) {
        dx_test_root_domain(i, name);
        suppress(r, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, name);
        EXPECT(dx_suppressions_live_look(a.caches->suppressions, &err) == 1, "%s", err.text);
        EXPECT(dx_ruled_domains_prepare(a.v, a.canon, &err) == DX_OK, "%s", err.text);
    }
    dx_suppressions_live_exchange(a.caches->suppressions);
    check_ruled(r, a.v, 0);
    close_asker(&a);
}

/* What rules concern is found before they hold, of all versions that are open, and those that are
 * opened meanwhile find it when they are prepared. */
static void test_exchange(const struct dx_test_root *r)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *second = NULL;
    uint64_t added[64];
    size_t count = 0;
    struct asker a;

    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_SERVE);
    EXPECT(dx_suppression_view_prepare(a.v, dx_clock_ms() + 20000, &err) == 1, "%s", err.text);
    for (unsigned step = 0; step < 60; step++) {
        const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
        bool lifts = count > 0 && pick(3) == 0;
        size_t at = lifts ? pick((unsigned)count) : count;
        uint64_t number = change_one(r, a.caches->suppressions, lifts ? added[at] : 0);

        if (lifts)
            added[at] = added[--count];
        else
            added[count++] = number;
        if (step % 3 != 0) {
            EXPECT(dx_suppression_view_follow(a.caches, &err) == 1, "%s", err.text);
        } else { /* as it does, and a version is opened between */
            dx_version_unpin(second);
            EXPECT(dx_suppressions_live_look(a.caches->suppressions, &err) == 1, "%s", err.text);
            EXPECT(dx_ruled_domains_prepare(a.v, a.canon, &err) == DX_OK, "%s", err.text);
            EXPECT(dx_version_open_named(&second, r->path, NULL, a.caches, &options, &err) == DX_OK,
                   "%s", err.text);
            EXPECT(dx_suppression_view_prepare(second, 0, &err) >= 0, "%s", err.text);
            dx_suppressions_live_exchange(a.caches->suppressions);
        }
        check_ruled(r, a.v, step);
        check_ruled(r, second, step);
    }
    dx_version_unpin(second);
    close_asker(&a);
}

int main(void)
{
    struct dx_test_root r;

    test_positions();
    test_long_stretch();
    dx_test_root_make(&r, DOMAINS, DATASETS);
    test_prefix(&r);
    test_answers(&r);
    test_same_words(&r);
    test_served(&r);
    test_more_than_is_kept(&r);
    test_sweep(&r);
    test_unreadable(&r);
    test_cleansed(&r);
    test_diff_words(&r);
    test_diff_state(&r);
    test_changed_files(&r);
    test_two_looks(&r);
    test_exchange(&r);
    test_followed_log(&r);
    dx_test_root_remove(&r);
    return failures != 0;
}
