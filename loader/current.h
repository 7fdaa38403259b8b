/* SPDX-License-Identifier: Apache-2.0
 * current.h - the versions that requests are answered from: the current one, and others kept.
 *
 *   struct dx_current_options o = DX_CURRENT_OPTIONS_INIT;  o.version = &version_options;
 *   rc = dx_current_open(&cur, root, &o, &err);      loads what the manifest names
 *   struct dx_version *v = dx_current_pin(cur);      NULL: the lease has run out (see below)
 *   ... answer from v ...
 *   dx_version_unpin(v);                             from any thread; NULL is fine
 *   v = dx_current_pin_again(cur, held);             no lock while `held` is the current one
 *   if (dx_current_is(cur, held)) ...                the same without a pin: for who has one and
 *                                                    counts its users by itself
 *
 *   switch (dx_current_pin_named(cur, name, &v))     a request that names a version
 *   rc = dx_current_bring(cur, name, &v, &err);      of a worker: opens it if need be
 *
 *   rc = dx_current_reload(cur, &err);               1 swapped, 0 nothing to do, <0 kept the old
 *   dx_current_retry(cur);                           the next reload tries again what failed
 *   ms = dx_current_tend(cur);                       lets go what is over; again in so many ms
 *   dx_current_health(cur, &health);                 what /readyz says
 *   dx_current_stats(cur, &stats);                   what /metrics says
 *   dx_current_close(&cur);
 *
 * A reload reads the manifest only if it is another one than the last: by a conditional GET over a
 * source that is kept open, or by stat. Then: memory (is there room), load (open and check), warm
 * (read what is mapped, in slices; the domains asked lately), `prepare` (the caller's functions, in
 * order), swap. A failure at any step keeps the old version; that candidate is not tried again until
 * the manifest changes, a minute is over, or dx_current_retry. A version that is resident already (a
 * rollback) is not loaded again. A manifest that is older than one that was seen is refused.
 *
 * Resident is: the current version; those that it superseded, for cursor_life_ms; those that were
 * brought by name, until they are in the way. What is resident stays open without any pin. What
 * stops to be resident is closed when its last pin is gone. At most `resident_versions`, and at
 * most `resident_bytes` of mapped files: a brought version goes first, the longest unused one,
 * then the one that was superseded first; if that is not enough, a load is refused.
 *
 * pin and pin_named take one short lock, unpin none; all are safe from every thread. bring blocks
 * on disk or network, one open for all who want the same. open, reload, retry, tend, poisoned and
 * close are for one thread, the owner. Options are copied, texts and all; a prepare's ctx is the caller's.
 *
 * With a lease (loader/lease.h) every version is held by it before it is opened, and no request
 * begins that may not end before the lease does: then pin says NULL and pin_named COLD, until
 * dx_current_renew has succeeded again. Hold, rival and until of the lease are called from here only.
 *
 * A version whose mapped files were changed (loader/guard.h) answers nobody any more. A reload opens
 * it anew with each byte verified, or the current one of the manifest if that is another, and tries
 * again soon if it cannot.
 *
 * A version of which objects were found replaced, cut or gone is still the current one: what can
 * be read of it is right, and what cannot is an error of that request. Its health is degraded, as
 * it is while reloads fail.
 */
#ifndef DX_LOADER_CURRENT_H
#define DX_LOADER_CURRENT_H

#include "base/error.h"
#include "format/manifest.h"
#include "loader/residents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_caches;
struct dx_current;
struct dx_lease;
struct dx_version;
struct dx_version_options;

/* Runs on a version that nobody has seen yet, before it serves; a negative result refuses it. In
 * the owner's thread, or, of a version that is brought, in that of the bringer. */
struct dx_prepare {
    const char *name; /* one word, for logs and metrics; not copied */
    int (*run)(void *ctx, struct dx_version *v, struct dx_error *err);
    void *ctx;
};

#define DX_PREPARES_MAX 8

#define DX_RESIDENT_VERSIONS 8
#define DX_CURSOR_LIFE_MS (900u * 1000)

