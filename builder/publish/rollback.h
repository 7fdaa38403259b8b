/* SPDX-License-Identifier: Apache-2.0
 * rollback.h - a kept version becomes current again.
 *
 *   struct dx_rollback_options o = { .root = root, .version = "000003-20261119T103000Z" };
 *   rc = dx_rollback(&o, &r, &err);        DX_OK: r.to is current now, r.from was it before
 *
 * Only the manifest is changed: one put, under the next sequence, that makes the version current
 * and clears its mark if it was condemned. In a directory under the root's lock; on object storage
 * on the condition that the manifest is still the one that was read. A rollback that is refused because a
 * collector has changed entries tries again on what is there then; one that is refused because
 * another version has become current fails with DX_E_CONFLICT, and nothing was changed.
 * DX_E_UNKNOWN: the put may have been applied.
 *
 * DX_E_NOT_FOUND, with what there is: not in the manifest, or being removed. A version that is
 * current is left so (r.unchanged). In a directory the version must open; one on object storage is
 * not read, as servers do not take one that they cannot open.
 *
 * DX_E_EXISTS: files that were ingested and not published could stand beside equal rows of that
 * version (rollback_new.h); `force` makes it current all the same. If the lake cannot be looked at,
 * a bad version must still be left: r.unseen says why, and the rollback is done.
 *
 * What later versions had more stays out of the versions to come (builder/lake/lake_membership.h).
 */
#ifndef DX_BUILDER_PUBLISH_ROLLBACK_H
#define DX_BUILDER_PUBLISH_ROLLBACK_H

#include "base/error.h"
#include "format/version/manifest.h"

struct dx_rollback_options {
    const char *root;
    const char *version;   /* whole, or its number alone: "3", "000003" */
    uint64_t lock_wait_ms; /* for another run that writes into a directory */
    bool dry_run;          /* everything but the put */
    bool fixed_time;       /* now_us is the time; else the store's clock */
    int64_t now_us;
    bool force;
};

struct dx_rollback_result {
    bool unchanged;
    char from[DX_VERSION_NAME];
    char to[DX_VERSION_NAME];
    uint64_t sequence;  /* of the manifest now */
    uint64_t files_new; /* of the lake, that no version has */
    char unseen[256];   /* why that is not known; "": it is */
};

int dx_rollback(const struct dx_rollback_options *options, struct dx_rollback_result *result,
                struct dx_error *err);

#endif
