/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/recent_peak.h"

size_t dx_recent_peak_note(struct dx_recent_peak *peak, size_t n, uint64_t now_ms)
{
    uint64_t passed = now_ms - peak->begin_ms;

    if (passed >= DX_RECENT_MS) {
        peak->before = passed < 2 * (uint64_t)DX_RECENT_MS ? peak->most : n;
        peak->most = n;
        peak->begin_ms = now_ms;
    }
    if (n > peak->most)
        peak->most = n;
    return peak->most > peak->before ? peak->most : peak->before;
}
