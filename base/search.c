/* SPDX-License-Identifier: Apache-2.0 */
#include "base/search.h"

bool dx_search(size_t count, int (*compare)(const void *ctx, size_t i), const void *ctx, size_t *at)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = compare(ctx, middle);

        if (c == 0) {
            *at = middle;
            return true;
        }
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return false;
}
