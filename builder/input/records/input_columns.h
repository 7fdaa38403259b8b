/* SPDX-License-Identifier: Apache-2.0
 * input_columns.h - which field of a record is the URL, the time, the dataset, an extra.
 *
 *   struct dx_columns_want want = { .url = "2", .dataset = "1" };
 *   rc = dx_columns_want_check(&want, &err);                                      once
 *   rc = dx_columns_resolve(&cols, &want, format, &sample, name, &err);           each input
 *   cols.header: the first record is a header, no data
 *   why = dx_columns_pick(&cols, record, &fields);       0, a dx_row_reject, or DX_E_NOMEM
 *   why = dx_columns_more(&cols, &fields);               the same of the next row of the record;
 *                                                        DX_COLUMNS_END, of both: it has no (more) rows
 *   fields.url, .ts, .dataset, .extra[i]                 data == NULL: absent or null
 *   want.extra_name[i]                                   set by the first resolve
 *   dx_columns_want_extra(&want, "status=fetch_status")  a column, or one that is stored as NAME
 *
 *   dx_columns_describe(&cols, &want, &text);            "url column: link; time column: none"
 *
 * A column is a number from 1, or a name: of a header (TSV, CSV) or a dotted path (JSONL). Without
 * a URL column JSONL (and the JSON of CDXJ) takes the first present of a fixed list of paths, and
 * TSV and CSV the first such name in the header; a record of JSONL that is a string is the URL, then; the same for the time (column_names.h). A header
 * is expected where a name is asked for, and recognised where the URL's field of the first record
 * is one of those names, or a bare word, which is not a URL either. The sample is what an input
 * begins with: a column that no record of it has is an error that lists those there are; of an extra
 * that may be lacking, bit i of cols.lacking, and it is null. Where each record has members of its own
 * (JSONL, CDXJ, fields of WARC, JSON and maps in Parquet: cols.by_record) nothing is lacking, and a member is
 * null where a record has none; a time that is null then has size 0, one that is absent data NULL. Resolved
 * columns are read-only: threads may share them; each has its own dx_fields. Spans in fields point
 * into the record or into fields.scratch.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_INPUT_COLUMNS_H
#define DX_BUILDER_INPUT_RECORDS_INPUT_COLUMNS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "builder/input/records/dataset_template.h"
#include "builder/input/records/input_json.h"
#include "builder/input/records/input_records.h"
#include "builder/input/records/input_time.h"
#include "builder/input/records/json_list.h"
#include "builder/input/records/rejects.h"

#define DX_EXTRA_COLUMNS_MAX 32 /* with the paths tried for URL and time below DX_JSON_PATHS_MAX */
#define DX_COLUMN_LABEL 80
#define DX_COLUMN_LACKS 512
#define DX_COLUMN_NUMBER_MAX 4096
#define DX_COLUMNS_TS (UINT64_C(1) << DX_EXTRA_COLUMNS_MAX) /* behind the bits of the extras */

enum dx_header { DX_HEADER_AUTO, DX_HEADER_YES, DX_HEADER_NO };

struct dx_columns_want {
    const char *url; /* as given; NULL: find it */
    const char *ts;
    const char *const *url_names; /* to find it by, NULL at the end; NULL: dx_column_url_names */
    const char *const *ts_names;
    bool
        url_may_lack; /* an input that has none of url_names is without URLs: cols.no_url, not an error */
    bool no_ts;       /* do not look for one */
    const char *dataset;
    const char *dataset_prefix; /* before that, or all of the name: as of dataset_template.h */
    const char *extra[DX_EXTRA_COLUMNS_MAX];
    struct dx_span extra_as[DX_EXTRA_COLUMNS_MAX]; /* its name in the lake; size 0: that of C */
    size_t extra_count;
    size_t extra_optional; /* the first so many: null in inputs that lack them */
    bool extras_may_lack;  /* so are all others that are named: other inputs may have them */
    size_t canonical; /* 1 + the extra that says which URL the record's content is; 0: none does */
    bool locators;    /* where a record of CDX says its WARC record lies */
    enum dx_header header;
    /* of the Parquet column; behind those of extras room for the locator's */
    char *extra_name[DX_EXTRA_COLUMNS_MAX + 1];
};

/* The first records of an input, as they stand there; at least one. */
struct dx_columns_sample {
    const struct dx_span *record;
    size_t count;
    struct dx_span header; /* of CDX; size 0: none */
};

/* Of a WARC record, as CDX and CDXJ call its places. */
enum { DX_PLACE_FILE, DX_PLACE_OFFSET, DX_PLACE_LENGTH, DX_PLACE_COUNT };

