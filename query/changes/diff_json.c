/* SPDX-License-Identifier: Apache-2.0 */
#include "query/changes/diff_json.h"

#include <assert.h>

#include "loader/version.h"
#include "loader/version_parts.h"
#include "query/suppression/suppression_view.h"
#include "query/view/counts_json.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

int dx_diff_domain(struct dx_diff_item *item, const struct dx_part *part, struct dx_span key,
                   uint64_t ordinal, struct dx_error *err)
{
    int rc;

    item->domain_size = dx_surt_domain(key, item->domain);
    if (item->domain_size == 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: %s: domain %llu is not the key of any domain",
                       part->directory, DX_FILE_DOMAINS_DICT, (unsigned long long)ordinal);
    rc = dx_mphf_domain_id(&part->mphf, ordinal, dx_span_of(item->domain, item->domain_size),
                           &item->domain_id, err);
    return rc < 0 ? rc : DX_OK;
}

/* The walk is at the item's domain and has its pairs, which are changed to those that may be shown; side gets them. */
static int show_side(struct dx_diff_item *item, const struct dx_view *view,
                     struct dx_version_walk *w, struct dx_diff_side *side,
                     struct dx_problem *problem)
{
    struct dx_domain_pairs *p = &w->pairs;
    struct dx_found found = { .part = w->part,
                              .ordinal = w->ordinal,
                              .domain_size = item->domain_size };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_suppression_view withheld;
    int rc;

    memcpy(found.domain, item->domain, item->domain_size);
    rc = dx_mphf_domain_id(&w->part->mphf, w->ordinal, dx_span_of(found.domain, found.domain_size),
                           &found.domain_id, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    rc = dx_suppression_view_of(view, &found, &withheld, problem);
    if (rc < 0)
        return rc;
    if (rc == 0) {
        item->withheld = item->withheld || problem->kind == DX_PROBLEM_WITHHELD;
        p->count = 0;
    } else {
        p->count = dx_suppression_view_show(&withheld, p->ids, p->counts, p->count, NULL);
        dx_suppression_view_release(&withheld);
    }
    *side = (struct dx_diff_side){ p->ids, p->counts, p->count };
    return 1;
}

int dx_diff_show(struct dx_diff_item *item, const struct dx_view *before,
                 const struct dx_view *after, struct dx_version_diff *diff,
                 struct dx_problem *problem)
{
    uint64_t number = dx_suppressed_line(after->version);
    int rc = dx_lookup_allowed(after, dx_span_of(item->domain, item->domain_size), problem);

    if (rc == 1 && item->before.count > 0)
        rc = show_side(item, before, &diff->walk_before, &item->before, problem);
    if (rc == 1 && item->after.count > 0)
        rc = show_side(item, after, &diff->walk_after, &item->after, problem);
    if (rc < 0)
        return rc;
    if (number != dx_suppressed_line(after->version)) {
        (void)dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "suppressions-not-applied",
                             "What is suppressed has just changed",
                             "a suppression came while two versions were compared; try again");
        return DX_E_BUSY;
    }
    if (rc == 0)
        return 0;
    item->change = dx_sides_change(&item->before, &item->after);
    return item->change != DX_CHANGE_SAME;
}

int dx_diff_find(struct dx_diff_item *item, const struct dx_view *view, struct dx_version_walk *w,
                 struct dx_diff_side *side, struct dx_problem *problem)
{
    struct dx_version *v = view->version;
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_part *part;
    uint64_t ordinal;
    uint64_t id;
    int rc = dx_version_find(v, dx_span_of(item->domain, item->domain_size), &part, &ordinal, &id,
                             &err);

    if (rc == 0)
        return 1;
    if (rc == 1) {
        dx_version_walk_begin(w, v, 1 + dx_version_number(v, part, ordinal));
        rc = dx_version_walk_next(w, &err);
    }
    if (rc == 1)
        rc = dx_version_walk_pairs(w, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    (void)dx_view_show(view, &w->pairs);
    if (w->pairs.count == 0) /* it is there for others */
        return 1;
    item->domain_id = id;
    return show_side(item, view, w, side, problem);
}

static void write_counts(struct dx_json *j, const char *key, const struct dx_dataset *d,
                         const struct dx_pair_count *pair)
{
    dx_json_key(j, key);
    if (pair == NULL) {
        dx_json_null(j);
        return;
    }
    dx_json_object(j);
    dx_counts_json(j, d, pair->url_count, pair->row_count);
    dx_json_end(j);
}

/* As the newer version has it, if it still does. NULL with the error: neither has it. */
const struct dx_dataset *dx_diff_dataset(const struct dx_pairs_diff *p,
                                         const struct dx_version *before,
                                         const struct dx_version *after, struct dx_error *err)
{
    const struct dx_version *v = p->after != NULL ? after : before;
    const struct dx_dataset *d = dx_registry_by_id(&v->registry, p->dataset_id);

    if (d == NULL)
        (void)dx_fail(err, DX_E_CORRUPT, "%s: dataset %u of a domain is not in datasets.json",
                      dx_version_own(v)->directory, (unsigned)p->dataset_id);
    return d;
}

enum dx_change dx_pairs_change(const struct dx_pairs_diff *p)
{
    assert(p->before != NULL || p->after != NULL);
    return p->before == NULL  ? DX_CHANGE_ADDED
           : p->after == NULL ? DX_CHANGE_REMOVED
                              : DX_CHANGE_CHANGED;
}

static int write_dataset(const struct dx_pairs_diff *p, const struct dx_version *before,
                         const struct dx_version *after, struct dx_json *j, struct dx_error *err)
{
    const struct dx_dataset *d = dx_diff_dataset(p, before, after, err);

    if (d == NULL)
        return DX_E_CORRUPT;
    dx_json_object(j);
    dx_json_key(j, "dataset_id");
    dx_json_u64(j, p->dataset_id);
    dx_json_key(j, "name");
    dx_json_str(j, d->name);
    dx_counts_json_kind(j, d);
    dx_json_key(j, "change");
    dx_json_str(j, dx_change_name(dx_pairs_change(p)));
    write_counts(j, "before", d, p->before);
    write_counts(j, "after", d, p->after);
    dx_json_end(j);
    return DX_OK;
}

int dx_diff_change_write(const struct dx_diff_item *item, const struct dx_version *before,
                         const struct dx_version *after, struct dx_json *j, struct dx_error *err)
{
    struct dx_pairs_diff p;
    int rc = DX_OK;

    dx_json_key(j, "change");
    dx_json_str(j, dx_change_name(item->change));
    dx_json_key(j, "datasets");
    dx_json_array(j);
    dx_pairs_diff_begin(&p, &item->before, &item->after);
    while (rc == DX_OK && dx_pairs_diff_next(&p))
        rc = write_dataset(&p, before, after, j, err);
    dx_json_end(j);
    return rc;
}

int dx_diff_item_write(const struct dx_diff_item *item, const struct dx_version *before,
                       const struct dx_version *after, struct dx_json *j, struct dx_error *err)
{
    dx_domain_json(j, dx_span_of(item->domain, item->domain_size));
    dx_json_key(j, "domain_id");
    dx_json_hex64(j, item->domain_id);
    return dx_diff_change_write(item, before, after, j, err);
}
