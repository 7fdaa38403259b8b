/* SPDX-License-Identifier: Apache-2.0
 * pages.h - pages.dxp: where each page of each lake file is, and its sum.
 *
 *   rc = dx_pages_open(&p, file, flags, name, &err);
 *   rc = dx_pages_file(&p, file_id, &f, &err);                1, 0 no such file or a hole, <0
 *   rc = dx_pages_of_group(&p, number, &f, &row_group, &err); 1, 0 no such row group among all, <0
 *   rc = dx_pages_group(&p, &f, row_group, &group, &err);     1, 0 no such group, <0
 *   while (dx_page_group_next(&group, &column) == 1)          columns in their order
 *       while (dx_page_column_next(&column, &page) == 1)      data pages in their order
 *   ok = dx_page_sum_check(&f, &page, bytes, &err);           bytes: page.size bytes at page.offset
 *   rc = dx_pages_strays(&p, file_id, &first, &count, &err);  its rows whose keys stray (canon/urlkey.h): 1 these are all,
 *   rc = dx_pages_stray(&p, first + i, &stray, &err);         0 there are others; ascending
 *   dx_pages_close(&p);
 *
 * dx_pages_group walks the whole record once (bounds within the file, sums of rows), so the
 * two iterators cannot fail; group and column are plain values and may be copied to go over them
 * again. A part of a version knows the files from first_file on (docs/FORMAT.md 11.4): file_ids are
 * the version's. Names and paths are borrowed from the file. Threads may share p. A hole is a file_id of
 * these p.files whose file went (files_tsv.h); its record is zero.
 *
 * Writing, by file_id, less that of the first one:
 *
 *   rc = dx_page_group_encode(&buf, file_size, rows, columns, n, &err);   a GRPD record, appended
 *   rc = dx_pages_writer_begin(&w, files, groups, rows, &build, sink, ctx, &err);   the totals
 *   rc = dx_pages_writer_file(&w, &f, &err);          f.first_group is filled in by the writer;
 *                                                     a hole: f is zero but for file_id
 *   rc = dx_pages_writer_group(&w, record, &err);     f.row_groups times
 *   rc = dx_pages_writer_stray(&w, &stray, &err);     behind all groups, ascending, of a file by its number here; if there are
 *                                                     over DX_PAGES_STRAYS_MAX of a file, or they are not known, one
 *                                                     dx_page_strays_unknown(number) behind those
 *   rc = dx_pages_writer_end(&w, &err);               refuses if the totals do not hold
 *   dx_pages_writer_release(&w);
 *
 * Memory of a writer: 64 bytes and its path for a file, 8 bytes for a row group.
 */
#ifndef DX_FORMAT_VERSION_PAGES_H
#define DX_FORMAT_VERSION_PAGES_H

#include "base/buf.h"
#include "base/hash.h"
#include "format/core/envelope.h"

#define DX_PAGES_MAGIC DX_KIND('D', 'X', 'P', 'G')
#define DX_PAGES_VERSION 1
#define DX_PAGE_COLUMNS_MAX 64
#define DX_PAGE_NAME_MAX 255
#define DX_PAGES_STRAYS_MAX 65536 /* of a file */

enum dx_page_role {
    DX_ROLE_SCHEME = 1,
    DX_ROLE_HOST = 2,
    DX_ROLE_PATH_QUERY = 3,
    DX_ROLE_RAW_URL = 4,
    DX_ROLE_TS = 5,
    DX_ROLE_EXTRA = 6
};

enum dx_page_time {
    DX_PAGE_TIME_NONE = 0,
    DX_PAGE_TIME_MS = 1,
    DX_PAGE_TIME_US = 2,
    DX_PAGE_TIME_NS = 3,
    DX_PAGE_TIME_INT96 = 4
};

struct dx_page_location {
    uint64_t offset;    /* in the Parquet file: of the page header */
    uint32_t size;      /* header and body */
    uint32_t sum;       /* dx_page_sum */
    uint64_t first_row; /* within the row group; not stored, found by adding up */
    uint64_t rows;      /* 0 for a dictionary page */
};

struct dx_page_column {
    uint8_t role;
    uint8_t physical_type; /* as in parquet.thrift */
    uint8_t codec;
    uint8_t max_def; /* 0 or 1 */
    uint8_t time_unit;
    uint32_t type_length;
    struct dx_span name;
    struct dx_page_location dictionary; /* size 0: none */
    uint64_t page_count;
    const struct dx_page_location *pages; /* for the encoder; NULL in what a reader gets */
    /* the reader's place: */
    struct dx_bytes at;
    uint64_t end;   /* of the page before, in the Parquet file */
    uint64_t row;   /* of the next page */
    uint64_t taken; /* pages */
};

