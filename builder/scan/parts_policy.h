/* SPDX-License-Identifier: Apache-2.0
 * parts_policy.h - which parts of a version are merged: numbers alone.
 *
 *   kept = dx_parts_kept(pairs, count, fresh, &policy);         a publish with `fresh` new pairs
 *   kept = dx_parts_kept_of_merge(pairs, count, live, &policy); a merge beside publishes; count: nothing is due
 *
 * pairs[i]: (domain, dataset) pairs of each part, oldest first. The first `kept` parts stay, the others are merged into
 * the new one. A part is merged while it has at most three times as many pairs as what is newer: so few parts are
 * left, and a pair is written again a few times in all.
 *
 * A publish merges at most merge_max pairs, as long as there are fewer parts than parts_max. What is more, a merge
 * beside publishes does: from the oldest part on that has at most three times as many pairs as what is newer; and where
 * all levels are taken and the newest part is larger than a publish may merge, it frees one. So a publish merges more
 * than merge_max only if merges beside publishes did not come to an end.
 *
 * Where a smaller merge is due as well, of at most half of the pairs, it comes first, as a version of its own: so levels
 * become free early, and with a merge that is ended, or made void, only one step is lost. Ask again after each: the whole
 * follows then, and the steps together write half as much again at most.
 *
 * live: pairs of the version. What parts have beyond these is dead: newer parts have the domain, or it went. If that is
 * more than what lives, a merge beside publishes takes all parts. So a version takes up at most twice of what it has,
 * files that left can be deleted at some time, and a pair that was written once more, or went, costs one more at most.
 * No state; any thread.
 */
#ifndef DX_BUILDER_SCAN_PARTS_POLICY_H
#define DX_BUILDER_SCAN_PARTS_POLICY_H

#include <stddef.h>
#include <stdint.h>

struct dx_parts_policy {
    unsigned parts_max; /* of a version, its own included; 0 or 1: all are merged into one */
    uint64_t merge_max; /* pairs; 0: no limit */
};

size_t dx_parts_kept(const uint64_t *pairs, size_t count, uint64_t fresh,
                     const struct dx_parts_policy *policy);
size_t dx_parts_kept_of_merge(const uint64_t *pairs, size_t count, uint64_t live,
                              const struct dx_parts_policy *policy);

#endif
