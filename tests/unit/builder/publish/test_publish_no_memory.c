/* SPDX-License-Identifier: Apache-2.0
 * A lake is published while memory runs out: the version before stays current, nothing is left
 * behind, and the next publish succeeds. (It goes on where the self-test reads a page without a
 * flight to share it.)
 */
#include "builder/publish/publish.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

static int publish(void *ctx, struct dx_error *err)
{
    const struct dx_publish_options options = { .root = ctx,
                                                .memory = DX_PUBLISH_MEMORY_MIN,
                                                .threads = 1,
                                                .full = true,
                                                .force = true,
                                                .now_us = INT64_C(1763719200000000),
                                                .fixed_time = true };
    struct dx_publish_result result;
    int rc = dx_publish(&options, &result, err);

    if (rc == DX_OK)
        dx_publish_result_release(&result);
    return rc;
}

int main(void)
{
    struct dx_test_root r;
    size_t failures;

    dx_test_root_make(&r, 12, 2);
    failures = fail_alloc_each("publish", FAIL_ALLOC_GOES_ON | 120, publish, r.path);
    dx_test_root_publish(&r);
    dx_test_root_remove(&r);
    return failures > 0;
}
