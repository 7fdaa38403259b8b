/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/suppression_domains.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/buf.h"
#include "canon/ids.h"
#include "loader/version_parts.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#define TRIES 4 /* the rules may be exchanged while they are looked at */

void dx_suppression_domains_release(struct dx_suppression_domains *h)
{
    for (size_t i = 0; i < h->part_count; i++)
        dx_suppression_view_release(&h->parts[i].withheld);
    free(h->parts);
    free(h->whole);
    *h = (struct dx_suppression_domains){ .whole = NULL };
}

size_t dx_suppression_domains_part_from(const struct dx_suppression_domains *h, size_t from,
                                        uint64_t number)
{
    size_t low = from;
    size_t high = h->part_count;

    assert(from <= h->part_count);
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

/* ---- the domains that are asked about ---- */

/* Those of a dataset, or else of a set. */
struct among {
    const struct dx_version *version;
    uint32_t dataset_id;
    const struct roaring_bitmap_s *numbers; /* NULL: of the dataset */
};

static int next_in_set(const struct roaring_bitmap_s *numbers, uint64_t from, uint64_t *number)
{
    roaring_uint32_iterator_t it;

    if (from > UINT32_MAX)
        return 0;
    roaring_init_iterator(numbers, &it);
    if (!roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)from))
        return 0;
    *number = it.current_value;
    return 1;
}

static int next_in_part(const struct dx_version_part *p, uint32_t dataset_id, uint64_t from,
                        uint64_t *number, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &p->part->dataset_domains;
    struct dx_domain_list list;
    struct dx_domain_cursor c;
    int rc = dx_dataset_domains_of(d, dataset_id, &list, err);

    if (rc != 1)
        return rc;
    dx_domain_cursor_begin(&c, d, &list);
    rc = dx_domain_cursor_seek(&c, from > p->first ? from - p->first : 0, err);
    if (rc == 1)
        *number = p->first + c.ordinal;
    return rc;
}

/* The first one from a number on, a dead one too: 1, 0 behind the last one, <0. */
static int next_among(const struct among *among, uint64_t from, uint64_t *number,
                      struct dx_error *err)
{
    const struct dx_version *v = among->version;
    int rc = 0;

    if (among->numbers != NULL)
        return next_in_set(among->numbers, from, number);
    if (from >= v->numbers)
        return 0;
    for (size_t i = dx_version_part_at(v, from); rc == 0 && i < v->part_count; i++)
        rc = next_in_part(&v->parts[i], among->dataset_id, from, number, err);
    return rc;
}

/* ---- those of them that rules concern ---- */

/* There may be many ranges and few domains, or the other way round: what is between is leapt over on both sides. */
static int meet_whole(const struct dx_ruled_domains *r, const struct among *among,
                      struct dx_buf *whole, struct dx_error *err)
{
    uint64_t number = 0;
    size_t i = 0;
    int rc;

    while ((rc = next_among(among, number, &number, err)) == 1 &&
           (i = dx_hidden_range_from(r->whole, r->whole_count, i, number)) < r->whole_count) {
        if (number >= r->whole[i].first) {
            dx_buf_append(whole, &r->whole[i], sizeof r->whole[i]);
            number = r->whole[i].end;
        } else {
            number = r->whole[i].first;
        }
    }
    return rc < 0 ? rc : DX_OK;
}

static int meet_parts(const struct dx_ruled_domains *r, const struct among *among,
                      struct dx_buf *parts, struct dx_error *err)
{
    uint64_t number = 0;
    size_t i = 0;
    int rc;

    while ((rc = next_among(among, number, &number, err)) == 1 &&
           (i = dx_ruled_part_from(r->parts, r->part_count, i, number)) < r->part_count) {
        if (number == r->parts[i])
            dx_buf_append(parts, &number, sizeof number);
        number = number == r->parts[i] ? number + 1 : r->parts[i];
    }
    return rc < 0 ? rc : DX_OK;
}

/* ---- what they hide of them ---- */

static int find_domain(const struct dx_version *v, uint64_t number, struct dx_found *found,
                       struct dx_error *err)
{
    const struct dx_version_part *p = &v->parts[dx_version_part_at(v, number)];
    int rc = dx_version_domain(v, number, found->domain, &found->domain_size, err);

