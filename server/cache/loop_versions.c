/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cache/loop_versions.h"

#include <assert.h>

/* Makes the first slot free; false: it has users, and the other slots too. */
static bool vacate_slot(struct dx_loop_versions *p, const struct dx_answers *answers)
{
    struct dx_loop_ref *first = &p->slots[0];

    if (first->version == NULL)
        return true;
    if (first->users == 0) {
        answers->unpin(first->version);
        *first = (struct dx_loop_ref){ NULL, 0 };
        return true;
    }
    for (unsigned i = 1; i < DX_LOOP_REFS; i++)
        if (p->slots[i].version == NULL) {
            p->slots[i] = *first;
            *first = (struct dx_loop_ref){ NULL, 0 };
            return true;
        }
    return false;
}

/* Makes the slot be the first one; what stood there goes unless it has users. */
static void fetch_back(struct dx_loop_versions *p, const struct dx_answers *answers, unsigned slot)
{
    struct dx_loop_ref before = p->slots[0];

    p->slots[0] = p->slots[slot];
    if (slot == 0)
        return;
    if (before.version != NULL && before.users == 0) {
        answers->unpin(before.version);
        before = (struct dx_loop_ref){ NULL, 0 };
    }
    p->slots[slot] = before;
}

struct dx_version *dx_loop_versions_take(struct dx_loop_versions *p,
                                         const struct dx_answers *answers, bool *loop_ref)
{
    struct dx_loop_ref *first = &p->slots[0];
    struct dx_version *v;

    *loop_ref = true;
    if (first->version != NULL && answers->is_current(answers->from, first->version)) {
        first->users++;
        return first->version;
    }
    v = answers->pin(answers->from, NULL);
    for (unsigned i = 0; v != NULL && i < DX_LOOP_REFS; i++)
        if (p->slots[i].version == v) { /* it was not to be used for a while, and is again */
            answers->unpin(v);
            fetch_back(p, answers, i);
            first->users++;
            return v;
        }
    *loop_ref = v != NULL && vacate_slot(p, answers);
    if (*loop_ref)
        *first = (struct dx_loop_ref){ v, 1 };
    return v;
}

void dx_loop_versions_give(struct dx_loop_versions *p, const struct dx_answers *answers,
                           struct dx_version *v)
{
    unsigned i = 0;

    while (p->slots[i].version != v)
        i++;
    assert(p->slots[i].users > 0);
    if (--p->slots[i].users > 0 || i == 0)
        return;
    answers->unpin(v);
    p->slots[i] = (struct dx_loop_ref){ NULL, 0 };
}

void dx_loop_versions_refresh(struct dx_loop_versions *p, const struct dx_answers *answers)
{
    struct dx_version *v = p->slots[0].version;

    if (v != NULL && !answers->is_current(answers->from, v))
        (void)vacate_slot(p, answers);
}

void dx_loop_versions_release(struct dx_loop_versions *p, const struct dx_answers *answers)
{
    for (unsigned i = 0; i < DX_LOOP_REFS; i++) {
        assert(p->slots[i].users == 0);
        if (p->slots[i].version != NULL)
            answers->unpin(p->slots[i].version);
        p->slots[i] = (struct dx_loop_ref){ NULL, 0 };
    }
}
