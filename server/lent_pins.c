/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lent_pins.h"

#include <assert.h>

/* Makes the first slot free; false: it has users, and the other slots too. */
static bool vacate(struct dx_lent_pins *p, const struct dx_answers *answers)
{
    struct dx_lent *first = &p->slots[0];

    if (first->version == NULL)
        return true;
    if (first->users == 0) {
        answers->unpin(first->version);
        *first = (struct dx_lent){ NULL, 0 };
        return true;
    }
    for (unsigned i = 1; i < DX_LENT_VERSIONS; i++)
        if (p->slots[i].version == NULL) {
            p->slots[i] = *first;
            *first = (struct dx_lent){ NULL, 0 };
            return true;
        }
    return false;
}

/* Makes the slot be the first one; what stood there goes unless it has users. */
static void bring_back(struct dx_lent_pins *p, const struct dx_answers *answers, unsigned slot)
{
    struct dx_lent before = p->slots[0];

    p->slots[0] = p->slots[slot];
    if (slot == 0)
        return;
    if (before.version != NULL && before.users == 0) {
        answers->unpin(before.version);
        before = (struct dx_lent){ NULL, 0 };
    }
    p->slots[slot] = before;
}

struct dx_version *dx_lent_pins_take(struct dx_lent_pins *p, const struct dx_answers *answers,
                                     bool *lent)
{
    struct dx_lent *first = &p->slots[0];
    struct dx_version *v;

    *lent = true;
    if (first->version != NULL && answers->is_current(answers->from, first->version)) {
        first->users++;
        return first->version;
    }
    v = answers->pin(answers->from, NULL);
    for (unsigned i = 0; v != NULL && i < DX_LENT_VERSIONS; i++)
        if (p->slots[i].version == v) { /* it was not to be used for a while, and is again */
            answers->unpin(v);
            bring_back(p, answers, i);
            first->users++;
            return v;
        }
    *lent = v != NULL && vacate(p, answers);
    if (*lent)
        *first = (struct dx_lent){ v, 1 };
    return v;
}

void dx_lent_pins_give(struct dx_lent_pins *p, const struct dx_answers *answers,
                       struct dx_version *v)
{
    unsigned i = 0;

    while (p->slots[i].version != v)
        i++;
    assert(p->slots[i].users > 0);
    if (--p->slots[i].users > 0 || i == 0)
        return;
    answers->unpin(v);
    p->slots[i] = (struct dx_lent){ NULL, 0 };
}

void dx_lent_pins_refresh(struct dx_lent_pins *p, const struct dx_answers *answers)
{
    struct dx_version *v = p->slots[0].version;

    if (v != NULL && !answers->is_current(answers->from, v))
        (void)vacate(p, answers);
}

void dx_lent_pins_release(struct dx_lent_pins *p, const struct dx_answers *answers)
{
    for (unsigned i = 0; i < DX_LENT_VERSIONS; i++) {
        assert(p->slots[i].users == 0);
        if (p->slots[i].version != NULL)
            answers->unpin(p->slots[i].version);
        p->slots[i] = (struct dx_lent){ NULL, 0 };
    }
}
