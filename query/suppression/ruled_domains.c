/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/ruled_domains.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "canon/url.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version_parts.h"
#include "query/view/suppressed.h"

/* Of a version. */
struct desk {
    pthread_mutex_t lock;
    /* Of the two highest turns that were found; the newer one first, NULL: none. */
    struct dx_ruled_domains *kept[2];
    pthread_mutex_t finding; /* held by the thread that finds some; taken before the lock */
};

/* ---- ranges ---- */

static int by_first(const void *a, const void *b)
{
    const struct dx_hidden_range *x = a;
    const struct dx_hidden_range *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

size_t dx_hidden_ranges_join(struct dx_hidden_range *ranges, size_t count)
{
    size_t n = 0;

    if (count > 1)
        qsort(ranges, count, sizeof *ranges, by_first);
    for (size_t i = 0; i < count; i++) {
        if (n > 0 && ranges[i].first <= ranges[n - 1].end) {
            if (ranges[i].end > ranges[n - 1].end)
                ranges[n - 1].end = ranges[i].end;
        } else {
            ranges[n++] = ranges[i];
        }
    }
    return n;
}

size_t dx_hidden_range_from(const struct dx_hidden_range *ranges, size_t count, size_t from,
                            uint64_t number)
{
    size_t low = from;
    size_t high = count;

    assert(from <= count);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranges[middle].end <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t dx_ruled_part_from(const uint64_t *parts, size_t count, size_t from, uint64_t number)
{
    size_t low = from;
    size_t high = count;

    assert(from <= count);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (parts[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t dx_ruled_domains_end(const struct dx_ruled_domains *r, uint64_t number)
{
    size_t i = r == NULL ? 0 : dx_hidden_range_from(r->whole, r->whole_count, 0, number);

    return r != NULL && i < r->whole_count && r->whole[i].first <= number ? r->whole[i].end : 0;
}

/* ---- finding them ---- */

/* That name and all below it: keys that begin with its own, up to a label's end. Of an IP address
 * it is the address alone, since no key goes on behind it with a space. */
static int add_range(struct dx_buf *whole, const struct dx_version_part *p, struct dx_span host,
                     struct dx_error *err)
{
    struct dx_hidden_range range;
    int rc = dx_dictionary_below(&p->part->dictionary, host, &range.first, &range.end, err);

    range.first += p->first;
    range.end += p->first;
    if (rc >= 0 && range.first < range.end)
        dx_buf_append(whole, &range, sizeof range);
    return rc;
}

/* Joined with those of the base. */
static int find_whole(struct dx_ruled_domains *r, const struct dx_version *v,
                      const struct dx_rules *rules, const struct dx_ruled_domains *base,
                      size_t from, struct dx_error *err)
{
    struct dx_buf whole = DX_BUF_INIT(SIZE_MAX / 2);
    int rc = DX_OK;

    if (base != NULL)
        dx_buf_append(&whole, base->whole, base->whole_count * sizeof *base->whole);
    for (size_t i = from; i < rules->count; i++)
        for (size_t k = 0;
             rc >= 0 && rules->rules[i].kind == DX_SUPPRESS_DOMAIN && k < v->part_count; k++)
            rc = add_range(&whole, &v->parts[k], rules->rules[i].parts.host, err);
    if (rc >= 0 && whole.failed)
        rc = dx_buf_fail(&whole, err, "suppressed domains");
    r->whole = (struct dx_hidden_range *)(void *)whole.data;
    r->whole_count = dx_hidden_ranges_join(r->whole, whole.size / sizeof *r->whole);
    return rc < 0 ? rc : DX_OK;
}

/* The registered domain that a rule's rows are of, if this version has it and it is not in a range. */
static int add_part(struct dx_buf *parts, const struct dx_ruled_domains *r, struct dx_version *v,
                    struct dx_canon *canon, struct dx_span host, struct dx_error *err)
{
    const struct dx_part *part;
    enum dx_reject why;
    struct dx_span domain;
    uint64_t number;
    uint64_t id;
    int rc;

    if (dx_canon_domain(canon, host, &domain, &why) == 0)
        return DX_OK;
    rc = dx_version_find(v, domain, &part, &number, &id, err);
    if (rc != 1)
        return rc;
    number = dx_version_number(v, part, number);
    if (dx_ruled_domains_end(r, number) == 0)
        dx_buf_append(parts, &number, sizeof number);
    return DX_OK;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return (*x > *y) - (*x < *y);
}

static int find_parts(struct dx_ruled_domains *r, struct dx_version *v, struct dx_canon *canon,
                      const struct dx_rules *rules, const struct dx_ruled_domains *base,
                      size_t from, struct dx_error *err)
{
    struct dx_buf parts = DX_BUF_INIT(SIZE_MAX / 2);
    size_t found;
    int rc = DX_OK;

    for (size_t i = 0; base != NULL && i < base->part_count; i++)
        if (dx_ruled_domains_end(r, base->parts[i]) == 0)
            dx_buf_append(&parts, &base->parts[i], sizeof base->parts[i]);
    for (size_t i = from; rc >= 0 && i < rules->count; i++)
        rc = add_part(&parts, r, v, canon, rules->rules[i].parts.host, err);
    if (rc >= 0 && parts.failed)
        rc = dx_buf_fail(&parts, err, "suppressed domains");
    r->parts = (uint64_t *)(void *)parts.data;
    found = parts.size / sizeof *r->parts;
    if (found > 1)
        qsort(r->parts, found, sizeof *r->parts, by_number);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || r->parts[i] != r->parts[r->part_count - 1])
            r->parts[r->part_count++] = r->parts[i];
    return rc < 0 ? rc : DX_OK;
}

/* The first of the rules that those of the base lack; SIZE_MAX: the base has a rule that is lifted now, and then
 * nothing of it is of use. A log only grows (loader/followed/suppressions_live.h), so of as many rules as before and
 * new lines, none of the former was lifted. */
static size_t first_added(const struct dx_rules *rules, const struct dx_ruled_domains *base)
{
    size_t low = 0;
    size_t high = rules->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rules->rules[middle].number <= base->line)
            low = middle + 1;
        else
            high = middle;
    }
    return low == base->rule_count ? low : SIZE_MAX;
}

/* base: of rules before these, or NULL. */
static int find_all(struct dx_ruled_domains **out, struct dx_version *v, struct dx_canon *canon,
                    const struct dx_rules *rules, uint64_t turn,
                    const struct dx_ruled_domains *base, struct dx_error *err)
{
    struct dx_ruled_domains *r = calloc(1, sizeof *r);
    size_t from = base == NULL ? SIZE_MAX : first_added(rules, base);
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_no_memory(err, "suppressed domains");
    if (from == SIZE_MAX) {
        base = NULL;
        from = 0;
    }
    r->turn = turn;
    r->line = rules->number;
    r->rule_count = rules->count;
    atomic_init(&r->holders, 1);
    rc = find_whole(r, v, rules, base, from, err);
    if (rc == DX_OK)
        rc = find_parts(r, v, canon, rules, base, from, err);
    if (rc < 0)
        dx_ruled_domains_put(&r);
    *out = r;
    return rc;
}

/* ---- kept with a version ---- */

static void *desk_new(void)
{
    struct desk *d = calloc(1, sizeof *d);

    if (d == NULL)
        return NULL;
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_mutex_init(&d->finding, NULL);
    return d;
}

static void desk_free(void *kept)
{
    struct desk *d = kept;

    dx_ruled_domains_put(&d->kept[0]);
    dx_ruled_domains_put(&d->kept[1]);
    (void)pthread_mutex_destroy(&d->finding);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

/* The kept ones of a turn, or, below, the newest of a turn before it; NULL: none. */
static struct dx_ruled_domains *hold_kept(struct desk *d, uint64_t turn, bool below)
{
    struct dx_ruled_domains *r = NULL;

    (void)pthread_mutex_lock(&d->lock);
    for (size_t i = 0; r == NULL && i < 2; i++)
        if (d->kept[i] != NULL && (below ? d->kept[i]->turn < turn : d->kept[i]->turn == turn))
            r = d->kept[i];
    if (r != NULL)
        atomic_fetch_add(&r->holders, 1);
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

static void keep(struct desk *d, struct dx_ruled_domains *r)
{
    struct dx_ruled_domains *gone = NULL;
    size_t at;

    (void)pthread_mutex_lock(&d->lock);
    at = d->kept[0] == NULL || d->kept[0]->turn < r->turn ? 0 : 1;
    if (d->kept[1] == NULL || d->kept[1]->turn < r->turn) {
        gone = d->kept[1];
        if (at == 0)
            d->kept[1] = d->kept[0];
        d->kept[at] = r;
        atomic_fetch_add(&r->holders, 1);
    }
    (void)pthread_mutex_unlock(&d->lock);
    dx_ruled_domains_put(&gone);
}

/* One thread finds them, and those that wait need not. Those that get kept ones do not wait for it. */
static int get_from(struct desk *d, struct dx_ruled_domains **out, struct dx_version *v,
                    struct dx_canon *canon, const struct dx_rules *rules, uint64_t turn,
                    struct dx_error *err)
{
    struct dx_ruled_domains *base;
    int rc = 1;

    *out = hold_kept(d, turn, false);
    if (*out != NULL)
        return 1;
    (void)pthread_mutex_lock(&d->finding);
    *out = hold_kept(d, turn, false);
    if (*out == NULL) {
        base = hold_kept(d, turn, true);
        rc = find_all(out, v, canon, rules, turn, base, err);
        dx_ruled_domains_put(&base);
        if (rc == DX_OK)
            keep(d, *out);
    }
    (void)pthread_mutex_unlock(&d->finding);
    return rc < 0 ? rc : 1;
}

static int get_of(struct dx_ruled_domains **out, struct dx_version *v, struct dx_canon *canon,
                  const struct dx_rules *rules, uint64_t turn, struct dx_error *err)
{
    struct desk *d = dx_version_kept(v, desk_new, desk_free);

    return d == NULL ? dx_no_memory(err, "suppressed domains")
                     : get_from(d, out, v, canon, rules, turn, err);
}

/* rules: pinned, or NULL; unpinned here. */
static int get_pinned(struct dx_ruled_domains **out, struct dx_version *v, struct dx_canon *canon,
                      const struct dx_rules *rules, uint64_t turn, struct dx_error *err)
{
    int rc = 0;

    *out = NULL;
    if (rules != NULL)
        rc = get_of(out, v, canon, rules, turn, err);
    dx_suppressions_live_unpin(dx_suppressed_by(v), rules);
    return rc;
}

int dx_ruled_domains_get(struct dx_ruled_domains **out, struct dx_version *v,
                         struct dx_canon *canon, struct dx_error *err)
{
    uint64_t turn;
    const struct dx_rules *rules = dx_suppressions_live_pin_turn(dx_suppressed_by(v), &turn);

    return get_pinned(out, v, canon, rules, turn, err);
}

static int get_next(struct dx_ruled_domains **out, struct dx_version *v, struct dx_canon *canon,
                    struct dx_error *err)
{
    uint64_t turn;
    const struct dx_rules *rules = dx_suppressions_live_pin_next(dx_suppressed_by(v), &turn);

    return get_pinned(out, v, canon, rules, turn, err);
}

/* Again if rules were exchanged meanwhile: they may have come when v was not open yet. Those that come from now on find
 * it open. */
int dx_ruled_domains_prepare(struct dx_version *v, struct dx_canon *canon, struct dx_error *err)
{
    struct dx_ruled_domains *r;
    uint64_t turn;
    int rc;

    do {
        turn = dx_suppressed_turn(v);
        rc = dx_ruled_domains_get(&r, v, canon, err);
        dx_ruled_domains_put(&r);
        if (rc >= 0)
            rc = get_next(&r, v, canon, err);
        dx_ruled_domains_put(&r);
    } while (rc >= 0 && turn != dx_suppressed_turn(v));
    return rc < 0 ? rc : DX_OK;
}

void dx_ruled_domains_put(struct dx_ruled_domains **out)
{
    struct dx_ruled_domains *r = *out;

    *out = NULL;
    if (r == NULL || atomic_fetch_sub(&r->holders, 1) != 1)
        return;
    free(r->whole);
    free(r->parts);
    free(r);
}
