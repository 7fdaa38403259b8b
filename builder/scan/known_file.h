/* SPDX-License-Identifier: Apache-2.0
 * known_file.h - URLs of rows of a lake file that an open version has, without its footer.
 *
 *   struct dx_known_file f = DX_KNOWN_FILE_INIT;
 *   rc = dx_known_file_open(&f, base, file_id, &err);
 *   rc = dx_known_file_row(&f, row_group, row_in_group, &row, &err);   scheme, host, path_query
 *   dx_known_file_close(&f);
 *
 * Pages are read by pages.dxp of the version through its source, which may be remote, and checked
 * by its sums: a file that was replaced since is DX_E_CORRUPT, or DX_E_CONFLICT where ETags tell
 * it. Rows that ascend cost one read of three pages for each page; the row's spans are valid until
 * the next call. One thread. Memory: three decoded pages, and dictionaries if the file has them.
 */
#ifndef DX_BUILDER_SCAN_KNOWN_FILE_H
#define DX_BUILDER_SCAN_KNOWN_FILE_H

#include "fetch/source.h"
#include "format/version/pages.h"
#include "parquet/page.h"

struct dx_lake_row;
struct dx_version;

#define DX_KNOWN_COLUMNS 3

struct dx_known_column {
    struct dx_pq_column type;
    struct dx_page_column first; /* before its first page */
    struct dx_page_column at;
    struct dx_page_location page; /* that is decoded; rows 0: none */
    bool has_dictionary;          /* it is decoded */
    struct dx_pq_dictionary dictionary;
    struct dx_pq_values values;
    uint8_t *raw; /* page, then dictionary if it is to be read */
    size_t raw_capacity;
};

struct dx_known_file {
    struct dx_version *base;
    const struct dx_part *part; /* that knows the file */
    struct dx_pages_file file;
    char *object;
    struct dx_pin pin;
    bool has_group;
    uint32_t group;
    uint64_t group_rows;
    struct dx_known_column columns[DX_KNOWN_COLUMNS]; /* by role: scheme, host, path_query */
};

#define DX_KNOWN_FILE_INIT \
    {                      \
        .base = NULL       \
    }

int dx_known_file_open(struct dx_known_file *f, struct dx_version *base, uint32_t file_id,
                       struct dx_error *err);
int dx_known_file_row(struct dx_known_file *f, uint32_t row_group, uint64_t row_in_group,
                      struct dx_lake_row *row, struct dx_error *err);
void dx_known_file_close(struct dx_known_file *f);

#endif
