/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/timers.h"

#include <assert.h>
#include <stdlib.h>

bool dx_timers_reserve(struct dx_timers *timers, size_t n)
{
    size_t room = timers->capacity < 16 ? 16 : timers->capacity;
    struct dx_timer **heap;

    if (n < timers->capacity)
        return true;
    while (room <= n)
        if (__builtin_mul_overflow(room, 2, &room))
            return false;
    heap = reallocarray(timers->heap, room, sizeof *heap);
    if (heap == NULL)
        return false;
    timers->heap = heap;
    timers->capacity = room;
    return true;
}

void dx_timers_release(struct dx_timers *timers)
{
    free(timers->heap);
    *timers = (struct dx_timers){ NULL, 0, 0 };
}

static void put(struct dx_timers *timers, size_t place, struct dx_timer *timer)
{
    timers->heap[place] = timer;
    timer->place = place;
}

static void sift_up(struct dx_timers *timers, size_t place, struct dx_timer *timer)
{
    while (place > 1 && timers->heap[place / 2]->at_ms > timer->at_ms) {
        put(timers, place, timers->heap[place / 2]);
        place /= 2;
    }
    put(timers, place, timer);
}

static void sift_down(struct dx_timers *timers, size_t place, struct dx_timer *timer)
{
    for (;;) {
        size_t child = 2 * place;

        if (child < timers->count && timers->heap[child + 1]->at_ms < timers->heap[child]->at_ms)
            child++;
        if (child > timers->count || timers->heap[child]->at_ms >= timer->at_ms)
            break;
        put(timers, place, timers->heap[child]);
        place = child;
    }
    put(timers, place, timer);
}

static void settle(struct dx_timers *timers, size_t place, struct dx_timer *timer)
{
    if (place > 1 && timers->heap[place / 2]->at_ms > timer->at_ms)
        sift_up(timers, place, timer);
    else
        sift_down(timers, place, timer);
}

void dx_timers_set(struct dx_timers *timers, struct dx_timer *timer, uint64_t at_ms)
{
    size_t place = timer->place;

    timer->at_ms = at_ms;
    if (place == 0) {
        assert(timers->count + 1 < timers->capacity);
        place = ++timers->count;
        timers->heap[place] = timer;
    }
    settle(timers, place, timer);
}

void dx_timers_clear(struct dx_timers *timers, struct dx_timer *timer)
{
    size_t place = timer->place;
    struct dx_timer *last;

    if (place == 0)
        return;
    timer->place = 0;
    last = timers->heap[timers->count--];
    if (last != timer)
        settle(timers, place, last);
}

struct dx_timer *dx_timers_take_due(struct dx_timers *timers, uint64_t now_ms)
{
    struct dx_timer *first;

    if (timers->count == 0 || timers->heap[1]->at_ms > now_ms)
        return NULL;
    first = timers->heap[1];
    dx_timers_clear(timers, first);
    return first;
}

uint64_t dx_timers_first_ms(const struct dx_timers *timers)
{
    return timers->count > 0 ? timers->heap[1]->at_ms : UINT64_MAX;
}
