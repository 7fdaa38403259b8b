/* SPDX-License-Identifier: Apache-2.0
 * index_pair.h - what the scan of the lake found out about one (domain, dataset), as a
 * record between two sorts.
 *
 *   rc = dx_index_pair_encode(&pair, runs, n, &key, &value, &err);     replaces both buffers
 *   rc = dx_index_pair_decode(key, value, &pair, &err);
 *   rc = dx_index_pair_head(key, value, &pair, &err);                  without facts, sketch and runs
 *   rc = dx_index_pair_surt(key, &surt, &err);                         the key of the domain alone
 *   rc = dx_index_pair_runs(pair.runs, &runs, &err);                   appends struct dx_run
 *
 * facts and sketch are what format/version/pair_tally.h makes of the rows. Facts of more than
 * DX_INDEX_PAIR_FACTS bytes do not go through the sorts: the caller of encode puts them aside
 * (builder/sort/blob_spill.h), and the record says where. So a record is at most some 68 KiB and
 * its runs.
 *
 * Keys order as the index does: by key of the domain (format/core/surt.h), then dataset_id. A
 * decoded pair borrows from key and value, and has the key of its domain, not the text.
 * No state; any thread.
 */
#ifndef DX_BUILDER_SCAN_INDEX_PAIR_H
#define DX_BUILDER_SCAN_INDEX_PAIR_H

#include "base/buf.h"
#include "builder/sort/blob_spill.h"
#include "format/core/counts.h"
#include "format/core/surt.h"
#include "format/version/payload.h"

#define DX_INDEX_PAIR_FACTS (64u << 10)

struct dx_index_pair {
    uint32_t dataset_id;
    struct dx_pair_count count;
    struct dx_span surt;   /* key of the domain */
    struct dx_span domain; /* for the encoder */
    struct dx_span runs;   /* encoded */
    struct dx_span facts;  /* empty: they are put aside */
    struct dx_span sketch;
    struct dx_blob_spill_place aside; /* of facts; only where they are empty */
    struct dx_span rest;              /* facts, sketch and runs as they are encoded */
};

/* Runs in the order of the listing (payload.h). DX_E_INVALID if the domain is not valid. */
int dx_index_pair_encode(const struct dx_index_pair *pair, const struct dx_run *runs, size_t count,
                         struct dx_buf *key, struct dx_buf *value, struct dx_error *err);
int dx_index_pair_decode(struct dx_span key, struct dx_span value, struct dx_index_pair *pair,
                         struct dx_error *err);
int dx_index_pair_head(struct dx_span key, struct dx_span value, struct dx_index_pair *pair,
                       struct dx_error *err);
int dx_index_pair_surt(struct dx_span key, struct dx_span *surt, struct dx_error *err);
int dx_index_pair_runs(struct dx_span encoded, struct dx_buf *runs, struct dx_error *err);

/* The text of the domain, in `out`; empty: the key is that of no domain. */
struct dx_span dx_index_pair_domain(const struct dx_index_pair *pair, uint8_t out[DX_SURT_MAX]);

#endif
