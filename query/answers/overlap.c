/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/overlap.h"

#include <assert.h>
#include <stdlib.h>

#include "loader/version_parts.h"
#include "query/suppression/ruled_domains.h"
#include "query/suppression/suppression_view.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

/* What a step does: some 50 us of each. */
#define STEP_DOMAINS 4096
#define STEP_HIDDEN 32

enum phase { MERGE, EXCHANGE_WHOLE, EXCHANGE_PARTS, DONE };

struct dx_overlap {
    struct dx_view view;
    const struct dx_dataset *dataset[2];
    uint32_t dataset_id[2];
    size_t part; /* of the version: the cursors are in its lists */
    struct dx_domain_cursor cursor[2];
    struct dx_overlap_sums sums;
    enum phase phase;
    bool begun; /* both cursors are at a domain */

    struct dx_ruled_domains *ruled; /* NULL: no rules */
    uint64_t turn;                  /* of the suppressions when it began */
    size_t next_ruled;              /* of those that the phase exchanges */
    uint64_t next_number;
};

static int failed(struct dx_problem *problem, const struct dx_error *err)
{
    return dx_problem_of_error(problem, err);
}

static int open_dataset(struct dx_overlap *o, int i, uint32_t dataset_id,
                        struct dx_problem *problem)
{
    int rc = dx_lookup_dataset(&o->view, dataset_id, &o->dataset[i], problem);

    assert(i == 0 || i == 1);
    if (rc != 1)
        return rc;
    o->dataset_id[i] = dataset_id;
    o->sums.domains[i] = o->dataset[i]->domains;
    o->sums.urls[i] = o->dataset[i]->urls;
    return 1;
}

/* To the front of both lists of a part. */
static int enter_part(struct dx_overlap *o, size_t part, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &o->view.version->parts[part].part->dataset_domains;
    int rc = DX_OK;

    o->part = part;
    o->begun = false;
    for (int i = 0; rc >= 0 && i < 2; i++) {
        struct dx_domain_list list;

        rc = dx_dataset_domains_of(d, o->dataset_id[i], &list, err);
        if (rc == 0)
            list = (struct dx_domain_list){ .domains = 0 };
        if (rc >= 0)
            dx_domain_cursor_begin(&o->cursor[i], d, &list);
    }
    return rc < 0 ? rc : DX_OK;
}

/* What rules hide, of one state of them. */
static int find_ruled(struct dx_overlap *o, struct dx_canon *canon, struct dx_problem *problem)
{
    int rc;

    o->turn = dx_suppressed_turn(o->view.version);
    rc = dx_suppression_view_ruled(&o->ruled, o->view.version, canon, problem);
    if (rc == 1 && o->ruled != NULL)
        o->turn = o->ruled->turn;
    return rc;
}

int dx_overlap_new(struct dx_overlap **out, const struct dx_view *view, struct dx_canon *canon,
                   uint32_t a, uint32_t b, struct dx_problem *problem)
{
    struct dx_overlap *o = calloc(1, sizeof *o);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    *out = NULL;
    if (o == NULL) {
        (void)dx_no_memory(&err, "overlap");
        return failed(problem, &err);
    }
    o->view = *view;
    rc = open_dataset(o, 0, a, problem);
    if (rc == 1)
        rc = open_dataset(o, 1, b, problem);
    if (rc == 1)
        rc = find_ruled(o, canon, problem);
    if (rc == 1 && enter_part(o, 0, &err) < 0)
        rc = failed(problem, &err);
    if (rc != 1) {
        dx_overlap_free(&o);
        return rc;
    }
    *out = o;
    return 1;
}

void dx_overlap_free(struct dx_overlap **overlap)
{
    struct dx_overlap *o = *overlap;

    if (o == NULL)
        return;
    dx_ruled_domains_put(&o->ruled);
    free(o);
    *overlap = NULL;
}

const struct dx_overlap_sums *dx_overlap_sums_of(const struct dx_overlap *o)
{
    return &o->sums;
}

const struct dx_dataset *dx_overlap_dataset(const struct dx_overlap *o, int which)
{
    return o->dataset[which];
}

/* ---- what both have ---- */

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* 1 both are at a domain, 0 one is at its end. */
static int begin_both(struct dx_overlap *o, struct dx_error *err)
{
    int rc = dx_domain_cursor_next(&o->cursor[0], err);

    if (rc == 1)
        rc = dx_domain_cursor_next(&o->cursor[1], err);
    o->begun = rc == 1;
    return rc;
}

