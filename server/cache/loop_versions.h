/* SPDX-License-Identifier: Apache-2.0
 * loop_versions.h - pins on versions that a loop lends to its connections.
 *
 *   struct dx_loop_versions p = { 0 };                      one for each loop
 *   v = dx_loop_versions_take(&p, answers, &loop_ref);          the current version, or NULL: there is none
 *   dx_loop_versions_give(&p, answers, v);                  if loop_ref; else answers->unpin(v)
 *   dx_loop_versions_refresh(&p, answers);                  now and then, and after a reload
 *   dx_loop_versions_release(&p, answers);                  all are given back
 *
 * The count of pins of a version is one word that all threads write to: with two loops that answer
 * a hundred thousand requests a second it would travel between the cores twice for each of them. So
 * a loop pins a version once and counts its users itself. loop_ref false: the caller has a pin of its
 * own, since versions flip faster than connections let go of them.
 *
 * A version that is no longer the current one is let go with the last connection that uses it, at
 * once if there is none, and at the next refresh if no request comes. One thread.
 */
#ifndef DX_SERVER_CACHE_LOOP_VERSIONS_H
#define DX_SERVER_CACHE_LOOP_VERSIONS_H

#include "server/routes/answers.h"

#define DX_LOOP_REFS 4

struct dx_loop_ref {
    struct dx_version *version; /* pinned; NULL: free */
    unsigned users;
};

struct dx_loop_versions {
    struct dx_loop_ref slots[DX_LOOP_REFS]; /* the first is the one that was current last */
};

struct dx_version *dx_loop_versions_take(struct dx_loop_versions *p,
                                         const struct dx_answers *answers, bool *loop_ref);
void dx_loop_versions_give(struct dx_loop_versions *p, const struct dx_answers *answers,
                           struct dx_version *v);
void dx_loop_versions_refresh(struct dx_loop_versions *p, const struct dx_answers *answers);
void dx_loop_versions_release(struct dx_loop_versions *p, const struct dx_answers *answers);

/* The version of the loop now; NULL: none. */
static inline struct dx_version *dx_loop_versions_now(const struct dx_loop_versions *p)
{
    return p->slots[0].version;
}

#endif
