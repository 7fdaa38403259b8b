/* SPDX-License-Identifier: Apache-2.0
 * schedule.h - when each request of an open loop should be sent, whatever the server does.
 *
 *   struct dx_schedule s = dx_schedule_of(20000, DX_ARRIVALS_POISSON, seed);
 *   uint64_t due_ns = dx_schedule_next(&s);      from the begin of the load; never decreasing
 *
 * Constant: the k-th (from 0) at k / rate. Poisson: gaps of an exponential law of mean 1 / rate, as
 * of many clients that do not know each other. rate: requests a second, above 0. One thread at a
 * time.
 */
#ifndef DX_BUILDER_LOAD_SCHEDULE_H
#define DX_BUILDER_LOAD_SCHEDULE_H

#include <stdint.h>

enum dx_arrivals { DX_ARRIVALS_CONSTANT, DX_ARRIVALS_POISSON };

struct dx_schedule {
    enum dx_arrivals arrivals;
    double gap_ns;
    double at_ns; /* of Poisson: the last one */
    uint64_t sent;
    uint64_t random;
};

struct dx_schedule dx_schedule_of(double rate, enum dx_arrivals arrivals, uint64_t seed);
uint64_t dx_schedule_next(struct dx_schedule *s);

#endif
