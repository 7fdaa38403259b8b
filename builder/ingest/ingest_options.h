/* SPDX-License-Identifier: Apache-2.0
 * ingest_options.h - what an ingest is asked for, and what came of it: ingest.h.
 */
#ifndef DX_BUILDER_INGEST_INGEST_OPTIONS_H
#define DX_BUILDER_INGEST_INGEST_OPTIONS_H

#include <limits.h>

#include "builder/ingest/ingest_samples.h"
#include "builder/input/records/input_columns.h"
#include "builder/input/records/input_time.h"
#include "builder/input/records/rejects.h"

struct dx_progress;

#define DX_INGEST_MEMORY_MIN (64u << 20)
#define DX_INGEST_THREADS_MAX 256

struct dx_ingest_options {
    const char *root;
    const char *dataset;         /* name of all rows, or NULL: want.dataset tells */
    struct dx_columns_want want; /* checked; extra_name belongs to the run afterwards */
    enum dx_record_format format;
    const char *rejects_path; /* NULL: ROOT/rejects/NNNNN.tsv; of a remote root in work_dir */
    uint64_t rejects_bytes;   /* of lines in that file; 0: DX_REJECTS_BYTES */
    bool rejects_append;      /* rejects_path keeps what an earlier run has written */
    const char *work_dir;     /* for a root on object storage; NULL: TMPDIR, /tmp */
    const char *psl_path;     /* NULL: the lake's list, else the system's */
    uint64_t memory_bytes;
    unsigned threads;
    enum dx_ts_unit ts_unit;
    const char *const *meta; /* "KEY=VALUE" for each dataset of the run */
    size_t meta_count;
    bool require_ts;         /* reject records without a valid time; else they have none */
    uint32_t accept_min_ppm; /* of the records; fewer end the run with nothing added; 0: any */
    uint64_t lock_wait_ms;   /* for another run that writes into a directory */
    bool dry_run;            /* read and count only: nothing is written */
    bool in_steps;           /* others of the inputs are for other runs */
    bool in_place;           /* inputs are Parquet files that stay where they are: ingest.h */
    bool counts;             /* records are hosts, and the only extra is how many pages each has */
    bool replace;            /* the rows of the run take the place of all that its datasets had */
    /* rows are a range of domain ids: the first and the last prefix of a dataset have files of their own */
    bool split_edges;
    const char *const *input;
    size_t input_count;
    const uint64_t *input_size;   /* bytes that each must have, 0: any; NULL: any for all */
    struct dx_progress *progress; /* may be NULL */
    bool (*stopped)(void);        /* may be NULL: true ends the run soon, nothing added */
    void (*say)(const char *);    /* may be NULL: what the run waits for */
    /* may be NULL: how an input is read, where that is not as the input before */
    void (*columns)(const char *input, const char *text);
    bool test_objects;      /* tests: a directory is written to as a store is */
    unsigned test_lease_ms; /* tests: of claims, which then need not settle; else 0 */
    uint64_t test_scale;    /* tests: row counts count this many times; else 1 */
    size_t test_sort_bytes; /* tests: memory of the sort, else 0 */
    unsigned test_fan_in;   /* tests: runs merged at a time, else 0 */
};

/* Of a column that is not in every input. */
struct dx_ingest_lacking {
    uint64_t inputs;   /* that have no such column, or where records name theirs no value of it */
    uint64_t records;  /* of these, where it is null */
    const char *first; /* of these inputs, borrowed */
    bool is_there;  /* some input has such a column; the time by its records: one has it, if null */
    bool has_value; /* somewhere in the run */
};

#define DX_INGEST_INPUTS_NAMED 8

struct dx_ingest_stats {
    uint64_t records;
    uint64_t accepted; /* records - rejects */
    uint64_t stored;   /* rows added to the lake */
    uint64_t left_out; /* rows of datasets of which a file cannot be compared */
    bool is_left_out;  /* the run failed for such datasets alone */
    uint64_t known;    /* distinct rows of this run that the lake had */
    uint64_t rejected[DX_ROW_REJECT_COUNT];
    uint64_t rejected_total;
    uint64_t ts_dropped;        /* stored without a time: theirs is invalid */
    uint64_t unlocated;         /* stored without a locator, though they are wanted */
    uint64_t with_blanks;       /* accepted lines of lists that have a blank inside: %20 */
    uint64_t repaired;          /* raw URLs and extras that were not UTF-8: U+FFFD put in */
    uint64_t canonical_refused; /* rejected canonical URLs: the row has the requested URL */
    uint64_t datasets;          /* with accepted rows */
    uint64_t datasets_new;
    uint64_t datasets_total; /* in the registry afterwards */
    uint64_t files;
    uint64_t file_bytes;
    uint64_t runs;
    uint64_t spilled_bytes;
    double read_seconds;
    double total_seconds;
    char *rejects_path;        /* NULL: no rejects, or the run failed; free it */
    uint64_t rejects_unlisted; /* of rejected_total: not in that file, which is full */
    uint64_t inputs;           /* that had a record and a URL column */
    uint64_t empty;            /* inputs without a record */
    const char *empty_input;   /* the first of them, borrowed */
    uint64_t without_urls;     /* inputs that were passed over */
    const char *without_urls_input[DX_INGEST_INPUTS_NAMED]; /* the first of them, borrowed */
    char lacks[DX_COLUMN_LACKS];   /* dx_columns.lacks of the first input where it is not "" */
    uint64_t untimed;              /* accepted, without a time */
    const char *untimed_input;     /* the first with such a record, borrowed */
    struct dx_ingest_lacking time; /* the column that want.ts names */
    struct dx_ingest_lacking extra[DX_EXTRA_COLUMNS_MAX];
    struct dx_ingest_samples samples;
};

#endif
