/* SPDX-License-Identifier: Apache-2.0
 * What a 410 offers: the same request without its version, or from the beginning without its cursor,
 * with every other parameter; and what a request may say beside a cursor.
 */
#include "server/routes/answers.h"
#include "server/routes/route.h"

#include "query/scan/collapse.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/fail.h"

#define GONE "000003-20260101T000000Z"

static int failures;

static struct dx_ask ask, again;
static struct dx_problem problem;

static int pin_named(void *from, const char *name, struct dx_version **v, struct dx_problem *p)
{
    (void)from;
    (void)v;
    return dx_problem_set(p, DX_PROBLEM_GONE, "version-gone", "Version gone", "%s", name);
}

static const struct dx_answers answers = { .pin_named = pin_named, .cursor_life_s = 900 };

/* As the server takes a request, up to its version. */
static int take(const struct dx_answers *of, const char *target, int64_t now_s)
{
    struct dx_version *v = NULL;
    int rc;

    memset(&problem, 0, sizeof problem);
    rc = dx_target_parse(dx_span_str(target), false, &ask, &problem);
    if (rc == 1 && ask.row_format_given)
        ask.row_limit = ask.limit_given ? ask.page.limit : INT64_MAX;
    if (rc == 1)
        rc = dx_ask_resolve(of, &ask, now_s, &problem);
    return rc == 1 ? dx_ask_pin(of, &ask, &v, &problem) : rc;
}

/* The query behind the path, each with version=, and what is offered; NULL: the same query. */
static const struct {
    const char *path, *query, *want;
} rows[] = {
    { "/v1/domain/a.com", "", "" },
    { "/v1/domain/a.com", "fields=dataset_id,share&sort=share&reverse=yes&limit=7&view=icann",
      NULL },
    { "/v1/domain/a.com", "sort=rank&limit=7", NULL },
    { "/v1/domain/a.com", "reverse=yes", NULL },
    { "/v1/domain/a.com", "view=icann", NULL },
    { "/v1/domain/a.com", "limit=7&format=csv", "format=csv" },
    { "/v1/domain/a.com/hosts", "limit=5", NULL },
    { "/v1/domain/a.com/hosts", "limit=5&order=name&dataset=3&format=csv", NULL },
    { "/v1/domain/a.com/hosts", "limit=5&dataset=some-name", NULL },
    { "/v1/domain/a.com/datasets/4/paths", "limit=9&by=section", NULL },
    { "/v1/domain/a.com/datasets/4/paths", "limit=9", NULL },
    { "/v1/domain/a.com/timeline", "by=year&dataset=1%2C2", NULL },
    { "/v1/domain/a.com/urls",
      "limit=9&fields=url,ts&tag=t&mime=a/b&prefix=/a&from=2019&to=2020&status=200&lang=de"
      "&filter=a:b&sort=time&reverse=yes&collapse=time:6&dataset=1,2",
      "limit=9&fields=url,ts&tag=t&mime=a/b&prefix=/a&from=2019&to=2020&status=200&lang=de"
      "&filter=a%3Ab&sort=time&reverse=yes&collapse=time:6&dataset=1%2C2" },
    { "/v1/domain/a.com/urls", "limit=9&plan=4", NULL },
    { "/v1/domain/a.com/urls", "limit=9&closest=2019&collapse=digest",
      "limit=9&closest=2019-01-01T00%3A00%3A00Z&collapse=digest" },
    { "/v1/domain/a.com/urls", "limit=9&sort=url&collapse=host", NULL },
    { "/v1/host/www.a.com/urls", "limit=9&subdomains=yes", NULL },
    { "/v1/domain/a.com/datasets/4/urls", "limit=9&plan=4&fields=url&tag=t", NULL },
    { "/v1/domain/a.com/datasets/some-name/urls", "limit=9", NULL },
    { "/v1/domain/a.com/datasets/4/rows", "limit=9&columns=text&tag=t", NULL },
    { "/v1/domain/a.com/changes", "limit=9", NULL },
    { "/v1/domain/a.com/changes", "format=atom", NULL },
    { "/v1/domain/a.com/diff", "", "" },
    { "/v1/datasets", "", "" },
    { "/v1/datasets", "limit=9", NULL },
    { "/v1/datasets", "format=csv&limit=9", "limit=9&format=csv" },
    { "/v1/datasets/4", "", "" },
    { "/v1/datasets/some-name", "", "" },
    { "/v1/datasets/4/overlap/5", "format=csv", NULL },
    { "/v1/datasets/one/overlap/another", "", "" },
    { "/v1/datasets/4/top-domains", "limit=9&share=10%25", NULL },
    { "/v1/datasets/4/top-domains", "limit=9", NULL },
    { "/v1/domains", "limit=9", NULL },
    { "/v1/domains",
      "limit=9&suffix=co.uk&prefix=ab&match=*x*&regex=^a&fields=domain,url_count&dataset=3",
      "limit=9&suffix=co.uk&prefix=ab&match=%2Ax%2A&regex=%5Ea&fields=domain,url_count"
      "&dataset=3" },
    { "/v1/domains", "limit=9&plan=4&suffix=uk", NULL },
    { "/v1/tags", "limit=9&dataset=3&prefix=top", NULL },
    { "/v1/tags", "limit=9", NULL },
    { "/v1/tags/a", "limit=9&dataset=3", NULL },
    { "/v1/tags/a", "limit=9&of=urls&fields=url,ts", NULL },
    { "/v1/tags/a", "limit=9&of=urls", NULL },
    { "/v1/tlds", "limit=9&dataset=3", NULL },
    { "/v1/suffix/co.uk", "limit=9&dataset=3", NULL },
    { "/v1/suffix/co.uk/urls", "limit=9&dataset=3&fields=url&tag=t&sort=url", NULL },
    { "/v1/suffix/co.uk/urls", "limit=9&plan=4", NULL },
    { "/v1/range",
      "from=0x0000000000000005&to=0x0000000000000009&dataset=3&limit=9&fields=url"
      "&tag=t&from_ts=2019&to_ts=2020&sort=url",
      NULL },
    { "/v1/range", "from=0x0000000000000005&limit=9&plan=4", NULL },
    { "/v1/url", "u=https%3A%2F%2Fa.com%2F&limit=9", NULL },
    { "/v1/url", "u=a.com", NULL },
    { "/v1/urlid/0x00000000000000ff", "", "" },
    { "/v1/complete", "q=exam&limit=9", NULL },
    { "/v1/complete", "q=exam", NULL },
    { "/v1/keys", "url=a.com", NULL },
    { "/v1/normalize", "q=a.com%2Fb", NULL },
};

