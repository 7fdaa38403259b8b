/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pace.h"

#include <time.h>

void dx_pace_begin(struct dx_pace *pace, unsigned period_ms)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    pace->period_ms = period_ms;
    pace->random = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)pace;
}

uint64_t dx_pace_next(struct dx_pace *pace)
{
    if (pace->period_ms == 0)
        return DX_PACE_NEVER;
    pace->random = pace->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return pace->period_ms - pace->period_ms / 4 + (pace->random >> 33) % (pace->period_ms / 2 + 1);
}
