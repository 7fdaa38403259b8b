/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/shared_manifest.h"

#include <assert.h>
#include <stdlib.h>

int dx_shared_manifest_new(struct dx_shared_manifest **l, struct dx_manifest *manifest,
                           struct dx_error *err)
{
    *l = calloc(1, sizeof **l);
    if (*l == NULL)
        return dx_no_memory(err, "manifest");
    (*l)->manifest = *manifest;
    *manifest = (struct dx_manifest)DX_MANIFEST_INIT;
    atomic_init(&(*l)->holders, 1);
    return DX_OK;
}

struct dx_shared_manifest *dx_shared_manifest_hold(struct dx_shared_manifest *l)
{
    long before = atomic_fetch_add_explicit(&l->holders, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
    return l;
}

void dx_shared_manifest_put(struct dx_shared_manifest **l)
{
    struct dx_shared_manifest *it = *l;

    *l = NULL;
    if (it == NULL || atomic_fetch_sub_explicit(&it->holders, 1, memory_order_acq_rel) > 1)
        return;
    dx_manifest_release(&it->manifest);
    free(it);
}
