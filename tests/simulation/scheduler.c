/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/hash.h"

#define THREADS_MAX 512
#define STACK_BYTES (1u << 20)
#define GUARD_BYTES (64u << 10)
#define EPOCH_S 1790000000 /* the first moment of a world, by its calendar */
#define REALTIME_FROM_S \
    1000000000 /* deadlines above are by the calendar, others by the steady clock */
#define NEVER UINT64_MAX

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *ctx);
int __real_pthread_join(pthread_t t, void **result);
int __real_pthread_detach(pthread_t t);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_trylock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __real_pthread_cond_signal(pthread_cond_t *c);
int __real_pthread_cond_broadcast(pthread_cond_t *c);
int __real_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *ctx);
int __wrap_pthread_join(pthread_t t, void **result);
int __wrap_pthread_timedjoin_np(pthread_t t, void **result, const struct timespec *until);
int __wrap_pthread_detach(pthread_t t);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
time_t __wrap_time(time_t *out);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
pid_t __real_getpid(void);
pid_t __wrap_getpid(void);

struct actor {
    const char *name;
    bool crashed;
    int64_t skew_s;
    unsigned faults, short_listings;
};

enum state { FREE, READY, ON_MUTEX, ON_COND, ON_JOIN, ASLEEP, ENDED };

struct thread {
    enum state state;
    const void *object;   /* that it waits for */
    uint64_t deadline_ms; /* NEVER: none */
    bool timed_out;
    struct actor *actor;
    ucontext_t at; /* where it goes on */
    int error;     /* its errno */
    void *(*run)(void *);
    void *ctx;
};

/* All threads are one of the system's, which goes from stack to stack: a turn costs no call of the scheduler of the kernel. */
static struct thread threads[THREADS_MAX];
static size_t thread_count;
static struct actor actors[32];
static size_t actor_count;
static struct thread *self; /* whose turn it is; NULL: outside of a world */
static ucontext_t outside;
static uint64_t now_ms, chance, trace;

static uint64_t draw(void)
{
    chance += UINT64_C(0x9E3779B97F4A7C15); /* SplitMix64 */
    uint64_t z = chance;

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void sim_note(uint64_t what)
{
    uint64_t pair[2] = { trace, what };

    trace = dx_hash64(dx_span_of((const uint8_t *)pair, sizeof pair));
}

uint64_t sim_trace(void)
{
    return trace;
}

/* ---- turns ---- */

static void wake_due(void)
{
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i].state != READY && threads[i].state != FREE && threads[i].state != ENDED &&
            threads[i].deadline_ms <= now_ms) {
            threads[i].timed_out = true;
            threads[i].state = READY;
        }
}

static uint64_t first_deadline(void)
{
    uint64_t first = NEVER;

    for (size_t i = 0; i < thread_count; i++)
        if (threads[i].state != READY && threads[i].state != FREE && threads[i].state != ENDED &&
            threads[i].deadline_ms < first)
            first = threads[i].deadline_ms;
    return first;
}

static size_t count_in(enum state state)
{
    size_t n = 0;

    for (size_t i = 0; i < thread_count; i++)
        n += threads[i].state == state;
    return n;
}

static void report_deadlock(void)
{
    (void)fprintf(stderr, "simulate: deadlock: every thread waits, none of them for a time\n");
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i].state != FREE && threads[i].state != ENDED)
            (void)fprintf(stderr, "  thread %zu of %s: state %d\n", i, threads[i].actor->name,
                          threads[i].state);
    exit(1);
}

/* The thread that goes on; NULL: all have ended. */
static struct thread *choose(void)
{
    size_t ready;

    wake_due();
    while ((ready = count_in(READY)) == 0) {
        uint64_t next = first_deadline();

        if (next == NEVER) {
            if (count_in(ON_MUTEX) + count_in(ON_COND) + count_in(ON_JOIN) + count_in(ASLEEP) == 0)
                return NULL;
            report_deadlock();
        }
        if (next > now_ms)
            now_ms = next;
        wake_due();
    }
    size_t nth = draw() % ready;

    for (size_t i = 0; i < thread_count; i++)
        if (threads[i].state == READY && nth-- == 0) {
            sim_note(i << 40 ^ now_ms);
            return &threads[i];
        }
    return NULL;
}

/* Gives the turn away, and comes back with it, unless this thread has ended. */
static void switch_turn(void)
{
    struct thread *mine = self;

    self = choose();
    if (self == mine)
        return;
    mine->error = errno;
    (void)swapcontext(&mine->at, self == NULL ? &outside : &self->at);
    errno = mine->error;
}

