/* SPDX-License-Identifier: Apache-2.0
 * input_columns.h - which field of a record is the URL, the time, the dataset, an extra.
 *
 *   struct dx_columns_want want = { .url = "2", .dataset = "1" };
 *   rc = dx_columns_want_check(&want, &err);                                      once
 *   rc = dx_columns_resolve(&cols, &want, format, first_record, name, &err);      each input
 *   cols.header: the first record is a header, no data
 *   why = dx_columns_pick(&cols, record, &fields);       0, or a dx_row_reject
 *   fields.url, .ts, .dataset, .extra[i]                 data == NULL: absent or null
 *   want.extra_name[i]                                   set by the first resolve
 *
 * A column is a number from 1, or a name: of a header (TSV, CSV) or a dotted path (JSONL).
 * Without a URL column JSONL takes the first present of a fixed list of paths, and TSV and
 * CSV the first such name in the header; the same for the time. A header is expected where
 * a name is asked for, and recognised where the URL's field of the first record is one of
 * those names. Resolved columns are read-only: threads may share them; each has its own
 * dx_fields. Spans in fields point into the record or into fields.scratch.
 */
#ifndef DX_BUILDER_INPUT_COLUMNS_H
#define DX_BUILDER_INPUT_COLUMNS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "builder/input_json.h"
#include "builder/input_records.h"

#define DX_EXTRA_COLUMNS_MAX 32 /* with the paths tried for URL and time below 64 */
#define DX_COLUMN_NUMBER_MAX 4096

enum dx_header { DX_HEADER_AUTO, DX_HEADER_YES, DX_HEADER_NO };

struct dx_columns_want {
    const char *url; /* as given; NULL: find it */
    const char *ts;
    bool no_ts; /* do not look for one */
    const char *dataset;
    const char *extra[DX_EXTRA_COLUMNS_MAX];
    size_t extra_count;
    size_t canonical; /* 1 + the extra that says which URL the record's content is; 0: none does */
    enum dx_header header;
    char *extra_name[DX_EXTRA_COLUMNS_MAX]; /* of the Parquet column */
};

struct dx_columns {
    enum dx_record_format format;
    bool header;
    /* TSV, CSV, list: fields from 0; -1: none */
    int url;
    int ts;
    int dataset;
    int extra[DX_EXTRA_COLUMNS_MAX];
    size_t extra_count;
    size_t canonical; /* as wanted */
    size_t field_max; /* fields to split off */
    /* JSONL: paths [0, url_paths) are the URL's, then the time's, dataset, extras */
    struct dx_json_path path[DX_JSON_PATHS_MAX];
    size_t path_count;
    size_t url_paths;
    size_t ts_paths;
    bool dataset_path;
};

struct dx_fields {
    struct dx_span url;
    struct dx_span ts;
    struct dx_span dataset;
    struct dx_span extra[DX_EXTRA_COLUMNS_MAX];
    struct dx_span *split; /* DX_COLUMN_NUMBER_MAX of them */
    struct dx_buf scratch;
};

int dx_columns_want_check(struct dx_columns_want *want, struct dx_error *err);
void dx_columns_want_release(struct dx_columns_want *want);
int dx_columns_resolve(struct dx_columns *cols, struct dx_columns_want *want,
                       enum dx_record_format format, struct dx_span first, const char *input,
                       struct dx_error *err);

int dx_fields_init(struct dx_fields *f, struct dx_error *err);
void dx_fields_release(struct dx_fields *f);
int dx_columns_pick(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f);

#endif
