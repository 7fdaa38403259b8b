/* SPDX-License-Identifier: Apache-2.0
 * numbers_now.h - the registry of numbers of a root as it is now, followed while a server serves.
 *
 *   rc = dx_numbers_now_open(&now, &where, dx_clock_ms(), &err);    a damaged registry is no error here: see health
 *   rc = dx_numbers_now_poll(now, false, dx_clock_ms(), &err);      1 another one (or none any more), 0 the same,
 *                                                                   <0 what was known holds on
 *   rc = dx_numbers_now_pin(now, NULL, &numbers, &err);             1; 0: the root has none; <0: it has one that
 *                                                                   cannot be read
 *   rc = dx_numbers_now_pin(now, &state, &numbers, &err);           that of this state: 1; 0: it is not open any more
 *   dx_numbers_close(&numbers);
 *   dx_numbers_now_close(&now);                                     what is pinned stays
 *
 * A look costs a stat, or a conditional GET. Who pins has one registry to the end, whatever is filled, merged or
 * made anew meanwhile. One that was superseded stays open for `keep_ms`, for those who go on with a list that they
 * began (of the last DX_NUMBERS_KEPT). A registry that cannot be opened changes nothing: the one before holds on, and
 * it is tried again when its list changes, after DX_NUMBERS_AGAIN_MS, or when somebody asks. One whose files were
 * changed under way is opened anew.
 *
 * Poll is for one thread at a time, all else for any. now NULL: the root has none.
 */
#ifndef DX_LOADER_NUMBERS_NOW_H
#define DX_LOADER_NUMBERS_NOW_H

#include "base/hash.h"
#include "loader/numbers.h"

#define DX_NUMBERS_KEPT 4
#define DX_NUMBERS_AGAIN_MS 10000

struct dx_numbers_now;

/* Borrowed until open returns, but root, dir and source, which are copied or kept: they outlive it. */
struct dx_numbers_where {
    const char *root;
    const struct dx_source_options *source; /* of a remote root */
    struct dx_numbers_options options;
    uint64_t keep_ms;
};

int dx_numbers_now_open(struct dx_numbers_now **now, const struct dx_numbers_where *where,
                        uint64_t now_ms, struct dx_error *err);
int dx_numbers_now_poll(struct dx_numbers_now *now, bool asked, uint64_t now_ms,
                        struct dx_error *err);
int dx_numbers_now_pin(struct dx_numbers_now *now, const struct dx_build_id *state,
                       struct dx_numbers **numbers, struct dx_error *err);
void dx_numbers_now_close(struct dx_numbers_now **now);

struct dx_numbers_health {
    bool present;      /* there is one that answers */
    bool sound;        /* the last look was well, or there never was a registry */
    uint32_t fillings; /* of the one that answers */
    uint64_t names;
    char text[520]; /* "sound", or why the last look was not well */
};

void dx_numbers_now_health(struct dx_numbers_now *now, struct dx_numbers_health *health);

#endif
