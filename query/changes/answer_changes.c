/* SPDX-License-Identifier: Apache-2.0 */
#include "query/changes/answer_changes.h"

#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/changes/diff_json.h"
#include "query/rows/cursor.h"
#include "query/suppression/suppression_view.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

/* What one request may cost: domains looked at (about 0.2 us each), and text. A page that comes to
 * either ends there, and its cursor goes on. */
#define LOOK_MAX 500000
#define TEXT_MAX ((size_t)8 << 20)

struct page {
    const struct dx_view *before, *after;
    const struct dx_changes_ask *ask;
    struct dx_version_diff diff;
    uint64_t next_before, next_after; /* behind the last domain that was dealt with */
    uint64_t count;
    bool more;
};

/* 1 written, 0 not to be shown, <0 with a problem. */
static int write_item(struct page *p, struct dx_json *j, struct dx_problem *problem)
{
    struct dx_version_diff *d = &p->diff;
    struct dx_diff_item item = { .before = d->before, .after = d->after };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_diff_domain(&item, d->part, d->key, d->ordinal, &err);

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    rc = dx_diff_show(&item, p->before, p->after, d, problem);
    if (rc <= 0)
        return rc;
    dx_json_object(j);
    rc = dx_diff_item_write(&item, p->before->version, p->after->version, j, &err);
    dx_json_end(j);
    p->count++;
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

/* What is hidden of a domain may have to be found out first: the page ends before it then, and it
 * is 503 only if it would be the first. */
static int write_items(struct page *p, struct dx_json *j, struct dx_problem *problem)
{
    uint64_t look_max = p->ask->look_max > 0 ? p->ask->look_max : LOOK_MAX;
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_DIFF_FOUND;

    while (rc == DX_DIFF_FOUND) {
        if (p->count == p->ask->limit || j->buf->size > TEXT_MAX) {
            p->more = true;
            return DX_OK;
        }
        rc = dx_version_diff_next(&p->diff, look_max, &err);
        if (rc < 0)
            return dx_problem_of_error(problem, &err);
        if (rc == DX_DIFF_FOUND) {
            int written = write_item(p, j, problem);

            p->more = written == DX_E_BUSY && p->count > 0;
            if (written < 0)
                return p->more ? DX_OK : written;
        }
        if (dx_version_diff_places(&p->diff, &p->next_before, &p->next_after, &err) < 0)
            return dx_problem_of_error(problem, &err);
    }
    p->more = rc == DX_DIFF_PAUSE;
    return DX_OK;
}

static int write_cursor(const struct page *p, struct dx_json *j, struct dx_error *err)
{
    const struct dx_changes_ask *ask = p->ask;
    struct dx_cursor c = { .kind = DX_CURSOR_CHANGES,
                           .build = p->after->version->entry.build,
                           .began_s = ask->paging.from != NULL ? ask->paging.from->began_s
                                                               : ask->paging.began_s,
                           .limit = (uint32_t)ask->limit,
                           .since_build = p->before->version->entry.build,
                           .next_before = p->next_before,
                           .next_after = p->next_after };
    char text[DX_CURSOR_TEXT];
    int rc;

    memcpy(c.version, p->after->version->entry.version, sizeof c.version);
    memcpy(c.since, p->before->version->entry.version, sizeof c.since);
    rc = dx_cursor_write(&c, ask->paging.cursors, ask->paging.principal, text, err);
    if (rc == DX_OK)
        dx_json_str(j, text);
    return rc;
}

static int write_page(struct page *p, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "since");
    dx_json_str(&j, p->before->version->entry.version);
    dx_json_key(&j, "changes");
    dx_json_array(&j);
    rc = write_items(p, &j, problem);
    if (rc < 0)
        return rc;
    dx_json_end(&j);
    dx_json_key(&j, "next_cursor");
    if (p->more)
        rc = write_cursor(p, &j, &err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, p->after->version);
    if (rc == DX_OK && body->failed)
        rc = dx_buf_fail(body, &err, "answer");
    return rc < 0 ? dx_problem_of_error(problem, &err) : DX_OK;
}

static bool same_build(const struct dx_build_id *a, const struct dx_build_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

int dx_answer_changes(const struct dx_view *before, const struct dx_view *after,
                      const struct dx_changes_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem)
{
    struct page p = { .before = before, .after = after, .ask = ask };
    int rc;

    if (ask->paging.from != NULL) {
        if (!same_build(&ask->paging.from->build, &after->version->entry.build) ||
            !same_build(&ask->paging.from->since_build, &before->version->entry.build))
            return dx_problem_set(problem, DX_PROBLEM_GONE, "version-gone", "This version is gone",
                                  "versions %s and %s are not those that this cursor is of, only "
                                  "their names are the same",
                                  before->version->entry.version, after->version->entry.version);
        p.next_before = ask->paging.from->next_before;
        p.next_after = ask->paging.from->next_after;
    }
    dx_version_diff_begin(&p.diff, before, after, p.next_before, p.next_after);
    rc = write_page(&p, body, problem);
    dx_version_diff_end(&p.diff);
    if (rc < 0)
        dx_buf_clear(body);
    return rc < 0 ? rc : 1;
}
