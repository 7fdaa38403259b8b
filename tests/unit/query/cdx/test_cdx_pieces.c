/* SPDX-License-Identifier: Apache-2.0
 * CDX questions about a host with more rows than an answer may look at: URLs and prefixes of it, the host from any key on, in answers of any length and
 * with little room, against all keys in order. Its paths have upper and lower case, escapes, sessions, queries and slashes at their ends.
 */
#include <stdlib.h>

#include "canon/psl.h"
#include "canon/url.h"
#include "canon/urlkey.h"
#include "query/cdx/cdx_task.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define LARGE 1 /* of the domains */
#define DATASETS 3
#define ROWS_MAX 6000
#define ROWS (unsigned)dx_sample(ROWS_MAX, 1600) /* of each dataset */
#define LOOK_MAX 3000

static unsigned failures;
static uint64_t seed = 11;

static char paths[DATASETS][ROWS_MAX][DX_TEST_TEXT];
static const char *const labels[] = {
    "en.", "en.", "en.", "www.en.", "en.", "www3.en.", "de.", ""
};

static const char *label_of(unsigned row)
{
    return labels[row % (sizeof labels / sizeof *labels)];
}

#define PLAIN 20 /* the others are less often in a path; of one with "/..%2F" the key strays */

static const char *const tokens[] = {
    "a", "b",   "A",   "B",   "wiki/", "Wiki/", "Z",   "%20", "%D0%9C", "%d1", "-",    "_",
    "x", "c",   "d",   "e",   "f",     "g",     "h",   "/",   "~",      "?",   "&",    "=",
    ")", "%zz", "%7C", "b/b", "(",     "%2F",   "%5E", "a/?", "%3F",    ".a",  "%25a", "/..%2F",
};

static void make_paths(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;
    struct dx_psl *psl = NULL;

    if (dx_psl_new(&psl, dx_span_str("org\n"), &err) < 0 || dx_canon_new(&canon, psl, &err) < 0)
        exit(1);
    for (unsigned d = 0; d < DATASETS; d++)
        for (unsigned row = 0; row < ROWS;) {
            char text[300] = "http://example.org/";
            enum dx_reject why;
            struct dx_url url;

            for (uint64_t n = 2 + random_below(&seed, 5); n > 0; n--)
                (void)strcat(text,
                             tokens[random_below(&seed, random_below(&seed, 12) > 0
                                                            ? PLAIN
                                                            : sizeof tokens / sizeof *tokens)]);
            (void)snprintf(text + strlen(text), 20, "%x", row); /* no two are the same */
            if (random_below(&seed, 9) == 0)
                (void)strcat(text, "/");
            if (dx_canon_url(canon, dx_span_str(text), &url, &why) != 1 ||
                url.path_query.size >= DX_TEST_TEXT)
                continue;
            (void)snprintf(paths[d][row++], DX_TEST_TEXT, "%.*s", (int)url.path_query.size,
                           (const char *)url.path_query.data);
        }
    dx_canon_free(&canon);
    dx_psl_free(&psl);
}

static unsigned rows_of(unsigned i, unsigned dataset)
{
    (void)dataset;
    return i == LARGE ? ROWS : 3;
}

static void make_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    char domain[64];

    dx_test_root_domain(i, domain);
    (void)snprintf(out->host, sizeof out->host, "%s%.40s%s", i == LARGE ? label_of(row) : "",
                   domain, row % 80 == 4 ? ":8080" : "");
    (void)snprintf(out->path, sizeof out->path, "%s", paths[dataset - 1][row]);
}

/* ---- all rows in order of keys ---- */

struct line {
    char *key, *text; /* "urlkey URL" */
};

