/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/schedule.h"

#include "builder/load/chance.h"

#include <assert.h>
#include <math.h>

struct dx_schedule dx_schedule_of(double rate, enum dx_arrivals arrivals, uint64_t seed)
{
    assert(rate > 0);
    return (struct dx_schedule){ .arrivals = arrivals, .gap_ns = 1e9 / rate, .random = seed };
}

uint64_t dx_schedule_next(struct dx_schedule *s)
{
    /* k times the gap, not the sum of k gaps: roundings do not add up. */
    if (s->arrivals == DX_ARRIVALS_CONSTANT)
        return (uint64_t)((double)s->sent++ * s->gap_ns);
    s->at_ns -= log(dx_chance_unit(&s->random)) * s->gap_ns;
    return (uint64_t)s->at_ns;
}