static void test_versions(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *query = rows[i].query;
        const char *want = rows[i].want == NULL ? query : rows[i].want;
        const char *name = strstr(rows[i].path, "/diff") != NULL ||
                                   strcmp(rows[i].path, "/v1/domain/a.com/changes") == 0
                               ? "to"
                               : "version";
        char target[600];
        char restart[600];
        int rc;

        (void)snprintf(target, sizeof target, "%s?%s%s%s=" GONE, rows[i].path, query,
                       *query == '\0' ? "" : "&", name);
        (void)snprintf(restart, sizeof restart, "%s%s%s", rows[i].path, *want == '\0' ? "" : "?",
                       want);
        rc = take(&answers, target, 0);
        CHECK(rc == 0 && problem.kind == DX_PROBLEM_GONE, "%s: %d, %s", target, rc, problem.detail);
        CHECK(strcmp(problem.restart, restart) == 0, "%s: '%s' instead of '%s'", target,
              problem.restart, restart);
        CHECK(dx_target_parse(dx_span_str(restart), false, &again, &problem) == 1,
              "%s is refused: %s", restart, problem.detail);
    }
}

/* ---- cursors ---- */

static struct dx_cursor cursor_of(enum dx_cursor_kind kind)
{
    struct dx_cursor c = {
        .kind = kind, .version = GONE, .began_s = 1000, .limit = 50, .fields = DX_FIELDS_DEFAULT
    };

    return c;
}

static struct dx_cursor all_urls(void)
{
    struct dx_cursor c = cursor_of(DX_CURSOR_ALL_URLS);

    c.next_dataset = 1;
    c.end_dataset = 7;
    c.dataset_count = 2;
    c.datasets[0] = 1;
    c.datasets[1] = 7;
    return c;
}

static struct dx_cursor ordered(void)
{
    struct dx_cursor c = all_urls();

    c.sort = DX_CURSOR_SORT_CLOSEST;
    c.closest_us = 1000000;
    c.collapse = DX_COLLAPSE_TIME;
    c.collapse_digits = 8;
    return c;
}

static struct dx_cursor range(void)
{
    struct dx_cursor c = cursor_of(DX_CURSOR_RANGE);

    c.first = 5;
    c.end = 9;
    return c;
}

static struct dx_cursor changes(void)
{
    struct dx_cursor c = cursor_of(DX_CURSOR_CHANGES);

    memcpy(c.since, "000002-20250101T000000Z", sizeof c.since);
    return c;
}

static struct dx_cursor tags(void)
{
    return cursor_of(DX_CURSOR_TAGS);
}

static struct dx_cursor tag_urls(void)
{
    struct dx_cursor c = cursor_of(DX_CURSOR_TAG);

    c.rows = true;
    c.one_dataset = true;
    c.dataset_id = 3;
    return c;
}

static struct dx_cursor tag_domains(void)
{
    return cursor_of(DX_CURSOR_TAG);
}

#define ALL_URLS "/v1/domain/a.com/urls?"

/* Of a cursor that is as old as may be, and a second older. detail: why the request is refused at
 * both times; NULL: its version is gone, and then the cursor is too old, with this offer. */
