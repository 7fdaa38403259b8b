/* SPDX-License-Identifier: Apache-2.0
 * lake_file.h - writes one Parquet file of the lake.
 *
 *   struct dx_lake_file w = DX_LAKE_FILE_INIT;
 *   rc = dx_lake_file_open(&w, tmp_path, &schema, NULL, &err);      NULL: default options
 *   rc = dx_lake_file_add(&w, &row, &err);                          rows in order, see below
 *   rc = dx_lake_file_close(&w, DX_SYNC_NOW, &stats, &err);         the caller renames
 *   dx_lake_file_abort(&w);                                         safe at any time
 *
 * Columns, in this order: domain STRING, domain_id UINT_64, scheme, host,
 * path_query STRING, raw_url STRING or null, ts TIMESTAMP (UTC) or null, the extras STRING
 * or null, and at the end url_id UINT_64 unless left out: a reader that leaves the last
 * column alone reads one range. Pages are cut at the same rows in all columns, at a border
 * of domains where one comes in time. Row groups too.
 *
 * Rows must be sorted by (domain, host, path_query) in byte order and then by ts, null
 * first: the file says so to its readers, and add refuses one that is not (DX_E_INVALID).
 * A string column that holds a value which is not UTF-8 is not called STRING in that file
 * but plain bytes. A row is copied; its spans are free to go after add. Same rows, same
 * options, same library: same bytes.
 *
 * Memory: the compressed pages of one row group and the raw rows of one page; both have
 * caps, see dx_lake_options. After an error only abort is of use. One thread at a time.
 *
 * Several threads, one file or one behind the other (lake_pool.h):
 *   rc = dx_lake_file_open_in(&w, pool, tmp_path, &schema, NULL, &err);      then add
 *   rc = dx_lake_file_close_later(&w, DX_SYNC_LATER, closed, ctx, &err);     w is free for the next
 * Its last pages may be encoded yet then; `closed` is called when the file is complete, at the
 * latest from dx_lake_pool_drain. abort stops the pool: files that were to be closed are gone too.
 * The bytes are the same as without.
 */
#ifndef DX_BUILDER_LAKE_LAKE_FILE_H
#define DX_BUILDER_LAKE_LAKE_FILE_H

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "builder/lake/lake_row.h"

/* Key-value metadata: XXH3-64 of the footer's metadata in 16 hex digits, computed with
 * zeros in their place. Parquet has no checksum of its own there. */
#define DX_LAKE_SUM_KEY "domaindex.footer_xxh3"
#define DX_LAKE_SUM_ZERO "0000000000000000"
#define DX_LAKE_SUM_SIZE 16
#define DX_LAKE_CANON_KEY "domaindex.canon_version" /* DX_CANON_VERSION in decimal */

struct dx_lake_stats {
    uint64_t rows;
    uint64_t row_groups;
    uint64_t pages; /* of one column */
    uint64_t size;  /* bytes of the file */
    struct dx_hash128 hash;
    size_t column_count;
    struct dx_lake_column_stats {
        char name[64];  /* cut */
        uint64_t bytes; /* pages with headers */
    } column[DX_LAKE_EXTRA_MAX + 9];
};

struct dx_lake_pool;
struct dx_lake_writer; /* private */

struct dx_lake_file {
    struct dx_lake_writer *writer; /* NULL: closed */
    struct dx_lake_pool *own_pool; /* of one thread; NULL: another's */
};

#define DX_LAKE_FILE_INIT \
    {                     \
        NULL, NULL        \
    }

typedef int dx_lake_closed(void *ctx, const struct dx_lake_stats *stats, struct dx_error *err);

int dx_lake_file_open(struct dx_lake_file *w, const char *path, const struct dx_lake_schema *schema,
                      const struct dx_lake_options *options, struct dx_error *err);
int dx_lake_file_add(struct dx_lake_file *w, const struct dx_lake_row *row, struct dx_error *err);
int dx_lake_file_close(struct dx_lake_file *w, enum dx_sync sync, struct dx_lake_stats *stats,
                       struct dx_error *err);
void dx_lake_file_abort(struct dx_lake_file *w);

int dx_lake_file_open_in(struct dx_lake_file *w, struct dx_lake_pool *pool, const char *path,
                         const struct dx_lake_schema *schema, const struct dx_lake_options *options,
                         struct dx_error *err);

/* closed: may be NULL. */
int dx_lake_file_close_later(struct dx_lake_file *w, enum dx_sync sync, dx_lake_closed *closed,
                             void *ctx, struct dx_error *err);

#endif
