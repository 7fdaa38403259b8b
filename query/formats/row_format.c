/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/row_format.h"

const struct dx_row_format_words dx_row_formats[DX_ROW_FORMAT_COUNT] = {
    [DX_ROWS_JSON] = { .word = "json", .media = "application/json", .extension = "json" },
    [DX_ROWS_NDJSON] = { .word = "ndjson",
                         .media = "application/x-ndjson",
                         .extension = "ndjson",
                         .has_lines = true },
    [DX_ROWS_CSV] = { .word = "csv",
                      .media = "text/csv; charset=utf-8; header=present",
                      .extension = "csv" },
    [DX_ROWS_CDX] = { .word = "cdx",
                      .media = "text/x-cdx; charset=utf-8",
                      .extension = "cdx",
                      .of_urls = true },
    [DX_ROWS_CDXJ] = { .word = "cdxj",
                       .media = "text/x-cdxj; charset=utf-8",
                       .extension = "cdxj",
                       .of_urls = true },
    [DX_ROWS_URLS] = { .word = "urls",
                       .media = "text/plain; charset=utf-8",
                       .extension = "txt",
                       .of_urls = true },
    [DX_ROWS_ARROW] = { .word = "arrow",
                        .media = "application/vnd.apache.arrow.stream",
                        .extension = "arrows" },
    [DX_ROWS_PARQUET] = { .word = "parquet",
                          .media = "application/vnd.apache.parquet",
                          .extension = "parquet",
                          .is_compressed = true },
};

bool dx_row_format_parse(struct dx_span word, enum dx_row_format *format)
{
    for (size_t i = 0; i < DX_ROW_FORMAT_COUNT; i++)
        if (dx_span_equal(word, dx_span_str(dx_row_formats[i].word))) {
            *format = (enum dx_row_format)i;
            return true;
        }
    return false;
}
