/* SPDX-License-Identifier: Apache-2.0
 * The heap of timers against a list that is searched.
 */
#include "fetch/timers.h"
#include "tests/support/damage.h"

static unsigned failures;

enum { MANY = 200 };

struct thing {
    struct dx_timer timer;
    bool set;
};

static struct thing things[MANY];

static uint64_t first_of_list(void)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < MANY; i++)
        if (things[i].set && things[i].timer.at_ms < first)
            first = things[i].timer.at_ms;
    return first;
}

int main(void)
{
    struct dx_timers timers = { NULL, 0, 0 };
    uint64_t seed = 9;
    uint64_t now = 0;
    size_t taken = 0;

    EXPECT(dx_timers_first_ms(&timers) == UINT64_MAX && dx_timers_take_due(&timers, 1) == NULL,
           "none");
    EXPECT(dx_timers_reserve(&timers, MANY), "memory");
    for (unsigned step = 0; step < 200000; step++) {
        struct thing *thing = &things[random_below(&seed, MANY)];
        uint64_t what = random_below(&seed, 10);

        if (what < 5) {
            dx_timers_set(&timers, &thing->timer, now + random_below(&seed, 50));
            thing->set = true;
        } else if (what < 7) {
            dx_timers_clear(&timers, &thing->timer);
            thing->set = false;
        } else {
            struct dx_timer *due;

            now += random_below(&seed, 3);
            while ((due = dx_timers_take_due(&timers, now)) != NULL) {
                EXPECT(due->at_ms == first_of_list() && due->at_ms <= now, "step %u", step);
                EXPECT(((struct thing *)(void *)due)->set, "step %u: one that is not set", step);
                ((struct thing *)(void *)due)->set = false;
                taken++;
            }
            EXPECT(first_of_list() > now, "step %u: one is left", step);
        }
        EXPECT(dx_timers_first_ms(&timers) == first_of_list(), "step %u", step);
        if (failures > 10)
            break;
    }
    EXPECT(taken > 1000, "%zu were due", taken);
    dx_timers_release(&timers);
    return failures > 0;
}
