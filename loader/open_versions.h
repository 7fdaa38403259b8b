/* SPDX-License-Identifier: Apache-2.0
 * open_versions.h - which versions stay open without being asked for, and which goes first.
 *
 *   struct dx_open_versions r = { .limit = 8 };
 *   dx_open_versions_promote(&r, v, now_ms);            v is the current one; the last one superseded
 *   dx_open_versions_fetch(&r, v, now_ms);              v was asked for by name
 *   item = dx_open_versions_find(&r, name);             NULL: not resident
 *   while ((v = dx_open_versions_over(&r, life_ms, now_ms)) != NULL) dx_version_unpin(v);
 *   while ((v = dx_open_versions_excess(&r)) != NULL) dx_version_unpin(v);
 *   v = dx_open_versions_evict(&r, fetched_only);       NULL: there is none to go
 *
 * Each item has one pin on its version, which promote and fetch take over and over, excess and
 * evict hand back. The current version never goes. First go those that were fetched, the one that
 * was not used for longest; then those that were current, the one that was superseded first. One
 * place is kept for what is fetched. Plain bookkeeping: the caller has the lock, and unpins
 * without it, as the last unpin unmaps. Any thread, with that lock.
 */
#ifndef DX_LOADER_OPEN_VERSIONS_H
#define DX_LOADER_OPEN_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_RESIDENT_MIN 3 /* the current one, the one before it, one that is fetched */
#define DX_RESIDENT_MAX 64

struct dx_version;

struct dx_open_version {
    struct dx_version *version;
    bool fetched;      /* and never current */
    uint64_t since_ms; /* superseded, or used last */
};

struct dx_open_versions {
    struct dx_open_version items[DX_RESIDENT_MAX + 1]; /* the first is the current one */
    size_t count;
    size_t limit; /* DX_RESIDENT_MIN .. DX_RESIDENT_MAX */
};

/* v may be an item already: then its new pin is handed back. Else NULL. */
struct dx_version *dx_open_versions_promote(struct dx_open_versions *r, struct dx_version *v,
                                            uint64_t now_ms);
/* There must be room: excess has said NULL. */
void dx_open_versions_fetch(struct dx_open_versions *r, struct dx_version *v, uint64_t now_ms);
struct dx_open_version *dx_open_versions_find(struct dx_open_versions *r, const char *name);

/* Out of the list, whatever it is but for the current one. */
struct dx_version *dx_open_versions_remove(struct dx_open_versions *r,
                                           struct dx_open_version *item);
struct dx_version *dx_open_versions_over(struct dx_open_versions *r, uint64_t life_ms,
                                         uint64_t now_ms);
struct dx_version *dx_open_versions_excess(struct dx_open_versions *r);
struct dx_version *dx_open_versions_evict(struct dx_open_versions *r, bool fetched_only);

/* When the next one will be over; UINT64_MAX: none. */
uint64_t dx_open_versions_next_ms(const struct dx_open_versions *r, uint64_t life_ms);

#endif
