/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/suppression_domains.h"

#include <roaring/roaring.h>
#include <stdlib.h>

#include "canon/url.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version_parts.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#define TRIES 4 /* the rules may be exchanged while they are looked at */

static int no_memory(struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    (void)dx_no_memory(&err, "suppressed domains");
    return dx_problem_of_error(problem, &err);
}

void dx_suppression_domains_release(struct dx_suppression_domains *h)
{
    for (size_t i = 0; i < h->part_count; i++)
        dx_suppression_view_release(&h->parts[i].withheld);
    free(h->parts);
    free(h->whole);
    *h = (struct dx_suppression_domains){ .whole = NULL };
}

/* ---- whole ones ---- */

/* That name and all below it: keys that begin with its own, up to a label's end. Of an IP address
 * it is the address alone, since no key goes on behind it with a space. */
static int range_of(const struct dx_version_part *p, struct dx_span host,
                    struct dx_hidden_range *range, struct dx_error *err)
{
    int rc = dx_dictionary_below(&p->part->dictionary, host, &range->first, &range->end, err);

    range->first += p->first;
    range->end += p->first;
    return rc;
}

static int by_first(const void *a, const void *b)
{
    const struct dx_hidden_range *x = a;
    const struct dx_hidden_range *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

static void join_ranges(struct dx_suppression_domains *h)
{
    size_t n = 0;

    if (h->whole_count > 1)
        qsort(h->whole, h->whole_count, sizeof *h->whole, by_first);
    for (size_t i = 0; i < h->whole_count; i++) {
        if (n > 0 && h->whole[i].first <= h->whole[n - 1].end) {
            if (h->whole[i].end > h->whole[n - 1].end)
                h->whole[n - 1].end = h->whole[i].end;
        } else {
            h->whole[n++] = h->whole[i];
        }
    }
    h->whole_count = n;
}

static int read_whole(struct dx_suppression_domains *h, const struct dx_version *v,
                      const struct dx_rules *rules, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < rules->count; i++)
        for (size_t k = 0; rules->rules[i].kind == DX_SUPPRESS_DOMAIN && k < v->part_count; k++) {
            struct dx_hidden_range range;

            if (range_of(&v->parts[k], rules->rules[i].parts.host, &range, &err) < 0)
                return dx_problem_of_error(problem, &err);
            if (range.first < range.end)
                h->whole[h->whole_count++] = range;
        }
    join_ranges(h);
    return 1;
}

