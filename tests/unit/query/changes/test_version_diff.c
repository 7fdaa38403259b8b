/* SPDX-License-Identifier: Apache-2.0
 * Two versions of a small root, of which the second has a dataset less: what differs by the rule
 * that the rows were made by, in one go and in pages of any size, with any cap on what is looked
 * at.
 */
#include "loader/version.h"
#include "query/changes/answer_changes.h"
#include "query/changes/version_diff.h"
#include "query/rows/cursor.h"
#include "query/view/view.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <jansson.h>

#define DOMAINS 60
#define DATASETS 4

static unsigned failures;

struct both {
    struct dx_test_root root;
    struct dx_caches *caches;
    struct dx_version *before, *after;
};

static bool open_both(struct both *b)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
    char first[32];
    char path[256];
    bool ok;

    dx_test_root_make(&b->root, DOMAINS, DATASETS);
    (void)snprintf(first, sizeof first, "%s", b->root.version);
    (void)snprintf(path, sizeof path,
                   "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-00000.parquet", b->root.path,
                   DATASETS);
    EXPECT(remove(path) == 0, "%s", path);
    dx_test_root_publish(&b->root);
    ok = dx_caches_new(&b->caches, &options, &err) == DX_OK &&
         dx_version_open_named(&b->before, b->root.path, first, b->caches, &options, &err) ==
             DX_OK &&
         dx_version_open_named(&b->after, b->root.path, NULL, b->caches, &options, &err) == DX_OK;
    EXPECT(ok, "%s", err.text);
    return ok;
}

static void close_both(struct both *b)
{
    dx_version_unpin(b->before);
    dx_version_unpin(b->after);
    dx_caches_free(&b->caches);
    dx_test_root_remove(&b->root);
}

/* ---- the walk ---- */

static bool is_domain(const struct dx_version_walk *w, unsigned *number)
{
    uint8_t domain[DX_SURT_MAX];
    size_t size = dx_surt_domain(w->key, domain);
    char name[64];

    for (*number = 0; *number < DOMAINS; ++*number) {
        dx_test_root_domain(*number, name);
        if (dx_span_equal(dx_span_of(domain, size), dx_span_str(name)))
            return true;
    }
    return false;
}

static void check_pairs(const struct dx_version_walk *w, unsigned i, unsigned datasets)
{
    size_t at = 0;

    for (unsigned d = 1; d <= datasets; d++) {
        if (!dx_test_root_member(i, d))
            continue;
        EXPECT(at < w->pairs.count && w->pairs.ids[at] == d, "domain %u: dataset %u", i, d);
        EXPECT(at < w->pairs.count && w->pairs.counts[at].row_count == dx_test_root_rows(i, d),
               "domain %u", i);
        at++;
    }
    EXPECT(at == w->pairs.count, "domain %u: %zu datasets", i, w->pairs.count);
}

static void check_walk(struct dx_version *v, uint64_t from, unsigned datasets)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version_walk w;
    bool seen[DOMAINS] = { false };
    uint64_t count = 0;
    unsigned i = 0;
    int rc;

    dx_version_walk_begin(&w, v, from == UINT64_MAX ? from : 1 + from);
    while ((rc = dx_version_walk_next(&w, &err)) == 1) {
        EXPECT(w.ordinal == from + count, "ordinal %llu", (unsigned long long)w.ordinal);
        EXPECT(is_domain(&w, &i) && !seen[i], "a domain that is none, or twice");
        seen[i] = true;
        EXPECT(dx_version_walk_pairs(&w, &err) == DX_OK, "%s", err.text);
        check_pairs(&w, i, datasets);
        count++;
    }
    EXPECT(rc == 0 && count == (from < DOMAINS ? DOMAINS - from : 0), "%d from %llu: %llu domains",
           rc, (unsigned long long)from, (unsigned long long)count);
    EXPECT(dx_version_walk_next(&w, &err) == 0, "the end stays");
    dx_version_walk_end(&w);
}

/* ---- the diff ---- */

