/* SPDX-License-Identifier: Apache-2.0
 * ingest_read.h - all inputs through worker threads into the sort.
 *
 *   rc = dx_ingest_read(&read, &err);       on return all threads have ended, all lanes too
 *
 * The calling thread reads and cuts records; `threads` workers parse, canonicalise and
 * sort. Of a Parquet file with several row groups the workers read the row groups too, each
 * with a handle of its own, as long as the pages of all handles fit an eighth of the memory. Batches go round in a ring and are retired in the order they were read, so the
 * rejects file has the order of the input whatever the threads do. Few batches are in
 * flight, and only one may be larger than normal: memory stays bounded.
 */
#ifndef DX_BUILDER_INGEST_INGEST_READ_H
#define DX_BUILDER_INGEST_INGEST_READ_H

#include "builder/ingest/ingest_options.h"
#include "builder/ingest/ingest_parse.h"

struct dx_ingest_read {
    struct dx_ingest_options *options;
    const struct dx_ingest_shared *shared;
    struct dx_rejects *rejects;    /* NULL: a dry run */
    uint64_t window_max;           /* of zstd input */
    struct dx_ingest_stats *stats; /* records, accepted, rejected, repaired */
};

int dx_ingest_read(struct dx_ingest_read *read, struct dx_error *err);

#endif
