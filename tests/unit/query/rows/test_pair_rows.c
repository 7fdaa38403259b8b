/* SPDX-License-Identifier: Apache-2.0
 * Rows of pairs that are kept: listings over all datasets, by windows and by times, say byte for byte what they say where nothing can
 * be kept, with what they cost; which pairs are kept, and that it is they that are listed.
 */
#include "query/rows/pair_rows.h"

#include "loader/version.h"
#include "query/answers/task.h"
#include "query/view/lookup.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 12
#define DATASETS 7
#define MANY 6 /* of this domain each dataset has more rows than are kept */
#define BODY_MAX (1u << 22)
#define TIMES 3 /* reading; from pages, which keeps; from what is kept */

static unsigned failures;

static const struct dx_cursor_key key = { DX_CURSOR_KEY_SHARED, { 3 } };

static unsigned rows_of(unsigned i, unsigned dataset)
{
    return i == MANY ? DX_PAIR_ROWS_MAX + 20 : dx_test_root_rows(i, dataset) * (i + 1);
}

static void row_of(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    dx_test_root_domain(i, out->host);
    (void)snprintf(out->path, sizeof out->path, "/%c%u", row % 3 == 1 ? 'b' : 'a',
                   row * 7 + dataset);
}

struct question {
    unsigned domain;
    unsigned fields;
    const char *from, *to;
    uint64_t offset, limit;
    bool brief;
};

/* rc of the first step; the body of all. */
static int ask(const struct asker *a, const struct question *q, struct dx_buf *body)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_all_urls_ask urls = { .page = { q->offset, q->limit },
                                    .fields = q->fields,
                                    .brief = q->brief,
                                    .paging.cursors = &key,
                                    .paging.began_s = 1795000000 };
    struct dx_problem problem = { 0 };
    struct dx_task *task = NULL;
    char name[64];
    int first;
    int rc;

    dx_test_root_domain(q->domain, name);
    urls.asked = dx_span_str(name);
    if (q->from != NULL)
        urls.filter.from = dx_span_str(q->from);
    if (q->to != NULL)
        urls.filter.to = dx_span_str(q->to);
    if (!dx_row_filter_check(&urls.filter, &problem))
        abort();
    dx_buf_clear(body);
    first = dx_task_all_urls(&view, a->canon, &urls, &task, NULL, body, &problem);
    rc = dx_task_finish(&task, first, body, &problem);
    EXPECT(rc == 1, "%s: %s", problem.slug, problem.detail);
    return first;
}

static void check_same(const struct asker *with, const struct asker *without, struct question q)
{
    struct dx_buf got = DX_BUF_INIT(BODY_MAX), want = DX_BUF_INIT(BODY_MAX);

    (void)ask(without, &q, &want);
    for (unsigned i = 0; i < TIMES; i++) {
        (void)ask(with, &q, &got);
        EXPECT(dx_span_equal(dx_span_of(got.data, got.size), dx_span_of(want.data, want.size)),
               "time %u of domain %u, fields %x, from %s to %s, %llu+%llu:\n%.*s\nwant\n%.*s", i,
               q.domain, q.fields, q.from, q.to, (unsigned long long)q.offset,
               (unsigned long long)q.limit, (int)got.size, (const char *)got.data, (int)want.size,
               (const char *)want.data);
    }
    dx_buf_release(&got);
    dx_buf_release(&want);
}

static void check_questions(const struct asker *with, const struct asker *without)
{
    static const unsigned fields[] = { DX_FIELDS_DEFAULT, DX_FIELD_URL, DX_FIELD_TS,
                                       DX_FIELD_URL_ID | DX_FIELD_TS,
                                       DX_FIELD_URL | DX_FIELD_EXTRAS };
    static const char *const times[][2] = { { NULL, NULL },
                                            { "2011-03-13T07:06:47", NULL },
                                            { NULL, "2011-03-13T08" },
                                            { "2011-03-13T07:10", "2011-03-13T09:11:44" },
                                            { "2012", NULL } };
    static const uint64_t windows[][2] = { { 0, 1000 }, { 0, 5 }, { 3, 40 }, { 31, 9 } };
    const size_t step = dx_sample(1, 3);

    for (unsigned i = 0; i < DOMAINS; i++)
        for (size_t f = i % step; f < 5; f += step)
            for (size_t t = 0; t < 5; t++)
                for (size_t w = 0; w < 4; w++)
                    if (t == 0 || windows[w][0] == 0) /* a filter takes no offset */
                        check_same(with, without,
                                   (struct question){ i, fields[f], times[t][0], times[t][1],
                                                      windows[w][0], windows[w][1], false });
}