    found->part = p->part;
    found->ordinal = number - p->first;
    found->domain_id = dx_domain_id(dx_span_of(found->domain, found->domain_size));
    return rc;
}

static int add_part(struct dx_suppression_domains *h, const struct dx_view *view, uint64_t number,
                    struct dx_problem *problem)
{
    struct dx_suppression_view withheld;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_found found;
    int rc = find_domain(view->version, number, &found, &err);

    if (rc <= 0)
        return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
    rc = dx_suppression_view_of(view, &found, &withheld, problem);
    if (rc < 0)
        return dx_suppression_view_unknown(rc, problem);
    if (rc == 0)
        h->whole[h->whole_count++] = (struct dx_hidden_range){ number, number + 1 };
    else if (withheld.entry != NULL)
        h->parts[h->part_count++] = (struct dx_hidden_part){ number, withheld };
    return 1;
}

/* Those that are not known yet are all requested at once, not one a request. */
static int add_parts(struct dx_suppression_domains *h, const struct dx_view *view,
                     const uint64_t *numbers, size_t n, struct dx_problem *problem)
{
    int rc = 1;

    for (size_t i = 0; i < n; i++) {
        /* Of this domain: the problem of one that is not known yet must outlast those of absent ones. */
        struct dx_problem its;
        int is = add_part(h, view, numbers[i], &its);

        if (is < 0) {
            rc = is;
            *problem = its;
        }
        if (is < 0 && is != DX_E_BUSY)
            break;
    }
    h->whole_count = dx_hidden_ranges_join(h->whole, h->whole_count);
    return rc;
}

/* ---- all of one state ---- */

static int read_ruled(struct dx_suppression_domains *h, const struct dx_view *view,
                      const struct among *among, const struct dx_ruled_domains *r,
                      struct dx_problem *problem)
{
    struct dx_buf whole = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_buf parts = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_error err = DX_ERROR_INIT;
    size_t n;
    int rc = meet_whole(r, among, &whole, &err);

    if (rc == DX_OK)
        rc = meet_parts(r, among, &parts, &err);
    n = parts.size / sizeof(uint64_t);
    h->whole_count = whole.size / sizeof *h->whole;
    (void)dx_buf_reserve(&whole, n * sizeof *h->whole); /* all of a domain may be hidden */
    h->whole = (struct dx_hidden_range *)(void *)whole.data;
    h->parts = malloc((n + 1) * sizeof *h->parts);
    if (rc == DX_OK && (whole.failed || parts.failed || h->parts == NULL))
        rc = dx_no_memory(&err, "suppressed domains");
    rc = rc < 0 ? dx_problem_of_error(problem, &err)
                : add_parts(h, view, (const uint64_t *)(void *)parts.data, n, problem);
    dx_buf_release(&parts);
    return rc;
}

static int read_once(struct dx_suppression_domains *h, const struct dx_view *view,
                     struct dx_canon *canon, const struct among *among, struct dx_problem *problem)
{
    struct dx_ruled_domains *r;
    int rc = dx_suppression_view_ruled(&r, view->version, canon, problem);

    if (rc == 1 && r != NULL)
        rc = read_ruled(h, view, among, r, problem);
    dx_ruled_domains_put(&r);
    return rc;
}

static int read_all(struct dx_suppression_domains *h, const struct dx_view *view,
                    struct dx_canon *canon, const struct among *among, struct dx_problem *problem)
{
    uint64_t turn = dx_suppressed_turn(view->version);

    *h = (struct dx_suppression_domains){ .whole = NULL };
    for (unsigned i = 0; i < TRIES; i++) {
        int rc = read_once(h, view, canon, among, problem);
        uint64_t then = turn;

        turn = dx_suppressed_turn(view->version);
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
    const struct among among = { .version = view->version, .dataset_id = dataset_id };

    return read_all(h, view, canon, &among, problem);
}

int dx_suppression_domains_among(struct dx_suppression_domains *h, const struct dx_view *view,
                                 struct dx_canon *canon, const struct roaring_bitmap_s *numbers,
                                 struct dx_problem *problem)
{
    const struct among among = { .version = view->version, .numbers = numbers };

    return read_all(h, view, canon, &among, problem);
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
