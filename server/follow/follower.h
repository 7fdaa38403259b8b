/* SPDX-License-Identifier: Apache-2.0
 * follower.h - a thread that looks for something new again and again, and logs what is news.
 *
 *   rc = dx_follower_start(&f, &dx_watched_access, access, remote, poll_ms, &err);
 *   rc = dx_follower_start_each(&f, &dx_watched_lease, current, ttl_ms / 3, retry_ms, &err);
 *   dx_follower_ask(f);                    now, and log what came of it
 *   clean = dx_follower_stop(&f);          false: a look is under way and does not end soon
 *
 * start looks at the pace of a fleet: each poll_ms about (base/periodic.h), in a directory also
 * each local_ms of what is followed, which costs a stat; poll_ms 0: only when asked. start_each
 * looks each period_ms, and each retry_ms after a failure.
 *
 * A failure is logged when its words are others than the last time, or when it was asked for; a
 * success when something changed, or after a failure. Each follower has a thread of its own, so
 * that none waits for what another one loads.
 *
 * ask is safe from every thread; the others are for one, the owner.
 */
#ifndef DX_SERVER_FOLLOW_FOLLOWER_H
#define DX_SERVER_FOLLOW_FOLLOWER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_WATCHED_TEXT 256

struct dx_follower;

struct dx_watched {
    const char *name; /* that lines of the log begin with */
    unsigned local_ms;
    /* 1: something changed; 0: nothing did. */
    int (*look)(void *of, bool asked, struct dx_error *err);
    /* What look's rc means: the level for the log, or -1: nothing to say. Of a failure the words of
     * its error come behind the text. */
    int (*describe)(void *of, int rc, char text[DX_WATCHED_TEXT]);
};

int dx_follower_start(struct dx_follower **f, const struct dx_watched *what, void *of, bool remote,
                      unsigned poll_ms, struct dx_error *err);
int dx_follower_start_each(struct dx_follower **f, const struct dx_watched *what, void *of,
                           uint64_t period_ms, uint64_t retry_ms, struct dx_error *err);
void dx_follower_ask(struct dx_follower *f);
bool dx_follower_stop(struct dx_follower **f); /* NULL is fine */

#endif
