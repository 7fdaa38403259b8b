/* SPDX-License-Identifier: Apache-2.0
 * ingest_file_store.h - a file store into the lake.
 *
 *   struct dx_file_store_options store = { .dir = "/srv/crawl", .set_aside = true };
 *   rc = dx_ingest_file_store(&o, &store, &counts, &stats, NULL, &err);     o as for dx_ingest_run, no inputs
 *
 * The store becomes lines of JSON in a folder of its own in the work directory (o->work_dir,
 * TMPDIR, /tmp), and these are ingested as any others: url, and the extras content_type, title and
 * tags (a JSON array of strings). Columns that the caller wants besides are paths in those lines;
 * what is in the storage files is below `payload`. Room is needed there for about twice the index
 * and the tags. All or nothing, as dx_ingest_run; but files that were set aside stay so.
 */
#ifndef DX_BUILDER_EXCHANGE_FILESTORE_INGEST_FILE_STORE_H
#define DX_BUILDER_EXCHANGE_FILESTORE_INGEST_FILE_STORE_H

#include "builder/exchange/filestore/file_store.h"
#include "builder/exchange/filestore/tombstone_rules.h"
#include "builder/ingest/ingest.h"

/* rules: made of the tombstone when the rows are stored; NULL: none are. */
int dx_ingest_file_store(struct dx_ingest_options *o, struct dx_file_store_options *store,
                         struct dx_file_store_counts *counts, struct dx_ingest_stats *stats,
                         struct dx_tombstone_rules *rules, struct dx_error *err);

#endif