static struct line lines[DATASETS * ROWS_MAX];
static size_t line_count;

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static void make_lines(void)
{
    struct dx_urlkey k;

    dx_urlkey_init(&k);
    for (unsigned d = 1; d <= DATASETS; d++)
        for (unsigned row = 0; row < ROWS; row++) {
            struct line *l = &lines[line_count++];
            struct dx_test_row r;

            make_row(LARGE, d, row, &r);
            EXPECT(dx_urlkey_make(&k, dx_span_str(r.host), dx_span_str(r.path)), "%s", r.host);
            EXPECT(asprintf(&l->key, "%.*s", (int)k.key.size, (const char *)k.key.data) > 0 &&
                       asprintf(&l->text, "%s https://%s%s\n", l->key, r.host, r.path) > 0,
                   "memory");
        }
    qsort(lines, line_count, sizeof *lines, by_text);
    dx_urlkey_release(&k);
}

/* Of those whose keys begin so, or are this. */
static void expect(const char *beginning, bool exact, struct dx_buf *out)
{
    dx_buf_clear(out);
    for (size_t i = 0; i < line_count; i++)
        if (exact ? strcmp(lines[i].key, beginning) == 0
                  : strncmp(lines[i].key, beginning, strlen(beginning)) == 0)
            dx_buf_str(out, lines[i].text);
}

/* ---- questions ---- */

struct question {
    const char *query;
    uint64_t limit;
    size_t select_bytes;
    bool follows; /* with keys, to the end */
};

static int ask(const struct asker *a, const struct question *q, const char *key,
               struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_answer_summary summary = { .rows = 0 };
    struct dx_buf query = DX_BUF_INIT(20000);
    struct dx_cdx_request request = { .dialect = DX_CDX_WAYBACK,
                                      .look_max = LOOK_MAX,
                                      .select_bytes = q->select_bytes };
    struct dx_task *task;
    int rc;

    dx_buf_fmt(&query, "%s&fl=urlkey,original&showUntimed=true&limit=%llu%s%s%s", q->query,
               (unsigned long long)q->limit, q->follows ? "&showResumeKey=true" : "",
               key == NULL ? "" : "&resumeKey=", key == NULL ? "" : key);
    request.query = dx_span_of(query.data, query.size);
    dx_buf_clear(body);
    rc = dx_task_cdx(&view, a->canon, &request, &task, &summary, body, problem);
    rc = dx_task_finish(&task, rc, body, problem);
    dx_buf_release(&query);
    return rc;
}

/* Cuts the key off the answer; false: the answer has no key. */
static bool take_key(struct dx_buf *body, char *key, size_t max)
{
    for (size_t i = 0; i < body->size; i++)
        if (body->data[i] == '\n' && (i == 0 || body->data[i - 1] == '\n')) {
            (void)snprintf(key, max, "%.*s", (int)(body->size - i - 2),
                           (const char *)body->data + i + 1);
            body->size = i;
            return true;
        }
    return false;
}

static unsigned follow(const struct asker *a, const struct question *q, struct dx_buf *out)
{
    struct dx_buf body = DX_BUF_INIT(16 << 20);
    struct dx_problem problem;
    char key[8200];
    bool more = true;
    unsigned answers = 0;

    dx_buf_clear(out);
    for (; more && answers < 5000; answers++) {
        int rc = ask(a, q, answers == 0 ? NULL : key, &body, &problem);

        EXPECT(rc == 1, "%s, answer %u: %d %s", q->query, answers, rc, problem.detail);
        more = rc == 1 && take_key(&body, key, sizeof key);
        dx_buf_append(out, body.data, body.size);
    }
    EXPECT(!more, "%s: no end", q->query);
    dx_buf_release(&body);
    return answers;
}

static void compare(const struct question *q, const struct dx_buf *got, const struct dx_buf *want)
{
    size_t size = got->size < want->size ? got->size : want->size;
    size_t same = 0;

    if (!q->follows)
        size = got->size;
    while (same < size && got->data[same] == want->data[same])
        same++;
    EXPECT(same == size && (!q->follows || got->size == want->size),
           "%s, limit %llu: %zu bytes of %zu, alike up to %zu: %.60s, not %.60s", q->query,
           (unsigned long long)q->limit, got->size, want->size, same,
           same < got->size ? (const char *)got->data + same : "",
           same < want->size ? (const char *)want->data + same : "");
}

