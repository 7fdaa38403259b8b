/* SPDX-License-Identifier: Apache-2.0
 * Which parts are merged: a table, and thousands of publishes of random sizes, with merges beside them that come to an end or not, step by
 * step; and merges of which only those of up to some size do.
 */
#include "builder/scan/parts_policy.h"

#include <stdbool.h>
#include <stdio.h>

#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *what;
    uint64_t pairs[8];
    size_t count;
    uint64_t fresh;
    struct dx_parts_policy policy;
    size_t kept, kept_of_merge;
    uint64_t dead;
} rows[] = {
    { "no part", { 0 }, 0, 5, { 8, 0 }, 0, 0, 0 },
    { "much larger: stays", { 100 }, 1, 33, { 8, 0 }, 1, 1, 0 },
    { "three times as large: merged", { 99 }, 1, 33, { 8, 0 }, 0, 1, 0 },
    { "one after the other", { 1000, 90, 30 }, 3, 10, { 8, 0 }, 1, 3, 0 },
    { "the limit is for all that is merged", { 1000, 90, 30 }, 3, 10, { 8, 100 }, 2, 1, 0 },
    { "what the limit left", { 1000, 90, 30, 10 }, 4, 1, { 8, 100 }, 4, 1, 0 },
    { "below a small one", { 40, 40, 1 }, 3, 1, { 8, 10 }, 2, 0, 0 },
    { "below a small one, and a publish may", { 40, 40, 1 }, 3, 1, { 8, 100 }, 2, 3, 0 },
    { "all levels taken", { 1000, 100 }, 2, 1, { 2, 50 }, 1, 0, 0 },
    { "all levels taken, by a small one", { 1000, 100 }, 2, 1, { 2, 100 }, 1, 2, 0 },
    { "all into one", { 1000, 100 }, 2, 0, { 1, 0 }, 0, 2, 0 },
    { "none said: all into one", { 1000, 100 }, 2, 0, { 0, 1 }, 0, 0, 0 },
    { "half is dead", { 1000, 100 }, 2, 1, { 8, 100 }, 2, 2, 550 },
    { "more is dead", { 1000, 100 }, 2, 1, { 8, 100 }, 2, 0, 551 },
    { "all is dead, and no limit", { 1000, 100 }, 2, 1, { 8, 0 }, 2, 0, 1100 },
    { "the newest first", { 1000, 400, 150, 50, 50 }, 5, 0, { 8, 90 }, 5, 1, 0 },
    { "then the rest", { 1000, 650 }, 2, 0, { 8, 90 }, 2, 0, 0 },
    { "none has at most half: at once", { 500, 400, 300 }, 3, 0, { 8, 90 }, 3, 0, 0 },
    { "one part has none dead", { 1000 }, 1, 1, { 8, 100 }, 1, 1, 1000 },
};

static uint64_t chance(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static uint64_t sum(const uint64_t *pairs, size_t count)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++)
        all += pairs[i];
    return all;
}

/* The first `kept` parts stay, one of the rest and `fresh` is put on top. */
static size_t put(uint64_t *pairs, size_t count, size_t kept, uint64_t fresh)
{
    pairs[kept] = sum(pairs + kept, count - kept) + fresh;
    return kept + 1;
}

static void publishes(unsigned parts_max, uint64_t merge_max, uint64_t most, unsigned merges_in_10)
{
    const struct dx_parts_policy policy = { parts_max, merge_max };
    uint64_t pairs[9] = { 0 };
    uint64_t state = parts_max + merge_max + most, written = 0, total = 0;
    bool behind = false; /* a merge was due and did not end */
    size_t count = 0;

    for (unsigned i = 0; i < 5000; i++) {
        uint64_t fresh = 1 + chance(&state, most);
        size_t kept = dx_parts_kept(pairs, count, fresh, &policy);
        uint64_t merged = sum(pairs + kept, count - kept);

        EXPECT(merge_max == 0 || merged <= merge_max || (behind && count == parts_max),
               "publish %u merges %llu", i, (unsigned long long)merged);
        count = put(pairs, count, kept, fresh);
        EXPECT(count <= parts_max, "publish %u: %zu parts", i, count);
        written += merged + fresh;
        total += fresh;
        while (
            (behind = dx_parts_kept_of_merge(pairs, count, sum(pairs, count), &policy) < count) &&
            chance(&state, 10) < merges_in_10) {
            kept = dx_parts_kept_of_merge(pairs, count, sum(pairs, count), &policy);
            EXPECT(kept + 1 < count, "a merge of one part");
            written += sum(pairs + kept, count - kept);
            count = put(pairs, count, kept, 0);
        }
    }
    EXPECT(merges_in_10 == 0 || parts_max < 8 || written < total * 16,
           "%u parts, at most %llu: a pair is written %.1f times", parts_max,
           (unsigned long long)merge_max, (double)written / (double)total);
}

