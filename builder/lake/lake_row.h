/* SPDX-License-Identifier: Apache-2.0
 * lake_row.h - a row of a lake file, which columns the file has, and where its pages are cut.
 *
 * Data alone, for lake_file.h, which writes it, lake_page.h, which holds some of it, and lake_scan.h, which reads it.
 */
#ifndef DX_BUILDER_LAKE_LAKE_ROW_H
#define DX_BUILDER_LAKE_LAKE_ROW_H

#include "base/bytes.h"

#define DX_LAKE_EXTRA_MAX 48             /* columns; with ours they stay below 64 */
#define DX_LAKE_ROW_BYTES_MAX (8u << 20) /* strings of one row together */

struct dx_lake_row {
    /* of the file's path: readers of a folder of Parquet make a column of it */
    uint32_t dataset_id;
    uint64_t domain_id;
    uint64_t url_id;
    struct dx_span domain;
    struct dx_span scheme;
    struct dx_span host; /* with the port if it is not the scheme's own */
    struct dx_span path_query;
    struct dx_span raw_url; /* data == NULL: null */
    bool has_ts;
    int64_t ts_us;
    const struct dx_span *extra; /* schema->extra_count of them; data == NULL: null */
};

struct dx_lake_schema {
    const char *const *extra_names;
    size_t extra_count;
    const char *dataset_name; /* goes into the file's metadata; NULL: none */
    bool ts_micros;           /* some ts is not a whole millisecond; else add refuses such */
    bool url_id;
};

struct dx_lake_options {
    uint32_t page_rows_min;  /* a page ends at the first domain border from here on… */
    uint32_t page_rows_max;  /* …and here at the latest */
    uint32_t page_bytes_max; /* or when its strings are this long together */
    uint32_t group_rows_min; /* the same for row groups */
    uint32_t group_rows_max;
    uint32_t group_bytes_max; /* of compressed pages */
    int zstd_level; /* 6: 9 takes 1.75 times as long for 0.5 % (docs/notes/ingest-speed.md) */
};

#define DX_LAKE_OPTIONS_DEFAULT                          \
    {                                                    \
        2048, 4096, 1u << 20, 65536, 131072, 6u << 20, 6 \
    }

/* By domain, host and path: times and extras are for the caller. */
static inline int dx_lake_row_compare(const struct dx_lake_row *a, const struct dx_lake_row *b)
{
    int order = dx_span_compare(a->domain, b->domain);

    if (order == 0)
        order = dx_span_compare(a->host, b->host);
    return order == 0 ? dx_span_compare(a->path_query, b->path_query) : order;
}

#endif