static void check(const struct asker *a, const struct question *q, const char *beginning,
                  bool exact)
{
    struct dx_buf got = DX_BUF_INIT(16 << 20);
    struct dx_buf want = DX_BUF_INIT(16 << 20);
    size_t rows = 0;

    expect(beginning, exact, &want);
    (void)follow(a, q, &got);
    compare(q, &got, &want);
    for (size_t i = 0; i < got.size; i++)
        rows += got.data[i] == '\n';
    EXPECT(q->follows || rows == q->limit || got.size == want.size, "%s: %zu rows", q->query, rows);
    dx_buf_release(&got);
    dx_buf_release(&want);
}

/* Some URL of the host, and what it begins with. */
static void check_url(const struct asker *a, const char *domain)
{
    const char *path = paths[random_below(&seed, DATASETS)][random_below(&seed, ROWS)];
    struct question q = { .limit = 1000 };
    char query[400] = "url=";
    char host[100];
    struct dx_urlkey k;
    char key[400];

    dx_urlkey_init(&k);
    (void)snprintf(host, sizeof host, "%s%s", random_below(&seed, 2) == 0 ? "en." : "www.en.",
                   domain);
    EXPECT(dx_urlkey_make(&k, dx_span_str(host), dx_span_str(path)), "%s", path);
    (void)snprintf(key, sizeof key, "%.*s", (int)k.key.size, (const char *)k.key.data);
    dx_urlkey_release(&k);
    (void)snprintf(query + 4, sizeof query - 4, "%s", host);
    for (; *path != '\0'; path++)
        (void)snprintf(query + strlen(query), 4, strchr("%&?+#", *path) == NULL ? "%c" : "%%%02X",
                       (unsigned char)*path);
    q.query = query;
    check(a, &q, key, true);
    if (strlen(key) < strlen(host) + 6 || key[strlen(key) - 1] == '%' ||
        key[strlen(key) - 2] == '%' || strchr(key, '?') != NULL)
        return;
    (void)snprintf(query + strlen(query), 30, "&matchType=prefix");
    q.follows = true;
    q.limit = 1 + random_below(&seed, 700);
    if (query[strlen(query) - 18] != '/')
        check(a, &q, key, false);
}

int main(void)
{
    struct dx_test_shape shape = { .rows = rows_of, .row = make_row };
    struct dx_test_root root;
    struct dx_buf got = DX_BUF_INIT(16 << 20);
    struct asker a;
    char domain[64];
    char query[200];
    char key[200];

    make_paths();
    dx_test_root_make_of(&root, 4, DATASETS, &shape);
    open_asker(&a, root.path);
    dx_test_root_domain(LARGE, domain);
    make_lines();
#define KEY(rest)                                                    \
    (snprintf(key, sizeof key, "%s,%.*s%s", strchr(domain, '.') + 1, \
              (int)(strchr(domain, '.') - domain), domain, rest),    \
     key)
#define QUERY(form) (snprintf(query, sizeof query, form, domain), query)
    for (size_t i = 0; i < dx_sample(60, 40); i++)
        check_url(&a, domain);
    for (uint64_t limit = 1; limit <= 300; limit *= 6)
        check(&a, &(struct question){ QUERY("url=en.%s&matchType=host"), limit, 0, false },
              KEY(",en)"), false);
    for (size_t bytes = 20000; bytes <= 2000000; bytes *= dx_sample(10, 100))
        check(&a, &(struct question){ QUERY("url=en.%s&matchType=host"), 777, bytes, true },
              KEY(",en)"), false);
    check(&a, &(struct question){ QUERY("url=en.%s/w*"), 100000, 0, true }, KEY(",en)/w"), false);
    check(&a, &(struct question){ QUERY("url=en.%s/*"), 100000, 0, true }, KEY(",en)/"), false);
    EXPECT(follow(&a, &(struct question){ QUERY("url=en.%s/*&filter=urlkey:none"), 10, 0, true },
                  &got) > 3 &&
               got.size == 0,
           "nothing is in several answers");
    dx_buf_release(&got);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
