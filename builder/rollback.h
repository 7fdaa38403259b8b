/* SPDX-License-Identifier: Apache-2.0
 * rollback.h - a kept version becomes current again.
 *
 *   struct dx_rollback_options o = { .root = root, .version = "000003-20261119T103000Z" };
 *   rc = dx_rollback(&o, &r, &err);        DX_OK: r.to is current now, r.from was it before
 *
 * Only the manifest is changed: one put, under the next sequence, that makes the version current and
 * clears its mark if it was condemned. In a directory under the root's lock; on object storage on
 * the condition that the manifest is still the one that was read. Who is refused because a collector
 * has changed entries tries again on what is there then; who is refused because another version has
 * become current is told (DX_E_CONFLICT), and nothing was changed. DX_E_UNKNOWN: nobody could tell
 * whether the put arrived.
 *
 * DX_E_NOT_FOUND, with what there is: not in the manifest, or being removed. A version that is
 * current is left so (r.unchanged). In a directory the version must open; one on object storage is not
 * read, as servers do not take one that they cannot open.
 *
 * What later versions had more stays out of the versions to come (builder/lake_named.h).
 */
#ifndef DX_BUILDER_ROLLBACK_H
#define DX_BUILDER_ROLLBACK_H

#include "base/error.h"
#include "format/manifest.h"

struct dx_rollback_options {
    const char *root;
    const char *version; /* whole, or its number alone: "3", "000003" */
    bool fixed_time;     /* now_us is the time; else the store's clock */
    int64_t now_us;
};

struct dx_rollback_result {
    bool unchanged;
    char from[DX_VERSION_NAME];
    char to[DX_VERSION_NAME];
    uint64_t sequence; /* of the manifest now */
};

int dx_rollback(const struct dx_rollback_options *options, struct dx_rollback_result *result,
                struct dx_error *err);

#endif
