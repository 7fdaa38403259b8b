/* SPDX-License-Identifier: Apache-2.0
 * domain64_live.h - the domain64 registry of a root as it is now, followed while a server serves.
 *
 *   rc = dx_domain64_live_open(&now, &where, dx_clock_ms(), &err);    a damaged registry is not an error here: see health
 *   rc = dx_domain64_live_poll(now, false, dx_clock_ms(), &err);      1 another one (or none any more), 0 the same,
 *                                                                   <0 what was known holds on
 *   rc = dx_domain64_live_pin(now, NULL, &numbers, &err);             1; 0: the root has none; <0: it has one that
 *                                                                   cannot be read
 *   rc = dx_domain64_live_pin(now, &state, &numbers, &err);           that of this state: 1; 0: it is not open any more
 *   dx_domain64_registry_close(&numbers);
 *   dx_domain64_live_close(&now);                                     what is pinned stays
 *
 * A look costs a stat, or a conditional GET. A pinned registry stays the same to the end, whatever
 * is added, merged or rebuilt meanwhile. A superseded one stays open for `keep_ms`, for listings
 * that began with it (of the last DX_DOMAIN64_REGISTRY_KEPT). A registry that cannot be opened
 * changes nothing: the one before holds on, and it is tried again when its list changes, after
 * DX_DOMAIN64_REGISTRY_AGAIN_MS, or when a caller asks. One whose files were changed meanwhile is
 * reopened.
 *
 * Poll is for one thread at a time, all else for any. now NULL: the root has none.
 */
#ifndef DX_LOADER_FOLLOWED_DOMAIN64_LIVE_H
#define DX_LOADER_FOLLOWED_DOMAIN64_LIVE_H

#include "base/hash.h"
#include "loader/followed/domain64_registry.h"

#define DX_DOMAIN64_REGISTRY_KEPT 4
#define DX_DOMAIN64_REGISTRY_AGAIN_MS 10000

struct dx_domain64_live;

/* Borrowed until open returns, but root, dir and source, which are copied or kept: they outlive
 * it. */
struct dx_domain64_registry_where {
    const char *root;
    const struct dx_source_options *source; /* of a remote root */
    struct dx_domain64_registry_options options;
    uint64_t keep_ms;
};

int dx_domain64_live_open(struct dx_domain64_live **now,
                          const struct dx_domain64_registry_where *where, uint64_t now_ms,
                          struct dx_error *err);
int dx_domain64_live_poll(struct dx_domain64_live *now, bool asked, uint64_t now_ms,
                          struct dx_error *err);
int dx_domain64_live_pin(struct dx_domain64_live *now, const struct dx_build_id *state,
                         struct dx_domain64_registry **numbers, struct dx_error *err);
void dx_domain64_live_close(struct dx_domain64_live **now);

struct dx_domain64_registry_health {
    bool present;      /* there is one that answers */
    bool sound;        /* the last look was well, or there never was a registry */
    uint32_t fillings; /* of the one that answers */
    uint64_t names;
    uint64_t look_age_ms; /* since the last look ended */
    char text[520];       /* "sound", or why the last look was not well */
};

void dx_domain64_live_health(struct dx_domain64_live *now,
                             struct dx_domain64_registry_health *health);

#endif
