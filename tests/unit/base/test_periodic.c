/* SPDX-License-Identifier: Apache-2.0
 * A thread that works at its times and when it is asked, and ends when it is stopped. Rests of a
 * period are about it, spread over half of it, and never where there is none.
 */
#include "base/periodic.h"
#include "tests/support/fail.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define ROUNDS 10000

static int failures;

static void test_spread(uint64_t period_ms)
{
    struct dx_period period;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    uint64_t sum = 0;

    dx_period_begin(&period, (unsigned)period_ms);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t rest = dx_period_next(&period);

        least = rest < least ? rest : least;
        most = rest > most ? rest : most;
        sum += rest;
    }
    if (least < period_ms - period_ms / 4 || most > period_ms + period_ms / 4 + 1)
        FAIL("%llu ms: rests of %llu to %llu", (unsigned long long)period_ms,
             (unsigned long long)least, (unsigned long long)most);
    if (period_ms >= 100 && (most - least) * 10 < period_ms * 4)
        FAIL("%llu ms: rests of only %llu to %llu", (unsigned long long)period_ms,
             (unsigned long long)least, (unsigned long long)most);
    if (sum / ROUNDS + 1 + period_ms / 50 < period_ms || sum / ROUNDS > period_ms + period_ms / 50)
        FAIL("%llu ms: %llu on average", (unsigned long long)period_ms,
             (unsigned long long)(sum / ROUNDS));
}

static void test_spreads(void)
{
    static const unsigned periods[] = { 1, 2, 3, 250, 2000, 3600000, 4294967295u };
    struct dx_period never;

    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++)
        test_spread(periods[i]);
    dx_period_begin(&never, 0);
    if (dx_period_next(&never) != DX_PERIODIC_NEVER)
        FAIL("a rest where there is no period");
}

struct work {
    atomic_int calls, asked;
    atomic_bool quiet, slow;
    uint64_t then_ms;
    int times; /* and then never */
};

static uint64_t work(void *ctx, bool asked)
{
    struct work *w = ctx;
    sigset_t blocked;
    int n;

    (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    atomic_store(&w->quiet,
                 sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGBUS) == 0);
    atomic_fetch_add(&w->asked, asked);
    n = atomic_fetch_add(&w->calls, 1);
    while (atomic_load(&w->slow))
        (void)usleep(1000);
    return n + 1 < w->times ? w->then_ms : DX_PERIODIC_NEVER;
}

static bool comes(const atomic_int *value, int want)
{
    for (int i = 0; i < 60000 && atomic_load(value) < want; i++)
        (void)usleep(1000);
    return atomic_load(value) == want;
}

static struct dx_periodic *started(struct work *w, uint64_t first_ms)
{
    struct dx_periodic *p = NULL;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_periodic_start(&p, "test", first_ms, work, w, &err) < 0)
        FAIL("%s", err.text);
    return p;
}

static void test_times(void)
{
    struct work w = { .then_ms = 1, .times = 3 };
    struct dx_periodic *p = NULL;

    dx_periodic_stop(&p);
    p = started(&w, 1);
    if (!comes(&w.calls, 3) || w.asked != 0)
        FAIL("%d times, asked %d times", w.calls, w.asked);
    if (!w.quiet)
        FAIL("signals of the process come to the thread, or its own do not");
    (void)usleep(5000);
    if (w.calls != 3)
        FAIL("%d times, though never again", w.calls);
    dx_periodic_ask(p);
    if (!comes(&w.calls, 4) || w.asked != 1)
        FAIL("asked: %d times, asked %d times", w.calls, w.asked);
    dx_periodic_stop(&p);
    dx_periodic_stop(&p);
    if (p != NULL || w.calls != 4)
        FAIL("%d times after the stop", w.calls);
}

/* A stop does not wait for the next time; one of work that does not end says so. */
static void test_stops(void)
{
    struct work w = { .then_ms = 3600 * 1000, .times = 9 };
    struct dx_periodic *p = started(&w, 1);

    if (!comes(&w.calls, 1) || !dx_periodic_stop_soon(&p) || p != NULL || w.calls != 1)
        FAIL("%d times", w.calls);
    atomic_store(&w.slow, true);
    p = started(&w, 0);
    if (!comes(&w.calls, 2) || dx_periodic_stop_soon(&p) || p == NULL)
        FAIL("clean, while work is under way");
    atomic_store(&w.slow, false);
    dx_periodic_stop(&p);
    if (w.calls != 2 || !dx_periodic_stop_soon(&p))
        FAIL("%d times", w.calls);
}

int main(void)
{
    test_spreads();
    test_times();
    test_stops();
    return failures > 0;
}