struct dx_columns {
    enum dx_record_format format;
    bool header;
    bool no_url; /* records are not to be picked */
    /* TSV, CSV, list: fields from 0; -1: none */
    int url;
    int ts;
    int dataset;
    int extra[DX_EXTRA_COLUMNS_MAX];
    size_t extra_count;
    uint32_t lacking; /* bit i: the input has no such extra */
    /* bit i, DX_COLUMNS_TS: no header or schema says whether there is extra i, or the time, but each record */
    uint64_t by_record;
    size_t canonical; /* as wanted */
    size_t field_max; /* fields that a record must have */
    bool places;      /* of CDX and CDXJ, if wanted; CDXJ has them behind the extras */
    int place[DX_PLACE_COUNT];
    size_t cdx_fields;        /* of the layout of CDX */
    int cdx_type, cdx_status; /* which of them; -1: none */
    /* JSONL: paths [0, url_paths) are the URL's, then the time's, dataset, extras */
    struct dx_json_path path[DX_JSON_PATHS_MAX];
    size_t path_count;
    size_t url_paths;
    size_t ts_paths;
    bool dataset_path;
    bool ts_in_front; /* CDXJ: the time of the line */
    bool ts_archive;  /* the time is that of the format, CDX, CDXJ or WARC: digits are a date */
    /* for people: a name, a path or "column 3"; "" for a column that was not found */
    char url_label[DX_COLUMN_LABEL];
    char ts_label[DX_COLUMN_LABEL];
    char dataset_label[DX_COLUMN_LABEL];
    /* JSONL: "INPUT: no record of the first 3 has a value of 'link'; the first has: a, b" of a column asked for; "": all are there */
    char lacks[DX_COLUMN_LACKS];
    size_t lacks_input;                           /* bytes of it that name the input */
    char dataset_prefix[DX_DATASET_TEMPLATE_MAX]; /* of this input; "": none */
    bool dataset_column;                          /* behind the prefix, or alone */
};

/* Names that messages show for the columns of a table; "" for a column that was not found. */
struct dx_column_labels {
    char url[DX_COLUMN_LABEL];
    char ts[DX_COLUMN_LABEL];
    char dataset[DX_COLUMN_LABEL];
    char extra[DX_EXTRA_COLUMNS_MAX][DX_COLUMN_LABEL];
    uint32_t lacking;   /* as of dx_columns */
    uint64_t by_record; /* likewise */
    bool no_url;
};

/* Of JSON whose URL lies in an array: each element of it is a row. What a path leads to in the same array goes along, element by
 * element; all else holds for all rows. An extra that lies in another array is the array of what it is there, one that is an array is its JSON. */
struct dx_fields_list {
    bool is_open;
    struct dx_json_list of;
    struct dx_span element; /* JSON of the row given last */
    struct dx_span ts_for_all, dataset_for_all, extra_for_all[DX_EXTRA_COLUMNS_MAX];
    struct dx_buf text; /* of the element */
    struct dx_buf scratch;
    struct dx_buf joined, nested; /* JSON of other arrays, and of arrays in the element */

    /* Of paths that begin with the first `used` parts of the URL's what is left behind these. */
    struct dx_json_path *behind;
    size_t behind_count, behind_used; /* used SIZE_MAX: not found yet */
    bool along[DX_JSON_PATHS_MAX];    /* path i is one of them */
};

struct dx_fields {
    struct dx_fields_list list;
    struct dx_span url;
    struct dx_span ts;
    struct dx_span dataset;
    struct dx_span extra[DX_EXTRA_COLUMNS_MAX];
    struct dx_span place[DX_PLACE_COUNT]; /* if cols->places */
    struct dx_span *split;                /* DX_COLUMN_NUMBER_MAX of them */
    struct dx_buf scratch;
    struct dx_buf dataset_name; /* prefix and value */
};

/* The caller has seen that there is room for one more. */
void dx_columns_want_extra(struct dx_columns_want *want, const char *text);
int dx_columns_want_check(struct dx_columns_want *want, struct dx_error *err);
void dx_columns_want_release(struct dx_columns_want *want);
int dx_columns_resolve(struct dx_columns *cols, struct dx_columns_want *want,
                       enum dx_record_format format, const struct dx_columns_sample *sample,
                       const char *input, struct dx_error *err);
/* Records are rows of a table (row_record.h), their fields found already. */
int dx_columns_of_row(struct dx_columns *cols, struct dx_columns_want *want,
                      const struct dx_column_labels *labels, const char *input,
                      struct dx_error *err);
/* How times are read: as asked for, or as the format has them. */
static inline enum dx_ts_unit dx_columns_ts_unit(const struct dx_columns *cols,
                                                 enum dx_ts_unit asked)
{
    return asked == DX_TS_AUTO && cols->ts_archive ? DX_TS_ARCHIVE : asked;
}

/* "columns a, b", in out. */
const char *dx_columns_wanted(struct dx_buf *out, const char *const *url_names);
void dx_columns_describe(const struct dx_columns *cols, const struct dx_columns_want *want,
                         struct dx_buf *out);

int dx_fields_init(struct dx_fields *f, struct dx_error *err);
void dx_fields_release(struct dx_fields *f);
#define DX_COLUMNS_END DX_ROW_REJECT_COUNT
int dx_columns_pick(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f);
int dx_columns_more(const struct dx_columns *cols, struct dx_fields *f);

#endif
