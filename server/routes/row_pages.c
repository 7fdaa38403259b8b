/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/row_pages.h"

#include "server/routes/route.h"

#include <string.h>

#define DIVISOR 8 /* of the rows of a page that was too large */

static uint64_t turn_of(const struct dx_row_pages *p, struct dx_version *v)
{
    uint64_t state[2] = { 0, 0 };

    return p->answers->state == NULL || p->answers->state(v, state) ? state[1] : 1;
}

/* Whether there is a way to go on behind a page: where there is none, the first one has all rows. */
static bool has_pages(const struct dx_route *route)
{
    const struct dx_param *param;

    for (size_t i = 0; (param = dx_route_param(route, i)) != NULL; i++)
        if (param == &dx_param_offset || param == &dx_param_cursor)
            return true;
    return false;
}

void dx_row_pages_begin(struct dx_row_pages *p, const struct dx_answers *answers,
                        struct dx_version *v, const struct dx_ask *ask)
{
    const struct dx_route *route = dx_routes[ask->route];

    memset(p, 0, offsetof(struct dx_row_pages, ask));
    p->answers = answers;
    p->turn = turn_of(p, v);
    p->format = ask->row_format;
    p->page_rows = route->limit.max > 0 && route->limit.max < DX_ROW_PAGE ? route->limit.max
                                                                          : DX_ROW_PAGE;
    p->has_pages = has_pages(route);
    p->left = ask->row_limit;
    dx_ask_copy(&p->ask, ask);
    p->ask.brief = false;
    dx_row_ask_need(&p->ask);
}

void dx_row_pages_release(struct dx_row_pages *p)
{
    dx_row_writer_free(&p->writer);
}

struct dx_ask *dx_row_pages_next(struct dx_row_pages *p)
{
    p->ask.page.limit = p->page_rows < p->left ? p->page_rows : p->left;
    return &p->ask;
}

/* An order reads all rows whatever a page has: a smaller one costs as much. */
static bool is_too_large(const struct dx_row_pages *p, int rc, const struct dx_buf *body,
                         const struct dx_problem *problem)
{
    return p->has_pages && p->page_rows > 1 &&
           ((rc == 1 && body->failed) || (rc != 1 && problem->kind == DX_PROBLEM_TOO_MUCH &&
                                          p->ask.order.sort == DX_CURSOR_SORT_NONE));
}

static int begin_writer(struct dx_row_pages *p, const struct dx_ask *ask, struct dx_error *err)
{
    struct dx_row_column columns[DX_ROW_COLUMNS_MAX];
    size_t count = dx_row_ask_columns(ask, columns);

    return p->writer != NULL ? DX_OK
                             : dx_row_writer_new(&p->writer, p->format, columns, count, err);
}

/* Where the next page begins. */
static int move_on(struct dx_row_pages *p, const struct dx_row_page *page,
                   struct dx_problem *problem)
{
    p->left -= page->row_count;
    p->ended = p->left == 0 || (page->next.cursor.data == NULL && !page->next.has_offset);
    p->by_offset = page->next.cursor.data == NULL;
    return p->ended ? 1 : dx_row_ask_continue(p->answers, &p->ask, &page->next, problem);
}

/* 1, or 0 with the problem: the page is not behind the one before. */
static int check_rules(const struct dx_row_pages *p, struct dx_version *v,
                       struct dx_problem *problem)
{
    if (!p->by_offset || (p->turn % 2 == 0 && turn_of(p, v) == p->turn))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
                          "Suppressions have changed meanwhile",
                          "suppressions changed while these rows were read, so their pages do not "
                          "fit together; ask again");
}

int dx_row_pages_take(struct dx_row_pages *p, struct dx_version *v, const struct dx_ask *ask,
                      int rc, const struct dx_buf *body, struct dx_buf *part,
                      struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_page page = { .row_count = 0 };

    p->again = is_too_large(p, rc, body, problem);
    if (p->again) {
        p->page_rows = (p->page_rows + DIVISOR - 1) / DIVISOR;
        return 1;
    }
    if (rc == 1)
        rc = check_rules(p, v, problem);
    if (rc != 1)
        return rc;
    rc = begin_writer(p, ask, &err);
    if (rc == DX_OK)
        rc = dx_row_writer_page(p->writer, dx_span_of(body->data, body->size),
                                dx_route_rows_of(ask)->member, p->left, part, &page, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    rc = move_on(p, &page, problem);
    if (rc != 1 || !p->ended)
        return rc;
    rc = dx_row_writer_end(p->writer, part, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}