struct dx_pages_file {
    uint32_t file_id;
    uint32_t dataset_id;
    uint32_t row_groups;
    uint64_t first_group; /* among all */
    uint64_t rows;
    uint64_t size;
    struct dx_span path;
    struct dx_hash128 hash; /* XXH3-128 of the Parquet file */
};

struct dx_page_group {
    uint64_t rows;
    uint32_t columns;
    uint32_t taken;
    struct dx_bytes at;
    struct dx_span record; /* all of it, as it was encoded */
};

/* A row whose key does not begin with what its path begins with. */
struct dx_page_stray {
    uint32_t file_id;
    uint32_t row_group;
    uint64_t row; /* in the row group */
};

/* A record that says that a file has others. */
static inline struct dx_page_stray dx_page_strays_unknown(uint32_t file_id)
{
    return (struct dx_page_stray){ file_id, UINT32_MAX, UINT64_MAX };
}
static inline bool dx_page_stray_is_unknown(const struct dx_page_stray *s)
{
    return s->row_group == UINT32_MAX && s->row == UINT64_MAX;
}

struct dx_pages {
    struct dx_envelope envelope;
    uint64_t first_file; /* number of the first one: 0, or set by its opener (loader/part.h) */
    uint64_t files;
    uint64_t groups;
    uint64_t rows;
    struct dx_span file_records;  /* FILE */
    struct dx_span paths;         /* PATH */
    struct dx_span group_index;   /* GRPX */
    struct dx_span group_records; /* GRPD */
    bool has_strays;              /* else the file was written before there were such records */
    struct dx_span strays;        /* STRY */
};

uint32_t dx_page_sum(const struct dx_hash128 *file_hash, uint64_t offset, struct dx_span bytes);

int dx_pages_open(struct dx_pages *p, struct dx_span file, unsigned flags, const char *name,
                  struct dx_error *err);
int dx_pages_file(const struct dx_pages *p, uint64_t file_id, struct dx_pages_file *out,
                  struct dx_error *err);
int dx_pages_of_group(const struct dx_pages *p, uint64_t number, struct dx_pages_file *out,
                      uint32_t *row_group, struct dx_error *err);
int dx_pages_group(const struct dx_pages *p, const struct dx_pages_file *file, uint32_t row_group,
                   struct dx_page_group *out, struct dx_error *err);
/* 1: rows of the file have a column of that name (its first row group says so, as all do); 0 */
int dx_pages_has_column(const struct dx_pages *p, const struct dx_pages_file *file,
                        const char *name, struct dx_error *err);
int dx_page_group_next(struct dx_page_group *group, struct dx_page_column *column);
int dx_page_column_next(struct dx_page_column *column, struct dx_page_location *page);
int dx_page_sum_check(const struct dx_pages_file *file, const struct dx_page_location *page,
                      struct dx_span bytes, struct dx_error *err); /* DX_OK or <0 */
int dx_pages_strays(const struct dx_pages *p, uint64_t file_id, uint64_t *first, uint64_t *count,
                    struct dx_error *err);
int dx_pages_stray(const struct dx_pages *p, uint64_t i, struct dx_page_stray *out,
                   struct dx_error *err);
void dx_pages_close(struct dx_pages *p);

/* The record alone, as the encoder makes it: for those who keep records outside of pages.dxp. */
int dx_page_group_open(struct dx_page_group *group, struct dx_span record, uint64_t file_size,
                       const char *name, struct dx_error *err);

int dx_page_group_encode(struct dx_buf *out, uint64_t file_size, uint64_t rows,
                         const struct dx_page_column *columns, size_t count, struct dx_error *err);

struct dx_pages_writer {
    struct dx_envelope_writer envelope;
    uint64_t files_want, groups_want, rows_want;
    uint64_t files, groups, rows;
    uint64_t groups_left; /* of the file that was added last */
    uint64_t rows_left;
    uint64_t file_size;
    uint64_t data_size;
    bool in_strays; /* the section is begun */
    struct dx_page_stray stray;
    struct dx_buf file_records;
    struct dx_buf paths;
    struct dx_buf group_index;
};

int dx_pages_writer_begin(struct dx_pages_writer *w, uint64_t files, uint64_t groups, uint64_t rows,
                          const struct dx_build_id *build,
                          int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                          void *ctx, struct dx_error *err);
int dx_pages_writer_file(struct dx_pages_writer *w, const struct dx_pages_file *file,
                         struct dx_error *err);
int dx_pages_writer_group(struct dx_pages_writer *w, struct dx_span record, struct dx_error *err);
int dx_pages_writer_stray(struct dx_pages_writer *w, const struct dx_page_stray *stray,
                          struct dx_error *err);
int dx_pages_writer_end(struct dx_pages_writer *w, struct dx_error *err);
void dx_pages_writer_release(struct dx_pages_writer *w);

#endif
