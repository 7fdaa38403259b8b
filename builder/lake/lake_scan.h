/* SPDX-License-Identifier: Apache-2.0
 * lake_scan.h - reads one Parquet file of the lake from front to back: ours, or a flat one
 * of others with the same column names.
 *
 *   struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
 *   rc = dx_lake_scan_open(&s, path, &err);              maps, parses and checks the footer
 *   s.column[0 .. s.column_count)                        what there is, by role
 *   while ((rc = dx_lake_scan_group(&s, &err)) == 1) {   next row group: walks page headers
 *       s.group.column[i].page[...]                      where the pages of column i are
 *       while ((rc = dx_lake_scan_row(&s, &row, &err)) == 1)     optional
 *           ...
 *       if (rc < 0) break;
 *   }
 *   rc = dx_lake_scan_hash(&s, &hash, &err);             of all bytes; reads the whole file
 *   dx_lake_scan_close(&s);
 *
 * group and row: 1 there is one, 0 the end, <0 error. Rows need not be read (to the end)
 * before the next group. row's spans are valid until the next call of row or group on s, or as long as
 * dx_lake_scan_keeps was true before each call of row;
 * row.extra has s.extra_count entries in the order of the extra columns. What a file does
 * not have (raw_url, ts, url_id, extras) is null, or 0 for url_id and dataset_id; s.has_dataset_id
 * says whether it has the latter, which then must be that of its path. Memory: one page and one
 * dictionary of each column. One thread at a time.
 *
 * Between open and the first row the caller may set s.skip_by, a form of canon/row_form.h that it
 * keeps: rows with a fault of their own are then passed over, counted in
 * rows_left_out, and the first is put into first_left_out. s.next_row - 1 is the place of a row in
 * its group. dx_lake_scan_fault says the fault of the last row (row_fault.h): what it was given as is looked at only in files
 * without the checksum that our writer puts into the footer.
 *
 * A page that cannot be read (the file was cut short meanwhile, or the disk fails) is DX_E_CORRUPT, at the latest where a
 * group ends: what was made of the rows before is thrown away then. So it is where a process has installed
 * loader/guard/bus_fault.h; elsewhere it ends the process. DX_E_DENIED: this user may not read the file.
 *
 * Missing domain, domain_id, scheme, host or path_query, and a known name of another type, are
 * errors that name the column. A further column whose values are not plain strings, or whose name
 * is empty or over 255 bytes, is not an extra: it is counted in skipped_count and the first is
 * named in `skipped`, so that the caller can say so.
 */
#ifndef DX_BUILDER_LAKE_LAKE_SCAN_H
#define DX_BUILDER_LAKE_LAKE_SCAN_H

#include "base/hash.h"
#include "base/map.h"
#include "builder/lake/lake_file.h"
#include "builder/lake/row_fault.h"
#include "parquet/chunk.h"

enum dx_lake_role {
    DX_LAKE_DATASET_ID,
    DX_LAKE_DOMAIN,
    DX_LAKE_DOMAIN_ID,
    DX_LAKE_SCHEME,
    DX_LAKE_HOST,
    DX_LAKE_PATH_QUERY,
    DX_LAKE_RAW_URL,
    DX_LAKE_TS,
    DX_LAKE_URL_ID,
    DX_LAKE_EXTRA
};

#define DX_LAKE_COLUMN_MAX (DX_LAKE_EXTRA_MAX + 9)

struct dx_lake_page {
    uint64_t offset;
    uint64_t first_row; /* within the row group */
    uint32_t size;      /* header and body */
    uint32_t row_count;
};

struct dx_lake_chunk {
    struct dx_pq_column column; /* codec and all: what dx_pq_page_decode needs */
    struct dx_lake_page *page;
    uint32_t page_count, page_capacity;
    bool has_dictionary;
    struct dx_lake_page dictionary; /* row_count: its values */
};

struct dx_lake_scan_column {
    enum dx_lake_role role;
    struct dx_span name; /* borrowed from the map */
    uint32_t leaf;
};

struct dx_lake_scan_cursor; /* private */

struct dx_lake_scan {
    struct dx_map map;
    struct dx_pq_footer footer;
    char *path;
    /* roles in order, extras as in the file */
    struct dx_lake_scan_column column[DX_LAKE_COLUMN_MAX];
    size_t column_count;
    size_t extra_count;
    size_t skipped_count;
    struct dx_span skipped;
    bool has_dataset_id;
    bool is_ours;                /* its footer has a checksum, and that is right */
    size_t requested;            /* 1 + the extra requested_url; 0: none */
    uint64_t times_left_out;     /* of the rows so far: outside of years 0000..9999, read as null */
    struct dx_row_form *skip_by; /* NULL: all rows are given */
    uint64_t rows_left_out;
    char first_left_out[DX_ROW_FAULT_TEXT + 32];
    struct {
        uint32_t number; /* of the row group */
        uint64_t row_count;
        struct dx_lake_chunk column[DX_LAKE_COLUMN_MAX]; /* parallel to the above */
    } group;
    uint32_t next_group;
    uint64_t next_row; /* in the group */
    struct dx_lake_scan_cursor *cursor;
};

#define DX_LAKE_SCAN_INIT  \
    {                      \
        .map = DX_MAP_INIT \
    }

int dx_lake_scan_open(struct dx_lake_scan *s, const char *path, struct dx_error *err);
int dx_lake_scan_group(struct dx_lake_scan *s, struct dx_error *err);
int dx_lake_scan_row(struct dx_lake_scan *s, struct dx_lake_row *row, struct dx_error *err);
const char *dx_lake_scan_fault(const struct dx_lake_scan *s, struct dx_row_form *form,
                               const struct dx_lake_row *row);
/* Whether the spans of the last row stay as they are in the next call of row: both are of pages at hand. */
bool dx_lake_scan_keeps(const struct dx_lake_scan *s);
int dx_lake_scan_hash(const struct dx_lake_scan *s, struct dx_hash128 *hash, struct dx_error *err);
void dx_lake_scan_close(struct dx_lake_scan *s);

#endif
