/* SPDX-License-Identifier: Apache-2.0
 * current_parts.h - what struct dx_current consists of; for current.c (open, pin, reload),
 * current_load.c (one version until it may serve), current_fetch.c (versions by name) and
 * current_lease.c (what a lease holds, and until when).
 *
 * Locks, in this order: lease_lock, which is held over the network; lock, which is short; those of
 * a version and of the lease, which are leaves.
 */
#ifndef DX_LOADER_CURRENT_PARTS_H
#define DX_LOADER_CURRENT_PARTS_H

#include "loader/current_options.h"
#include "loader/current_stats.h"
#include "loader/followed/followed.h"
#include "loader/open_versions.h"
#include "loader/version.h"

#include <pthread.h>

struct dx_lease;

/* One open for all who want the same version. On the list, and with those who wait for it. */
struct dx_fetching {
    struct dx_fetching *next;
    char name[DX_VERSION_NAME];
    unsigned holders;
    bool done;
    int rc;
    struct dx_error err;
};

/* Not resident any more, perhaps still used by requests. */
struct dx_leaving {
    char name[DX_VERSION_NAME];
    uint64_t until_ms;
};

#define DX_LEAVING_MAX 64
#define DX_FETCHING_MAX 64

struct dx_current {
    char *root;
    struct dx_current_options how;
    struct dx_version_options options;
    struct dx_source_options source_options; /* that `options` names; of a remote root */
    struct dx_caches *caches;
    struct dx_version *_Atomic version; /* the first resident; written under the lock */
    _Atomic uint64_t fence_ms; /* no request begins on `version` from then on; UINT64_MAX: never */
    _Atomic uint64_t access;   /* the highest generation of a table that a manifest named */

    /* Of the owner's thread. */
    struct dx_followed followed;        /* the manifest */
    struct dx_shared_manifest *refused; /* whose candidate has failed; NULL: none */
    struct dx_error refusal;            /* then: why */
    uint64_t retry_ms;                  /* and not again before */

    pthread_mutex_t lease_lock; /* one hold at a time */

    pthread_mutex_t lock; /* of all below, and of the step from finding a version to pinning it */
    pthread_cond_t landed;
    struct dx_fetching *fetching;
    unsigned fetching_count;
    struct dx_open_versions open_versions;
    struct dx_leaving leaving[DX_LEAVING_MAX];
    size_t leaving_count;
    char candidate[DX_VERSION_NAME];   /* that a reload is about to load; "": none */
    struct dx_shared_manifest *listed; /* the manifest that was taken last */
    struct dx_error failure;           /* of the last reload; its text is empty if it was well */
    struct dx_error lease_failure;     /* of the last hold */
    struct dx_current_stats stats;     /* what is counted here; the rest is filled in when asked */
};

/* ---- current.c ---- */

/* Takes m, or says why it is not to be believed. since: dx_current_seen before m was read, so that
 * an m that a newer one overtook on its way does not count as a step back. Without the lock. */
uint64_t dx_current_seen(struct dx_current *cur);
int dx_current_take(struct dx_current *cur, struct dx_manifest *m, uint64_t since,
                    struct dx_error *err);
struct dx_shared_manifest *dx_current_listed(struct dx_current *cur); /* the caller holds it */

/* An entry that versions may be opened from; NULL: there is none. */
const struct dx_manifest_version *dx_current_kept(const struct dx_shared_manifest *m,
                                                  const char *name);
/* With the lock: a resident that requests may use, pinned, or NULL. */
struct dx_version *dx_current_pin_resident(struct dx_current *cur, const char *name);

/* Those whose files were changed serve no requests; a request for one by name reopens it. */
void dx_current_drop_poisoned(struct dx_current *cur);

/* One more has become resident, and what is too many goes: before the lock is given up for the
 * first time, as there is room for one more only. With the lock, which it gives up to unpin. */
void dx_current_trim(struct dx_current *cur);

/* What evict, excess, over or remove handed back; with the lock. Unpin it without. */
void dx_current_leaves(struct dx_current *cur, const struct dx_version *v);

/* ---- current_load.c ---- */

/* Opened, listed and prepared, after there is room for it. */
int dx_current_load_kept(struct dx_current *cur, struct dx_shared_manifest *m,
                         const struct dx_manifest_version *entry, struct dx_version **v,
                         struct dx_error *err);
/* All that a version goes through before it is the current one. */
int dx_current_load(struct dx_current *cur, struct dx_shared_manifest *m,
                    const struct dx_manifest_version *entry, bool first, struct dx_version **v,
                    enum dx_reload_step *step, struct dx_error *err);

/* ---- current_lease.c ---- */

/* All that this process goes on with is held, `name` among it (NULL: nothing more), and the
 * manifest was taken that was read after. DX_E_NOT_FOUND: it does not list name. DX_OK without a
 * lease. Without the lock. */
int dx_current_hold(struct dx_current *cur, const char *name, struct dx_error *err);

/* Whether a request may begin on it now. With the lock. */
bool dx_current_may_use(struct dx_current *cur, const struct dx_version *v);
void dx_current_set_fence(struct dx_current *cur); /* with the lock, for `version` */

#endif
