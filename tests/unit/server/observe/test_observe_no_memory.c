/* SPDX-License-Identifier: Apache-2.0
 * A log of requests is opened, and a line is written, while memory runs out. */
#include "server/observe/request_log.h"

#include "tests/runner/fail_alloc.h"

static int request_log(void *ctx, struct dx_error *err)
{
    const struct dx_request_log_options o = {
        .target = ctx, .targets = true, .rings = 3, .ring_bytes = 1 << 12
    };
    struct dx_request_log *log = NULL;
    int rc = dx_request_log_open(&log, &o, err);

    if (rc >= 0 && !dx_request_log_close(&log))
        rc = dx_fail(err, DX_E_TIMEOUT, "the log does not end");
    return rc;
}

int main(void)
{
    return fail_alloc_each("log", 0, request_log, "/dev/null") > 0;
}
