/* SPDX-License-Identifier: Apache-2.0
 * Sets of datasets: against a plain table of bools, over random sets of many shapes; keys.
 */
#include "format/root/scope.h"
#include "tests/support/damage.h"

#include <inttypes.h>
#include <stdlib.h>

#define IDS 200000u

static int failures;
static uint64_t seed = 7;

static uint32_t next(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + 1;
    return (uint32_t)(seed >> 33) % below;
}

static void check(const struct dx_scope *scope, const bool *want, size_t round)
{
    uint64_t count = 0;

    for (uint32_t id = 0; id < IDS; id++) {
        count += want[id];
        if (dx_scope_has(scope, id) != want[id]) {
            EXPECT(false, "round %zu: id %u is %d", round, id, !want[id]);
            return;
        }
    }
    EXPECT(dx_scope_count(scope) == count, "round %zu: %" PRIu64 " ids", round,
           dx_scope_count(scope));
}

static void test_sets(void)
{
    static const uint32_t sizes[] = { 0, 1, 2, 31, 1000, 70000 };
    static uint32_t ids[IDS];
    static bool want[IDS];

    for (size_t round = 0; round < 2 * sizeof sizes / sizeof *sizes; round++) {
        uint32_t count = sizes[round / 2];
        uint32_t below = round % 2 == 0 ? IDS : count + 1; /* spread, or close together */
        struct dx_scope *base = NULL;
        struct dx_scope *scope = NULL;
        struct dx_error err = DX_ERROR_INIT;

        memset(want, 0, sizeof want);
        for (uint32_t i = 0; i < count; i++) {
            ids[i] = next(below);
            want[ids[i]] = true;
        }
        EXPECT(dx_scope_more(&scope, NULL, ids, count, &err) == DX_OK, "%s", err.text);
        check(scope, want, round);
        EXPECT(dx_scope_more(&base, NULL, ids, count / 2, &err) == DX_OK, "%s", err.text);
        EXPECT(count < 2 || !dx_scope_equal(base, scope) || count == 2, "half is all");
        {
            struct dx_scope *both = NULL;

            EXPECT(dx_scope_more(&both, base, ids + count / 2, count - count / 2, &err) == DX_OK,
                   "%s", err.text);
            check(both, want, round);
            EXPECT(dx_scope_equal(both, scope) && dx_scope_hash(both) == dx_scope_hash(scope),
                   "round %zu: not equal", round);
            EXPECT(dx_scope_key(both) != dx_scope_key(scope) && dx_scope_key(both) != 0, "keys");
            EXPECT(dx_scope_within(base, both) && dx_scope_within(both, scope) &&
                       dx_scope_within(both, base) == dx_scope_equal(both, base),
                   "round %zu: within", round);
            dx_scope_drop((const struct dx_scope **)&both);
        }
        dx_scope_drop((const struct dx_scope **)&base);
        dx_scope_drop((const struct dx_scope **)&scope);
    }
}

static void test_all(void)
{
    struct dx_scope *none = NULL;
    const struct dx_scope *held;

    EXPECT(dx_scope_has(NULL, 17), "no scope hides");
    EXPECT(dx_scope_key(NULL) == 0 && dx_scope_equal(NULL, NULL), "key of no scope");
    EXPECT(dx_scope_more(&none, NULL, NULL, 0, NULL) == DX_OK, "an empty one");
    EXPECT(!dx_scope_has(none, 17), "none shows");
    EXPECT(!dx_scope_equal(none, NULL) && dx_scope_key(none) != 0, "none is not all");
    EXPECT(dx_scope_within(none, NULL) && dx_scope_within(NULL, NULL) &&
               !dx_scope_within(NULL, none),
           "all has none, and all of itself");
    held = dx_scope_hold(none);
    dx_scope_drop((const struct dx_scope **)&none);
    EXPECT(!dx_scope_has(held, 3), "held");
    dx_scope_drop(&held);
    dx_scope_drop(&held);
    EXPECT(dx_scope_hold(NULL) == NULL, "hold of none");
}

int main(void)
{
    test_sets();
    test_all();
    return failures > 0;
}
