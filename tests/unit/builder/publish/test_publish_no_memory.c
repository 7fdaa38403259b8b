/* SPDX-License-Identifier: Apache-2.0
 * A lake is published while memory runs out: the version before stays current, nothing is left
 * behind, and the next publish succeeds. (It goes on where the self-test reads a page without a
 * flight to share it.)
 */
#include "builder/publish/publish.h"

#include <stdio.h>
#include <stdlib.h>

#include "builder/publish/rollback.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    static const char *const kinds[] = { NULL, "[\"news\"]", "[\"a b\",\"news\"]", "no list" };

    return kinds[(i * 31 + dataset * 17 + row * 5) % 4];
}

struct way {
    const char *name;
    char root[96];
    bool full, through_store;
    unsigned parts_max;
    unsigned at_most;
};

static int publish(void *ctx, struct dx_error *err)
{
    const struct way *w = ctx;
    const struct dx_publish_options options = { .root = w->root,
                                                .memory = DX_PUBLISH_MEMORY_MIN,
                                                .threads = 1,
                                                .full = w->full,
                                                .force = true,
                                                .through_store = w->through_store,
                                                .parts_max = w->parts_max,
                                                .now_us = INT64_C(1763719200000000),
                                                .fixed_time = true };
    struct dx_publish_result result;
    int rc = dx_publish(&options, &result, err);

    if (rc == DX_OK && result.left_out.count > 0) /* the machine's fault, not the file's */
        rc = dx_fail(err, DX_E_CORRUPT, "left out: %zu files", result.left_out.count);
    if (rc == DX_OK)
        dx_publish_result_release(&result);
    return rc;
}

static int roll_back(void *ctx, struct dx_error *err)
{
    const struct way *w = ctx;
    const struct dx_rollback_options options = { .root = w->root,
                                                 .version = "1",
                                                 .dry_run = true,
                                                 .fixed_time = true,
                                                 .now_us = INT64_C(1763719200000000) };
    struct dx_rollback_result result;

    return dx_rollback(&options, &result, err);
}

int main(void)
{
    struct way ways[] = {
        { .name = "publish", .full = true, .at_most = 40 },
        { .name = "publish what is new", .at_most = 30 },
        { .name = "publish parts", .parts_max = 8, .at_most = 30 },
        { .name = "publish as into a store", .full = true, .through_store = true, .at_most = 20 },
    };
    struct dx_test_shape shape;
    struct dx_test_root r;
    size_t failures = 0;

    dx_test_root_usual(&shape);
    shape.tags = tags_of;
    dx_test_root_make_of(&r, 12, 2, &shape);
    dx_test_root_grow(&r, 3);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        (void)snprintf(ways[i].root, sizeof ways[i].root, "%s", r.path);
        failures += fail_alloc_each(ways[i].name, FAIL_ALLOC_GOES_ON | ways[i].at_most, publish,
                                    &ways[i]);
    }
    failures += fail_alloc_each("roll back", FAIL_ALLOC_GOES_ON | 50, roll_back, &ways[0]);
    dx_test_root_publish(&r);
    dx_test_root_remove(&r);
    return failures > 0;
}
