/* SPDX-License-Identifier: Apache-2.0
 * Names get their numbers while memory runs out: the registry is the old one or the new one, and the next run goes on with it.
 */
#include "builder/exchange/numbers/domain64_fill.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "builder/exchange/numbers/domain64_commit.h"
#include "builder/exchange/numbers/domain64_print.h"
#include "builder/exchange/postgres/postgres_ddl.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

static int make(const char *root, struct dx_error *err)
{
    struct dx_domain64_manifest list = DX_DOMAIN64_MANIFEST_INIT;
    struct dx_root remote = DX_ROOT_INIT;
    int rc = dx_root_open(&remote, root, DX_ROOT_WRITE, err);

    if (rc == DX_OK)
        rc = dx_domain64_init(root, &remote, DX_DOMAIN64_SUB8, &list, err);
    dx_root_close(&remote);
    return rc;
}

static int fill(void *ctx, struct dx_error *err)
{
    struct dx_domain64_fill f = { .root = ctx, .memory = 16 << 20, .merge_above = 8 };
    char folder[128];
    int rc;

    (void)snprintf(folder, sizeof folder, "%s/index/domain64", (const char *)ctx);
    (void)dx_dir_remove(folder, NULL);
    rc = make(ctx, err);
    if (rc >= 0)
        rc = dx_domain64_fill_run(&f, err);
    return rc == DX_E_UNKNOWN ? DX_E_NOMEM : rc; /* it was put, and could not be read back */
}

static int print(void *ctx, struct dx_error *err)
{
    static char sink[1 << 16];
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_domain64_registry *n = NULL;
    struct dx_domain64_range range;
    FILE *out = fmemopen(sink, sizeof sink, "w");
    int rc = dx_root_open(&remote, ctx, DX_ROOT_READ, err);

    if (rc == DX_OK)
        rc = dx_domain64_registry_open(&n, ctx, remote.source, err);
    if (rc == 1)
        rc = dx_domain64_print_tree(n, out, err);
    if (rc >= 0)
        rc = dx_domain64_find(n, "org", &range, err);
    if (rc >= 0)
        rc = dx_postgres_ddl_print(n, "urls", DX_PART_DOMAIN, out, err);
    dx_domain64_registry_close(&n);
    dx_root_close(&remote);
    (void)fclose(out);
    return rc;
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    size_t failures;

    dx_test_root_make(&r, 12, 2);
    failures = fail_alloc_each("fill", FAIL_ALLOC_GOES_ON | 120, fill, r.path);
    if (fill(r.path, &err) < 0) {
        printf("fill: %s\n", err.text);
        failures++;
    }
    failures += fail_alloc_each("print", 0, print, r.path);
    dx_test_root_remove(&r);
    return failures > 0;
}
