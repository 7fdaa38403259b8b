/* SPDX-License-Identifier: Apache-2.0
 * repeater.h - a thread that does one thing again and again.
 *
 *   rc = dx_repeater_start(&r, "lease", first_ms, work, context, &err);
 *   dx_repeater_ask(r);                 now, whatever the time
 *   clean = dx_repeater_stop(&r);       false: work is under way and does not end soon
 *
 * work(context, asked) runs first after first_ms, then as many milliseconds after its end as it
 * said (DX_PACE_NEVER of server/pace.h: only when asked); asked: somebody did since the last time.
 * After a stop that was not clean the thread and context must be left alone: the process ends.
 *
 * ask is safe from every thread; the others are for one, the owner.
 */
#ifndef DX_SERVER_REPEATER_H
#define DX_SERVER_REPEATER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_repeater;

typedef uint64_t dx_repeater_work(void *context, bool asked);

int dx_repeater_start(struct dx_repeater **r, const char *what, uint64_t first_ms,
                      dx_repeater_work *work, void *context, struct dx_error *err);
void dx_repeater_ask(struct dx_repeater *r);
bool dx_repeater_stop(struct dx_repeater **r); /* NULL is fine */

#endif
