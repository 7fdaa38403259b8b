/* SPDX-License-Identifier: Apache-2.0
 * Small files are merged, and what could be collected is planned, while memory runs out: the root stays as it was. */
#include "builder/maintain/compact.h"

#include <stdlib.h>

#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

static int compact(void *ctx, struct dx_error *err)
{
    const struct dx_compact_options o = { .publish = { .root = ctx,
                                                       .memory = DX_PUBLISH_MEMORY_MIN,
                                                       .threads = 1,
                                                       .force = true,
                                                       .now_us = INT64_C(1763719200000000),
                                                       .fixed_time = true },
                                          .test_scale = 100000 };
    struct dx_compact_result result;
    int rc = dx_compact(&o, &result, err);

    if (rc < 0)
        return rc;
    if (result.publish.damaged.count > 0) /* the machine's fault, not the file's */
        rc = dx_fail(err, DX_E_CORRUPT, "damaged: %llu files",
                     (unsigned long long)result.publish.damaged.count);
    dx_compact_result_release(&result);
    return rc;
}

int main(void)
{
    struct dx_test_root r;
    size_t failures;

    dx_test_root_make(&r, 12, 2);
    failures = fail_alloc_each("compact", FAIL_ALLOC_GOES_ON | 120, compact, r.path);
    dx_test_root_publish(&r);
    dx_test_root_remove(&r);
    return failures > 0;
}