struct dx_current_options {
    const struct dx_version_options *version;
    uint64_t cursor_life_ms;    /* a superseded version stays for so long */
    uint64_t resident_bytes;    /* of mapped files; 0: no cap of its own */
    unsigned resident_versions; /* DX_RESIDENT_MIN .. DX_RESIDENT_MAX */
    struct dx_lease *lease;     /* borrowed; NULL: none. Its locking is ours */
    uint64_t request_ms;        /* with a lease: no request takes longer */
    bool warm; /* read the mapped files before a swap, if they fit into MemAvailable; else refuse */
    struct dx_prepare prepare[DX_PREPARES_MAX];
    size_t prepare_count;
};

#define DX_CURRENT_OPTIONS_INIT                                                       \
    {                                                                                 \
        NULL, DX_CURSOR_LIFE_MS, 0, DX_RESIDENT_VERSIONS, NULL, 0, true, { { 0 } }, 0 \
    }

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
    DX_PIN_HELD,   /* *v is pinned: yours to unpin */
    DX_PIN_COLD,   /* kept by the manifest, not open here: dx_current_bring */
    DX_PIN_NEWER,  /* its sequence is above all that this process has seen */
    DX_PIN_GONE,   /* not kept any more, or about to go */
    DX_PIN_UNKNOWN /* no name of a version */
};

/* No I/O. *v is NULL but for HELD. */
enum dx_pin_result dx_current_pin_named(struct dx_current *cur, const char *name,
                                        struct dx_version **v);

/* DX_OK with *v pinned; DX_E_NOT_FOUND: not kept; DX_E_BUSY: no room for it now. */
int dx_current_bring(struct dx_current *cur, const char *name, struct dx_version **v,
                     struct dx_error *err);

int dx_current_reload(struct dx_current *cur, struct dx_error *err);
void dx_current_retry(struct dx_current *cur);

/* Each third of the lease's TTL, from a thread for it: a load may take longer. rival: words on
 * another process with our name, or "". DX_OK without a lease. */
#define DX_RIVAL_TEXT 256
int dx_current_renew(struct dx_current *cur, char rival[DX_RIVAL_TEXT], struct dx_error *err);

/* The current version answers nobody, until a reload has opened it anew. */
bool dx_current_poisoned(struct dx_current *cur);

/* Bounded also while nothing will be over: what is brought meanwhile has an end too, and its lease
 * keeps collectors away. */
uint64_t dx_current_tend(struct dx_current *cur);

/* Shared by all its versions; lives as long as cur. */
struct dx_caches *dx_current_caches(struct dx_current *cur);

struct dx_current_health {
    bool sound;
    uint64_t objects_broken; /* reads of the current version that found another object, or none */
    char text[640];          /* "sound", or what is wrong */
};

/* Any thread. */
void dx_current_health(struct dx_current *cur, struct dx_current_health *health);

/* Where a reload can end; the last is the sum of all prepares. */
enum dx_reload_step {
    DX_RELOAD_OK,
    DX_RELOAD_MANIFEST, /* could not be read, or went back */
    DX_RELOAD_LEASE,
    DX_RELOAD_MEMORY,
    DX_RELOAD_LOAD,
    DX_RELOAD_WARM,
    DX_RELOAD_PREPARE,
    DX_RELOAD_STEPS
};

const char *dx_reload_step_name(enum dx_reload_step step);

struct dx_current_stats {
    uint64_t sequence; /* of the manifest */
    int64_t published_us;
    int64_t loaded_us; /* when the current version was swapped in */
    uint64_t objects_broken;
    uint64_t reloads[DX_RELOAD_STEPS]; /* by where they ended; OK: flips */
    uint64_t brought;                  /* versions opened by name */
    uint64_t bring_failures;
    /* Of the last load that came to the end of the phase, in seconds. */
    uint64_t
        lease_ms; /* until the lease of the current version ends; 0: it has, or there is none */
    bool leased;
    double load_s, warm_s;
    double prepare_s[DX_PREPARES_MAX];
    const char *prepare_name[DX_PREPARES_MAX];
    size_t prepare_count;
    uint64_t mapped_bytes; /* of all versions that are open, resident or only pinned */
    uint64_t mapped_versions;
    size_t resident_count; /* the first is the current one */
    char resident[DX_RESIDENT_MAX + 1][DX_VERSION_NAME];
};

/* Any thread. */
void dx_current_stats(struct dx_current *cur, struct dx_current_stats *stats);

#endif
