/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/parquet/parquet_row.h"

#include "base/json_out.h"
#include "builder/input/bytes/input_ranges.h"
#include "builder/input/parquet/parquet_footer.h"
#include "format/text/locator.h"
#include "parquet/chunk.h"
#include "parquet/row_json.h"

#define WINDOW (1u << 20)

int dx_parquet_row_read(struct dx_input_ranges *ranges, const struct dx_locator *locator,
                        const struct dx_pq_limits *limits, struct dx_buf *json,
                        void (*seen)(void *ctx, struct dx_span text), void *ctx,
                        struct dx_error *err)
{
    const struct dx_pq_fetch fetch = { dx_parquet_footer_fetch, ranges, WINDOW };
    struct dx_buf metadata = DX_BUF_INIT(DX_PQ_FOOTER_MAX);
    struct dx_pq_footer footer = { .node = NULL };
    struct dx_pq_rows rows = DX_PQ_ROWS_INIT;
    struct dx_json j;
    int rc = dx_parquet_footer_read(&footer, ranges, &metadata, UINT64_MAX, err);

    rows.text_max = json->max;
    dx_json_open(&j, json);
    if (rc == DX_OK)
        rc = dx_parquet_footer_same(ranges, &metadata, locator, err);
    if (rc == DX_OK)
        rc = dx_pq_rows_columns(&rows, &footer, NULL, 0, err);
    if (rc == DX_OK)
        rc = dx_pq_rows_read(&rows, &fetch, locator->place[0], &locator->place[1], 1, limits, err);
    if (rc == DX_OK)
        rc = dx_pq_rows_json(&rows, 0, &j, seen, ctx, err);
    if (rc == DX_OK && json->failed)
        rc = dx_buf_fail(json, err, "the row as JSON");
    dx_pq_rows_release(&rows);
    dx_pq_footer_release(&footer);
    dx_buf_release(&metadata);
    return rc < 0 ? dx_fail_in(err, "%s", dx_input_ranges_name(ranges)) : DX_OK;
}
