/* SPDX-License-Identifier: Apache-2.0
 * CDX questions about suffixes: rows in order of their keys whatever the order of domains; in pieces of any size, where an answer may look
 * at few rows, and keep few; by a filter that takes nothing; where an answer may not end early it is refused. Of a host, an unfinished answer is
 * never said to be none.
 */
#include <stdlib.h>

#include "canon/urlkey.h"
#include "query/cdx/cdx_domains.h"
#include "query/cdx/cdx_task.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 60
#define MORE 20
#define DATASETS 3

static unsigned failures;
static struct dx_test_shape usual; /* of the part that comes later */

/* Of some a port, or a name below: their keys lie behind those of the domains that follow. */
static void make_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    char domain[64];

    dx_test_root_domain(i, domain);
    (void)snprintf(out->host, sizeof out->host, "%s%.40s%s",
                   i % 7 != 6 && row % 5 == 3 ? "zz." : "", domain,
                   i % 7 != 6 && row % 3 == 2 ? ":8080" : "");
    (void)snprintf(out->path, sizeof out->path, "/d%u/%02u", dataset, row);
}

struct question {
    const char *query; /* without limit and resumeKey */
    uint64_t limit;
    uint64_t look_max;
    size_t select_bytes;
};

/* rc; body: the answer. */
static int ask(const struct asker *a, const struct question *q, const char *key,
               struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_answer_summary summary = { .rows = 0 };
    struct dx_buf query = DX_BUF_INIT(10000);
    struct dx_cdx_request request = { .dialect = DX_CDX_WAYBACK,
                                      .look_max = q->look_max,
                                      .select_bytes = q->select_bytes };
    struct dx_task *task;
    int rc;

    dx_buf_fmt(&query, "%s&limit=%llu&showUntimed=true%s%s", q->query, (unsigned long long)q->limit,
               key == NULL ? "" : "&resumeKey=", key == NULL ? "" : key);
    request.query = dx_span_of(query.data, query.size);
    dx_buf_clear(body);
    rc = dx_task_cdx(&view, a->canon, &request, &task, &summary, body, problem);
    rc = dx_task_finish(&task, rc, body, problem);
    dx_buf_release(&query);
    return rc;
}

/* Cuts the key off the answer; false: there is none. */
static bool take_key(struct dx_buf *body, char *key, size_t max)
{
    size_t end = body->size;

    for (size_t i = 0; i < end; i++)
        if (body->data[i] == '\n' && (i == 0 || body->data[i - 1] == '\n')) {
            (void)snprintf(key, max, "%.*s", (int)(end - i - 2), (const char *)body->data + i + 1);
            body->size = i;
            return true;
        }
    return false;
}

