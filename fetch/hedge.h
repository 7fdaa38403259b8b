/* SPDX-License-Identifier: Apache-2.0
 * hedge.h - whether a request that is late is asked a second time.
 *
 *   dx_hedge_init(&h);
 *   dx_hedge_offer(&h);                     once for each request that could be hedged
 *   after_ms = dx_hedge_after_ms(&h);       no reply for so long: late; UINT64_MAX: not known
 *   if (dx_hedge_take(&h, &budget))         ... a second, identical GET on a new connection ...
 *   dx_hedge_note(&h, ms);                  a reply began after ms; or did not, and ms are over
 *
 * Late is the 95th percentile of the recent replies, at least DX_HEDGE_FLOOR_MS and at most
 * DX_HEDGE_CAP_MS. Each request fetches two hundredths of a hedge, and at most DX_HEDGE_BURST of
 * them are saved up: so a store of which all is late gets 2 % more, not 100 %. None is sent while
 * more than half of the retry budget is spent: a store that fails needs less, not more.
 *
 * What it buys is the tail: of batches with n ranges, 1 - 0.95^n meet a late one. It costs requests,
 * and new connections; against a store whose lateness is its load it makes things worse. Hence it
 * is an option, off unless it is asked for.
 *
 * Any thread, no lock: numbers read while others write may be a few samples old.
 */
#ifndef DX_FETCH_HEDGE_H
#define DX_FETCH_HEDGE_H

#include "fetch/retry.h"

#define DX_HEDGE_BUCKETS 64
#define DX_HEDGE_SAMPLES_MIN 100 /* fewer say nothing of a 95th percentile */
#define DX_HEDGE_SAMPLES 2000    /* then all count half: what is recent weighs more */
#define DX_HEDGE_FLOOR_MS 20     /* a new connection and its TLS take as long */
#define DX_HEDGE_CAP_MS 1000     /* beyond, first_byte_ms is near, and the retry with it */
#define DX_HEDGE_BURST 10
#define DX_HEDGE_PER_REQUEST 2 /* hundredths */
#define DX_HEDGE_COST 100

struct dx_hedge {
    _Atomic uint32_t samples[DX_HEDGE_BUCKETS]; /* by time, four to an octave */
    _Atomic uint32_t count;
    _Atomic int tokens;
};

void dx_hedge_init(struct dx_hedge *h);
void dx_hedge_offer(struct dx_hedge *h);
bool dx_hedge_take(struct dx_hedge *h, const struct dx_retry_budget *budget);
void dx_hedge_note(struct dx_hedge *h, uint64_t ms);
uint64_t dx_hedge_after_ms(const struct dx_hedge *h);

#endif
