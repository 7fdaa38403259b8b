/* SPDX-License-Identifier: Apache-2.0
 * dataset_heads.h - how a dataset's object begins in the answers of a version.
 *
 *   rc = dx_dataset_heads_new(&h, &registry, &err);
 *   dx_dataset_heads_get(&h, dataset_id, &text)          {"dataset_id":7,"name":"…",   true; false: none
 *   dx_dataset_heads_release(&h);
 *
 * Names are escaped once, when a version is loaded, not in each answer; a popular domain is in
 * a thousand datasets. Memory: 30 bytes a dataset and its name. Read-only after new; any thread.
 */
#ifndef DX_LOADER_DATASET_HEADS_H
#define DX_LOADER_DATASET_HEADS_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_registry;

struct dx_dataset_head {
    uint32_t dataset_id;
    uint32_t at; /* in the text; it ends where the next one begins */
};

struct dx_dataset_heads {
    struct dx_dataset_head *heads; /* by id, and one behind the last */
    size_t count;
    struct dx_buf text;
};

int dx_dataset_heads_new(struct dx_dataset_heads *h, const struct dx_registry *registry,
                         struct dx_error *err);
void dx_dataset_heads_release(struct dx_dataset_heads *h);

bool dx_dataset_heads_find(const struct dx_dataset_heads *h, uint32_t dataset_id, size_t *i);

static inline bool dx_dataset_heads_get(const struct dx_dataset_heads *h, uint32_t dataset_id,
                                        struct dx_span *text)
{
    size_t i = (size_t)dataset_id - 1; /* where it stands if no dataset was ever removed */

    if ((i >= h->count || h->heads[i].dataset_id != dataset_id) &&
        !dx_dataset_heads_find(h, dataset_id, &i))
        return false;
    *text = (struct dx_span){ h->text.data + h->heads[i].at, h->heads[i + 1].at - h->heads[i].at };
    return true;
}

#endif
