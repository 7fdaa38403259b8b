/* SPDX-License-Identifier: Apache-2.0
 * Answers about single URLs, step by step: two batches with nothing cached, none with everything, one
 * at most for what is absent; many for one URL read it once; one that is given up, or fails, does
 * not affect the others; places that no file has are damage.
 */
#include <stdlib.h>

#include "builder/policy/suppress.h"
#include "canon/ids.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answers/task.h"
#include "query/rows/url_rows.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 5
#define DATASETS 2
#define BODY_MAX (1u << 20)
#define MANY 20

static unsigned failures;

/* url NULL: of the id. */
static int begin(const struct asker *a, const char *url, uint64_t id, struct dx_task **task,
                 struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_url_ask ask = { .asked = dx_span_str(url == NULL ? "" : url), .limit = 10 };

    dx_buf_init(body, BODY_MAX);
    return url == NULL ? dx_task_urlid(DX_VIEW_ALL(a->v), id, 0, task, body, problem)
                       : dx_task_url(DX_VIEW_ALL(a->v), a->canon, &ask, task, NULL, body, problem);
}

static int finish(struct dx_task *task, struct dx_buf *body, unsigned *batches,
                  struct dx_problem *problem)
{
    int rc = DX_TASK_WAITS;

    while (rc == DX_TASK_WAITS) {
        struct dx_read_batch *r = dx_task_reading(task);
        struct dx_error err = DX_ERROR_INIT;

        *batches += dx_read_batch_state(r) == DX_READ_BATCH_READ;
        rc = dx_read_batch_perform(r, &err);
        rc = dx_task_resume(task, rc, &err, NULL, body, problem);
    }
    return rc;
}

/* The whole answer; rc of it. */
static int ask(const struct asker *a, const char *url, uint64_t id, unsigned *batches,
               struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_task *task;
    int rc = begin(a, url, id, &task, body, problem);

    *batches = 0;
    if (rc == DX_TASK_WAITS)
        rc = finish(task, body, batches, problem);
    else
        EXPECT(task == NULL, "%s: a task that is done", url);
    dx_task_free(&task);
    return rc;
}

static bool says(const struct dx_buf *body, const char *words)
{
    return memmem(body->data, body->size, words, strlen(words)) != NULL;
}

/* ---- batches ---- */

static void check_url(const struct dx_test_root *r, unsigned domain, unsigned dataset, unsigned row)
{
    struct dx_problem problem;
    struct dx_buf body;
    struct asker a;
    char url[128];
    char quoted[160];
    unsigned batches;
    uint64_t id;

    open_asker(&a, r->path);
    dx_test_root_url(domain, dataset, row, url);
    (void)snprintf(quoted, sizeof quoted, "\"url\":\"%s\"", url);
    id = dx_url_id(dx_span_str(url));
    EXPECT(ask(&a, url, 0, &batches, &body, &problem) == 1 && says(&body, quoted), "%s", url);
    EXPECT(batches == 2, "%s: %u batches, one of ids and one of rows", url, batches);
    dx_buf_release(&body);
    EXPECT(ask(&a, url, 0, &batches, &body, &problem) == 1 && batches == 0, "%s again: %u batches",
           url, batches);
    dx_buf_release(&body);
    EXPECT(ask(&a, NULL, id, &batches, &body, &problem) == 1 && says(&body, quoted) && batches == 0,
           "%s by its id, after it was read: %u batches", url, batches);
    dx_buf_release(&body);
    close_asker(&a);
}

