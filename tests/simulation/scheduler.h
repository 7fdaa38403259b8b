/* SPDX-License-Identifier: Apache-2.0
 * scheduler.h - threads, time and chance of a simulated world: one thread runs at a time, and a seed says which.
 *
 *   sim_begin(seed);
 *   sim_actor("publisher", publish_now_and_then, ctx);      a process of its own, as far as crashes go
 *   sim_run();                                              until every actor has ended
 *   sim_trace()                                             a hash of all that happened: the same for the same seed
 *
 * The program is linked with --wrap for pthread_*, clock_gettime, time, nanosleep, getrandom and getpid (CMakeLists.txt beside
 * this file), so that the code under test runs as it is. Threads are stacks that one thread of the system goes to in turn; turns
 * change at requests to the store, at waits, and where a lock is taken. Time passes only while all wait:
 * then it jumps to the first deadline. An actor that has crashed goes on with every request failing and nothing it
 * does reaching the store, which is what a killed process is for everybody else.
 *
 * Waits without an end are a deadlock: the program says so and exits with 1.
 */
#ifndef DX_TESTS_SIMULATION_SCHEDULER_H
#define DX_TESTS_SIMULATION_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

typedef void sim_actor_main(void *ctx);

void sim_begin(uint64_t seed);
void sim_actor(const char *name, sim_actor_main *run, void *ctx);
void sim_run(void);

uint64_t sim_now_ms(void);
uint64_t sim_random(uint64_t below); /* of the world's own chance: 0 .. below - 1 */
bool sim_chance(unsigned in_thousand);
void sim_sleep_ms(uint64_t ms);

/* Of the running thread's actor. */
const char *sim_name(void);
bool sim_crashed(void);
void sim_crash(void);
void sim_revive(void);            /* the next process of that name */
void sim_skew_s(int64_t seconds); /* its clock is that far ahead */
/* Requests that were made to fail, and waits that were cut, since the last call. */
unsigned sim_faults(void);
void sim_count_fault(void);
/* Listings that left something out, likewise; _now without forgetting them. */
unsigned sim_short_listings(void);
unsigned sim_short_listings_now(void);
void sim_count_short_listing(void);

void sim_note(uint64_t what); /* into the trace */
uint64_t sim_trace(void);

#endif
