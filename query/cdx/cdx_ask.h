/* SPDX-License-Identifier: Apache-2.0
 * cdx_ask.h - what a client of a CDX server asks for; columns of a row and their names.
 *
 * Two dialects: that of the Wayback Machine (regular expressions that match the whole value, arrays in JSON, an empty answer where
 * there is nothing) and that of pywb and Common Crawl (texts that are contained, an object a line, 404).
 *
 *   c = dx_cdx_column_of(name);                 DX_CDX_NONE: no such column
 *   dx_cdx_column_name(c, dialect)
 *   c = dx_cdx_filter_column(name, dialect)  also by pywb's letters, and by Wayback's numbers from 0
 *
 * Plain values; spans are borrowed. No state; any thread.
 */
#ifndef DX_QUERY_CDX_CDX_ASK_H
#define DX_QUERY_CDX_CDX_ASK_H

#include "base/bytes.h"

enum dx_cdx_dialect { DX_CDX_WAYBACK, DX_CDX_PYWB };
enum dx_cdx_match { DX_CDX_EXACT, DX_CDX_PREFIX, DX_CDX_HOST, DX_CDX_DOMAIN };
enum dx_cdx_output { DX_CDX_TEXT, DX_CDX_JSON, DX_CDX_CDXJ, DX_CDX_LINK };

/* The first seven in the order of Wayback's lines. */
enum dx_cdx_column {
    DX_CDX_URLKEY,
    DX_CDX_TIMESTAMP,
    DX_CDX_ORIGINAL,
    DX_CDX_MIME,
    DX_CDX_STATUS,
    DX_CDX_DIGEST,
    DX_CDX_LENGTH,
    DX_CDX_OFFSET,
    DX_CDX_FILENAME,
    DX_CDX_REDIRECT,
    DX_CDX_ROBOTFLAGS,
    DX_CDX_DATASET,
    DX_CDX_STORED, /* those before it are made of a row; those behind it of another one */
    DX_CDX_ORIG_LENGTH = DX_CDX_STORED,
    DX_CDX_ORIG_OFFSET,
    DX_CDX_ORIG_FILENAME,
    DX_CDX_COLUMNS,
    DX_CDX_NONE = DX_CDX_COLUMNS
};

#define DX_CDX_USUAL 7 /* columns of a line of Wayback */

#define DX_CDX_FILTERS_MAX 16
#define DX_CDX_COLLAPSES_MAX 8
#define DX_CDX_FIELDS_MAX 32
#define DX_CDX_BLOCK_ROWS 3000 /* what pageSize counts: lines of a block of a ZipNum file */
#define DX_CDX_PAGE_SIZE_MAX 50
#define DX_CDX_TIMESTAMP_MAX UINT64_C(99999999999999)

struct dx_cdx_field {
    enum dx_cdx_column
        column; /* DX_CDX_NONE: pywb's dialect takes any name, of a member that no row has */
    struct dx_span name; /* as it was asked for */
};

struct dx_cdx_collapse {
    enum dx_cdx_column column;
    uint32_t characters; /* of the value; 0: all */
};

struct dx_cdx_ask {
    enum dx_cdx_dialect dialect;
    enum dx_cdx_output output;
    struct dx_span url;   /* without the star */
    struct dx_span shown; /* with it, as it was asked for */
    enum dx_cdx_match match;
    struct dx_span dataset;  /* its name, from the path; data NULL: all datasets */
    struct dx_span datasets; /* as of query/view/dataset_list.h; data NULL: all */
    uint64_t from, to;       /* of 14 digits */
    struct dx_span filters[DX_CDX_FILTERS_MAX];
    size_t filter_count;
    struct dx_cdx_collapse collapses[DX_CDX_COLLAPSES_MAX];
    size_t collapse_count;
    unsigned collapse_time; /* pywb's: so many digits, and the status; 0: none */
    struct dx_cdx_field fields[DX_CDX_FIELDS_MAX];
    size_t field_count; /* 0: the usual ones */
    uint64_t limit, offset;
    bool last; /* the last `limit` ones */
    bool reverse;
    bool has_closest;
    int64_t closest_s; /* seconds since 1970 */
    bool paged;
    uint64_t page;
    unsigned page_size; /* blocks */
    bool count_pages;
    bool show_resume_key;
    struct dx_span resume_key; /* data NULL: from the beginning */
    bool resolve_revisits;
    bool show_untimed; /* rows without a time too: their timestamp is "-" */
    uint64_t deadline_ms;
};

enum dx_cdx_column dx_cdx_column_of(struct dx_span name);
const char *dx_cdx_column_name(enum dx_cdx_column column, enum dx_cdx_dialect dialect);
enum dx_cdx_column dx_cdx_filter_column(struct dx_span name, enum dx_cdx_dialect dialect);

#endif