size_t dx_suppression_domains_range_from(const struct dx_suppression_domains *h, size_t from,
                                         uint64_t number)
{
    size_t low = from;
    size_t high = h->whole_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (h->whole[middle].end <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool dx_suppression_domains_whole(const struct dx_suppression_domains *h, uint64_t number)
{
    size_t i = dx_suppression_domains_range_from(h, 0, number);

    return i < h->whole_count && h->whole[i].first <= number;
}

size_t dx_suppression_domains_part_from(const struct dx_suppression_domains *h, size_t from,
                                        uint64_t number)
{
    size_t low = from;
    size_t high = h->part_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (h->parts[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct dx_hidden_part *dx_suppression_domains_part(const struct dx_suppression_domains *h,
                                                         uint64_t number)
{
    size_t i = dx_suppression_domains_part_from(h, 0, number);

    return i < h->part_count && h->parts[i].number == number ? &h->parts[i] : NULL;
}

/* ---- those of which a part is hidden ---- */

/* The domains whose parts are wanted: those of a dataset, or else of a set. */
struct among {
    bool one_dataset;
    uint32_t dataset_id;
    const struct roaring_bitmap_s *numbers;
};

static uint64_t number_of(const struct dx_version *v, const struct dx_found *found)
{
    return dx_version_number(v, found->part, found->ordinal);
}

/* 1, 0 it is not among them, <0. */
static int is_among(const struct dx_version *v, const struct among *among,
                    const struct dx_found *found, struct dx_error *err)
{
    struct dx_dataset_set set;
    uint32_t rank;
    int rc;

    if (!among->one_dataset)
        return roaring_bitmap_contains(among->numbers, (uint32_t)number_of(v, found));
    rc = dx_membership_get(&found->part->membership, found->ordinal, &set, err);
    return rc == 1 ? dx_dataset_set_rank(&set, among->dataset_id, &rank) : rc;
}

/* The registered domain that a rule's rows are of in this version: 1, or 0 there is none. */
static int find_domain(struct dx_version *v, struct dx_canon *canon, struct dx_span host,
                       struct dx_found *found, struct dx_error *err)
{
    enum dx_reject why;
    struct dx_span domain;

    if (dx_canon_domain(canon, host, &domain, &why) == 0 || domain.size > sizeof found->domain)
        return 0;
    found->domain_size = domain.size;
    memcpy(found->domain, domain.data, domain.size);
    return dx_version_find(v, domain, &found->part, &found->ordinal, &found->domain_id, err);
}

static int add_part(struct dx_suppression_domains *h, const struct dx_view *view,
                    const struct dx_found *found, struct dx_problem *problem)
{
    uint64_t number = number_of(view->version, found);
    struct dx_suppression_view withheld;
    int rc = dx_suppression_view_of(view, found, &withheld, problem);

    if (rc < 0)
        return dx_suppression_view_unknown(rc, problem);
    if (rc == 0)
        h->whole[h->whole_count++] = (struct dx_hidden_range){ number, number + 1 };
    else if (withheld.entry != NULL)
        h->parts[h->part_count++] = (struct dx_hidden_part){ number, withheld };
    return 1;
}

/* found: by number. Those that are not known yet are all requested at once, not one a request. */
static int add_parts(struct dx_suppression_domains *h, const struct dx_view *view,
                     const struct among *among, const struct dx_found *found, size_t n,
                     struct dx_problem *problem)
{
    const struct dx_version *v = view->version;
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    for (size_t i = 0; i < n; i++) {
        /* Of this domain: the problem of one that is not known yet must outlast those of absent ones. */
        struct dx_problem its;
        int is = is_among(v, among, &found[i], &err);

        if (is < 0)
            return dx_problem_of_error(problem, &err);
        if (is == 0 || (i > 0 && number_of(v, &found[i]) == number_of(v, &found[i - 1])))
            continue;
        is = add_part(h, view, &found[i], &its);
        if (is < 0) {
            rc = is;
            *problem = its;
        }
        if (is < 0 && is != DX_E_BUSY)
            break;
    }
    return rc;
}

static int by_number(const void *a, const void *b, void *ctx)
{
    uint64_t x = number_of(ctx, a);
    uint64_t y = number_of(ctx, b);

    return (x > y) - (x < y);
}

static int read_parts(struct dx_suppression_domains *h, const struct dx_view *view,
                      struct dx_canon *canon, const struct among *among,
                      const struct dx_rules *rules, struct dx_found *found,
                      struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    size_t n = 0;
    int rc = 1;

    for (size_t i = 0; i < rules->count; i++) {
        rc = find_domain(view->version, canon, rules->rules[i].parts.host, &found[n], &err);
        if (rc < 0)
            return dx_problem_of_error(problem, &err);
        if (rc == 1 && !dx_suppression_domains_whole(h, number_of(view->version, &found[n])))
            n++;
    }
    if (n > 1)
        qsort_r(found, n, sizeof *found, by_number, view->version);
    rc = add_parts(h, view, among, found, n, problem);
    join_ranges(h);
    return rc;
}

/* ---- all of one state ---- */

static int read_once(struct dx_suppression_domains *h, const struct dx_view *view,
                     struct dx_canon *canon, const struct among *among,
                     const struct dx_rules *rules, struct dx_problem *problem)
{
    struct dx_found *found = malloc((rules->count + 1) * sizeof *found);
    int rc;

    /* A rule for a whole domain is a range of each part, and one that is all of its domain is one. */
    h->whole = malloc(((view->version->part_count + 1) * rules->count + 1) * sizeof *h->whole);
    h->parts = malloc((rules->count + 1) * sizeof *h->parts);
    if (found == NULL || h->whole == NULL || h->parts == NULL)
        rc = no_memory(problem);
    else
        rc = read_whole(h, view->version, rules, problem);
    if (rc == 1)
        rc = read_parts(h, view, canon, among, rules, found, problem);
    free(found);
    return rc;
}

static int read_all(struct dx_suppression_domains *h, const struct dx_view *view,
                    struct dx_canon *canon, const struct among *among, struct dx_problem *problem)
{
    struct dx_version *v = view->version;
    struct dx_suppressions_live *suppressions = v->caches == NULL ? NULL : v->caches->suppressions;
    uint64_t turn = dx_suppressed_turn(v);

    *h = (struct dx_suppression_domains){ .whole = NULL };
    for (unsigned i = 0; i < TRIES; i++) {
        const struct dx_rules *rules = dx_suppressions_live_pin(suppressions);
        int rc = rules == NULL ? 1 : read_once(h, view, canon, among, rules, problem);
        uint64_t then = turn;

        dx_suppressions_live_unpin(suppressions, rules);
        turn = dx_suppressed_turn(v);
        if (rc < 0 || (then == turn && turn % 2 == 0))
            return rc;
        dx_suppression_domains_release(h);
    }
    (void)dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
                         "What is suppressed is not known yet",
                         "The suppressions were exchanged while they were looked at. Try again.");
    return DX_E_BUSY;
}

int dx_suppression_domains_read(struct dx_suppression_domains *h, const struct dx_view *view,
                                struct dx_canon *canon, uint32_t dataset_id,
                                struct dx_problem *problem)
{
    const struct among among = { .one_dataset = true, .dataset_id = dataset_id };

    return read_all(h, view, canon, &among, problem);
}

int dx_suppression_domains_among(struct dx_suppression_domains *h, const struct dx_view *view,
                                 struct dx_canon *canon, const struct roaring_bitmap_s *numbers,
                                 struct dx_problem *problem)
{
    return read_all(h, view, canon, &(const struct among){ .numbers = numbers }, problem);
}

int dx_suppression_domains_take_out(struct dx_suppression_domains *h, const struct dx_view *view,
                                    struct dx_canon *canon, struct roaring_bitmap_s *numbers,
                                    struct dx_problem *problem)
{
    int rc = dx_suppression_domains_among(h, view, canon, numbers, problem);

    for (size_t i = 0; rc == 1 && i < h->whole_count; i++)
        roaring_bitmap_remove_range(numbers, h->whole[i].first, h->whole[i].end);
    return rc;
}
