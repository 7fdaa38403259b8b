/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json_out.h"
#include "canon/idna.h"
#include "canon/ids.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/suppression/ruled_domains.h"
#include "query/suppression/suppression_view.h"
#include "query/view/completion.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

/* Domains of hidden datasets are passed one by one this far; then the lists of the visible ones
 * say which is next. */
#define STEPS_MAX 64

struct work {
    const struct dx_view *view;
    struct dx_ruled_domains *ruled; /* NULL: no rules */
    size_t part_at;                 /* of the part that is searched */
    struct dx_problem *problem;     /* set: of a domain that is not known yet */
    bool unknown;
};

/* ---- which domains may be shown ---- */

/* The first one in a visible dataset from `from` on. */
static int seek_lists(const struct work *w, const struct dx_part *part, uint64_t from,
                      uint64_t *ordinal, struct dx_error *err)
{
    const struct dx_registry *r = &w->view->version->registry;
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < r->count; i++) {
        struct dx_domain_list list;
        struct dx_domain_cursor c;

        if (!dx_view_shows(w->view, r->datasets[i].dataset_id))
            continue;
        rc = dx_dataset_domains_of(&part->dataset_domains, r->datasets[i].dataset_id, &list, err);
        if (rc != 1)
            continue;
        dx_domain_cursor_begin(&c, &part->dataset_domains, &list);
        rc = dx_domain_cursor_seek(&c, from, err);
        if (rc == 1 && c.ordinal < *ordinal)
            *ordinal = c.ordinal;
    }
    return rc < 0 ? rc : DX_OK;
}

static int find_visible(const struct work *w, const struct dx_part *part, uint64_t from,
                        uint64_t end, uint64_t *ordinal, struct dx_error *err)
{
    uint64_t at = from;
    int rc;

    *ordinal = end;
    for (unsigned step = 0; step < STEPS_MAX && at < end; step++, at++) {
        rc = dx_view_has(w->view, part, at, err);
        if (rc == 1)
            *ordinal = at;
        if (rc != 0)
            return rc < 0 ? rc : DX_OK;
    }
    return at < end ? seek_lists(w, part, at, ordinal, err) : DX_OK;
}

static int find_next(void *ctx, const struct dx_part *part, uint64_t from, uint64_t end,
                     uint64_t *ordinal, struct dx_error *err)
{
    const struct work *w = ctx;
    const struct dx_version *v = w->view->version;
    const uint64_t first = dx_version_number(v, part, 0);

    for (;;) {
        uint64_t end_hidden;
        int rc;

        from = dx_version_next_live(v, w->part_at, from);
        rc = find_visible(w, part, from, end, ordinal, err);
        if (rc < 0 || *ordinal >= end)
            return rc;
        end_hidden = dx_ruled_domains_end(w->ruled, first + *ordinal);
        if (end_hidden > 0)
            from = end_hidden - first;
        else if (!dx_version_is_live(v, first + *ordinal))
            from = *ordinal + 1;
        else
            return DX_OK;
    }
}

/* As /v1/domain: whether suppressions leave a row. */
static int shows_domain(void *ctx, const struct dx_part *part, uint64_t ordinal,
                        struct dx_span domain, struct dx_error *err)
{
    struct work *w = ctx;
    struct dx_found found = { .part = part, .ordinal = ordinal, .domain_size = domain.size };
    struct dx_suppression_view withheld;
    int rc;

    memcpy(found.domain, domain.data, domain.size);
    found.domain_id = dx_domain_id(domain);
    if (dx_suppressed_domain(w->view->version, domain).number != 0)
        return 0;
    rc = dx_suppression_view_of(w->view, &found, &withheld, w->problem);
    if (rc == 1)
        dx_suppression_view_release(&withheld);
    if (rc >= 0)
        return rc;
    w->unknown = true;
    (void)dx_suppression_view_unknown(rc, w->problem);
    return dx_fail(err, rc, "rows that suppressions hide are not known yet");
}

/* ---- the answer ---- */

/* A domain is live in one part alone, so no two parts give the same. */
static int search_parts(struct work *w, const struct dx_completion_typed *typed,
                        struct dx_completion *found, size_t max, size_t *n, struct dx_error *err)
{
    const struct dx_completion_filter filter = { find_next, shows_domain, w };
    const struct dx_version *v = w->view->version;
    int rc = DX_OK;

