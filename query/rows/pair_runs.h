/* SPDX-License-Identifier: Apache-2.0
 * pair_runs.h - where the rows of many pairs lie in the lake, without I/O.
 *
 *   dx_pair_runs_init(&p, v, deadline_ms);
 *   rc = dx_pair_runs_add(&p, number, dataset_id, &err);       any pairs; the same one again is nothing
 *   while ((rc = dx_pair_runs_step(&p, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(&p.reading, &err);
 *       rc = dx_pair_runs_fetched(&p, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE) ... p.pairs[i], p.runs[j] ...
 *   dx_pair_runs_release(&p);
 *
 * number: of the domain (loader/version_parts.h). Once it is DONE pairs stand by number and dataset, and runs by file and row: each says which
 * pair it is of, at which position of its listing it begins, and its first row in the file, over
 * all row groups. A pair that the index knows and has no posting of is DX_E_CORRUPT.
 *
 * Read are the posting lists alone, some hundred of them at once, and no page of the lake. Over
 * DX_PAIR_RUNS_MAX runs: DX_E_LIMIT. v must stay pinned until release. One thread at a time.
 */
#ifndef DX_QUERY_ROWS_PAIR_RUNS_H
#define DX_QUERY_ROWS_PAIR_RUNS_H

#include "query/rows/listing.h"
#include "query/rows/posting_frames.h"

struct roaring_bitmap_s;

#define DX_PAIR_RUNS_MAX (1u << 20) /* 40 MB */

struct dx_pair_runs_pair {
    uint64_t number;
    uint32_t dataset_id;
    uint64_t rows; /* of the pair, all of them */
};

struct dx_pair_run {
    uint32_t file_id;
    uint32_t pair;     /* in pairs */
    uint64_t row;      /* in the file */
    uint64_t rows;     /* at least 1 */
    uint64_t position; /* of the first one in the pair's listing */
};

struct dx_pair_runs {
    struct dx_version *version;
    struct dx_pair_runs_pair *pairs;
    size_t pair_count, pair_capacity;
    struct dx_pair_run *runs;
    size_t run_count, run_capacity;
    struct dx_read_batch reading; /* what the last step waits for */

    /* private */
    uint64_t deadline_ms;
    bool sorted;
    size_t first, end; /* the pairs at hand */
    struct dx_posting_frames *frames;
    struct dx_pair_place *places; /* of these, in the postings */
    struct dx_zstd_decoder *decoder;
    uint32_t file_id; /* of the bases */
    uint64_t *bases;  /* rows before each row group of that file, and of all */
    size_t base_count;
};

void dx_pair_runs_init(struct dx_pair_runs *p, struct dx_version *v, uint64_t deadline_ms);
int dx_pair_runs_add(struct dx_pair_runs *p, uint64_t number, uint32_t dataset_id,
                     struct dx_error *err);
void dx_pair_runs_distinct(struct dx_pair_runs *p); /* pair_count is how many there are, for now */
int dx_pair_runs_step(struct dx_pair_runs *p, struct dx_error *err);
int dx_pair_runs_fetched(struct dx_pair_runs *p, int rc, struct dx_error *err);
void dx_pair_runs_release(struct dx_pair_runs *p);

/* Once it is DONE: the first pair from this one on that is not of a domain before. */
size_t dx_pair_runs_from(const struct dx_pair_runs *p, size_t from, uint64_t number);

/* The runs of a file are [first, end) of p->runs. */
size_t dx_pair_runs_of_file(const struct dx_pair_runs *p, uint32_t file_id, size_t *end);
/* The first of the runs [i, end) of one file that has a row of the set; end: none has. */
size_t dx_pair_runs_with(const struct dx_pair_runs *p, size_t i, size_t end,
                         const struct roaring_bitmap_s *rows);

/* Rows before each row group of the file, and behind the last one of all: row_groups + 1 numbers,
 * of malloc. */
int dx_file_group_rows(const struct dx_version *v, uint32_t file_id, uint64_t **bases,
                       size_t *row_groups, struct dx_error *err);

#endif