static void check_diff(struct dx_version *before, struct dx_version *after, enum dx_change pair)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version_diff d;
    unsigned found = 0;
    unsigned want = 0;
    int rc;

    for (unsigned i = 0; i < DOMAINS; i++)
        want += dx_test_root_member(i, DATASETS);
    dx_version_diff_begin(&d, DX_VIEW_ALL(before), DX_VIEW_ALL(after), 0, 0);
    while ((rc = dx_version_diff_next(&d, UINT64_MAX, &err)) == DX_DIFF_FOUND) {
        struct dx_pairs_diff p;

        EXPECT(d.change == DX_CHANGE_CHANGED, "%s", dx_change_name(d.change));
        dx_pairs_diff_begin(&p, &d.before, &d.after);
        EXPECT(dx_pairs_diff_next(&p) && p.dataset_id == DATASETS, "dataset %u",
               (unsigned)p.dataset_id);
        EXPECT((p.before == NULL) == (pair == DX_CHANGE_ADDED) &&
                   (p.after == NULL) == (pair == DX_CHANGE_REMOVED),
               "on the wrong side");
        EXPECT(!dx_pairs_diff_next(&p), "one dataset went");
        found++;
    }
    EXPECT(rc == DX_DIFF_END && found == want && want > 0, "%d: %u domains, not %u", rc, found,
           want);
    dx_version_diff_end(&d);
}

/* Paused after each domain or so, and begun again from there. */
static void check_pauses(struct dx_version *before, struct dx_version *after, uint64_t look_max)
{
    uint64_t next_before = 0;
    uint64_t next_after = 0;
    unsigned found = 0;
    unsigned want = 0;
    unsigned rounds = 0;
    int rc = DX_DIFF_PAUSE;

    for (unsigned i = 0; i < DOMAINS; i++)
        want += dx_test_root_member(i, DATASETS);
    while (rc == DX_DIFF_PAUSE && rounds++ <= DOMAINS) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_version_diff d;

        dx_version_diff_begin(&d, DX_VIEW_ALL(before), DX_VIEW_ALL(after), next_before, next_after);
        while ((rc = dx_version_diff_next(&d, look_max, &err)) == DX_DIFF_FOUND)
            found++;
        EXPECT(dx_version_diff_places(&d, &next_before, &next_after, &err) == DX_OK, "%s",
               err.text);
        dx_version_diff_end(&d);
    }
    EXPECT(rc == DX_DIFF_END && found == want, "%d: %u domains, not %u, with a cap of %llu", rc,
           found, want, (unsigned long long)look_max);
    EXPECT(rounds >= DOMAINS / look_max, "%u rounds", rounds);
}

/* ---- the answer ---- */

/* All pages; a body without what differs from page to page. */
static unsigned walk_changes(const struct both *b, uint64_t limit, uint64_t look_max,
                             struct dx_buf *domains)
{
    static const struct dx_cursor_key key = DX_CURSOR_KEY_INIT;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem problem;
    struct dx_cursor c;
    struct dx_changes_ask ask = { .limit = limit, .paging.cursors = &key, .look_max = look_max };
    unsigned pages = 0;
    bool more = true;

    while (more && pages++ <= 2 * DOMAINS) {
        const json_t *changes;
        const json_t *cursor;
        json_t *j;

        dx_buf_clear(&body);
        EXPECT(dx_answer_changes(DX_VIEW_ALL(b->before), DX_VIEW_ALL(b->after), &ask, &body,
                                 &problem) == 1,
               "%s", problem.detail);
        j = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
        changes = json_object_get(j, "changes");
        EXPECT(json_array_size(changes) <= limit, "%zu changes", json_array_size(changes));
        for (size_t i = 0; i < json_array_size(changes); i++) {
            dx_buf_str(domains,
                       json_string_value(json_object_get(json_array_get(changes, i), "domain")));
            dx_buf_u8(domains, '\n');
        }
        cursor = json_object_get(j, "next_cursor");
        more = json_is_string(cursor);
        if (more)
            EXPECT(dx_cursor_read(dx_span_str(json_string_value(cursor)), &key, NULL, &c,
                                  &problem) == 1,
                   "%s", problem.detail);
        ask.paging.from = &c;
        json_decref(j);
    }
    dx_buf_release(&body);
    return pages;
}

