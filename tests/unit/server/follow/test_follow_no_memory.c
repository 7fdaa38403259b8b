/* SPDX-License-Identifier: Apache-2.0
 * A follower is started while memory runs out: it says so, or it runs and ends. */
#include "server/follow/follower.h"

#include <stdio.h>

#include "tests/runner/fail_alloc.h"

static int look(void *of, bool asked, struct dx_error *err)
{
    (void)of, (void)asked, (void)err;
    return 0;
}

static int describe(void *of, int rc, char text[DX_WATCHED_TEXT])
{
    (void)of, (void)rc;
    text[0] = '\0';
    return -1;
}

static int follower(void *ctx, struct dx_error *err)
{
    static const struct dx_watched thing = { "thing", 2, look, describe };
    struct dx_follower *f = NULL;
    int rc = dx_follower_start(&f, &thing, NULL, false, 1000, err);

    (void)ctx;
    if (rc >= 0 && (!dx_follower_stop(&f) || f != NULL))
        rc = dx_fail(err, DX_E_TIMEOUT, "it does not end");
    return rc;
}

int main(void)
{
    return fail_alloc_each("follower", 0, follower, NULL) > 0;
}
