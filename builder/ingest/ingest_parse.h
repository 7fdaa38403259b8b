/* SPDX-License-Identifier: Apache-2.0
 * ingest_parse.h - records of a batch into rows of the sort: what one worker thread does.
 *
 *   rc = dx_ingest_worker_init(&w, &shared, lane, &err);
 *   rc = dx_ingest_worker_batch(&w, batch, first, &from, &rejects, &samples, &err);         many
 *   dx_ingest_worker_release(&w);       counts stay readable
 *
 * Rejected records become lines in `rejects` (rejects.h), the first ones `samples` too. Without a
 * sort rows are parsed and counted only, and the first ones become samples. One thread a worker;
 * `shared` is read-only but for the sort (lane of its own) and the datasets (locked).
 */
#ifndef DX_BUILDER_INGEST_INGEST_PARSE_H
#define DX_BUILDER_INGEST_INGEST_PARSE_H

#include "base/buf.h"
#include "builder/ingest/ingest_datasets.h"
#include "builder/ingest/ingest_samples.h"
#include "builder/input/records/input_columns.h"
#include "builder/input/records/input_time.h"
#include "builder/input/records/rejects.h"
#include "format/text/host_pages.h"
#include "format/text/locator.h"

#include <stdatomic.h>

struct dx_canon;
struct dx_psl;
struct dx_spill_sort;

/* Bytes of all extras of a row: columns are facts about a URL, not the page itself. */
#define DX_EXTRAS_BYTES_MAX (64u * 1024)

/* What was seen in the records of an input. Bit i: a value of extra i. */
#define DX_SEEN_TS DX_COLUMNS_TS /* a time, valid or not */
#define DX_SEEN_TS_NULL (DX_SEEN_TS << 1)
#define DX_SEEN_ROW (DX_SEEN_TS << 2) /* one was accepted */

struct dx_ingest_shared {
    const struct dx_psl *psl;
    struct dx_spill_sort *sort; /* NULL: a dry run */
    struct dx_ingest_datasets *datasets;
    struct dx_ingest_dataset *dataset; /* of all rows, or NULL: a column tells */
    enum dx_ts_unit ts_unit;
    char *const *extra_name; /* of the run, once columns are resolved */
    bool require_ts;         /* a record without a valid time is rejected */
    bool locators;
    /* NULL, or records are hosts with their pages (ingest_options.h), and this numbers them: rows of one host and one count must
     * not look alike to the sort, as they are added up behind it (ingest_store.h). */
    _Atomic uint64_t *hosts;
};

/* What a batch was read from. */
struct dx_ingest_origin {
    const char *input;
    const struct dx_columns *cols;
    enum dx_locator_kind located; /* what its records' places mean; NONE: nothing, or no locators */
    _Atomic uint64_t *untimed;    /* accepted without a time */
    _Atomic uint64_t *records;    /* of it: counted */
    _Atomic uint64_t *seen;       /* in it: DX_SEEN_ROW and so on */
    struct dx_span name;          /* in locators */
    uint64_t was_size, was_hash;  /* of a file that is indexed in place; else 0 */
};

struct dx_ingest_worker {
    const struct dx_ingest_shared *shared;
    unsigned lane;
    struct dx_canon *canon;
    struct dx_fields fields;
    struct dx_dataset_cache *cache;
    struct dx_buf key;
    struct dx_buf value;
    struct dx_buf repair;
    struct dx_buf requested; /* the canonical form of what was requested */
    struct dx_buf shown;     /* a record as people read it */
    uint8_t locator[DX_LOCATOR_MAX];
    /* rows with a rejected canonical URL: kept under the requested one */
    uint64_t canonical_refused;
    struct dx_ingest_dataset *counting; /* the last row's; rows of it that it does not count yet */
    uint64_t counted;
    char pages[DX_HOST_PAGES_TEXT]; /* of a host */
    struct dx_buf host;             /* as a URL */
    uint64_t records;
    uint64_t accepted;
    uint64_t repaired;
    uint64_t with_blanks; /* lines of lists */
    uint64_t ts_dropped;  /* stored without a time: theirs is invalid */
    uint64_t unlocated;   /* with --locators, and without one */
    uint64_t rejected[DX_ROW_REJECT_COUNT];
    uint64_t untimed;
    uint64_t seen; /* in the batch at hand */
};

int dx_ingest_worker_init(struct dx_ingest_worker *w, const struct dx_ingest_shared *shared,
                          unsigned lane, struct dx_error *err);
void dx_ingest_worker_release(struct dx_ingest_worker *w);
int dx_ingest_worker_batch(struct dx_ingest_worker *w, const struct dx_batch *batch, size_t first,
                           const struct dx_ingest_origin *from, struct dx_buf *rejects,
                           struct dx_ingest_samples *samples, struct dx_error *err);

#endif
