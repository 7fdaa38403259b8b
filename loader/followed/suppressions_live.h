/* SPDX-License-Identifier: Apache-2.0
 * suppressions_live.h - the suppressions that hold now, for all versions of a process.
 *
 *   rc = dx_suppressions_live_open(&o, root, &options, DX_SUPPRESSIONS_LIVE_SERVE, &err);    no log: no rules
 *   caches->suppressions = o;                             versions opened with these caches obey it
 *   rc = dx_suppressions_live_check(o, &manifest, &err);       not behind what the manifest says; of the first one
 *   rc = dx_suppressions_live_look(o, &err);                   1 other rules, 0 the same, <0 kept the old ones; other rules
 *                                                              only come next, so that what they concern can be found first
 *   dx_suppressions_live_exchange(o);                          they hold now; none come next: nothing happens
 *
 *   const struct dx_rules *rules = dx_suppressions_live_pin(o);      NULL: nothing is suppressed; no lock then
 *   ... format/root/rules.h ...
 *   dx_suppressions_live_unpin(o, rules);                            NULL is fine
 *   dx_caches_free(&caches);                               closes it; or, of one's own:
 *   dx_suppressions_live_close(&o);                                  after the last version
 *
 * The log is index/suppressions.log (format/root/suppressions.h). A look costs a stat, or a
 * conditional GET. It is only ever followed forwards: one that does not continue the last, that is
 * damaged or cannot be read, or that was there and is gone, is refused, and what was known stays in
 * force. A process that begins with a log that cannot be read does not begin: open fails. Nor does
 * one whose log has fewer lines than were in force, or others (format/root/suppressions_floor.h):
 * it was lost, or is an older copy.
 *
 * Rules are counted snapshots and never change. Look and exchange are for one thread at a time; all else is safe
 * from every thread. o NULL is a log of suppressions without rules.
 */
#ifndef DX_LOADER_FOLLOWED_SUPPRESSIONS_LIVE_H
#define DX_LOADER_FOLLOWED_SUPPRESSIONS_LIVE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_suppressions_live;
struct dx_rules;
struct dx_manifest;
struct dx_source_options;

enum dx_suppressions_live_use {
    /* callers do not wait for rows to be read: query/suppression/suppression_view.h */
    DX_SUPPRESSIONS_LIVE_SERVE,
    DX_SUPPRESSIONS_LIVE_WAIT /* callers wait */
};

/* options: of a remote root; NULL: the defaults. Borrowed until open returns. */
int dx_suppressions_live_open(struct dx_suppressions_live **o, const char *root,
                              const struct dx_source_options *options,
                              enum dx_suppressions_live_use use, struct dx_error *err);
void dx_suppressions_live_close(struct dx_suppressions_live **o);
/* For the thread that polls: it looks again where the manifest says more than was read. o NULL: DX_OK. */
int dx_suppressions_live_check(struct dx_suppressions_live *o, const struct dx_manifest *m,
                               struct dx_error *err);
int dx_suppressions_live_look(struct dx_suppressions_live *o, struct dx_error *err);
void dx_suppressions_live_exchange(struct dx_suppressions_live *o);

const struct dx_rules *dx_suppressions_live_pin(struct dx_suppressions_live *o);
void dx_suppressions_live_unpin(struct dx_suppressions_live *o, const struct dx_rules *rules);

/* Counts the exchanges of rules, twice each: odd while one is under way. A look at an atomic. */
uint64_t dx_suppressions_live_turn(const struct dx_suppressions_live *o);

/* Pins them with their turn: those that hold, and those that come next (NULL: none do). */
const struct dx_rules *dx_suppressions_live_pin_turn(struct dx_suppressions_live *o,
                                                     uint64_t *turn);
const struct dx_rules *dx_suppressions_live_pin_next(struct dx_suppressions_live *o,
                                                     uint64_t *turn);

struct dx_suppressions_live_health {
    bool sound;
    uint64_t number;      /* of the last line of the log that is in force; 0: none */
    uint64_t rules;       /* active ones */
    uint64_t look_age_ms; /* since the last look ended */
    char text[520];       /* "sound", why the last poll was refused, or that one hangs */
};

void dx_suppressions_live_health(struct dx_suppressions_live *o,
                                 struct dx_suppressions_live_health *health);
enum dx_suppressions_live_use dx_suppressions_live_use_of(const struct dx_suppressions_live *o);

/* What a layer above keeps as long as they are open: made by the first call, dropped first by close.
 * make NULL: only what is there. NULL: out of memory, or it is not there. */
void *dx_suppressions_live_kept(struct dx_suppressions_live *o,
                                void *(*make)(struct dx_suppressions_live *o),
                                void (*drop)(void *kept));

#endif
