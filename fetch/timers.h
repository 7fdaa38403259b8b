/* SPDX-License-Identifier: Apache-2.0
 * timers.h - which of many timers is due first: a heap of entries that live in their owners.
 *
 *   if (!dx_timers_reserve(&timers, 3))  ... out of memory ...        then setting cannot fail
 *   x->timer.due = on_due;  dx_timers_set(&timers, &x->timer, at_ms);      also to move it
 *   while ((t = dx_timers_take_due(&timers, now_ms)) != NULL)  t->due(t, now_ms);
 *   dx_timers_clear(&timers, &x->timer);                  also of one that is not set
 *   dx_timers_release(&timers);
 *
 * Setting, clearing and taking cost O(log n), looking at the first O(1). An entry must stay where
 * it is while it is set. One thread at a time.
 */
#ifndef DX_FETCH_TIMERS_H
#define DX_FETCH_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_timer {
    uint64_t at_ms;
    size_t place; /* in the heap, from 1; 0: not set */
    void (*due)(struct dx_timer *timer, uint64_t now_ms);
};

struct dx_timers {
    struct dx_timer **heap; /* heap[0] is not used */
    size_t count;
    size_t capacity;
};

/* Room for n timers at once, over all. */
bool dx_timers_reserve(struct dx_timers *timers, size_t n);
void dx_timers_release(struct dx_timers *timers);

void dx_timers_set(struct dx_timers *timers, struct dx_timer *timer, uint64_t at_ms);
void dx_timers_clear(struct dx_timers *timers, struct dx_timer *timer);

/* The first one if it is due, no longer set; else NULL. */
struct dx_timer *dx_timers_take_due(struct dx_timers *timers, uint64_t now_ms);

/* The instant of the first; UINT64_MAX: none is set. */
uint64_t dx_timers_first_ms(const struct dx_timers *timers);

#endif
