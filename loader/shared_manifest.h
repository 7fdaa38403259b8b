/* SPDX-License-Identifier: Apache-2.0
 * shared_manifest.h - one manifest that several hold: the versions that came with it, and those who
 * read it.
 *
 *   rc = dx_shared_manifest_new(&l, &manifest, &err);     takes what manifest has; the caller is a holder
 *   dx_shared_manifest_hold(l);                           one more; needs a holder that is there
 *   ... l->manifest ...                          read-only
 *   dx_shared_manifest_put(&l);                           the last one frees
 *
 * After new it is read-only; any thread may hold and put.
 */
#ifndef DX_LOADER_SHARED_MANIFEST_H
#define DX_LOADER_SHARED_MANIFEST_H

#include "format/version/manifest.h"

#include <stdatomic.h>

struct dx_shared_manifest {
    struct dx_manifest manifest;
    _Atomic long holders;
};

/* After an error `manifest` is as it was. */
int dx_shared_manifest_new(struct dx_shared_manifest **l, struct dx_manifest *manifest,
                           struct dx_error *err);
struct dx_shared_manifest *dx_shared_manifest_hold(struct dx_shared_manifest *l);
void dx_shared_manifest_put(struct dx_shared_manifest **l);

#endif