static void check_absent(const struct dx_test_root *r)
{
    struct dx_problem problem;
    struct dx_buf body;
    struct asker a;
    unsigned batches;

    open_asker(&a, r->path);
    EXPECT(ask(&a, "http://nowhere.example.com/x", 0, &batches, &body, &problem) == 0 &&
               strcmp(problem.slug, "url-not-found") == 0 && batches <= 1,
           "%s after %u batches", problem.slug, batches);
    dx_buf_release(&body);
    EXPECT(ask(&a, NULL, 12345, &batches, &body, &problem) == 0 && batches <= 1 &&
               strcmp(problem.slug, "url-not-found") == 0,
           "%s after %u batches", problem.slug, batches);
    dx_buf_release(&body);
    EXPECT(ask(&a, "mailto:x", 0, &batches, &body, &problem) == 0 && batches == 0 &&
               strcmp(problem.slug, "not-a-url") == 0,
           "%s", problem.slug);
    dx_buf_release(&body);
    close_asker(&a);
}

/* ---- many at once, and trouble ---- */

static void check_crowd(const struct dx_test_root *r, bool first_gives_up)
{
    struct dx_task *tasks[MANY];
    struct dx_buf bodies[MANY];
    struct dx_problem problem;
    unsigned batches = 0;
    struct asker a;
    char url[128];

    open_asker(&a, r->path);
    dx_test_root_url(0, 1, 0, url);
    for (unsigned i = 0; i < MANY; i++)
        EXPECT(begin(&a, i % 2 == 0 ? url : NULL, dx_url_id(dx_span_str(url)), &tasks[i],
                     &bodies[i], &problem) == DX_TASK_WAITS,
               "task %u", i);
    if (first_gives_up)
        dx_task_free(&tasks[0]);
    for (unsigned i = first_gives_up; i < MANY; i++)
        EXPECT(finish(tasks[i], &bodies[i], &batches, &problem) == 1 && says(&bodies[i], url),
               "task %u", i);
    /* A request for the id needs no times: that column is one read more, by the next one that
     * does. */
    EXPECT(batches <= 3, "%u batches for all", batches);
    for (unsigned i = 0; i < MANY; i++) {
        dx_task_free(&tasks[i]);
        dx_buf_release(&bodies[i]);
    }
    close_asker(&a);
}

static void check_failure(const struct dx_test_root *r)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_task *task;
    struct dx_buf body;
    struct asker a;
    unsigned batches;
    char url[128];

    open_asker(&a, r->path);
    dx_test_root_url(1, 1, 0, url);
    EXPECT(begin(&a, url, 0, &task, &body, &problem) == DX_TASK_WAITS, "waits");
    EXPECT(dx_task_resume(task, dx_fail(&err, DX_E_IO, "cable"), &err, NULL, &body, &problem) < 0 &&
               problem.kind == DX_PROBLEM_UNAVAILABLE,
           "%s", problem.slug);
    dx_task_free(&task);
    dx_buf_release(&body);
    EXPECT(ask(&a, url, 0, &batches, &body, &problem) == 1 && batches == 2, "the next one");
    dx_buf_release(&body);
    close_asker(&a);
}

/* ---- bounds ---- */

static int nothing(void *ctx, size_t place, const struct dx_listing_row *row, struct dx_error *err)
{
    (void)place;
    (void)row;
    (void)err;
    ++*(unsigned *)ctx;
    return DX_OK;
}

/* alone: of the URL; else of the unit of rows that it lies in. */
static void check_each(const struct dx_test_root *r, bool alone)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_rows rows;
    struct dx_url of;
    struct asker a;
    unsigned count = 0;
    unsigned of_it = 0;
    char url[128];
    char other[128];
    int rc;

    open_asker(&a, r->path);
    dx_test_root_url(0, 1, 0, url);
    for (unsigned i = 0; i < dx_test_root_rows(0, 1); i++) {
        dx_test_root_url(0, 1, i, other);
        of_it += strcmp(url, other) == 0;
    }
    EXPECT(dx_canon_url(a.canon, dx_span_str(url), &of, &reject) == 1, "%s", url);
    dx_url_rows_init(&rows, DX_VIEW_ALL(a.v), dx_url_id(dx_span_str(url)), DX_FIELD_URL, 0);
    rows.url = alone ? &of : NULL;
    while ((rc = dx_url_rows_step(&rows, &err)) == DX_LISTING_WAITS) {
        rc = dx_read_batch_perform(dx_url_rows_reading(&rows), &err);
        rc = dx_url_rows_fetched(&rows, rc, &err);
        if (rc < 0)
            break;
    }
    EXPECT(rc == DX_LISTING_DONE && rows.place_count > 0, "%s", err.text);
    for (unsigned i = 0; i < 2; i++)
        EXPECT(dx_url_rows_each(&rows, nothing, &count, &err) == DX_OK, "%s", err.text);
    EXPECT(alone ? count == 2 * of_it : count > 2 * of_it && count % 2 == 0, "%u rows, %u of it",
           count, of_it);
    dx_url_rows_release(&rows);
    close_asker(&a);
}

