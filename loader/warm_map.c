/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/warm_map.h"

#include "base/clock.h"
#include "base/map.h"

#include <time.h>

#define SLICE ((size_t)64 << 20)
#define REST_MAX_MS 200

static void rest(double seconds)
{
    long ms = (long)(seconds * 1000);
    struct timespec t = { 0, (ms > REST_MAX_MS ? REST_MAX_MS : ms) * 1000000L };

    (void)nanosleep(&t, NULL);
}

static int warm_slice(const char *name, size_t offset, struct dx_span slice, struct dx_error *err)
{
    int failed = dx_map_fill(slice);

    if (failed == 0)
        return DX_OK;
    return dx_fail_errno(err, failed,
                         "%s: bytes %zu to %zu cannot be read: the file was cut, or the disk "
                         "fails; `domaindex verify` says more",
                         name, offset, offset + slice.size);
}

int dx_warm_map(const char *name, struct dx_span bytes, bool beside, struct dx_error *err)
{
    int rc = DX_OK;

    bytes = dx_map_pages(bytes);
    for (size_t at = 0; at < bytes.size && rc == DX_OK; at += SLICE) {
        size_t size = bytes.size - at < SLICE ? bytes.size - at : SLICE;
        double begin = dx_clock_s();

        rc = warm_slice(name, at, dx_span_of(bytes.data + at, size), err);
        if (beside)
            rest(dx_clock_s() - begin);
    }
    return rc;
}
