/* SPDX-License-Identifier: Apache-2.0
 * A lake file is written and read while memory runs out: the writer, the footer, the readers of
 * columns.
 */
#include "builder/lake/lake_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "canon/ids.h"
#include "tests/runner/fail_alloc.h"

static int write_rows(const char *path, struct dx_error *err)
{
    static const char *const extras[] = { "title", "tags" };
    const struct dx_lake_schema schema = {
        .extra_names = extras, .extra_count = 2, .dataset_name = "d", .url_id = true
    };
    const struct dx_lake_options options = { 20, 40, 1 << 16, 100, 200, 1 << 20, 1 };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_stats stats;
    int rc = dx_lake_file_open(&w, path, &schema, &options, err);

    for (unsigned i = 0; rc == DX_OK && i < 400; i++) {
        char text[32];
        const struct dx_span extra[2] = { dx_span_str("a title"), dx_span_of(NULL, 0) };
        const int text_size = snprintf(text, sizeof text, "/%05u", i);
        const struct dx_lake_row row = { .domain = dx_span_str("a.org"),
                                         .domain_id = dx_domain_id(dx_span_str("a.org")),
                                         .scheme = dx_span_str("https"),
                                         .host = dx_span_str("www.a.org"),
                                         .path_query = dx_span_of(text, (size_t)text_size),
                                         .url_id = i + 1,
                                         .has_ts = i > 100,
                                         .ts_us = i * INT64_C(1000000),
                                         .extra = extra };

        rc = dx_lake_file_add(&w, &row, err);
    }
    if (rc == DX_OK)
        rc = dx_lake_file_close(&w, DX_SYNC_LATER, &stats, err);
    dx_lake_file_abort(&w);
    return rc;
}

static int writing(void *ctx, struct dx_error *err)
{
    (void)unlink(ctx);
    return write_rows(ctx, err);
}

static int reading(void *ctx, struct dx_error *err)
{
    struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
    struct dx_lake_row row;
    int rc = dx_lake_scan_open(&s, ctx, err);

    while (rc >= 0 && (rc = dx_lake_scan_group(&s, err)) == 1)
        while (rc >= 0 && (rc = dx_lake_scan_row(&s, &row, err)) == 1)
            ;
    dx_lake_scan_close(&s);
    return rc;
}

int main(void)
{
    char path[] = "/tmp/test_lake_no_memory.XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    int fd = mkstemp(path);
    size_t failures;

    if (fd < 0 || close(fd) != 0)
        abort();
    failures = fail_alloc_each("writing", 300, writing, path);
    if (writing(path, &err) < 0)
        abort();
    failures += fail_alloc_each("reading", 300, reading, path);
    (void)unlink(path);
    return failures > 0;
}