/* All pieces, one after the other. */
static unsigned follow(const struct asker *a, const struct question *q, struct dx_buf *out)
{
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem problem;
    char key[8200];
    bool more = true;
    unsigned pieces = 0;

    for (; more && pieces < 5000; pieces++) {
        int rc = ask(a, q, pieces == 0 ? NULL : key, &body, &problem);

        EXPECT(rc == 1, "%s, piece %u: %d %s", q->query, pieces, rc, problem.detail);
        more = rc == 1 && take_key(&body, key, sizeof key);
        dx_buf_append(out, body.data, body.size);
    }
    EXPECT(!more, "%s: no end", q->query);
    dx_buf_release(&body);
    return pieces;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "urlkey URL" of each row that is below the name, in order. */
static void expect(const char *name, struct dx_buf *out)
{
    static char *lines[20000];
    size_t count = 0;
    struct dx_urlkey k;

    dx_urlkey_init(&k);
    for (unsigned i = 0; i < DOMAINS + MORE; i++)
        for (uint32_t d = 1; d <= DATASETS; d++)
            for (unsigned row = 0; row < dx_test_root_rows(i, d); row++) {
                struct dx_test_row r;
                char domain[64];
                size_t size;

                if (i < DOMAINS ? !dx_test_root_member(i, d) : d != 1)
                    continue;
                dx_test_root_domain(i, domain);
                size = strlen(domain);
                if (size <= strlen(name) || domain[size - strlen(name) - 1] != '.' ||
                    strcmp(domain + size - strlen(name), name) != 0)
                    continue;
                (i < DOMAINS ? make_row : usual.row)(i, d, row, &r);
                EXPECT(dx_urlkey_make(&k, dx_span_str(r.host), dx_span_str(r.path)), "%s", r.host);
                EXPECT(asprintf(&lines[count++], "%.*s https://%s%s\n", (int)k.key.size,
                                (const char *)k.key.data, r.host, r.path) > 0,
                       "memory");
            }
    qsort(lines, count, sizeof *lines, compare_texts);
    for (size_t i = 0; i < count; i++) {
        dx_buf_str(out, lines[i]);
        free(lines[i]);
    }
    dx_urlkey_release(&k);
}

static void compare(const struct question *q, const struct dx_buf *got, const struct dx_buf *want)
{
    size_t i = 0;

    while (i < got->size && i < want->size && got->data[i] == want->data[i])
        i++;
    EXPECT(i == got->size && i == want->size,
           "%s, limit %u, look %u, bytes %zu: %zu bytes, not %zu; from %zu on\n%.300s\nnot\n%.300s",
           q->query, (unsigned)q->limit, (unsigned)q->look_max, q->select_bytes, got->size,
           want->size, i, i < got->size ? (const char *)got->data + i : "",
           i < want->size ? (const char *)want->data + i : "");
}

static void check_pieces(const struct asker *a, const char *name)
{
    static const uint64_t limits[] = { 1, 3, 17, 100000 };
    static const uint64_t looks[] = { 60, 90, 200, 0 };
    static const size_t bytes[] = { 3000, 0 };
    struct dx_buf want = DX_BUF_INIT(1 << 20);
    char query[200];

    (void)snprintf(query, sizeof query, "url=*.%s&fl=urlkey,original&showResumeKey=true", name);
    expect(name, &want);
    EXPECT(want.size > 1000, "%s: %zu bytes", name, want.size);
    for (size_t i = dx_sample(0, 3); i < 4 * 4 * 2; i += dx_sample(1, 5)) {
        const struct question q = { query, limits[i % 4], looks[i / 4 % 4], bytes[i / 16] };
        struct dx_buf got = DX_BUF_INIT(1 << 20);
        unsigned pieces = follow(a, &q, &got);

        compare(&q, &got, &want);
        if (i == 3)
            EXPECT(pieces > 2, "%u pieces where an answer may look at %u rows", pieces,
                   (unsigned)q.look_max);
        dx_buf_release(&got);
    }
    dx_buf_release(&want);
}

/* What nothing matches is found out in pieces without a row; without a key it is refused, and so are other orders. */
static void check_limits(const struct asker *a)
{
    struct question q = { "url=*.com&showResumeKey=true&filter=original:nothing", 10, 60, 0 };
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_problem problem;
    char key[8200];
    unsigned pieces;

    pieces = follow(a, &q, &body);
    EXPECT(pieces > 2 && body.size == 0, "%u pieces, %zu bytes", pieces, body.size);
    q.query = "url=*.com&showResumeKey=true&filter=original:nothing&output=json";
    EXPECT(ask(a, &q, NULL, &body, &problem) == 1 && body.size > 8 &&
               memcmp(body.data, "[[],\n[\"", 7) == 0,
           "an array of no row and a key: %.*s", (int)body.size, (const char *)body.data);
    q.query = "url=*.com&filter=original:nothing";
    EXPECT(ask(a, &q, NULL, &body, &problem) != 1 && problem.kind == DX_PROBLEM_TOO_MUCH &&
               strstr(problem.detail, "showResumeKey=true") != NULL,
           "no key: %s", problem.detail);
    q.query = "url=*.com&showResumeKey=true&sort=reverse";
    EXPECT(ask(a, &q, NULL, &body, &problem) != 1 && problem.kind == DX_PROBLEM_TOO_MUCH,
           "in reverse: %s", problem.detail);
    q.query = "url=*.com&showResumeKey=true&collapse=timestamp:4";
    EXPECT(ask(a, &q, NULL, &body, &problem) != 1 && problem.kind == DX_PROBLEM_TOO_MUCH,
           "what collapses over domains: %s", problem.detail);
    q.query = "url=*.com";
    EXPECT(ask(a, &q, NULL, &body, &problem) == 1 && body.size > 100 &&
               !take_key(&body, key, sizeof key),
           "ten rows of a suffix that has more than may be looked at: %s", problem.detail);
    dx_buf_release(&body);
}

/* An answer may end at a domain that comes before the others in order: LeakSanitizer sees what is left. */
static void check_release(const struct asker *a)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_cdx_domains d;
    char from[80] = "com,";
    char domain[64];

    dx_test_root_domain(0, domain);
    (void)snprintf(from + 4, sizeof from - 4, "%.*s-z)/", (int)strcspn(domain, "."), domain);
    EXPECT(dx_cdx_domains_init(&d, &view, dx_span_str("com"), dx_span_str(from), &err) == DX_OK &&
               dx_cdx_domains_next(&d, &problem) == 1 && d.at == &d.few &&
               dx_span_equal(dx_span_of(d.at->found.domain, d.at->found.domain_size),
                             dx_span_str(domain)),
           "from %s: %s", from, err.text);
    dx_cdx_domains_release(&d);
}

/* What does not fit is an error, not a shorter list. */
static void check_collinfo(const struct asker *a)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_problem problem = { .kind = DX_PROBLEM_BAD_REQUEST };
    struct dx_buf whole = DX_BUF_INIT(1 << 20);
    struct dx_buf none = DX_BUF_INIT(60);

    EXPECT(dx_answer_collinfo(&view, dx_span_str("host:1"), &whole, &problem) == 1 &&
               memmem(whole.data, whole.size, "-index", 6) != NULL,
           "%.*s", (int)whole.size, (const char *)whole.data);
    EXPECT(dx_answer_collinfo(&view, dx_span_str("host:1"), &none, &problem) < 0 && none.size == 0,
           "%zu bytes of %zu, %s", none.size, whole.size, problem.detail);
    dx_buf_release(&whole);
    dx_buf_release(&none);
}

int main(void)
{
    struct dx_test_shape shape;
    struct dx_test_root root;
    struct asker a;

    dx_test_root_usual(&usual);
    shape = usual;
    shape.row = make_row;
    dx_test_root_make_of(&root, DOMAINS, DATASETS, &shape);
    dx_test_root_grow(&root, MORE);
    open_asker(&a, root.path);
    check_pieces(&a, "com");
    check_pieces(&a, "uk");
    check_pieces(&a, "co.uk");
    check_limits(&a);
    check_release(&a);
    check_collinfo(&a);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
