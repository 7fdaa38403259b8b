/* SPDX-License-Identifier: Apache-2.0
 * recent_peak.h - the most of something at once within the last minute or two.
 *
 *   struct dx_recent_peak peak = { 0 };
 *
 *   most = dx_recent_peak_note(&peak, n, dx_clock_ms());      n now; the most since at least DX_RECENT_MS, at most twice that
 *
 * What is kept for use again (connections, handles) is kept by this number: a burst of one moment does not hold its
 * memory for as long as the process lives. One thread at a time.
 */
#ifndef DX_FETCH_RECENT_PEAK_H
#define DX_FETCH_RECENT_PEAK_H

#include <stddef.h>
#include <stdint.h>

#define DX_RECENT_MS 60000

struct dx_recent_peak {
    uint64_t begin_ms; /* of the period that is counted now */
    size_t most;       /* in it */
    size_t before;     /* in the one before it */
};

size_t dx_recent_peak_note(struct dx_recent_peak *peak, size_t n, uint64_t now_ms);

#endif
