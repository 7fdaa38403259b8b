/* SPDX-License-Identifier: Apache-2.0
 * clock.h - the monotonic clock: how long, until when; never what time of day.
 *
 *   uint64_t deadline_ms = dx_clock_ms() + 500;
 *   double seconds = dx_clock_s() - begin;
 *   double cpu = dx_clock_cpu_s() - cpu_begin;             of all threads of the process together
 *
 *   dx_cond_init(&cond);                                   waits of this cond are by this clock
 *   while (!ready && dx_cond_wait_until(&cond, &lock, deadline_ms))
 *       ;                                                  false: the time is over
 *
 * Any thread; lock is held, as with pthread_cond_wait.
 */
#ifndef DX_BASE_CLOCK_H
#define DX_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t dx_clock_ms(void);
int64_t dx_clock_us(void);
uint64_t dx_clock_coarse_ms(void); /* the same, some milliseconds late, cheaper */
double dx_clock_s(void);
double dx_clock_cpu_s(void);

void dx_cond_init(pthread_cond_t *cond);
bool dx_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ms);

#endif
