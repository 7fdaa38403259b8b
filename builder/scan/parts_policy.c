/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/parts_policy.h"

#include <stdbool.h>

#define RATIO 3
#define STEP 2 /* a step that comes first has at most this part of the pairs of all that is due */

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

static uint64_t sum_from(const uint64_t *pairs, size_t count, size_t first)
{
    uint64_t all = 0;

    for (size_t i = first; i < count; i++)
        all += pairs[i];
    return all;
}

static bool is_mostly_dead(const uint64_t *pairs, size_t count, uint64_t live)
{
    return count > 1 && sum_from(pairs, count, 0) / 2 > live;
}

/* The oldest part from which on a merge of at most `most` pairs is due; count: none. */
static size_t oldest_due(const uint64_t *pairs, size_t count, uint64_t merge_max, uint64_t most)
{
    uint64_t newer = 0;
    size_t kept = count;

    for (size_t i = count; i-- > 0 && newer + pairs[i] <= most;) {
        if (i < count - 1 && pairs[i] <= RATIO * newer && newer + pairs[i] > merge_max)
            kept = i;
        newer += pairs[i];
    }
    return kept;
}

size_t dx_parts_kept_of_merge(const uint64_t *pairs, size_t count, uint64_t live,
                              const struct dx_parts_policy *policy)
{
    uint64_t most;
    size_t kept, step;

    if (is_mostly_dead(pairs, count, live))
        return 0;
    if (policy->merge_max == 0 || count < 2)
        return count;
    kept = oldest_due(pairs, count, policy->merge_max, UINT64_MAX);
    most = kept == count ? UINT64_MAX : sum_from(pairs, count, kept) / STEP;
    step = oldest_due(pairs, count, policy->merge_max, most);
    if (step < count)
        return step;
    if (count >= policy->parts_max && pairs[count - 1] > policy->merge_max &&
        sum_from(pairs, count, count - 2) <= most)
        return count - 2;
    return kept;
}
