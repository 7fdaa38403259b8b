/* SPDX-License-Identifier: Apache-2.0
 * Of which columns only the records of a Parquet file say whether they are there: those that lie in JSON.
 */
#include "builder/input/parquet/parquet_columns.h"

#include "builder/input/parquet/parquet_rows.h"
#include "tests/support/fail.h"
#include "tests/support/small_root.h"

#include <stdio.h>

#define MEMORY ((uint64_t)64 << 20)

static int failures;

static const char *json_of(unsigned i, unsigned dataset, unsigned row)
{
    (void)i;
    (void)dataset;
    return row % 2 == 0 ? "{\"when\":\"2024-01-02\",\"what\":\"x\"}" : "{}";
}

static void check(const char *path, const char *ts, const char *extra, uint64_t by_record)
{
    struct dx_columns_want want = { .url = "path_query",
                                    .ts = ts,
                                    .no_ts = ts == NULL,
                                    .extra = { extra },
                                    .extra_count = extra != NULL };
    struct dx_parquet_rows *p = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_parquet_rows_open(&p, path, &want, MEMORY, &err);

    CHECK(rc == DX_OK, "%s", err.text);
    if (rc == DX_OK)
        CHECK(dx_parquet_rows_columns(p)->by_record == by_record, "%s, %s: %llx",
              ts != NULL ? ts : "no time", extra != NULL ? extra : "no extra",
              (unsigned long long)dx_parquet_rows_columns(p)->by_record);
    dx_parquet_rows_close(&p);
    dx_columns_want_release(&want);
}

int main(void)
{
    struct dx_test_shape shape;
    struct dx_test_root r;
    char path[256];

    dx_test_root_usual(&shape);
    shape.tags = json_of;
    dx_test_root_make_of(&r, 3, 1, &shape);
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet",
                   r.path);
    check(path, NULL, NULL, 0);
    check(path, "ts", "tags", 0);
    check(path, "tags.when", NULL, DX_COLUMNS_TS);
    check(path, "tags.when", "host", DX_COLUMNS_TS);
    check(path, "ts", "tags.what", 1);
    check(path, "tags.when", "tags.what", DX_COLUMNS_TS | 1);
    dx_test_root_remove(&r);
    return failures > 0;
}
