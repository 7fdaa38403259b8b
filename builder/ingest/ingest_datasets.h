/* SPDX-License-Identifier: Apache-2.0
 * ingest_datasets.h - the datasets of one ingest run, before they have ids.
 *
 *   rc = dx_ingest_datasets_new(&d, &err);
 *   set = dx_ingest_datasets_cached(&cache, name);      any thread, own cache; NULL: ask
 *   rc = dx_ingest_datasets_get(d, &cache, name, &set, &err);     with a name that may be one
 *   atomic_fetch_add(&set->rows, 1);
 *   set = dx_ingest_datasets_at(d, number);     number < count(d); after all threads ended
 *   rc = dx_ingest_datasets_assign(d, registry, &lake, &err);  ids: known names keep theirs, new
 *                                                       ones get theirs in byte order
 *   dx_ingest_datasets_free(&d);
 *
 * Numbers are given in the order of arrival, which depends on threads: rows carry them
 * through the sort, where they only keep datasets apart. Ids are given after everything
 * is read, so they depend on the names alone. A set lives until free.
 */
#ifndef DX_BUILDER_INGEST_INGEST_DATASETS_H
#define DX_BUILDER_INGEST_INGEST_DATASETS_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/root/registry_json.h"

struct dx_lake_list;

struct dx_dataset_registry;
struct dx_ingest_datasets;

struct dx_ingest_dataset {
    char *name;
    uint32_t number;
    uint32_t id;            /* 0 until assign; stays 0 for a new dataset without rows */
    bool is_new;            /* after assign */
    _Atomic uint64_t rows;  /* accepted, duplicates too */
    _Atomic bool ts_micros; /* some time is not a whole millisecond */
    bool in_lake;           /* has files: rows must be compared with them */
    bool left_out;          /* a file of it cannot be compared: no row is stored */
    uint64_t stored;        /* rows added to the lake by this run */
    uint32_t first_part;    /* of a replacement: its files have the numbers first_part… */
    uint32_t end_part;      /* …up to here; set when files have their names */
};

#define DX_DATASET_CACHE 256 /* names one thread finds without the lock */

struct dx_dataset_cache {
    struct dx_ingest_dataset *set[DX_DATASET_CACHE];
};

int dx_ingest_datasets_new(struct dx_ingest_datasets **d, struct dx_error *err);
void dx_ingest_datasets_free(struct dx_ingest_datasets **d);
struct dx_ingest_dataset *dx_ingest_datasets_cached(const struct dx_dataset_cache *cache,
                                                    struct dx_span name);
int dx_ingest_datasets_get(struct dx_ingest_datasets *d, struct dx_dataset_cache *cache,
                           struct dx_span name, struct dx_ingest_dataset **set,
                           struct dx_error *err);
size_t dx_ingest_datasets_count(const struct dx_ingest_datasets *d);
struct dx_ingest_dataset *dx_ingest_datasets_at(const struct dx_ingest_datasets *d, size_t number);
/* lake: an id under which it has files is not given to a new name. */
int dx_ingest_datasets_assign(struct dx_ingest_datasets *d, struct dx_dataset_registry *registry,
                              const struct dx_lake_list *lake, struct dx_error *err);
/* After assign: new ones are of this kind; DX_E_INVALID: one that was there is of another. */
int dx_ingest_datasets_set_kind(struct dx_ingest_datasets *d, struct dx_dataset_registry *registry,
                                enum dx_dataset_kind kind, struct dx_error *err);
/* Whether one that has rows is not in the registry. */
bool dx_ingest_datasets_any_new(const struct dx_ingest_datasets *d,
                                const struct dx_dataset_registry *registry);

#endif
