/* SPDX-License-Identifier: Apache-2.0 */
#include "query/changes/version_diff.h"

#include "loader/version.h"

const char *dx_change_name(enum dx_change change)
{
    static const char *const names[] = { "same", "added", "removed", "changed" };

    return names[change];
}

/* ---- the datasets of one domain ---- */

void dx_pairs_diff_begin(struct dx_pairs_diff *p, const struct dx_diff_side *before,
                         const struct dx_diff_side *after)
{
    *p = (struct dx_pairs_diff){ .left_before = *before, .left_after = *after };
}

static const struct dx_pair_count *take(struct dx_diff_side *side)
{
    const struct dx_pair_count *pair = side->pairs;

    side->ids++;
    side->pairs++;
    side->count--;
    return pair;
}

static bool same_counts(const struct dx_pair_count *a, const struct dx_pair_count *b)
{
    return a->url_count == b->url_count && a->row_count == b->row_count;
}

bool dx_pairs_diff_next(struct dx_pairs_diff *p)
{
    struct dx_diff_side *b = &p->left_before;
    struct dx_diff_side *a = &p->left_after;

    while (b->count > 0 || a->count > 0) {
        bool of_b = b->count > 0 && (a->count == 0 || b->ids[0] <= a->ids[0]);
        bool of_a = a->count > 0 && (b->count == 0 || a->ids[0] <= b->ids[0]);

        p->dataset_id = of_b ? b->ids[0] : a->ids[0];
        p->before = of_b ? take(b) : NULL;
        p->after = of_a ? take(a) : NULL;
        if (p->before == NULL || p->after == NULL || !same_counts(p->before, p->after))
            return true;
    }
    return false;
}

enum dx_change dx_sides_change(const struct dx_diff_side *before, const struct dx_diff_side *after)
{
    struct dx_pairs_diff p;

    if (before->count == 0 || after->count == 0)
        return after->count > 0    ? DX_CHANGE_ADDED
               : before->count > 0 ? DX_CHANGE_REMOVED
                                   : DX_CHANGE_SAME;
    dx_pairs_diff_begin(&p, before, after);
    return dx_pairs_diff_next(&p) ? DX_CHANGE_CHANGED : DX_CHANGE_SAME;
}

/* ---- all domains ---- */

void dx_version_diff_begin(struct dx_version_diff *d, const struct dx_view *before,
                           const struct dx_view *after, uint64_t next_before, uint64_t next_after)
{
    *d = (struct dx_version_diff){ .has_before = -1,
                                   .has_after = -1,
                                   .scope_before = before->scope,
                                   .scope_after = after->scope };
    dx_version_walk_begin(&d->walk_before, before->version, next_before);
    dx_version_walk_begin(&d->walk_after, after->version, next_after);
}

void dx_version_diff_end(struct dx_version_diff *d)
{
    dx_version_walk_end(&d->walk_before);
    dx_version_walk_end(&d->walk_after);
}

static int have(struct dx_version_walk *w, int *has, struct dx_error *err)
{
    if (*has < 0)
        *has = dx_version_walk_next(w, err);
    return *has;
}

/* A domain at hand is not passed yet. */
int dx_version_diff_places(struct dx_version_diff *d, uint64_t *next_before, uint64_t *next_after,
                           struct dx_error *err)
{
    int rc = have(&d->walk_before, &d->has_before, err);

    if (rc >= 0)
        rc = have(&d->walk_after, &d->has_after, err);
    *next_before = d->walk_before.place;
    *next_after = d->walk_after.place;
    return rc < 0 ? rc : DX_OK;
}

static int load(struct dx_version_walk *w, const struct dx_scope *scope, struct dx_diff_side *side,
                struct dx_error *err)
{
    const struct dx_view view = { w->version, scope, false };
    int rc = dx_version_walk_pairs(w, err);

    (void)dx_view_show(&view, &w->pairs);
    *side = (struct dx_diff_side){ w->pairs.ids, w->pairs.counts, w->pairs.count };
    return rc;
}

/* Passes the domain with the smaller key, or both. */
static int pass_domain(struct dx_version_diff *d, struct dx_error *err)
{
    const struct dx_version_walk *at;
    int order = d->has_before == 0  ? 1
                : d->has_after == 0 ? -1
                                    : dx_span_compare(d->walk_before.key, d->walk_after.key);
    int rc = DX_OK;

    d->before = d->after = (struct dx_diff_side){ NULL, NULL, 0 };
    if (order <= 0)
        rc = load(&d->walk_before, d->scope_before, &d->before, err);
    if (rc == DX_OK && order >= 0)
        rc = load(&d->walk_after, d->scope_after, &d->after, err);
    if (rc < 0)
        return rc;
    d->change = dx_sides_change(&d->before, &d->after);
    /* Of the visible datasets: a domain whose visible ones are gone may still be in `after`. */
    at = order < 0 || d->change == DX_CHANGE_REMOVED ? &d->walk_before : &d->walk_after;
    d->key = at->key;
    d->part = at->part;
    d->ordinal = at->ordinal;
    if (order <= 0)
        d->has_before = -1;
    if (order >= 0)
        d->has_after = -1;
    return d->change == DX_CHANGE_SAME ? DX_DIFF_END : DX_DIFF_FOUND;
}

int dx_version_diff_next(struct dx_version_diff *d, uint64_t look_max, struct dx_error *err)
{
    int rc = DX_DIFF_END;

    while (rc == DX_DIFF_END) {
        if (have(&d->walk_before, &d->has_before, err) < 0)
            return d->has_before;
        if (have(&d->walk_after, &d->has_after, err) < 0)
            return d->has_after;
        if (d->has_before == 0 && d->has_after == 0)
            return DX_DIFF_END;
        if (d->looked >= look_max)
            return DX_DIFF_PAUSE;
        d->looked++;
        rc = pass_domain(d, err);
    }
    return rc;
}
