/* SPDX-License-Identifier: Apache-2.0
 * counts.h - domain_counts.dxc: exact counts and times of each (domain, dataset).
 *
 *   rc = dx_counts_open(&c, file, flags, name, &err);
 *   dx_counts_prefetch(&c, ordinal);                          asks the caches for where the pairs are,
 *   dx_counts_prefetch_pairs(&c, ordinal);                    and once that is there, for the pairs
 *   rc = dx_counts_get(&c, ordinal, datasets, pairs, &err);   pairs[0 .. datasets), in order of the
 *                                                             domain's dataset_ids
 *   rc = dx_counts_one(&c, ordinal, rank, &pair, &err);       the pair at that rank
 *   rc = dx_counts_distinct(&c, ordinal, &less, &dense, &err);    how many URLs over all datasets: the
 *                                                             sum of url_count, less this
 *   dx_counts_close(&c);
 *
 * get wants the size of the domain's set and refuses if there are more or fewer pairs here; all
 * return 1 or <0. An ordinal that is not below c.totals.domains is DX_E_INVALID. distinct: dense
 * says that the number is an estimate (url_sketch.h), else it is exact; of a domain in one dataset
 * less is 0. A true file has less <= sum - largest url_count, which is for the caller to look at,
 * who has read the counts.
 *
 * Borrowing and threads: as in membership.h. A read looks at the pairs of up to 32 domains,
 * sixteen of them a step: some 60 ns where they are few.
 *
 * Writing takes two passes over the pairs, by ordinal, since the header comes first:
 *
 *   dx_counts_totals_init(&t);
 *   rc = dx_counts_totals_add(&t, pairs, n, &err);            for each domain
 *   rc = dx_counts_writer_begin(&w, &t, &build, sink, ctx, &err);
 *   dx_counts_writer_distinct(&w, less, dense);               optional: of the domain that comes next
 *   rc = dx_counts_writer_add(&w, pairs, n, &err);            for each domain, the same again
 *   rc = dx_counts_writer_end(&w, &err);                      refuses if the passes differ
 *   dx_counts_writer_release(&w);
 *
 * Memory of a writer: 5 bytes for each 32 domains, and the pairs of 32 domains twice.
 */
#ifndef DX_FORMAT_CORE_COUNTS_H
#define DX_FORMAT_CORE_COUNTS_H

#include "base/buf.h"
#include "base/hash.h"
#include "format/core/envelope.h"

#define DX_COUNTS_MAGIC DX_KIND('D', 'X', 'D', 'C')
#define DX_COUNTS_VERSION 1
#define DX_COUNTS_GROUP 32 /* domains that share an anchor */

enum dx_counts_times {
    DX_COUNTS_TIMES_NONE = 0, /* no pair has a time */
    DX_COUNTS_TIMES_ALL = 1,
    DX_COUNTS_TIMES_SOME = 2 /* a bit a pair says which */
};

struct dx_pair_count {
    uint64_t url_count; /* distinct canonical URLs, 1..row_count */
    uint64_t row_count; /* distinct (URL, ts, extras) */
    bool has_ts;
    int64_t first_us; /* 0 without has_ts */
    int64_t last_us;  /* first_us where there is one row */
};

/* Adds the counts of a pair to a sum (zeroed at first) and widens its times. */
static inline void dx_pair_count_add(struct dx_pair_count *sum, const struct dx_pair_count *pair)
{
    sum->url_count += pair->url_count;
    sum->row_count += pair->row_count;
    if (!pair->has_ts)
        return;
    if (!sum->has_ts || pair->first_us < sum->first_us)
        sum->first_us = pair->first_us;
    if (!sum->has_ts || pair->last_us > sum->last_us)
        sum->last_us = pair->last_us;
    sum->has_ts = true;
}

struct dx_counts_totals {
    uint64_t domains;
    uint64_t pairs;
    uint64_t row_count;
    uint64_t url_count;
    bool has_ts;
    int64_t ts_base;  /* smallest time; 0 when there is none */
    uint64_t ts_unit; /* 1 when there is none, or only one */
    int64_t ts_seen;  /* some time, to which distances are taken while adding */
    uint64_t ts_gcd;  /* of those distances */
    uint64_t timed;   /* pairs that have a time */
    int64_t first_max;
    uint64_t span_max; /* microseconds from first to last */
};

void dx_counts_totals_init(struct dx_counts_totals *t);
int dx_counts_totals_add(struct dx_counts_totals *t, const struct dx_pair_count *pairs, size_t n,
                         struct dx_error *err);

struct dx_counts {
    struct dx_envelope envelope;
    struct dx_counts_totals totals; /* what begins with ts_seen: unused */
    enum dx_counts_times times;
    unsigned first_bits;    /* of a first time */
    unsigned last_bits;     /* of a last one, from the first */
    struct dx_span anchors; /* ANCH */
    struct dx_span data;    /* DATA */
};

int dx_counts_open(struct dx_counts *c, struct dx_span file, unsigned flags, const char *name,
                   struct dx_error *err);
void dx_counts_prefetch(const struct dx_counts *c, uint64_t ordinal);
void dx_counts_prefetch_pairs(const struct dx_counts *c, uint64_t ordinal);
int dx_counts_get(const struct dx_counts *c, uint64_t ordinal, uint32_t datasets,
                  struct dx_pair_count *pairs, struct dx_error *err);
int dx_counts_one(const struct dx_counts *c, uint64_t ordinal, uint32_t rank,
                  struct dx_pair_count *pair, struct dx_error *err);
int dx_counts_distinct(const struct dx_counts *c, uint64_t ordinal, uint64_t *less, bool *dense,
                       struct dx_error *err);
void dx_counts_close(struct dx_counts *c);

struct dx_counts_writer {
    struct dx_envelope_writer envelope;
    struct dx_counts_totals want; /* of the first pass */
    struct dx_counts_totals done;
    enum dx_counts_times times;
    unsigned first_bits;
    unsigned last_bits;
    uint64_t data_size;
    struct dx_buf anchors;
    struct dx_buf pairs;     /* struct dx_pair_count of the open group, times in units */
    struct dx_buf ends;      /* u8 each: whether the pair is its domain's last */
    struct dx_buf group;     /* its bytes */
    struct dx_buf distinct;  /* a varint a domain of the open group with several pairs */
    uint64_t distinct_bytes; /* of the groups that are written */
    uint64_t less;           /* of the next domain */
    bool dense;
};

int dx_counts_writer_begin(struct dx_counts_writer *w, const struct dx_counts_totals *totals,
                           const struct dx_build_id *build,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err);
void dx_counts_writer_distinct(struct dx_counts_writer *w, uint64_t less, bool dense);
int dx_counts_writer_add(struct dx_counts_writer *w, const struct dx_pair_count *pairs, size_t n,
                         struct dx_error *err);
int dx_counts_writer_end(struct dx_counts_writer *w, struct dx_error *err);
void dx_counts_writer_release(struct dx_counts_writer *w);

#endif
