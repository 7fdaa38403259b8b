/* SPDX-License-Identifier: Apache-2.0
 * ingest_store.h - the merged rows of a run as Parquet files, first aside, then in place.
 *
 *   rc = dx_ingest_store_new(&s, &options, &err);
 *   rc = dx_ingest_store_rows(s, sort, &err);        all of the merge; files under dir
 *   rc = dx_ingest_store_sync(s, &err);              their bytes are durable
 *   rc = dx_ingest_store_publish(s, registry, &err); renames them into the lake
 *   rc = dx_ingest_store_upload(s, &to, &err);       instead of both: puts them into a store
 *   dx_ingest_store_free(&s);                        removes what was not published
 *
 * A dataset with few rows is one file. A larger one needs a file for each range of
 * prefixes, while rows come in order of domains: they are scattered into one temporary
 * run for each range and then written range by range, so memory does not grow. The number
 * of ranges follows the rows really stored: scattered runs that turn out small are merged.
 *
 * With split_edges the rows are those of one of several writers, each with a range of domain ids: the
 * writers' ranges meet in a prefix, and only files of this one prefix are to overlap, as a publish
 * reads what overlaps together, in one thread. So the first and the last prefix of a dataset have a file
 * each, those between together files of DX_LAKE_ROWS_ONE_RANGE rows, and no two files have a prefix in common.
 */
#ifndef DX_BUILDER_INGEST_INGEST_STORE_H
#define DX_BUILDER_INGEST_INGEST_STORE_H

#include "builder/ingest/ingest_options.h"

struct dx_ingest_datasets;
struct dx_ingest_upload;
struct dx_ingest_store;
struct dx_dataset_registry;
struct dx_spill_sort;

struct dx_ingest_store_options {
    const struct dx_ingest_options *ingest;
    struct dx_ingest_datasets *datasets; /* with ids; `stored` is set here */
    const char *dir;                     /* for files and runs; exists */
    struct dx_ingest_stats *stats;
};

int dx_ingest_store_new(struct dx_ingest_store **s, const struct dx_ingest_store_options *options,
                        struct dx_error *err);
int dx_ingest_store_rows(struct dx_ingest_store *s, struct dx_spill_sort *sort,
                         struct dx_error *err);
int dx_ingest_store_sync(struct dx_ingest_store *s, struct dx_error *err);
/* Both set end_part of the datasets. registry: its next_part is what a name may begin with. */
int dx_ingest_store_publish(struct dx_ingest_store *s, const struct dx_dataset_registry *registry,
                            struct dx_error *err);

/* Of `to`: remote, claim, lake and registry. */
int dx_ingest_store_upload(struct dx_ingest_store *s, const struct dx_ingest_upload *to,
                           struct dx_error *err);
void dx_ingest_store_free(struct dx_ingest_store **s);

#endif
