/* SPDX-License-Identifier: Apache-2.0
 * access.h - who may see which datasets now: index/access.json, followed while a server serves.
 *
 *   rc = dx_access_open(&a, &where, dx_clock_ms(), &err);    where.file NULL: {root}/index/access.json
 *   rc = dx_access_poll(a, dx_clock_ms(), &err);             1 another table, 0 the same, <0 kept the old one
 *   rc = dx_access_check(&where, &err);                      whether a process could begin with it
 *
 *   const struct dx_access_table *t = dx_access_pin(a);      NULL: there is none, all may see all
 *   ... format/root/access_table.h ...
 *   dx_access_unpin(t);
 *   dx_access_turn(a)                                        another number: pin again. A look at an atomic
 *   dx_access_known(a, dx_clock_ms())                        no: refuse all requests now
 *   dx_access_close(&a);                                     tables that are pinned stay
 *
 * A look costs an open, or a conditional GET. Generations only grow: a table that is older, another
 * one of the same generation, damaged, gone, or that cannot be read is refused, and the last one
 * holds for DX_ACCESS_STALE_MS from the last look that was well; then dx_access_known says no until
 * there is a good one. A table that is not in force counts as absent (`domaindex access remove`).
 *
 * The manifest of a root whose table is in force says which generation that has at least
 * (where.least): one that is lower, or that is not there, was lost, and counts as damaged. Where a manifest
 * that says so comes before its table was seen, all is shown for DX_ACCESS_STALE_MS, and then nothing.
 *
 * Where there never was a table, a look that fails changes nothing: an outage of the store does not
 * make an open server a closed one. One that is damaged is there. With where.required there has to
 * be one in force: open fails without, and one that goes out of force is refused like a damaged
 * one.
 *
 * A process that begins with a table that cannot be read does not begin: open fails. Poll is for
 * one thread at a time; all else for any. a NULL: there is no table.
 */
#ifndef DX_LOADER_FOLLOWED_ACCESS_H
#define DX_LOADER_FOLLOWED_ACCESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define DX_ACCESS_STALE_MS 600000

struct dx_access;
struct dx_access_table;
struct dx_source_options;

/* Borrowed until open returns, but for least. */
struct dx_access_where {
    const char *root;
    const char *file; /* of this machine; NULL: index/access.json of the root */
    const struct dx_source_options *source; /* of a remote root; NULL: the defaults */
    bool required;
    /* What the manifest says of the table, read before each look; it must outlive what is opened.
     * NULL: nothing. */
    const _Atomic uint64_t *least;
};

int dx_access_open(struct dx_access **a, const struct dx_access_where *where, uint64_t now_ms,
                   struct dx_error *err);
int dx_access_poll(struct dx_access *a, uint64_t now_ms, struct dx_error *err);
void dx_access_close(struct dx_access **a);
int dx_access_check(const struct dx_access_where *where, struct dx_error *err);

const struct dx_access_table *dx_access_pin(struct dx_access *a);
const struct dx_access_table *dx_access_hold(const struct dx_access_table *t); /* one pin more */
void dx_access_unpin(const struct dx_access_table *t);                         /* NULL is fine */
uint64_t dx_access_turn(const struct dx_access *a);
bool dx_access_known(const struct dx_access *a, uint64_t now_ms);

struct dx_access_health {
    bool present; /* a table is in force */
    bool sound;   /* the last look was well, and none hangs */
    bool known;   /* requests are answered */
    /* of the last good table, also of one that is out of force; 0: none was seen */
    uint64_t generation;
    uint64_t principals;
    int64_t read_us;      /* when the last look was well, since 1970 */
    uint64_t look_age_ms; /* since the last look ended */
    char text[520];       /* "sound", or why the last look was refused */
};

void dx_access_health(struct dx_access *a, uint64_t now_ms, struct dx_access_health *health);

#endif