static const struct {
    struct dx_cursor (*make)(void);
    const char *target, *detail, *restart;
} cursors[] = {
    { all_urls, ALL_URLS, NULL, "/v1/domain/a.com/urls?limit=50&dataset=1,7" },
    { all_urls, ALL_URLS "limit=9&", NULL, "/v1/domain/a.com/urls?limit=9&dataset=1,7" },
    { all_urls, ALL_URLS "version=3&", NULL, "/v1/domain/a.com/urls?limit=50&dataset=1,7" },
    { all_urls, ALL_URLS "version=4&", "another version", NULL },
    { all_urls, ALL_URLS "fields=url&", "other fields", NULL },
    { all_urls, ALL_URLS "tag=a&", "another filter", NULL },
    { all_urls, ALL_URLS "offset=3&", "offset and cursor", NULL },
    { all_urls, ALL_URLS "plan=3&", "a plan is made of a whole listing", NULL },
    { all_urls, ALL_URLS "sort=url&", "in another order", NULL },
    { all_urls, "/v1/tlds?", "of another resource", NULL },
    { ordered, ALL_URLS, NULL,
      "/v1/domain/a.com/urls?limit=50&closest=1970-01-01T00%3A00%3A01Z&collapse=time:8"
      "&dataset=1,7" },
    { ordered, ALL_URLS "closest=1970-01-01T00:00:01Z&collapse=time:8&", NULL,
      "/v1/domain/a.com/urls?limit=50&closest=1970-01-01T00%3A00%3A01Z&collapse=time:8"
      "&dataset=1,7" },
    { ordered, ALL_URLS "closest=1970-01-01T00:00:02Z&collapse=time:8&", "in another order", NULL },
    { ordered, ALL_URLS "closest=1970-01-01T00:00:01Z&collapse=time:9&", "in another order", NULL },
    { ordered, ALL_URLS "closest=1970-01-01T00:00:01Z&collapse=url&", "in another order", NULL },
    { range, "/v1/range?", NULL,
      "/v1/range?from=0x0000000000000005&to=0x0000000000000009&limit=50" },
    { changes, "/v1/changes?", NULL, "/v1/changes" },
    { changes, "/v1/changes?since=2&", NULL, "/v1/changes" },
    { changes, "/v1/changes?since=000002&", NULL, "/v1/changes" },
    { changes, "/v1/changes?since=000002-20250101T000000Z&", NULL, "/v1/changes" },
    { changes, "/v1/changes?since=3&", "since another version", NULL },
    { changes, "/v1/changes?since=x&", "since another version", NULL },
    { changes, "/v1/changes?since=1234567&", "since another version", NULL },
    { tags, "/v1/tags?", NULL, "" }, /* of which prefix is not known */
    { tag_urls, "/v1/tags/a?", NULL,
      "/v1/tags/a?limit=50&of=urls&fields=url_id,url,ts"
      "&dataset=3" },
    { tag_urls, "/v1/tags/a?of=domains&", "this cursor is of urls", NULL },
    { tag_domains, "/v1/tags/a?of=urls&", "this cursor is of domains", NULL },
    { tag_domains, "/v1/tags/a?fields=url&", "other fields", NULL },
};

static void test_cursors(void)
{
    struct dx_error err = DX_ERROR_INIT;
    char text[DX_CURSOR_TEXT];
    static char target[DX_CURSOR_TEXT + 200];

    for (size_t i = 0; i < sizeof cursors / sizeof *cursors; i++) {
        struct dx_cursor c = cursors[i].make();
        const char *detail = cursors[i].detail;

        CHECK(dx_cursor_write(&c, &answers.cursor_key, NULL, text, &err) == DX_OK, "%s", err.text);
        (void)snprintf(target, sizeof target, "%scursor=%s", cursors[i].target, text);
        for (int late = 0; late < 2; late++) {
            const char *slug = detail != NULL ? "" : late ? "cursor-expired" : "version-gone";
            int rc = take(&answers, target, c.began_s + answers.cursor_life_s + late);

            CHECK(rc == 0, "%s: %d", cursors[i].target, rc);
            if (detail != NULL)
                CHECK(problem.kind == DX_PROBLEM_BAD_REQUEST &&
                          strstr(problem.detail, detail) != NULL,
                      "%s: %s", cursors[i].target, problem.detail);
            else
                CHECK(problem.kind == DX_PROBLEM_GONE && strcmp(problem.slug, slug) == 0 &&
                          strcmp(problem.restart, cursors[i].restart) == 0,
                      "%s: %s, '%s' instead of '%s'", cursors[i].target, problem.slug,
                      problem.restart, cursors[i].restart);
        }
    }
}

/* A server without cursors. */
static void test_no_cursors(void)
{
    static const char *const targets[] = {
        "/v1/domain/a.com/urls?cursor=abc",
        "/v1/domain/a.com/urls?tag=a",
        "/v1/domain/a.com/urls?plan=4",
        "/v1/domain/a.com/urls?sort=url",
        "/v1/host/a.com/urls?subdomains=yes",
        "/v1/changes",
        "/v1/domains",
    };
    static const struct dx_answers none = { .pin_named = pin_named };

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        CHECK(take(&none, targets[i], 0) == 0 && problem.kind == DX_PROBLEM_BAD_REQUEST &&
                  strstr(problem.detail, "this server gives no cursors") != NULL,
              "%s: %s", targets[i], problem.detail);
}

int main(void)
{
    test_versions();
    test_cursors();
    test_no_cursors();
    return failures != 0;
}
