/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/view.h"

#include "loader/version.h"

#include <stdatomic.h>
#include <stdlib.h>

#define IDS_ON_STACK 256

/* How many datasets the scope shows that was asked about last, in one word with the scope's key, so
 * that no thread reads the number of one and the key of another. */
#define COUNT_BITS 24

static size_t count_datasets(const struct dx_view *view)
{
    const struct dx_registry *r = &view->version->registry;
    size_t n = 0;

    for (size_t i = 0; i < r->count; i++)
        n += dx_scope_has(view->scope, r->datasets[i].dataset_id);
    return n;
}

size_t dx_view_datasets(const struct dx_view *view)
{
    struct dx_version *v = view->version;
    uint64_t key;
    uint64_t kept;
    size_t n;

    if (view->scope == NULL)
        return v->registry.count;
    key = dx_scope_key(view->scope);
    kept = atomic_load_explicit(&v->visible, memory_order_relaxed);
    if (kept >> COUNT_BITS == key)
        return (size_t)(kept & ((UINT64_C(1) << COUNT_BITS) - 1));
    n = count_datasets(view);
    if (n >> COUNT_BITS == 0 && key >> (64 - COUNT_BITS) == 0)
        atomic_store_explicit(&v->visible, key << COUNT_BITS | n, memory_order_relaxed);
    return n;
}

struct dx_view dx_view_urls(const struct dx_view *view)
{
    return (struct dx_view){ view->version, view->scope, view->version->registry.has_counts };
}

bool dx_view_of_counts(const struct dx_view *view, uint32_t dataset_id)
{
    return dx_registry_of_counts(&view->version->registry, dataset_id);
}

size_t dx_view_show_some(const struct dx_view *view, struct dx_domain_pairs *pairs)
{
    size_t count = pairs->count;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (!dx_view_shows(view, pairs->ids[i]))
            continue;
        pairs->ids[n] = pairs->ids[i];
        pairs->counts[n++] = pairs->counts[i];
    }
    pairs->count = n;
    return count - n;
}

int dx_view_pairs(struct dx_domain_pairs *pairs, const struct dx_view *view,
                  const struct dx_part *part, uint64_t ordinal, struct dx_error *err)
{
    int rc = dx_domain_pairs_read(pairs, part, ordinal, err);

    if (rc < 0)
        return rc;
    (void)dx_view_show(view, pairs);
    return pairs->count > 0;
}

static int shows_some(const struct dx_view *view, const struct dx_dataset_set *set,
                      struct dx_error *err)
{
    DX_UNINITIALIZED uint32_t few[IDS_ON_STACK];
    size_t count = dx_dataset_set_count(set);
    uint32_t *ids = count <= IDS_ON_STACK ? few : malloc(count * sizeof *ids);
    bool some = false;

    if (ids == NULL)
        return dx_no_memory(err, "%zu datasets of a domain", count);
    (void)dx_dataset_set_ids(set, ids, count);
    for (size_t i = 0; i < count && !some; i++)
        some = dx_scope_has(view->scope, ids[i]);
    if (ids != few)
        free(ids);
    return some;
}

int dx_view_has_scope(const struct dx_view *view, const struct dx_part *part, uint64_t ordinal,
                      struct dx_error *err)
{
    struct dx_dataset_set set;
    int rc = dx_membership_get(&part->membership, ordinal, &set, err);
    return rc < 0 ? rc : shows_some(view, &set, err);
}

const struct dx_dataset *dx_view_dataset(const struct dx_view *view, const struct dx_part *part,
                                         uint32_t dataset_id, struct dx_error *err)
{
    const struct dx_dataset *d = dx_registry_by_id(&view->version->registry, dataset_id);

    if (d == NULL)
        (void)dx_fail(err, DX_E_CORRUPT, "%s: a domain is in dataset %u, which is not registered",
                      part->directory, (unsigned)dataset_id);
    return d;
}
