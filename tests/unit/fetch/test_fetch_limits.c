/* SPDX-License-Identifier: Apache-2.0
 * test_fetch_limits.c - waiting for a place: until one is free, or the time is over; others may go on meanwhile and afterwards.
 */
#include "fetch/fetch_limits.h"

#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/damage.h"

static unsigned failures;

static void *leave(void *arg)
{
    (void)usleep(20000);
    dx_fetch_limits_leave(arg);
    return NULL;
}

int main(void)
{
    struct dx_fetch_limits limits;
    uint64_t in_flight, high, begin;
    pthread_t other;

    (void)alarm(60); /* a lock that is kept would hold this test for good */
    dx_fetch_limits_init(&limits, 1);
    dx_fetch_limits_wait(&limits, 30000);
    EXPECT(dx_fetch_limits_enter(&limits), "the first place");
    EXPECT(!dx_fetch_limits_enter(&limits), "there is one");
    begin = dx_clock_ms();
    dx_fetch_limits_wait(&limits, 30);
    EXPECT(dx_clock_ms() - begin >= 29, "no place for 30 ms: %llu",
           (unsigned long long)(dx_clock_ms() - begin));
    EXPECT(pthread_create(&other, NULL, leave, &limits) == 0, "thread");
    begin = dx_clock_ms();
    dx_fetch_limits_wait(&limits, 30000);
    EXPECT(dx_clock_ms() - begin < 25000, "a place is free after 20 ms");
    (void)pthread_join(other, NULL);
    dx_fetch_limits_look(&limits, &in_flight, &high);
    EXPECT(in_flight == 0 && high == 1, "%llu in flight, at most %llu",
           (unsigned long long)in_flight, (unsigned long long)high);
    EXPECT(dx_fetch_limits_enter(&limits), "the place again");
    dx_fetch_limits_leave(&limits);
    dx_fetch_limits_release(&limits);
    return failures > 0;
}
