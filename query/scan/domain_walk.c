/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/domain_walk.h"

#include <assert.h>

#include "loader/followed/domain64_registry.h"
#include "loader/version_parts.h"

#define SET_MAX 4096                       /* domains that are found at a time */
#define DOMAIN_NUMBERS (UINT64_C(1) << 32) /* of a domain and all below it, in each layout */

int dx_domain_walk_init(struct dx_domain_walk *w, const struct dx_view *view,
                        const struct dx_dataset *dataset, struct dx_span suffix,
                        struct dx_error *err)
{
    *w = (struct dx_domain_walk){ .view = *view, .pairs = DX_DOMAIN_PAIRS_INIT };
    return dx_domain_set_init(&w->set, view, dataset, suffix, err);
}

static bool is_over(const struct dx_domain_walk *w, uint64_t number)
{
    return w->range.to != 0 && number >= w->range.to;
}

void dx_domain_walk_numbers(struct dx_domain_walk *w, const struct dx_view *view,
                            const struct dx_domain64_registry *numbers,
                            const struct dx_domain64_range *range)
{
    *w = (struct dx_domain_walk){
        .view = *view, .pairs = DX_DOMAIN_PAIRS_INIT, .numbers = numbers, .range = *range
    };
    w->over = is_over(w, range->from);
    w->range.from &= ~(DOMAIN_NUMBERS - 1);
}

static void leave(struct dx_domain_walk *w)
{
    dx_suppression_view_release(&w->withheld);
    w->withheld = (struct dx_suppression_view){ .entry = NULL };
    w->pairs.count = 0;
}

void dx_domain_walk_keep(struct dx_domain_walk *w, struct dx_suppression_view *withheld)
{
    assert(withheld->entry == NULL); /* what it had would not be released */
    *withheld = w->withheld;
    w->withheld = (struct dx_suppression_view){ .entry = NULL };
}

void dx_domain_walk_release(struct dx_domain_walk *w)
{
    leave(w);
    dx_domain_pairs_release(&w->pairs);
    dx_domain_set_release(&w->set);
}

int dx_domain_walk_from(struct dx_domain_walk *w, uint64_t number, struct dx_error *err)
{
    assert(!w->begun);
    if (w->numbers == NULL)
        return dx_domain_set_from(&w->set, number, err);
    w->range.from = number;
    return DX_OK;
}

int dx_domain_walk_to(struct dx_domain_walk *w, uint64_t number, struct dx_error *err)
{
    assert(!w->begun && w->numbers == NULL); /* a range of domain64 has its end */
    return dx_domain_set_to(&w->set, number, err);
}

int dx_domain_walk_between(struct dx_domain_walk *w, struct dx_span low, struct dx_span high,
                           struct dx_error *err)
{
    assert(!w->begun && w->numbers == NULL);
    return dx_domain_set_between(&w->set, low, high, err);
}

/* The next stretch of domains, or the first: 1, or 0 behind the last. */
static int find_stretch(struct dx_domain_walk *w, struct dx_error *err)
{
    int rc = DX_OK;

    if (w->begun && !w->set.more)
        return 0;
    if (w->begun)
        rc = dx_domain_set_from(&w->set, w->set.next, err);
    if (rc == DX_OK)
        rc = dx_domain_set_find(&w->set, SET_MAX, err);
    if (rc == DX_OK)
        rc = dx_number_walk_begin(&w->walk, w->view.version, w->set.numbers, 0, err);
    w->begun = true;
    return rc < 0 ? rc : 1;
}

/* The same, of the registry. */
static int next_of_registry(struct dx_domain_walk *w, struct dx_error *err)
{
    int rc = w->over ? 0 : dx_domain64_registry_domain(w->numbers, w->range.from, &w->number, err);

    if (rc == 1 && is_over(w, w->number))
        rc = 0;
    if (rc == 1)
        w->range.from = w->number + DOMAIN_NUMBERS;
    w->over = rc != 1 || w->range.from == 0;
    return rc;
}

/* 1, or 0 behind the last domain. */
static int next_number(struct dx_domain_walk *w, struct dx_error *err)
{
    int rc = 1;

    if (w->numbers != NULL)
        return next_of_registry(w, err);
    while (rc == 1 && (!w->begun || !w->walk.has))
        rc = find_stretch(w, err);
    if (rc != 1)
        return rc;
    w->number = w->walk.number;
    rc = dx_number_walk_next(&w->walk, err);
    return rc < 0 ? rc : 1;
}

/* "jadud.com" of its number: 1, or 0: no version has so long a one. */
static int read_name(struct dx_domain_walk *w, struct dx_error *err)
{
    struct dx_buf name = DX_BUF_INIT(2 * DX_NUMBER_NAME_MAX);
    struct dx_found *found = &w->found;
    int rc = dx_domain64_registry_names(w->numbers, w->number, &name, err);

    found->domain_size = name.size > 0 ? name.size - 1 : 0; /* without the '/' */
    if (rc == 1 && found->domain_size <= sizeof found->domain)
        memcpy(found->domain, name.data, found->domain_size);
    else if (rc == 1)
        rc = 0;
    dx_buf_release(&name);
    return rc;
}

static int read_registered(struct dx_domain_walk *w, struct dx_error *err)
{
    struct dx_found *found = &w->found;
    int rc = read_name(w, err);

    if (rc == 1)
        rc = dx_version_find(w->view.version, dx_span_of(found->domain, found->domain_size),
                             &found->part, &found->ordinal, &found->domain_id, err);
    return rc == 1 ? dx_view_pairs(&w->pairs, &w->view, found->part, found->ordinal, err) : rc;
}

/* 1: found and pairs are those of the number; 0: no visible dataset has it. */
static int read_domain(struct dx_domain_walk *w, struct dx_error *err)
{
    const struct dx_version *v = w->view.version;
    const struct dx_version_part *of = &v->parts[dx_version_part_at(v, w->number)];
    struct dx_found *found = &w->found;
    int rc;

    found->part = of->part;
    found->ordinal = w->number - of->first;
    rc = dx_view_pairs(&w->pairs, &w->view, found->part, found->ordinal, err);
    if (rc != 1)
        return rc;
    rc = dx_version_domain(v, w->number, found->domain, &found->domain_size, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: there is no domain %llu", of->part->directory,
                     (unsigned long long)found->ordinal);
    if (rc == 1)
        rc = dx_mphf_domain_id(&found->part->mphf, found->ordinal,
                               dx_span_of(found->domain, found->domain_size), &found->domain_id,
                               err);
    return rc < 0 ? rc : 1;
}

int dx_domain_walk_next(struct dx_domain_walk *w, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    leave(w);
    rc = next_number(w, &err);
    if (rc == 0)
        return 0;
    if (rc == 1)
        rc = w->numbers != NULL ? read_registered(w, &err) : read_domain(w, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 1)
        rc = dx_suppression_view_of(&w->view, &w->found, &w->withheld, problem);
    if (rc < 0) /* the message would name a domain that was not requested */
        return dx_suppression_view_unknown(rc, problem);
    if (rc == 0)
        w->pairs.count = 0;
    return 1;
}
