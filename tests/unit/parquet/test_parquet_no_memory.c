/* SPDX-License-Identifier: Apache-2.0
 * Footer, dictionaries and pages of Parquet files are decoded while memory runs out. */
#include "parquet/chunk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/file.h"
#include "parquet/footer.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

static int read_column(struct dx_span file, const struct dx_pq_footer *f, uint32_t group,
                       uint32_t leaf, struct dx_error *err)
{
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    struct dx_pq_reader reader = DX_PQ_READER_INIT;
    struct dx_pq_values values = { 0 };
    int rc = dx_pq_reader_open(&reader, file, f, group, leaf, &limits, err);

    while (rc >= 0 && (rc = dx_pq_reader_next(&reader, &values, err)) == 1)
        ;
    dx_pq_values_release(&values);
    dx_pq_reader_release(&reader);
    return rc;
}

static int columns(void *ctx, struct dx_error *err)
{
    const struct dx_buf *bytes = ctx;
    struct dx_span file = dx_span_of(bytes->data, bytes->size);
    struct dx_pq_footer f = { 0 };
    int rc = dx_pq_footer_open(&f, file, err);

    for (uint32_t g = 0; rc >= 0 && g < f.group_count; g++)
        for (uint32_t leaf = 0; rc >= 0 && leaf < f.leaf_count; leaf++)
            rc = read_column(file, &f, g, leaf, err);
    dx_pq_footer_release(&f);
    return rc;
}

int main(void)
{
    struct dx_buf bytes = DX_BUF_INIT(16 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    size_t failures;
    char path[200];

    dx_test_root_make(&r, 30, 1);
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet",
                   r.path);
    if (dx_file_read(path, bytes.max, &bytes, &err) < 0)
        abort();
    failures = fail_alloc_each("columns", 300, columns, &bytes);
    dx_buf_release(&bytes);
    dx_test_root_remove(&r);
    return failures > 0;
}
