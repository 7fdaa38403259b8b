/* SPDX-License-Identifier: Apache-2.0
 * dataset_heads.h - how a dataset's object begins in the answers of a version.
 *
 *   rc = dx_dataset_heads_new(&h, &registry, &err);
 *   d = dx_dataset_heads_get(&h, dataset_id, &text);     {"dataset_id":7,"name":"…",   NULL: no such dataset
 *   dx_dataset_heads_release(&h);
 *
 * Names are escaped once, when a version is loaded, not in each answer; a popular domain is in a
 * thousand datasets. Memory: 30 bytes a dataset and its name. The registry must stay as it is,
 * until release. Read-only after new; any thread.
 */
#ifndef DX_LOADER_DATASET_HEADS_H
#define DX_LOADER_DATASET_HEADS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/root/registry_json.h"

struct dx_dataset_heads {
    const struct dx_registry *registry;
    uint32_t *at; /* in the text, for each of its datasets; it ends where the next one begins */
    struct dx_buf text;
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

#endif
