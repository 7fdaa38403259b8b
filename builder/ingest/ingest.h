/* SPDX-License-Identifier: Apache-2.0
 * ingest.h - raw records into the lake.
 *
 *   struct dx_ingest_options o = { .root = "...", .dataset = "crawl", ... };
 *   rc = dx_ingest_run(&o, &stats, &err);
 *
 * One run: reads all inputs with `threads` workers into an external sort (spill_sort.h),
 * compares with what the lake has of the same datasets, and writes the rows that are new
 * as sorted Parquet files. A row is a distinct (canonical URL, time, extras) of one
 * dataset; of several raw spellings the smallest in byte order is kept. The lake's bytes
 * depend on the records alone: not on order, threads or memory.
 *
 * All or nothing up to the last step, and safe at every point of it. The order is
 *   1. files complete and synced under ROOT/tmp-ingest-PID
 *   2. psl.dat, then the registry with the new names
 *   3. files renamed into place, folders synced
 * so no name in the lake is older than its bytes on the disk (how: base/file.h, DX_SYNC_LATER).
 * The registry comes first because a dataset without files does no harm, while a file
 * whose id is not in the registry would belong to the next dataset that gets that id. A
 * run that dies in step 3 leaves some files; running it again adds the rest, because rows
 * that are there are not added twice. Bad records never end a run; damaged input, a full
 * disk or a taken lock do, and then nothing was added.
 *
 * A root on object storage (s3://) has no lock, no rename and no folders to sync. There the order
 * is
 *   1. psl.dat and the registry, each by a conditional put: ids are known and belong to this run
 *   2. the claim to the datasets of the run (ingest_claim.h), and what the lake has of them
 *   3. files complete in a local folder, then put under names that are free, some at a time
 * with the same promise: a run that dies leaves whole files and names in the registry, and the
 * same run again adds what is missing. Its Parquet bytes are those of a local run.
 *
 * With `replace` each dataset that has rows in the run gets these and loses those it had, with the
 * next publish; the two writes of the registry that make it all or nothing are in ingest_replace.h.
 *
 * Memory: memory_bytes for sort, batches, filter and merge, and besides a constant: the
 * Parquet writer (about 16 MiB, and 6 a thread for the first 16; more with wide extras), code and
 * buffers of libraries.
 */
#ifndef DX_BUILDER_INGEST_INGEST_H
#define DX_BUILDER_INGEST_INGEST_H

#include "base/error.h"
#include "builder/ingest/ingest_options.h"

int dx_ingest_run(struct dx_ingest_options *o, struct dx_ingest_stats *stats, struct dx_error *err);

#endif
