/* SPDX-License-Identifier: Apache-2.0
 * row_format.h - the formats that rows of an answer can be given in, their names and media types.
 *
 *   if (!dx_row_format_parse(word, &format)) ...     "csv" of format=csv
 *   f = &dx_row_formats[format];                     f->word, f->media, ...
 *
 * Constants; any thread.
 */
#ifndef DX_QUERY_FORMATS_ROW_FORMAT_H
#define DX_QUERY_FORMATS_ROW_FORMAT_H

#include "base/bytes.h"

enum dx_row_format {
    DX_ROWS_JSON, /* the answer as it is */
    DX_ROWS_NDJSON,
    DX_ROWS_CSV,
    DX_ROWS_CDX,
    DX_ROWS_CDXJ,
    DX_ROWS_URLS,
    DX_ROWS_ARROW,
    DX_ROWS_PARQUET,
    DX_ROW_FORMAT_COUNT
};

struct dx_row_format_words {
    const char *word;
    const char *media;     /* Content-Type, with its parameters */
    const char *extension; /* of a file name */
    bool of_urls;          /* of rows that are URLs alone */
    bool has_lines;        /* an error can be one of them */
    bool is_compressed;    /* a content coding would gain nothing */
};

extern const struct dx_row_format_words dx_row_formats[DX_ROW_FORMAT_COUNT];

bool dx_row_format_parse(struct dx_span word, enum dx_row_format *format);

#endif
