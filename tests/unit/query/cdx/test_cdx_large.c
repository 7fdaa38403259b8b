/* SPDX-License-Identifier: Apache-2.0
 * CDX questions about a domain with more rows than an answer may look at: pages of it and of one of its hosts have each row once, in order within a
 * page; questions about another host, or some URLs of the large one, look at their rows alone; what is left is refused.
 */
#include <stdlib.h>

#include "canon/urlkey.h"
#include "query/cdx/cdx_task.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define LARGE 1 /* of the domains */
#define LOOK_MAX 5000
#define LINES_MAX 20000

static unsigned failures;

static unsigned rows_of(unsigned i, unsigned dataset)
{
    static const unsigned large[] = { 0, 9000, 4000 };

    return i == LARGE ? large[dataset] : 5;
}

/* What stands before the domain. */
static const char *label_of(unsigned dataset, unsigned row)
{
    if (dataset == 2)
        return row < 3000 ? "en." : "";
    return row < 6000   ? row % 10 == 0 ? "www.en." : "en."
           : row < 7500 ? "de."
           : row < 7800 ? "www2."
           : row < 8000 ? "www9.de."
           : row < 8200 ? "en."
                        : "";
}

static void make_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    bool has_port = i == LARGE && dataset == 1 && row >= 8000 && row < 8300;
    char domain[64];

    dx_test_root_domain(i, domain);
    (void)snprintf(out->host, sizeof out->host, "%s%.40s%s",
                   i == LARGE ? label_of(dataset, row) : "", domain, has_port ? ":8080" : "");
    (void)snprintf(out->path, sizeof out->path, "/%c%05u", "bAaB"[row % 4], row);
}

static int ask(const struct asker *a, const char *query, struct dx_buf *body,
               struct dx_problem *problem)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_answer_summary summary = { .rows = 0 };
    const struct dx_cdx_request request = { .dialect = DX_CDX_WAYBACK,
                                            .look_max = LOOK_MAX,
                                            .query = dx_span_str(query) };
    struct dx_task *task;
    int rc;

    dx_buf_clear(body);
    rc = dx_task_cdx(&view, a->canon, &request, &task, &summary, body, problem);
    return dx_task_finish(&task, rc, body, problem);
}

/* ---- "urlkey URL" of rows, in order ---- */

