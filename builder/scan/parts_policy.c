/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/parts_policy.h"

#include <stdbool.h>

#define RATIO 3

size_t dx_parts_kept(const uint64_t *pairs, size_t count, uint64_t fresh,
                     const struct dx_parts_policy *policy)
{
    uint64_t merged = 0;
    size_t kept = count;

    while (kept > 0) {
        uint64_t newest = pairs[kept - 1];

        if (kept < policy->parts_max &&
            (newest > RATIO * (fresh + merged) ||
             (policy->merge_max > 0 && merged + newest > policy->merge_max)))
            break;
        merged += newest;
        kept--;
    }
    return kept;
}

static bool is_mostly_dead(const uint64_t *pairs, size_t count, uint64_t live)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++)
        all += pairs[i];
    return count > 1 && all / 2 > live;
}

size_t dx_parts_kept_of_merge(const uint64_t *pairs, size_t count, uint64_t live,
                              const struct dx_parts_policy *policy)
{
    uint64_t newer = 0;
    size_t kept = count;

    if (is_mostly_dead(pairs, count, live))
        return 0;
    if (policy->merge_max == 0 || count < 2)
        return count;
    for (size_t i = count; i-- > 0;) {
        if (i < count - 1 && pairs[i] <= RATIO * newer && newer + pairs[i] > policy->merge_max)
            kept = i;
        newer += pairs[i];
    }
    if (kept == count && count >= policy->parts_max && pairs[count - 1] > policy->merge_max)
        kept = count - 2;
    return kept;
}