static void check_changes(const struct both *b)
{
    static const uint64_t limits[] = { 1, 2, 7, 10000 };
    static const uint64_t looks[] = { 1, 3, 16, 17, 0 };
    struct dx_buf whole = DX_BUF_INIT(1 << 20);
    struct dx_buf pages = DX_BUF_INIT(1 << 20);

    EXPECT(walk_changes(b, 10000, 0, &whole) == 1 && whole.size > 0, "one page");
    for (size_t l = 0; l < 4; l++)
        for (size_t k = 0; k < 5; k++) {
            dx_buf_clear(&pages);
            (void)walk_changes(b, limits[l], looks[k], &pages);
            EXPECT(dx_span_equal(dx_span_of(whole.data, whole.size),
                                 dx_span_of(pages.data, pages.size)),
                   "limit %llu, cap %llu: other domains", (unsigned long long)limits[l],
                   (unsigned long long)looks[k]);
        }
    dx_buf_release(&whole);
    dx_buf_release(&pages);
}

/* A cursor of two other versions, and one that points behind their ends. */
static void check_astray(const struct both *b)
{
    static const struct dx_cursor_key key = DX_CURSOR_KEY_INIT;
    struct dx_cursor c = { .kind = DX_CURSOR_CHANGES,
                           .build = b->after->entry.build,
                           .since_build = b->before->entry.build,
                           .next_before = UINT64_MAX,
                           .next_after = UINT64_MAX };
    const struct dx_changes_ask ask = { .limit = 10, .paging.from = &c, .paging.cursors = &key };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem problem;

    EXPECT(dx_answer_changes(DX_VIEW_ALL(b->before), DX_VIEW_ALL(b->after), &ask, &body,
                             &problem) == 1 &&
               memmem(body.data, body.size, "\"changes\":[],\"next_cursor\":null", 31) != NULL,
           "behind the end: %.*s", (int)body.size, (const char *)body.data);
    for (int i = 0; i < 2; i++) {
        struct dx_build_id *build = i == 0 ? &c.build : &c.since_build;

        build->bytes[0] ^= 1;
        EXPECT(dx_answer_changes(DX_VIEW_ALL(b->before), DX_VIEW_ALL(b->after), &ask, &body,
                                 &problem) == 0 &&
                   problem.kind == DX_PROBLEM_GONE,
               "another build");
        build->bytes[0] ^= 1;
    }
    dx_buf_release(&body);
}

static void check_meant(const struct both *b)
{
    static const struct {
        const char *text;
        int kind; /* -1: found */
    } rows[] = { { "1", -1 },
                 { "000002", -1 },
                 { "0", DX_PROBLEM_BAD_REQUEST },
                 { "", DX_PROBLEM_BAD_REQUEST },
                 { "1 ", DX_PROBLEM_BAD_REQUEST },
                 { "0000001", DX_PROBLEM_BAD_REQUEST },
                 { "000001-20261121T10300Z", DX_PROBLEM_BAD_REQUEST },
                 { "3", DX_PROBLEM_UNAVAILABLE } };
    struct dx_problem problem;
    char name[DX_VERSION_NAME];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int rc = dx_answer_version_meant(b->after, dx_span_str(rows[i].text), name, &problem);

        EXPECT(rc == (rows[i].kind < 0) && (rc == 1 || (int)problem.kind == rows[i].kind),
               "'%s': %d", rows[i].text, rc);
    }
    EXPECT(dx_answer_version_meant(b->after, (struct dx_span){ NULL, 0 }, name, &problem) == 1 &&
               strcmp(name, b->before->entry.version) == 0,
           "the one before: %s", name);
    EXPECT(dx_answer_version_meant(b->before, (struct dx_span){ NULL, 0 }, name, &problem) == 0 &&
               strcmp(problem.slug, "no-version-before") == 0,
           "before the first: %s", problem.slug);
}

int main(void)
{
    struct both b = { .caches = NULL };

    if (!open_both(&b))
        return 1;
    for (uint64_t from = 0; from <= DOMAINS + 1; from++)
        check_walk(b.before, from, DATASETS);
    check_walk(b.after, 0, DATASETS - 1);
    check_walk(b.after, UINT64_MAX, DATASETS - 1);
    check_diff(b.before, b.after, DX_CHANGE_REMOVED);
    check_diff(b.after, b.before, DX_CHANGE_ADDED);
    for (uint64_t look = 1; look < 20; look++)
        check_pauses(b.before, b.after, look);
    check_changes(&b);
    check_astray(&b);
    check_meant(&b);
    close_both(&b);
    return failures > 0;
}
