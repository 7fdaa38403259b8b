/* SPDX-License-Identifier: Apache-2.0
 * pace.h - how long a thread rests between two looks, about.
 *
 *   dx_pace_begin(&pace, period_ms);
 *   rest_ms = dx_pace_next(&pace);          the period, up to a quarter less or more; 0: never
 *
 * Many servers follow one store: they shall not all look at once. Of one thread.
 */
#ifndef DX_SERVER_PACE_H
#define DX_SERVER_PACE_H

#include <stdint.h>

#define DX_PACE_NEVER UINT64_MAX

struct dx_pace {
    unsigned period_ms; /* 0: never */
    uint64_t random;
};

void dx_pace_begin(struct dx_pace *pace, unsigned period_ms);
uint64_t dx_pace_next(struct dx_pace *pace);

#endif
