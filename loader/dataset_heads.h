/* SPDX-License-Identifier: Apache-2.0
 * dataset_heads.h - how a dataset's object begins in the answers of a version.
 *
 *   rc = dx_dataset_heads_new(&h, &registry, &err);
 *   head = dx_dataset_heads_get(&h, dataset_id);         NULL: no such dataset
 *   text = dx_dataset_head_text(&h, head);               {"dataset_id":7,"name":"…",
 *   place = dx_dataset_heads_rank(&h, head, urls);       where the rank of so many URLs is kept, 0: not yet; may be NULL
 *   rank = dx_dataset_heads_kept(&h, head, urls);        what is kept there; 0: nothing
 *   dx_dataset_heads_release(&h);
 *
 * Names are escaped once, when a version is loaded, not in each answer; a popular domain is in a
 * thousand datasets. Most domains have few URLs in a dataset, so the ranks of so few are the same ones again and
 * again; each is searched for once (loader/version_parts.h). What an item needs of its dataset stands side by side: the
 * registry has it among ten lines of cache. Memory: 50 bytes a dataset and its name, and 64 for
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

struct dx_dataset_head {
    uint32_t dataset_id;
    uint32_t at; /* in the text; it ends where the next one begins */
    uint64_t urls;
    bool of_counts;
};

struct dx_dataset_heads {
    const struct dx_registry *registry;
    struct dx_dataset_head *heads; /* as its datasets, and one more for the end */
    uint32_t count;
    uint32_t longest; /* text */
    struct dx_buf text;
    _Atomic uint32_t *ranks; /* DX_RANKS_KEPT for each dataset, or NULL */
};

int dx_dataset_heads_new(struct dx_dataset_heads *h, const struct dx_registry *registry,
                         struct dx_error *err);
void dx_dataset_heads_release(struct dx_dataset_heads *h);

const struct dx_dataset_head *dx_dataset_heads_search(const struct dx_dataset_heads *h,
                                                      uint32_t dataset_id);

static inline const struct dx_dataset_head *dx_dataset_heads_get(const struct dx_dataset_heads *h,
                                                                 uint32_t dataset_id)
{
    uint32_t likely = dataset_id - 1; /* where it stands if no dataset was ever removed */

    return likely < h->count && h->heads[likely].dataset_id == dataset_id
               ? &h->heads[likely]
               : dx_dataset_heads_search(h, dataset_id);
}

static inline struct dx_span dx_dataset_head_text(const struct dx_dataset_heads *h,
                                                  const struct dx_dataset_head *head)
{
    return (struct dx_span){ h->text.data + head[0].at, head[1].at - head[0].at };
}

static inline _Atomic uint32_t *dx_dataset_heads_rank(const struct dx_dataset_heads *h,
                                                      const struct dx_dataset_head *head,
                                                      uint64_t urls)
{
    return h->ranks == NULL || urls - 1 >= DX_RANKS_KEPT
               ? NULL
               : &h->ranks[(size_t)(head - h->heads) * DX_RANKS_KEPT + (size_t)urls - 1];
}

static inline uint32_t dx_dataset_heads_kept(const struct dx_dataset_heads *h,
                                             const struct dx_dataset_head *head, uint64_t urls)
{
    const _Atomic uint32_t *place = dx_dataset_heads_rank(h, head, urls);

    return place == NULL ? 0 : atomic_load_explicit(place, memory_order_relaxed);
}

#endif