struct lines {
    char *text[LINES_MAX];
    size_t count;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of the large domain, keys that begin so. */
static void expect(const char *beginning, struct lines *out)
{
    struct dx_urlkey k;

    out->count = 0;
    dx_urlkey_init(&k);
    for (unsigned d = 1; d <= 2; d++)
        for (unsigned row = 0; row < rows_of(LARGE, d); row++) {
            struct dx_test_row r;

            make_row(LARGE, d, row, &r);
            EXPECT(dx_urlkey_make(&k, dx_span_str(r.host), dx_span_str(r.path)), "%s", r.host);
            if (strchr(beginning, ':') == NULL && strchr(beginning, ')') == NULL &&
                k.key.size > strlen(beginning) && k.key.data[strlen(beginning)] == ':')
                continue; /* matchType=domain does not have ports of the name itself, in pywb either */
            if (k.key.size >= strlen(beginning) &&
                memcmp(k.key.data, beginning, strlen(beginning)) == 0)
                EXPECT(asprintf(&out->text[out->count++], "%.*s https://%s%s", (int)k.key.size,
                                (const char *)k.key.data, r.host, r.path) > 0,
                       "memory");
        }
    qsort(out->text, out->count, sizeof *out->text, compare_lines);
    dx_urlkey_release(&k);
}

static void take(const struct dx_buf *body, struct lines *out)
{
    size_t begin = 0;

    for (size_t i = 0; i < body->size; i++)
        if (body->data[i] == '\n') {
            EXPECT(asprintf(&out->text[out->count++], "%.*s", (int)(i - begin),
                            (const char *)body->data + begin) >= 0,
                   "memory");
            begin = i + 1;
        }
}

static void compare(const char *query, const struct lines *got, const struct lines *want)
{
    size_t i = 0;

    while (i < got->count && i < want->count && strcmp(got->text[i], want->text[i]) == 0)
        i++;
    EXPECT(i == got->count && i == want->count, "%s: %zu rows of %zu; the %zu-th %s, not %s", query,
           got->count, want->count, i, i < got->count ? got->text[i] : "none",
           i < want->count ? want->text[i] : "none");
}

static void release(struct lines *l)
{
    while (l->count > 0)
        free(l->text[--l->count]);
}

/* ---- questions ---- */

#define FORM "%s&fl=urlkey,original&showUntimed=true"

static void check_all(const struct asker *a, const char *query, const char *beginning)
{
    static struct lines got, want;
    struct dx_buf body = DX_BUF_INIT(16 << 20);
    struct dx_problem problem;
    char text[300];

    expect(beginning, &want);
    EXPECT(want.count > 0, "%s: none", query);
    (void)snprintf(text, sizeof text, FORM, query);
    EXPECT(ask(a, text, &body, &problem) == 1, "%s: %s", query, problem.detail);
    take(&body, &got);
    compare(query, &got, &want);
    release(&got);
    release(&want);
    dx_buf_release(&body);
}

static void check_pages(const struct asker *a, const char *query, const char *beginning)
{
    static struct lines got, want;
    struct dx_buf body = DX_BUF_INIT(16 << 20);
    struct dx_problem problem;
    char text[300];
    unsigned long pages;

    expect(beginning, &want);
    (void)snprintf(text, sizeof text, "%s&pageSize=1&showNumPages=true", query);
    EXPECT(ask(a, text, &body, &problem) == 1, "%s: %s", query, problem.detail);
    dx_buf_u8(&body, '\0');
    pages = strtoul((const char *)body.data, NULL, 10);
    EXPECT(want.count > LOOK_MAX && pages * 3000 >= want.count && pages * 3000 < want.count + 4000,
           "%s: %lu pages of %zu", query, pages, want.count);
    for (unsigned long page = 0; page < pages; page++) {
        size_t before = got.count;

        (void)snprintf(text, sizeof text, FORM "&pageSize=1&page=%lu", query, page);
        EXPECT(ask(a, text, &body, &problem) == 1, "%s: %s", text, problem.detail);
        take(&body, &got);
        EXPECT(got.count - before <= 3000, "%s: %zu rows", text, got.count - before);
        for (size_t i = before + 1; i < got.count; i++)
            EXPECT(strcmp(got.text[i - 1], got.text[i]) <= 0, "%s: row %zu", text, i);
    }
    (void)snprintf(text, sizeof text, FORM "&pageSize=1&page=%lu", query, pages);
    EXPECT(ask(a, text, &body, &problem) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST,
           "a page behind the last: %s", problem.detail);
    qsort(got.text, got.count, sizeof *got.text, compare_lines);
    compare(query, &got, &want);
    release(&got);
    release(&want);
    dx_buf_release(&body);
}

static void check_refused(const struct asker *a, const char *query)
{
    struct dx_buf body = DX_BUF_INIT(16 << 20);
    struct dx_problem problem;

    EXPECT(ask(a, query, &body, &problem) != 1 && problem.kind == DX_PROBLEM_TOO_MUCH &&
               strstr(problem.detail, "showNumPages") != NULL,
           "%s: %s", query, problem.detail);
    dx_buf_release(&body);
}

int main(void)
{
    struct dx_test_shape shape = { .rows = rows_of, .row = make_row };
    struct dx_test_root root;
    struct asker a;
    char domain[64];
    char query[200];
    char key[200];

    dx_test_root_make_of(&root, 4, 2, &shape);
    open_asker(&a, root.path);
    dx_test_root_domain(LARGE, domain);
    EXPECT(strchr(domain, '.') == strrchr(domain, '.'), "%s", domain);
#define KEY(rest)                                                    \
    (snprintf(key, sizeof key, "%s,%.*s%s", strchr(domain, '.') + 1, \
              (int)(strchr(domain, '.') - domain), domain, rest),    \
     key)
#define QUERY(form) (snprintf(query, sizeof query, form, domain), query)
    check_pages(&a, QUERY("url=*.%s"), KEY(""));
    check_pages(&a, QUERY("url=en.%s&matchType=host"), KEY(",en)"));
    check_all(&a, QUERY("url=de.%s&matchType=host"), KEY(",de)"));
    check_all(&a, QUERY("url=de.%s/*"), KEY(",de)"));
    check_all(&a, QUERY("url=%s&matchType=host"), KEY(")"));
    check_all(&a, QUERY("url=%s:8080/*"), KEY(":8080)"));
    check_all(&a, QUERY("url=de.%s/B06003"), KEY(",de)/b06003"));
    check_all(&a, QUERY("url=www.de.%s/a06002"), KEY(",de)/a06002"));
    check_refused(&a, QUERY("url=*.%s&limit=10"));
    check_all(&a, QUERY("url=en.%s/a05*"), KEY(",en)/a05"));
    check_all(&a, QUERY("url=en.%s/B05003"), KEY(",en)/b05003"));
    check_all(&a, QUERY("url=www.en.%s/a05002&sort=reverse"), KEY(",en)/a05002"));
    check_refused(&a, QUERY("url=en.%s/*"));
    check_refused(&a, QUERY("url=*.%s&sort=reverse&limit=1"));
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