static void add_shared(struct dx_overlap_sums *s, uint64_t a, uint64_t b)
{
    s->shared++;
    s->shared_urls[0] += a;
    s->shared_urls[1] += b;
    s->min += lesser(a, b);
}

/* What both have in the part at hand. */
static int merge_lists(struct dx_overlap *o, struct dx_error *err)
{
    struct dx_domain_cursor *a = &o->cursor[0];
    struct dx_domain_cursor *b = &o->cursor[1];
    int rc = o->begun ? 1 : begin_both(o, err);

    for (size_t i = 0; rc == 1 && i < STEP_DOMAINS; i++) {
        if (a->ordinal < b->ordinal) {
            rc = dx_domain_cursor_seek(a, b->ordinal, err);
        } else if (a->ordinal > b->ordinal) {
            rc = dx_domain_cursor_seek(b, a->ordinal, err);
        } else {
            if (!dx_version_is_dead(o->view.version, o->part, a->ordinal))
                add_shared(&o->sums, a->url_count, b->url_count);
            rc = dx_domain_cursor_next(a, err);
            if (rc == 1)
                rc = dx_domain_cursor_next(b, err);
        }
    }
    if (rc == 0) {
        bool last = o->part + 1 == o->view.version->part_count;

        if (last)
            o->phase = o->ruled == NULL ? DONE : EXCHANGE_WHOLE;
        rc = enter_part(o, last ? 0 : o->part + 1, err);
    }
    return rc < 0 ? rc : DX_OK;
}

/* ---- what of it may be shown ---- */

static void take_away(struct dx_overlap_sums *s, const uint64_t urls[2])
{
    for (int i = 0; i < 2; i++) {
        s->domains[i] -= urls[i] > 0;
        s->urls[i] -= urls[i];
    }
    if (urls[0] == 0 || urls[1] == 0)
        return;
    s->shared--;
    for (int i = 0; i < 2; i++)
        s->shared_urls[i] -= urls[i];
    s->min -= lesser(urls[0], urls[1]);
}

static void put_back(struct dx_overlap_sums *s, const uint64_t urls[2])
{
    for (int i = 0; i < 2; i++) {
        s->domains[i] += urls[i] > 0;
        s->urls[i] += urls[i];
    }
    if (urls[0] == 0 || urls[1] == 0)
        return;
    s->shared++;
    for (int i = 0; i < 2; i++)
        s->shared_urls[i] += urls[i];
    s->min += lesser(urls[0], urls[1]);
}

/* The first domain of the part at hand from `ordinal` on that either has: 1, with what each has of
 * it; 0 there is none. */
static int find_either_here(struct dx_overlap *o, uint64_t ordinal, uint64_t *found,
                            uint64_t urls[2], struct dx_error *err)
{
    int rc[2];

    *found = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        struct dx_domain_cursor *c = &o->cursor[i];
        bool ended = c->passed == c->list.domains && (c->passed == 0 || c->ordinal < ordinal);

        rc[i] = ended ? 0 : dx_domain_cursor_seek(c, ordinal, err);
        if (rc[i] < 0)
            return rc[i];
        if (rc[i] == 1 && c->ordinal < *found)
            *found = c->ordinal;
    }
    for (int i = 0; i < 2; i++)
        urls[i] = rc[i] == 1 && o->cursor[i].ordinal == *found ? o->cursor[i].url_count : 0;
    return rc[0] == 1 || rc[1] == 1;
}

/* The same by numbers of the version, of live domains. */
static int find_either(struct dx_overlap *o, uint64_t number, uint64_t *found, uint64_t urls[2],
                       struct dx_error *err)
{
    const struct dx_version *v = o->view.version;
    int rc = 0;

    for (size_t i = o->part; rc == 0 && i < v->part_count; i++) {
        uint64_t first = v->parts[i].first;

        if (i + 1 < v->part_count && number >= v->parts[i + 1].first)
            continue;
        if (i != o->part)
            rc = enter_part(o, i, err);
        if (rc >= 0)
            rc = find_either_here(o, number > first ? number - first : 0, found, urls, err);
        while (rc == 1 && dx_version_is_dead(v, i, *found))
            rc = find_either_here(o, *found + 1, found, urls, err);
        *found += first;
    }
    return rc;
}

