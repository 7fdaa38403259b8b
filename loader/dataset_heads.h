/* SPDX-License-Identifier: Apache-2.0
 * dataset_heads.h - how a dataset's object begins in the answers of a version.
 *
 *   rc = dx_dataset_heads_new(&h, &registry, &err);
 *   d = dx_dataset_heads_get(&h, dataset_id, &text);     {"dataset_id":7,"name":"…",   NULL: no such dataset
 *   kept = dx_dataset_heads_rank(&h, dataset_id, urls);    where the rank of so many URLs is kept, 0: not yet; may be NULL
 *   rank = dx_dataset_heads_kept(&h, d, urls);             what is kept there; 0: nothing
 *   dx_dataset_heads_release(&h);
 *
 * Names are escaped once, when a version is loaded, not in each answer; a popular domain is in a
 * thousand datasets. Most domains have few URLs in a dataset, so the ranks of so few are the same ones again and
 * again; each is searched for once (loader/version_parts.h). Memory: 30 bytes a dataset and its name, and 64 for
 * its ranks once one is asked for. The registry must stay as it is, until release. Any thread, after new.
 */
#ifndef DX_LOADER_DATASET_HEADS_H
#define DX_LOADER_DATASET_HEADS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/root/registry_json.h"

#include <stdatomic.h>

#define DX_RANKS_KEPT 16            /* of 1 to so many URLs */
#define DX_RANKED_MAX (1024u << 10) /* datasets; with more none is kept */

struct dx_dataset_heads {
    const struct dx_registry *registry;
    uint32_t *at; /* in the text, for each of its datasets; it ends where the next one begins */
    struct dx_buf text;
    _Atomic uint32_t *ranks; /* DX_RANKS_KEPT for each dataset, or NULL */
};

int dx_dataset_heads_new(struct dx_dataset_heads *h, const struct dx_registry *registry,
                         struct dx_error *err);
void dx_dataset_heads_release(struct dx_dataset_heads *h);

static inline const struct dx_dataset *dx_dataset_heads_get(const struct dx_dataset_heads *h,
                                                            uint32_t dataset_id,
                                                            struct dx_span *text)
{
    const struct dx_dataset *d = dx_registry_by_id(h->registry, dataset_id);
    const uint32_t *at = d == NULL ? NULL : &h->at[d - h->registry->datasets];

    if (at != NULL)
        *text = (struct dx_span){ h->text.data + at[0], at[1] - at[0] };
    return d;
}

static inline _Atomic uint32_t *dx_dataset_heads_place(const struct dx_dataset_heads *h,
                                                       const struct dx_dataset *d, uint64_t urls)
{
    return d == NULL || h->ranks == NULL || urls - 1 >= DX_RANKS_KEPT
               ? NULL
               : &h->ranks[(size_t)(d - h->registry->datasets) * DX_RANKS_KEPT + (size_t)urls - 1];
}

static inline _Atomic uint32_t *dx_dataset_heads_rank(const struct dx_dataset_heads *h,
                                                      uint32_t dataset_id, uint64_t urls)
{
    return dx_dataset_heads_place(h, dx_registry_by_id(h->registry, dataset_id), urls);
}

static inline uint32_t dx_dataset_heads_kept(const struct dx_dataset_heads *h,
                                             const struct dx_dataset *d, uint64_t urls)
{
    const _Atomic uint32_t *place = dx_dataset_heads_place(h, d, urls);

    return place == NULL ? 0 : atomic_load_explicit(place, memory_order_relaxed);
}

#endif