static void wait_as(enum state state, const void *object, uint64_t deadline_ms)
{
    self->state = state;
    self->object = object;
    self->deadline_ms = deadline_ms;
    self->timed_out = false;
    switch_turn();
}

static void wake(enum state state, const void *object, bool all)
{
    size_t n = 0, nth;

    for (size_t i = 0; i < thread_count; i++)
        n += threads[i].state == state && threads[i].object == object;
    nth = n > 0 ? draw() % n : 0;
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i].state == state && threads[i].object == object && (nth-- == 0 || all))
            threads[i].state = READY;
}

static void enter(void)
{
    struct thread *t = self;

    errno = 0;
    t->ctx = t->run(t->ctx);
    t->state = ENDED;
    wake(ON_JOIN, t, true);
    switch_turn();
    abort(); /* it has no turn any more */
}

/* Stacks stand where they stood in every other run, since an address may be a source of chance (base/periodic.c). */
static bool prepare(struct thread *t)
{
    static uint8_t *stacks;
    uint8_t *mine;

    if (stacks == NULL)
        stacks = mmap(NULL, (size_t)THREADS_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED || getcontext(&t->at) != 0)
        return false;
    mine = stacks + (size_t)(t - threads) * STACK_BYTES;
    if (t->at.uc_stack.ss_sp != mine + GUARD_BYTES && mprotect(mine, GUARD_BYTES, PROT_NONE) != 0)
        return false;
    t->at.uc_stack = (stack_t){ .ss_sp = mine + GUARD_BYTES, .ss_size = STACK_BYTES - GUARD_BYTES };
    t->at.uc_link = NULL;
    makecontext(&t->at, enter, 0);
    return true;
}

static struct thread *add_thread(struct actor *actor, void *(*run)(void *), void *ctx)
{
    size_t i = 0;

    while (i < thread_count && threads[i].state != FREE)
        i++;
    if (i == THREADS_MAX) {
        (void)fprintf(stderr, "simulate: more than %d threads\n", THREADS_MAX);
        exit(1);
    }
    if (i == thread_count)
        thread_count++;
    threads[i].state = READY;
    threads[i].deadline_ms = NEVER;
    threads[i].actor = actor;
    threads[i].run = run;
    threads[i].ctx = ctx;
    if (!prepare(&threads[i])) {
        (void)fprintf(stderr, "simulate: cannot start a thread\n");
        exit(1);
    }
    return &threads[i];
}

/* ---- the world ---- */

void sim_begin(uint64_t seed)
{
    thread_count = actor_count = 0;
    now_ms = 1000000;
    chance = seed;
    trace = seed;
}

struct start {
    sim_actor_main *run;
    void *ctx;
};

static void *run_actor(void *argument)
{
    struct start start = *(struct start *)argument;

    free(argument);
    start.run(start.ctx);
    return NULL;
}

void sim_actor(const char *name, sim_actor_main *run, void *ctx)
{
    struct start *start = malloc(sizeof *start);

    if (start == NULL || actor_count == sizeof actors / sizeof actors[0])
        abort();
    *start = (struct start){ run, ctx };
    actors[actor_count] = (struct actor){ .name = name };
    (void)add_thread(&actors[actor_count++], run_actor, start);
}

void sim_run(void)
{
    self = choose();
    if (self != NULL)
        (void)swapcontext(&outside, &self->at);
    for (size_t i = 0; i < thread_count; i++)
        threads[i].state = FREE;
}

uint64_t sim_now_ms(void)
{
    return now_ms;
}

uint64_t sim_random(uint64_t below)
{
    return draw() % below;
}

bool sim_chance(unsigned in_thousand)
{
    return draw() % 1000 < in_thousand;
}

void sim_sleep_ms(uint64_t ms)
{
    wait_as(ASLEEP, NULL, now_ms + ms);
}

const char *sim_name(void)
{
    return self->actor->name;
}

bool sim_crashed(void)
{
    return self->actor->crashed;
}

void sim_crash(void)
{
    self->actor->crashed = true;
    self->actor->faults++;
}

void sim_revive(void)
{
    self->actor->crashed = false;
}

void sim_skew_s(int64_t seconds)
{
    self->actor->skew_s = seconds;
}

unsigned sim_faults(void)
{
    unsigned n = self->actor->faults;

    self->actor->faults = 0;
    return n;
}

