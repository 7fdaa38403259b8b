/* SPDX-License-Identifier: Apache-2.0
 * lent_pins.h - pins on versions that a loop lends to its connections.
 *
 *   struct dx_lent_pins p = { 0 };                      one for each loop
 *   v = dx_lent_pins_take(&p, answers, &lent);          the current version, or NULL: there is none
 *   dx_lent_pins_give(&p, answers, v);                  if it was lent; else answers->unpin(v)
 *   dx_lent_pins_refresh(&p, answers);                  now and then, and after a reload
 *   dx_lent_pins_release(&p, answers);                  all are given back
 *
 * The count of pins of a version is one word that all threads write to: with two loops that answer a
 * hundred thousand requests a second it would travel between the cores twice for each of them. So a
 * loop pins a version once and counts by itself who uses it. lent false: the caller has a pin of his
 * own, since versions flip faster than connections let go of them.
 *
 * A version that is no longer the current one is let go with the last connection that uses it, at
 * once if there is none, and at the next refresh if nobody asks. One thread.
 */
#ifndef DX_SERVER_LENT_PINS_H
#define DX_SERVER_LENT_PINS_H

#include "server/answers.h"

#define DX_LENT_VERSIONS 4

struct dx_lent {
    struct dx_version *version; /* pinned; NULL: free */
    unsigned users;
};

struct dx_lent_pins {
    struct dx_lent slots[DX_LENT_VERSIONS]; /* the first is the one that was current last */
};

struct dx_version *dx_lent_pins_take(struct dx_lent_pins *p, const struct dx_answers *answers,
                                     bool *lent);
void dx_lent_pins_give(struct dx_lent_pins *p, const struct dx_answers *answers,
                       struct dx_version *v);
void dx_lent_pins_refresh(struct dx_lent_pins *p, const struct dx_answers *answers);
void dx_lent_pins_release(struct dx_lent_pins *p, const struct dx_answers *answers);

/* The one that is lent now; NULL: none. */
static inline struct dx_version *dx_lent_pins_now(const struct dx_lent_pins *p)
{
    return p->slots[0].version;
}

#endif