/* Places of a URL, or suppressions, become no fewer by a smaller limit: the message says
 * so. */
static void check_words(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem p;

    (void)dx_fail(&err, DX_E_LIMIT, "over 4096 places");
    EXPECT(dx_problem_of_error(&p, &err) == DX_E_LIMIT &&
               strcmp(p.detail, "over 4096 places.") == 0,
           "%s", p.detail);
}

/* ---- rules ---- */

static void raw_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    (void)dataset;
    dx_test_root_domain(i, out->host);
    (void)snprintf(out->path, sizeof out->path, "/%u", row);
    (void)snprintf(out->raw, sizeof out->raw, "https://%s/%s", out->host,
                   row == 0 ? "A/../0" : "hidden");
}

static int hide(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    const struct dx_suppress_rule rule = { .kind = DX_SUPPRESS_URL, .value = dx_span_str(ctx) };
    uint64_t number;
    int rc = dx_suppressions_add(log, &rule, &number, err);

    return rc < 0 ? rc : 1;
}

/* The URL that was requested is shown, unless a rule hides it. */
static void check_requested(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_shape shape;
    struct dx_test_root r;
    struct asker a;
    char host[64];
    char url[128];
    char want[160];

    dx_test_root_usual(&shape);
    shape.row = raw_row;
    dx_test_root_make_of(&r, DOMAINS, DATASETS, &shape);
    dx_test_root_domain(0, host);
    (void)snprintf(url, sizeof url, "https://%s/hidden", host);
    EXPECT(dx_suppress_change(r.path, hide, url, &err) == 1, "%s", err.text);
    open_asker_with_rules(&a, r.path, DX_SUPPRESSIONS_LIVE_WAIT);
    for (unsigned row = 0; row < 2; row++) {
        struct dx_problem problem;
        struct dx_buf body;
        unsigned batches;

        (void)snprintf(url, sizeof url, "https://%s/%u", host, row);
        if (row == 0)
            (void)snprintf(want, sizeof want, "\"raw_url\":\"https://%s/A/../0\"", host);
        else
            (void)snprintf(want, sizeof want, "\"raw_url\":null");
        EXPECT(ask(&a, url, 0, &batches, &body, &problem) == 1 && says(&body, want) &&
                   !says(&body, "hidden"),
               "%s: no %s: %.*s", url, want, (int)body.size, (const char *)body.data);
        dx_buf_release(&body);
    }
    close_asker(&a);
    dx_test_root_remove(&r);
}

int main(void)
{
    struct dx_test_root r;

    dx_test_root_make(&r, DOMAINS, DATASETS);
    for (unsigned domain = 0; domain < DOMAINS; domain++)
        for (unsigned dataset = 1; dataset <= DATASETS; dataset++)
            if (dx_test_root_member(domain, dataset))
                check_url(&r, domain, dataset, dx_test_root_rows(domain, dataset) - 1);
    check_absent(&r);
    check_words();
    check_crowd(&r, false);
    check_crowd(&r, true);
    check_failure(&r);
    check_each(&r, false);
    check_each(&r, true);
    dx_test_root_remove(&r);
    check_requested();
    return failures == 0 ? 0 : 1;
}