    *n = 0;
    for (size_t i = 0; rc == DX_OK && i < v->part_count; i++) {
        size_t more;

        w->part_at = i;
        rc = dx_completion_search(v->parts[i].part, typed, &filter, found + *n, max, &more, err);
        *n += rc == DX_OK ? more : 0;
    }
    return rc;
}

static int search_version(struct work *w, const struct dx_completion_typed *typed,
                          struct dx_completion *found, size_t max, size_t *n)
{
    struct dx_completion *all = malloc(w->view->version->part_count * max * sizeof *all + 1);
    struct dx_error err = DX_ERROR_INIT;
    int rc = all == NULL ? dx_no_memory(&err, "completion")
                         : search_parts(w, typed, all, max, n, &err);

    if (rc == DX_OK && *n > 1)
        qsort(all, *n, sizeof *all, dx_completion_compare);
    *n = rc < 0 ? 0 : *n < max ? *n : max;
    if (*n > 0)
        memcpy(found, all, *n * sizeof *found);
    free(all);
    if (rc < 0 && !w->unknown)
        return dx_problem_of_error(w->problem, &err);
    return rc < 0 ? rc : 1;
}

/* Of the names that have A-labels, what people read; left out if none has. */
static void write_unicode(const struct dx_completion *found, size_t n, struct dx_json *j)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        struct dx_span name = dx_span_of(found[i].domain, found[i].size);
        uint8_t text[DX_IDNA_UTF8_MAX];
        size_t size;

        if (!dx_idna_to_unicode(name, text, sizeof text, &size))
            continue;
        if (!any) {
            dx_json_key(j, "domains_unicode");
            dx_json_object(j);
        }
        any = true;
        dx_json_key_span(j, name);
        dx_json_text(j, dx_span_of(text, size));
    }
    if (any)
        dx_json_end(j);
}

static int write_answer(const struct dx_view *view, const struct dx_complete_ask *ask,
                        const struct dx_completion_typed *typed, const struct dx_completion *found,
                        size_t n, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json j;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "q");
    dx_json_text(&j, ask->asked);
    dx_json_key(&j, "completed");
    typed->size > 0 ? dx_json_text(&j, dx_span_of(typed->text, typed->size)) : dx_json_null(&j);
    dx_json_key(&j, "domains");
    dx_json_array(&j);
    for (size_t i = 0; i < n && i < ask->limit; i++)
        dx_json_text(&j, dx_span_of(found[i].domain, found[i].size));
    dx_json_end(&j);
    write_unicode(found, n < ask->limit ? n : ask->limit, &j);
    dx_json_key(&j, "more");
    dx_json_bool(&j, n > ask->limit);
    dx_answer_end(&j, view->version);
    if (!body->failed)
        return 1;
    (void)dx_buf_fail(body, &err, "answer");
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

int dx_answer_complete(const struct dx_view *view, struct dx_canon *canon,
                       const struct dx_complete_ask *ask, struct dx_buf *body,
                       struct dx_problem *problem)
{
    struct work w = { .view = view, .problem = problem };
    uint64_t line = dx_suppressed_line(view->version);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_completion_typed typed;
    struct dx_completion *found = NULL;
    size_t n = 0;
    int rc;

    dx_completion_read(&typed, canon, ask->asked);
    found = malloc((ask->limit + 1) * sizeof *found);
    if (found == NULL) {
        (void)dx_no_memory(&err, "completion");
        return dx_problem_of_error(problem, &err);
    }
    /* Ranges of domains that rules hide as a whole are leapt over; those of which a part is hidden are looked at
     * one by one. */
    rc = dx_suppression_view_ruled(&w.ruled, view->version, canon, problem);
    if (rc == 1)
        rc = search_version(&w, &typed, found, ask->limit + 1, &n);
    if (rc == 1 && line != dx_suppressed_line(view->version))
        rc = dx_suppression_view_unknown(0, problem);
    if (rc == 1)
        rc = write_answer(view, ask, &typed, found, n, body, problem);
    dx_ruled_domains_put(&w.ruled);
    free(found);
    return rc;
}
