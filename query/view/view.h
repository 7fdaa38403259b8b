/* SPDX-License-Identifier: Apache-2.0
 * view.h - a version as a principal may see it.
 *
 *   struct dx_view view = { v, scope };                  scope NULL: all of it
 *   rc = dx_answer_domain(&view, canon, ...);            every answer takes one
 *
 *   rc = dx_view_pairs(&pairs, &view, part, ordinal, &err);    visible datasets of a domain: 1, or 0: none
 *   hidden = dx_view_show(&view, &pairs);                the same of pairs that are there: how many went
 *   rc = dx_view_has(&view, part, ordinal, &err);        whether there is a visible one: 1 or 0
 *   dx_view_datasets(&view)                              how many datasets are visible; a walk over all for a
 *                                                        scope that is not the last one asked about
 *   dx_view_shows(&view, dataset_id)
 *   urls = dx_view_urls(&view);                          for questions about URLs: it shows no dataset of counts (format/root/
 *   dx_view_of_counts(&view, dataset_id)                 registry_json.h), but to searches for a domain and counts of datasets
 *
 * What the scope leaves out is not there: an answer has the bytes that it would have from an index
 * without it (docs/notes/access.md). So nothing in query/ asks a version for its datasets, or a
 * domain for its pairs, but through here and lookup.h.
 *
 * A plain value: its creator pins the version and holds the scope, for as long as an answer or
 * its task is at work. Threads may share it.
 */
#ifndef DX_QUERY_VIEW_VIEW_H
#define DX_QUERY_VIEW_VIEW_H

#include "format/root/scope.h"
#include "loader/domain_pairs.h"

struct dx_dataset;
struct dx_part;
struct dx_version;

struct dx_view {
    struct dx_version *version;
    const struct dx_scope *scope;
    bool urls_only;
};

/* As an argument: all of v. */
#define DX_VIEW_ALL(v) (&(const struct dx_view){ (v), NULL, false })

struct dx_view dx_view_urls(const struct dx_view *view);
bool dx_view_of_counts(const struct dx_view *view, uint32_t dataset_id);

static inline bool dx_view_restricted(const struct dx_view *view)
{
    return view->scope != NULL;
}

static inline bool dx_view_shows(const struct dx_view *view, uint32_t dataset_id)
{
    return (view->scope == NULL || dx_scope_has(view->scope, dataset_id)) &&
           !(view->urls_only && dx_view_of_counts(view, dataset_id));
}

size_t dx_view_datasets(const struct dx_view *view);

/* The dataset of a pair that the part has. NULL, DX_E_CORRUPT: the version's registry does not have it. */
const struct dx_dataset *dx_view_dataset(const struct dx_view *view, const struct dx_part *part,
                                         uint32_t dataset_id, struct dx_error *err);

/* 1; 0: no visible dataset has the domain. */
int dx_view_pairs(struct dx_domain_pairs *pairs, const struct dx_view *view,
                  const struct dx_part *part, uint64_t ordinal, struct dx_error *err);

/* Private: of a view that may hide some. */
size_t dx_view_show_some(const struct dx_view *view, struct dx_domain_pairs *pairs);
int dx_view_has_scope(const struct dx_view *view, const struct dx_part *part, uint64_t ordinal,
                      struct dx_error *err);

static inline size_t dx_view_show(const struct dx_view *view, struct dx_domain_pairs *pairs)
{
    return view->scope == NULL && !view->urls_only ? 0 : dx_view_show_some(view, pairs);
}

/* Reads nothing where all may be seen. */
static inline int dx_view_has(const struct dx_view *view, const struct dx_part *part,
                              uint64_t ordinal, struct dx_error *err)
{
    return view->scope == NULL ? 1 : dx_view_has_scope(view, part, ordinal, err);
}

#endif
