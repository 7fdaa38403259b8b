/* SPDX-License-Identifier: Apache-2.0
 * ticker.h - something small done again and again beside the work, in a thread of its own.
 *
 *   struct dx_ticker t = DX_TICKER_INIT;
 *   rc = dx_ticker_start(&t, 200, show, ctx, &err);      show(ctx) in 200 ms, then as it says
 *   ... the work ...
 *   dx_ticker_stop(&t);                                  waits for it; fine if it was not started
 *
 * `show` returns the milliseconds until it is called again; 0: not any more. It is never called
 * after the stop. The thread is a quiet one (quiet_thread.h).
 */
#ifndef DX_BUILDER_TICKER_H
#define DX_BUILDER_TICKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef uint64_t dx_ticker_tick(void *ctx);

struct dx_ticker {
    bool started;
    bool stopping; /* under lock */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    uint64_t first_ms;
    dx_ticker_tick *tick;
    void *ctx;
};

#define DX_TICKER_INIT   \
    {                    \
        .started = false \
    }

int dx_ticker_start(struct dx_ticker *t, uint64_t first_ms, dx_ticker_tick *tick, void *ctx,
                    struct dx_error *err);
void dx_ticker_stop(struct dx_ticker *t);

#endif
