/* SPDX-License-Identifier: Apache-2.0
 * Rows with a tag, of a domain of which rules hide every third URL, in several files: each visible row is in the answer and no other, and
 * each tag that a visible row has.
 */
#include "query/suppression/suppression_tags.h"

#include "builder/policy/suppress.h"
#include "query/answers/answer.h"
#include "query/answers/task.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 3
#define HIDDEN 1 /* the domain of which rows are hidden */
#define ROWS 20
#define FILES 3 /* with the same rows */
#define BODY_MAX (1u << 20)

static unsigned failures;

static unsigned rows_of(unsigned i, unsigned dataset)
{
    (void)i;
    (void)dataset;
    return ROWS;
}

static void make_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    (void)dataset;
    dx_test_root_domain(i, out->host);
    (void)snprintf(out->path, sizeof out->path, "/row%02u", row);
}

static bool is_hidden(unsigned i, unsigned row)
{
    return i == HIDDEN && row % 3 == 1;
}

static bool is_tagged(unsigned row)
{
    return row % 5 != 4;
}

/* A row that is hidden has a tag of its own, before the others in byte order. */
static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    static char hidden[ROWS][32];

    (void)dataset;
    if (is_hidden(i, row)) {
        (void)snprintf(hidden[row], sizeof hidden[row], "[\"hidden %02u\",\"some\"]", row);
        return hidden[row];
    }
    return is_tagged(row) ? "[\"some\"]" : "[]";
}

static int add_rules(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    char domain[64];
    char url[128];
    int rc = 1;

    (void)ctx;
    dx_test_root_domain(HIDDEN, domain);
    for (unsigned row = 0; rc >= 0 && row < ROWS; row++) {
        struct dx_suppress_rule rule = { .kind = DX_SUPPRESS_URL, .policy = DX_SUPPRESS_ABSENT };
        uint64_t number;

        (void)snprintf(url, sizeof url, "https://%s/row%02u", domain, row);
        rule.value = dx_span_str(url);
        if (is_hidden(HIDDEN, row))
            rc = dx_suppressions_add(log, &rule, &number, err);
    }
    return rc < 0 ? rc : 1;
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static void check_rows(const struct asker *a)
{
    const struct dx_tag_ask ask = { .tag = dx_span_str("some"),
                                    .urls = true,
                                    .limit = 1000,
                                    .fields = DX_FIELDS_DEFAULT,
                                    .paging.principal = "" };
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);
    struct dx_problem problem;
    struct dx_task *task = NULL;
    char domain[64];
    char url[128];
    int rc = dx_task_tag(DX_VIEW_ALL(a->v), a->canon, &ask, &task, NULL, &body, &problem);

    rc = dx_task_finish(&task, rc, &body, &problem);
    EXPECT(rc == 1, "%d: %s", rc, problem.detail);
    dx_buf_u8(&body, 0);
    for (unsigned i = 0; rc == 1 && i < DOMAINS; i++)
        for (unsigned row = 0; row < ROWS; row++) {
            unsigned want = is_tagged(row) && !is_hidden(i, row) ? FILES : 0;
            unsigned got;

            dx_test_root_domain(i, domain);
            (void)snprintf(url, sizeof url, "\"https://%s/row%02u\"", domain, row);
            got = count_of((const char *)body.data, url);
            EXPECT(got == want, "%s: %u times, not %u", url, got, want);
        }
    dx_buf_release(&body);
}

/* Tags of which nothing is left make room for others, which are looked for in rounds. */
static void check_tags(const struct asker *a)
{
    struct dx_cursor_key key = DX_CURSOR_KEY_INIT;
    const struct dx_tags_ask ask = { .limit = 1, .paging.cursors = &key, .paging.principal = "" };
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_task *task = NULL;
    int rc = dx_cursor_key_random(&key, &err);

    EXPECT(rc == DX_OK, "%s", err.text);
    rc = dx_task_tags(DX_VIEW_ALL(a->v), a->canon, &ask, &task, &body, &problem);
    rc = dx_task_finish(&task, rc, &body, &problem);
    EXPECT(rc == 1, "%d: %s", rc, problem.detail);
    dx_buf_u8(&body, 0);
    EXPECT(rc != 1 || (strstr((const char *)body.data, "\"some\"") != NULL &&
                       strstr((const char *)body.data, "hidden") == NULL),
           "%s", (const char *)body.data);
    dx_buf_release(&body);
}

int main(void)
{
    struct dx_test_shape shape = { .rows = rows_of, .row = make_row, .tags = tags_of };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make_of(&root, DOMAINS, 1, &shape);
    for (unsigned part = 1; part < FILES; part++)
        dx_test_root_again(root.path, part);
    dx_test_root_publish(&root);
    EXPECT(dx_suppress_change(root.path, add_rules, NULL, &err) == 1, "%s", err.text);
    open_asker_with_rules(&a, root.path, DX_SUPPRESSIONS_LIVE_WAIT);
    check_rows(&a);
    check_tags(&a);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
