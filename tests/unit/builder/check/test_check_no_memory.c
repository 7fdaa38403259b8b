/* SPDX-License-Identifier: Apache-2.0
 * A sound root is verified and inspected while memory runs out: that is an error, and never damage. */
#include "builder/check/verify.h"

#include <stdio.h>

#include "base/buf.h"
#include "builder/check/inspect.h"
#include "builder/publish/publish.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

struct words {
    char text[300];
};

static void keep_words(void *ctx, const char *text)
{
    struct words *w = ctx;

    (void)snprintf(w->text, sizeof w->text, "%s", text);
}

static int verify(void *ctx, struct dx_error *err)
{
    struct words w = { "" };
    const struct dx_verify_options o = { .root = ctx,
                                         .deep = true,
                                         .tmp_dir = "/tmp",
                                         .memory = DX_PUBLISH_MEMORY_MIN,
                                         .threads = 1,
                                         .found = keep_words,
                                         .ctx = &w };
    struct dx_verify_result result;
    int rc = dx_verify(&o, &result, err);

    return rc < 0 || result.damages == 0 ? rc : dx_fail(err, DX_E_CORRUPT, "damage: %s", w.text);
}

static int inspect(void *ctx, struct dx_error *err)
{
    struct dx_buf json = DX_BUF_INIT(1 << 20);
    int rc = dx_inspect_root(ctx, &json, err);

    dx_buf_release(&json);
    return rc;
}

int main(void)
{
    struct dx_test_root r;
    size_t failures;

    dx_test_root_make(&r, 12, 2);
    failures = fail_alloc_each("verify", FAIL_ALLOC_GOES_ON | 250, verify, r.path);
    failures += fail_alloc_each("inspect", 250, inspect, r.path);
    dx_test_root_remove(&r);
    return failures > 0;
}