/* Merges of more than half of the version never come to an end: publishes go on as if they did. */
static void only_small_merges(void)
{
    const struct dx_parts_policy policy = { 8, 1000 };
    uint64_t pairs[9] = { 0 };
    uint64_t state = 1, steps = 0;
    size_t count = 0;

    for (unsigned i = 0; i < 5000; i++) {
        uint64_t fresh = 1 + chance(&state, 1000);
        size_t kept = dx_parts_kept(pairs, count, fresh, &policy);

        EXPECT(sum(pairs + kept, count - kept) <= 1000, "publish %u merges %llu", i,
               (unsigned long long)sum(pairs + kept, count - kept));
        count = put(pairs, count, kept, fresh);
        while ((kept = dx_parts_kept_of_merge(pairs, count, sum(pairs, count), &policy)) < count &&
               (sum(pairs, count) < 100000 ||
                sum(pairs + kept, count - kept) <= sum(pairs, count) / 2)) {
            steps += sum(pairs, count) >= 100000;
            count = put(pairs, count, kept, 0);
        }
    }
    EXPECT(steps > 100, "%llu merges", (unsigned long long)steps);
}

/* Domains are taken over from the oldest part a little at a time, or go: it is merged all the same. */
static void dying(unsigned merges_in_10)
{
    const struct dx_parts_policy policy = { 8, 1000 };
    uint64_t pairs[9] = { 1000000 };
    uint64_t state = merges_in_10 + 1, live = 1000000, written = 0, killed = 0, merges = 0;
    size_t count = 1;

    for (unsigned i = 0; i < 20000; i++) {
        uint64_t fresh = chance(&state, 100), gone = chance(&state, 100);
        size_t kept = dx_parts_kept(pairs, count, fresh, &policy);

        count = put(pairs, count, kept, fresh);
        gone = gone > live ? live : gone; /* of the older parts */
        live -= gone;
        killed += gone + fresh; /* all that is fresh is of known domains */
        kept = dx_parts_kept_of_merge(pairs, count, live, &policy);
        if (kept == count || chance(&state, 10) >= merges_in_10)
            continue;
        if (sum(pairs, count) / 2 > live) {
            EXPECT(kept == 0, "publish %u: dead ones stay", i);
            written += live;
            merges++;
        }
        count = put(pairs, count, kept, 0);
        if (kept == 0)
            pairs[0] = live;
        EXPECT(sum(pairs, count) <= 2 * live + 1 || merges_in_10 < 10, "publish %u: dead ones stay",
               i);
    }
    EXPECT(merges > 0 && written <= killed, "%llu merges of all write %llu for %llu that died",
           (unsigned long long)merges, (unsigned long long)written, (unsigned long long)killed);
}

int main(void)
{
    static const uint64_t limits[] = { 0, 10, 1000, 100000 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t kept = dx_parts_kept(rows[i].pairs, rows[i].count, rows[i].fresh, &rows[i].policy);
        size_t of_merge = dx_parts_kept_of_merge(rows[i].pairs, rows[i].count,
                                                 sum(rows[i].pairs, rows[i].count) - rows[i].dead,
                                                 &rows[i].policy);

        EXPECT(kept == rows[i].kept, "%s: %zu stay", rows[i].what, kept);
        EXPECT(of_merge == rows[i].kept_of_merge, "%s: of a merge %zu stay", rows[i].what,
               of_merge);
    }
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (unsigned parts = 3; parts <= 8; parts++)
            for (unsigned merges = 0; merges <= 10; merges += 5) {
                publishes(parts, limits[i], 3, merges);
                publishes(parts, limits[i], 5000, merges);
            }
    only_small_merges();
    dying(10);
    dying(5);
    return failures == 0 ? 0 : 1;
}
