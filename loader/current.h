/* SPDX-License-Identifier: Apache-2.0
 * current.h - the versions that requests are answered from: the current one, and others kept.
 *
 *   struct dx_current_options o = DX_CURRENT_OPTIONS_INIT;  o.version = &version_options;
 *   rc = dx_current_open(&cur, root, &o, &err);      loads what the manifest names
 *   struct dx_version *v = dx_current_pin(cur);      NULL: the lease has run out (see below)
 *   ... answer from v ...
 *   dx_version_unpin(v);                             from any thread; NULL is fine
 *   v = dx_current_pin_again(cur, held);             no lock while `held` is the current one
 *   if (dx_current_is(cur, held)) ...                the same without a pin: for a caller that has one and
 *                                                    counts its users by itself
 *
 *   switch (dx_current_pin_named(cur, name, &v))     a request that names a version
 *   rc = dx_current_fetch(cur, name, &v, &err);      of a worker: opens it if need be
 *
 *   rc = dx_current_reload(cur, &err);               1 swapped, 0 nothing to do, <0 kept the old
 *   dx_current_retry(cur);                           the next reload tries again what failed
 *   ms = dx_current_tend(cur);                       lets go what is over; again in so many ms
 *   dx_current_health(cur, &health);                 what /readyz says
 *   dx_current_stats(cur, &stats);                   what /metrics says
 *   dx_current_close(&cur);
 *
 * A reload reads the manifest only if it is another one than the last: by a conditional GET over a
 * source that is kept open, or by open and stat. Then: memory (is there room), load (open and
 * check), warm (read what is mapped, in slices; the domains asked lately), `prepare` (the caller's
 * functions, in order), swap. A failure at any step keeps the old version; that candidate is not
 * tried again until the manifest changes, a minute is over, or dx_current_retry. A version that is
 * resident already (a rollback) is not loaded again. A manifest that is older than one that was
 * seen is refused.
 *
 * Resident is: the current version; those that it superseded, for cursor_life_ms; those that were
 * fetched by name, until they are in the way. What is resident stays open without any pin. What
 * stops to be resident is closed when its last pin is gone. At most `resident_versions`, and at
 * most `resident_bytes` of mapped files: a fetched version goes first, the longest unused one,
 * then the one that was superseded first; if that is not enough, a load is refused.
 *
 * pin and pin_named take one short lock, unpin none; all are safe from every thread. fetch blocks
 * on disk or network, one open for all who want the same. open, reload, retry, tend, poisoned and
 * close are for one thread, the owner. Options are copied, texts and all; a prepare's ctx is the
 * caller's.
 *
 * With a lease (loader/lease.h) every version is held by it before it is opened, and no request
 * begins that may not end before the lease does: then pin says NULL and pin_named COLD, until
 * dx_current_renew has succeeded again. Hold, rival and until of the lease are called from here
 * only.
 *
 * A version whose mapped files were changed (loader/guard/guard.h) answers no requests any more. A reload
 * reopens it with each byte verified, or the current one of the manifest if that is another, and
 * tries again soon if it cannot.
 *
 * A version of which objects were found replaced, cut or gone is still the current one: what can
 * be read of it is right, and what cannot is an error of that request. Its health is degraded, as
 * it is while reloads fail.
 */
#ifndef DX_LOADER_CURRENT_H
#define DX_LOADER_CURRENT_H

#include "base/error.h"
#include "format/version/manifest.h"
#include "loader/current_options.h"
#include "loader/current_stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_caches;
struct dx_current;
struct dx_lease;
struct dx_version;
struct dx_version_options;

int dx_current_open(struct dx_current **cur, const char *root,
                    const struct dx_current_options *options, struct dx_error *err);
void dx_current_close(struct dx_current **cur);

struct dx_version *dx_current_pin(struct dx_current *cur);

/* held: NULL, or a version that the caller has pinned, of which it keeps its pin. A loop that
 * holds one answers request after request without a lock that other loops take. */
struct dx_version *dx_current_pin_again(struct dx_current *cur, struct dx_version *held);
/* Whether pin would give it: nothing is written. The caller has it pinned. */
bool dx_current_is(struct dx_current *cur, const struct dx_version *held);
void dx_version_unpin(struct dx_version *v);

enum dx_pin_result {
    DX_PIN_HELD,     /* *v is pinned: yours to unpin */
    DX_PIN_NOT_OPEN, /* kept by the manifest, not open here: dx_current_fetch */
    DX_PIN_NEWER,    /* its sequence is above all that this process has seen */
    DX_PIN_GONE,     /* not kept any more, or about to go */
    DX_PIN_UNKNOWN   /* no name of a version */
};

/* No I/O. *v is NULL but for HELD. */
enum dx_pin_result dx_current_pin_named(struct dx_current *cur, const char *name,
                                        struct dx_version **v);

/* DX_OK with *v pinned; DX_E_NOT_FOUND: not kept; DX_E_BUSY: no room for it now. */
int dx_current_fetch(struct dx_current *cur, const char *name, struct dx_version **v,
                     struct dx_error *err);

int dx_current_reload(struct dx_current *cur, struct dx_error *err);
void dx_current_retry(struct dx_current *cur);

/* Each third of the lease's TTL, from a thread for it: a load may take longer. rival: words on
 * another process with our name, or "". DX_OK without a lease. */
#define DX_RIVAL_TEXT 256
int dx_current_renew(struct dx_current *cur, char rival[DX_RIVAL_TEXT], struct dx_error *err);

/* The current version answers no requests until a reload has reopened it. */
bool dx_current_poisoned(struct dx_current *cur);

/* Bounded also while nothing will be over: what is fetched meanwhile has an end too, and its lease
 * keeps collectors away. */
uint64_t dx_current_tend(struct dx_current *cur);

/* Shared by all its versions; lives as long as cur. */
struct dx_caches *dx_current_caches(struct dx_current *cur);

/* The highest generation of the access table that a manifest has named since open, for
 * struct dx_access_where; 0: none did. Any thread, while cur lives. */
const _Atomic uint64_t *dx_current_access(const struct dx_current *cur);

struct dx_current_health {
    bool sound;
    uint64_t objects_broken; /* reads of the current version that found another object, or none */
    char text[640];          /* "sound", or what is wrong */
};

/* Any thread. */
void dx_current_health(struct dx_current *cur, struct dx_current_health *health);

const char *dx_reload_step_name(enum dx_reload_step step);

/* Any thread. */
void dx_current_stats(struct dx_current *cur, struct dx_current_stats *stats);

#endif
