/* SPDX-License-Identifier: Apache-2.0
 * periodic.h - a thread that does one thing again and again: every so many ms, or when it is asked.
 *
 *   struct dx_periodic *p = NULL;
 *   rc = dx_periodic_start(&p, "lease", first_ms, work, ctx, &err);
 *   dx_periodic_ask(p);                      now, whatever the time
 *   dx_periodic_stop(&p);                    waits for the work that is under way; NULL is fine
 *   clean = dx_periodic_stop_soon(&p);       waits for a second at most
 *
 * work(ctx, asked) runs first after first_ms, then as many milliseconds after its end as it said
 * (DX_PERIODIC_NEVER: only when asked); asked: a call of ask came since the last time. It is never
 * called after a stop. The thread is a quiet one (quiet_thread.h). After a stop that was not clean
 * the thread and ctx must be left alone: the process ends.
 *
 *   dx_period_begin(&period, 2000);
 *   rest_ms = dx_period_next(&period);       up to a quarter less or more; of 0: DX_PERIODIC_NEVER
 *
 * Many servers follow one store: they shall not all look at once.
 *
 * ask is safe from every thread; the others are for one, the owner. A period is of one thread.
 */
#ifndef DX_BASE_PERIODIC_H
#define DX_BASE_PERIODIC_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define DX_PERIODIC_NEVER UINT64_MAX

struct dx_periodic;

typedef uint64_t dx_periodic_work(void *ctx, bool asked);

int dx_periodic_start(struct dx_periodic **p, const char *what, uint64_t first_ms,
                      dx_periodic_work *work, void *ctx, struct dx_error *err);
void dx_periodic_ask(struct dx_periodic *p);
void dx_periodic_stop(struct dx_periodic **p);
bool dx_periodic_stop_soon(struct dx_periodic **p);

struct dx_period {
    unsigned ms; /* 0: never */
    uint64_t random;
};

void dx_period_begin(struct dx_period *period, unsigned ms);
uint64_t dx_period_next(struct dx_period *period);

#endif
