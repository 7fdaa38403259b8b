/* SPDX-License-Identifier: Apache-2.0
 * Statements for a table, while memory runs out. */
#include "builder/exchange/postgres/postgres_ddl.h"

#include "tests/runner/fail_alloc.h"

static int statements(void *ctx, struct dx_error *err)
{
    static const char *const column[] = { "title", "a \"quoted\" one" };
    const struct dx_postgres_ddl d = {
        .table = "urls", .layout = DX_DOMAIN64_SUB8, .column = column, .column_count = 2
    };
    struct dx_buf out = DX_BUF_INIT(1 << 20);
    int rc;

    (void)ctx;
    dx_postgres_ddl_table(&d, &out);
    dx_postgres_ddl_datasets(&d, &out);
    rc = out.failed ? dx_buf_fail(&out, err, "statements") : DX_OK;
    dx_buf_release(&out);
    return rc;
}

int main(void)
{
    return fail_alloc_each("statements", 0, statements, NULL) > 0;
}