void sim_count_fault(void)
{
    self->actor->faults++;
}

unsigned sim_short_listings(void)
{
    unsigned n = self->actor->short_listings;

    self->actor->short_listings = 0;
    return n;
}

unsigned sim_short_listings_now(void)
{
    return self->actor->short_listings;
}

void sim_count_short_listing(void)
{
    self->actor->short_listings++;
}

/* ---- what the code under test calls ---- */

static uint64_t deadline_of(const struct timespec *t)
{
    uint64_t ms = (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / 1000000;

    if (t->tv_sec < REALTIME_FROM_S)
        return ms;
    ms -= (uint64_t)(EPOCH_S + self->actor->skew_s) * 1000;
    return ms;
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *ctx)
{
    if (self == NULL)
        return __real_pthread_create(t, a, run, ctx);
    *t = (pthread_t)(add_thread(self->actor, run, ctx) - threads) + 1;
    return 0;
}

static int join(pthread_t handle, void **result, uint64_t deadline_ms)
{
    struct thread *t = &threads[handle - 1];

    if (t->state != ENDED)
        wait_as(ON_JOIN, t, deadline_ms);
    if (t->state != ENDED)
        return ETIMEDOUT;
    if (result != NULL)
        *result = t->ctx;
    t->state = FREE;
    return 0;
}

int __wrap_pthread_join(pthread_t t, void **result)
{
    return self == NULL ? __real_pthread_join(t, result) : join(t, result, NEVER);
}

int __wrap_pthread_timedjoin_np(pthread_t t, void **result, const struct timespec *until)
{
    return join(t, result, deadline_of(until));
}

/* What it returns is not asked for; its place is free when the world ends. */
int __wrap_pthread_detach(pthread_t t)
{
    return self == NULL ? __real_pthread_detach(t) : 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    if (self == NULL)
        return __real_pthread_mutex_lock(m);
    if (__real_pthread_mutex_trylock(m) == 0)
        return 0;
    while (__real_pthread_mutex_trylock(m) != 0)
        wait_as(ON_MUTEX, m, NEVER);
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int e = __real_pthread_mutex_unlock(m);

    if (self != NULL)
        wake(ON_MUTEX, m, false);
    return e;
}

static int wait_cond(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline_ms)
{
    bool timed_out;

    (void)__real_pthread_mutex_unlock(m);
    wake(ON_MUTEX, m, false);
    wait_as(ON_COND, c, deadline_ms);
    timed_out = self->timed_out;
    (void)__wrap_pthread_mutex_lock(m);
    return timed_out ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return self == NULL ? __real_pthread_cond_wait(c, m) : wait_cond(c, m, NEVER);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until)
{
    return wait_cond(c, m, deadline_of(until));
}

static int signal_cond(pthread_cond_t *c, bool all)
{
    wake(ON_COND, c, all);
    return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    return self == NULL ? __real_pthread_cond_signal(c) : signal_cond(c, false);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    return self == NULL ? __real_pthread_cond_broadcast(c) : signal_cond(c, true);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    uint64_t ms = now_ms;

    if (self == NULL || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
        return __real_clock_gettime(clock, t);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        ms += (uint64_t)(EPOCH_S + self->actor->skew_s) * 1000;
    t->tv_sec = (time_t)(ms / 1000);
    t->tv_nsec = (long)(ms % 1000) * 1000000;
    return 0;
}

time_t __wrap_time(time_t *out)
{
    struct timespec t;

    (void)__wrap_clock_gettime(CLOCK_REALTIME, &t);
    if (out != NULL)
        *out = t.tv_sec;
    return t.tv_sec;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
    (void)rest;
    sim_sleep_ms((uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / 1000000);
    return 0;
}

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
    uint8_t *bytes = to;

    (void)flags;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)draw();
    return (ssize_t)size;
}

/* Of a process that lives, and the same in every run: waits are lengthened by it. */
pid_t __wrap_getpid(void)
{
    return self == NULL ? __real_getpid() : 1;
}

/* One who waits for a lock of a file must not keep the turn. */
int __wrap_flock(int fd, int operation)
{
    int rc;

    while ((rc = __real_flock(fd, operation | LOCK_NB)) < 0 && errno == EWOULDBLOCK &&
           (operation & LOCK_NB) == 0) {
        if (self == NULL)
            return __real_flock(fd, operation);
        wait_as(ASLEEP, NULL, now_ms + 10);
    }
    return rc;
}