/* What of a domain may be shown, in place of what the lists have: 1, or <0 with the problem. */
static int read_visible(struct dx_overlap *o, uint64_t number, uint64_t urls[2],
                        struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_suppression_view w;
    struct dx_found found;
    int rc = dx_version_domain(o->view.version, number, found.domain, &found.domain_size, &err);

    if (rc == 1)
        rc = dx_version_find(o->view.version, dx_span_of(found.domain, found.domain_size),
                             &found.part, &found.ordinal, &found.domain_id, &err);
    if (rc == 0)
        rc = dx_fail(&err, DX_E_CORRUPT, "domain %llu is not to be found by its name",
                     (unsigned long long)number);
    if (rc < 0)
        return failed(problem, &err);
    rc = dx_suppression_view_of(&o->view, &found, &w, problem);
    if (rc < 0)
        return dx_suppression_view_unknown(rc, problem);
    for (int i = 0; i < 2; i++) {
        const struct dx_suppression_pair *pair = NULL;

        if (rc == 1)
            pair = dx_suppression_view_pair(&w, o->dataset_id[i]);
        if (rc == 0)
            urls[i] = 0;
        else if (urls[i] > 0 && pair != NULL)
            urls[i] = pair->visible.url_count;
    }
    if (rc == 1)
        dx_suppression_view_release(&w);
    return 1;
}

/* The first number from this one on of which the phase at hand exchanges what is counted; UINT64_MAX: none. */
static uint64_t ruled_from(struct dx_overlap *o, uint64_t number)
{
    const struct dx_ruled_domains *r = o->ruled;

    if (o->phase == EXCHANGE_PARTS) {
        o->next_ruled = dx_ruled_part_from(r->parts, r->part_count, o->next_ruled, number);
        return o->next_ruled == r->part_count ? UINT64_MAX : r->parts[o->next_ruled];
    }
    o->next_ruled = dx_hidden_range_from(r->whole, r->whole_count, o->next_ruled, number);
    if (o->next_ruled == r->whole_count)
        return UINT64_MAX;
    return r->whole[o->next_ruled].first > number ? r->whole[o->next_ruled].first : number;
}

/* A domain of either that rules concern. There may be many of both: what is between is leapt over on both sides.
 * 1 there may be more, 0 no, <0. */
static int exchange_next(struct dx_overlap *o, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t urls[2];
    uint64_t found;
    uint64_t ruled;
    int rc = find_either(o, o->next_number, &found, urls, &err);

    if (rc != 1)
        return rc < 0 ? failed(problem, &err) : 0;
    ruled = ruled_from(o, found);
    if (ruled == UINT64_MAX)
        return 0;
    o->next_number = ruled > found ? ruled : found + 1;
    if (ruled > found)
        return 1;
    take_away(&o->sums, urls);
    if (o->phase == EXCHANGE_PARTS) {
        rc = read_visible(o, found, urls, problem);
        put_back(&o->sums, urls);
    }
    return rc;
}

static int exchange(struct dx_overlap *o, enum phase then, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    for (size_t i = 0; rc == 1 && i < STEP_HIDDEN; i++)
        rc = exchange_next(o, problem);
    if (rc == 0) {
        rc = enter_part(o, 0, &err);
        if (rc < 0)
            return failed(problem, &err);
        o->next_ruled = 0;
        o->next_number = 0;
        o->phase = then;
    }
    return rc < 0 ? rc : DX_OK;
}

/* What was found out belongs together only if no other suppressions came meanwhile. */
static int check_turn(const struct dx_overlap *o, struct dx_problem *problem)
{
    if (o->turn % 2 == 0 && o->turn == dx_suppressed_turn(o->view.version))
        return 1;
    (void)dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
                         "What is suppressed has just changed",
                         "a suppression came while two datasets were compared; try again");
    return DX_E_BUSY;
}

static int turn_of(struct dx_overlap *o, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    switch (o->phase) {
    case MERGE:
        rc = merge_lists(o, &err);
        break;
    case EXCHANGE_WHOLE:
        return exchange(o, EXCHANGE_PARTS, problem);
    case EXCHANGE_PARTS:
        return exchange(o, DONE, problem);
    case DONE:
        return check_turn(o, problem);
    }
    return rc < 0 ? failed(problem, &err) : 0;
}

int dx_overlap_step(struct dx_overlap *o, struct dx_problem *problem)
{
    enum phase before;
    int rc;

    do {
        before = o->phase;
        rc = turn_of(o, problem);
    } while (rc == 0 && o->phase != before); /* it had some of its time left */
    return rc;
}
