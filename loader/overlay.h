/* SPDX-License-Identifier: Apache-2.0
 * overlay.h - the suppressions that hold now, for all versions of a process.
 *
 *   rc = dx_overlay_open(&o, root, &options, DX_OVERLAY_SERVE, &err);    no log: no rules
 *   caches->overlay = o;                             versions opened with these caches obey it
 *   rc = dx_overlay_poll(o, &err);                   1 other rules, 0 the same, <0 kept the old ones
 *
 *   const struct dx_rules *rules = dx_overlay_pin(o);      NULL: nothing is suppressed; no lock then
 *   ... format/rules.h ...
 *   dx_overlay_unpin(o, rules);                            NULL is fine
 *   dx_caches_free(&caches);                               closes it; or, of one's own:
 *   dx_overlay_close(&o);                                  after the last version
 *
 * The log is index/suppressions.log (format/suppressions.h). A poll costs a stat, or a conditional
 * GET. It is only ever followed forwards: one that is no continuation of the last, that is damaged or
 * cannot be read, or that was there and is gone, is refused, and what was known stays in force.
 * A process that begins with a log that cannot be read does not begin: open fails.
 *
 * Rules are counted snapshots and never change. Poll is for one thread at a time; all else is safe
 * from every thread. o NULL is an overlay without rules.
 */
#ifndef DX_LOADER_OVERLAY_H
#define DX_LOADER_OVERLAY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_overlay;
struct dx_rules;
struct dx_source_options;

enum dx_overlay_use {
    DX_OVERLAY_SERVE, /* who asks does not wait for rows to be read: query/withheld.h */
    DX_OVERLAY_WAIT   /* who asks has time */
};

/* options: of a remote root; NULL: the defaults. Borrowed until open returns. */
int dx_overlay_open(struct dx_overlay **o, const char *root,
                    const struct dx_source_options *options, enum dx_overlay_use use,
                    struct dx_error *err);
void dx_overlay_close(struct dx_overlay **o);
int dx_overlay_poll(struct dx_overlay *o, struct dx_error *err);

const struct dx_rules *dx_overlay_pin(struct dx_overlay *o);
void dx_overlay_unpin(struct dx_overlay *o, const struct dx_rules *rules);

/* Counts the exchanges of rules, twice each: odd while one is under way. A look at an atomic. */
uint64_t dx_overlay_turn(const struct dx_overlay *o);

struct dx_overlay_health {
    bool sound;
    uint64_t number; /* of the last line of the log that is in force; 0: none */
    uint64_t rules;  /* active ones */
    char text[520];  /* "sound", or why the last poll was refused */
};

void dx_overlay_health(struct dx_overlay *o, struct dx_overlay_health *health);
enum dx_overlay_use dx_overlay_use_of(const struct dx_overlay *o);

/* What a layer above keeps as long as the overlay: made by the first call, dropped first by close.
 * NULL: out of memory. */
void *dx_overlay_kept(struct dx_overlay *o, void *(*make)(struct dx_overlay *o),
                      void (*drop)(void *kept));

#endif
