/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/ruled_domains.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "canon/url.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version_parts.h"
#include "query/view/suppressed.h"

#define TRIES 4 /* the rules may be exchanged while they are looked at */

/* Of a version. */
struct desk {
    pthread_mutex_t lock;
    struct dx_ruled_domains *newest; /* NULL: not asked for yet */
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

static int find_whole(struct dx_ruled_domains *r, const struct dx_version *v,
                      const struct dx_rules *rules, struct dx_error *err)
{
    struct dx_buf whole = DX_BUF_INIT(SIZE_MAX / 2);
    int rc = DX_OK;

    for (size_t i = 0; i < rules->count; i++)
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
                      const struct dx_rules *rules, struct dx_error *err)
{
    struct dx_buf parts = DX_BUF_INIT(SIZE_MAX / 2);
    size_t found;
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < rules->count; i++)
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

static int find_all(struct dx_ruled_domains **out, struct dx_version *v, struct dx_canon *canon,
                    const struct dx_rules *rules, uint64_t turn, struct dx_error *err)
{
    struct dx_ruled_domains *r = calloc(1, sizeof *r);
    int rc;

    if (r == NULL)
        return dx_no_memory(err, "suppressed domains");
    r->turn = turn;
    atomic_init(&r->holders, 1);
    rc = find_whole(r, v, rules, err);
    if (rc == DX_OK)
        rc = find_parts(r, v, canon, rules, err);
    if (rc < 0)
        dx_ruled_domains_put(&r);
    *out = r;
    return rc;
}

/* ---- kept with a version ---- */

static void *desk_new(void)
{
    struct desk *d = calloc(1, sizeof *d);

    if (d != NULL)
        (void)pthread_mutex_init(&d->lock, NULL);
    return d;
}

static void desk_free(void *kept)
{
    struct desk *d = kept;

    dx_ruled_domains_put(&d->newest);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

/* Under the lock: one thread finds them, and those that wait need not. */
static int get_from(struct desk *d, struct dx_ruled_domains **out, struct dx_version *v,
                    struct dx_canon *canon, const struct dx_rules *rules, uint64_t turn,
                    struct dx_error *err)
{
    struct dx_ruled_domains *found;
    int rc;

    if (d->newest != NULL && d->newest->turn > turn)
        return DX_E_BUSY;
    if (d->newest == NULL || d->newest->turn < turn) {
        rc = find_all(&found, v, canon, rules, turn, err);
        if (rc < 0)
            return rc;
        dx_ruled_domains_put(&d->newest);
        d->newest = found;
    }
    atomic_fetch_add(&d->newest->holders, 1);
    *out = d->newest;
    return 1;
}

/* 1, 0 no rules, DX_E_BUSY, which has no words yet: which rules these are is not known. */
static int try_get(struct dx_ruled_domains **out, struct dx_version *v, struct dx_canon *canon,
                   struct dx_error *err)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    uint64_t turn = dx_suppressed_turn(v);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    struct desk *d;
    int rc = 0;

    if (rules == NULL)
        return 0;
    d = dx_version_kept(v, desk_new, desk_free);
    if (d == NULL) {
        rc = dx_no_memory(err, "suppressed domains");
    } else if (turn % 2 != 0 || turn != dx_suppressed_turn(v)) {
        rc = DX_E_BUSY;
    } else {
        (void)pthread_mutex_lock(&d->lock);
        rc = get_from(d, out, v, canon, rules, turn, err);
        (void)pthread_mutex_unlock(&d->lock);
    }
    dx_suppressions_live_unpin(o, rules);
    return rc;
}

int dx_ruled_domains_get(struct dx_ruled_domains **out, struct dx_version *v,
                         struct dx_canon *canon, struct dx_error *err)
{
    int rc = DX_E_BUSY;

    *out = NULL;
    for (unsigned i = 0; rc == DX_E_BUSY && i < TRIES; i++)
        rc = try_get(out, v, canon, err);
    return rc == DX_E_BUSY ? dx_fail(err, rc, "suppressions were exchanged while they were read")
                           : rc;
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