/* What is kept of each pair; and that a listing of such pairs alone needs no page. */
static void check_kept(const struct asker *a)
{
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);

    for (unsigned i = 0; i < DOMAINS; i++) {
        const struct dx_view view = { a->v, NULL, false };
        struct dx_problem problem;
        struct dx_found found;
        char name[64];
        int first;

        dx_test_root_domain(i, name);
        if (dx_lookup_domain(&view, a->canon, dx_span_str(name), &found, &problem) != 1)
            abort();
        for (unsigned d = 1; d <= DATASETS; d++) {
            struct dx_pair_rows p;
            int rc = dx_pair_rows_find(&p, a->v, found.part, found.ordinal, d);

            EXPECT(rc == (rows_of(i, d) > 0 && i != MANY ? 1 : -1), "domain %u in %u: %d", i, d,
                   rc);
            EXPECT(rc != 1 || p.row_count == rows_of(i, d), "domain %u in %u: %u rows", i, d,
                   (unsigned)p.row_count);
            dx_pair_rows_put(&p, a->v);
        }
        first = ask(a, &(struct question){ i, DX_FIELDS_DEFAULT, NULL, NULL, 0, 1000, true },
                    &body);
        EXPECT(first == (i == MANY ? DX_TASK_WAITS : 1), "domain %u: first step %d", i, first);
        first = ask(a, &(struct question){ i, DX_FIELD_TS, "2001", NULL, 0, 1000, true }, &body);
        EXPECT(first == (i == MANY ? DX_TASK_WAITS : 1), "domain %u: first step %d", i, first);
    }
    dx_buf_release(&body);
}

/* A block of another text under the key of a pair is what is listed then. */
static void check_is_listed(const struct asker *a)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);
    struct dx_problem problem;
    struct dx_found found;
    struct dx_pair_rows p;
    uint8_t *scheme;
    char name[64];

    dx_test_root_domain(1, name);
    if (dx_lookup_domain(&view, a->canon, dx_span_str(name), &found, &problem) != 1 ||
        dx_pair_rows_find(&p, a->v, found.part, found.ordinal, 1) != 1)
        abort();
    scheme = (uint8_t *)(uintptr_t)p.text;
    scheme[0] = 'X';
    (void)ask(a, &(struct question){ 1, DX_FIELD_URL, NULL, NULL, 0, 1, false }, &body);
    EXPECT(memmem(body.data, body.size, "\"Xttp", 5) != NULL, "%.*s", (int)body.size,
           (const char *)body.data);
    scheme[0] = 'h';
    dx_pair_rows_put(&p, a->v);
    dx_buf_release(&body);
}

int main(void)
{
    const struct dx_test_shape shape = { .rows = rows_of, .row = row_of };
    struct dx_page_cache *pages;
    struct dx_error err = DX_ERROR_INIT;
    struct asker with, without;
    struct dx_test_root root;

    dx_test_root_make_of(&root, DOMAINS, DATASETS, &shape);
    open_asker(&with, root.path);
    open_asker(&without, root.path);
    if (dx_page_cache_new(&pages, 1, DX_EVICT_LRU, &err) < 0)
        abort();
    dx_page_cache_free(&without.caches->pages);
    without.caches->pages = pages;
    check_questions(&with, &without);
    check_kept(&with);
    check_is_listed(&with);
    close_asker(&with);
    close_asker(&without);
    dx_test_root_remove(&root);
    return failures > 0;
}
