/* SPDX-License-Identifier: Apache-2.0
 * lake_parts.h - sorted rows into as many full-sized lake files as they need.
 *
 *   struct dx_lake_parts p;
 *   dx_lake_parts_init(&p, &options);
 *   dx_lake_parts_begin(&p, &schema, dataset_id);        what the next rows belong to
 *   rc = dx_lake_parts_add(&p, key, value, &err);        builder/lake/ingest_row.h, in order of keys
 *   rc = dx_lake_parts_end(&p, &err);                    ends the file; before the next begin
 *   rc = dx_lake_parts_finish(&p, &err);                 all files are complete and were reported
 *   dx_lake_parts_release(&p);                           safe at any time
 *
 * A file ends at the first new domain from rows_a_file rows on. `open` is asked where the next file
 * goes, `closed` gets what it became, in their order; both end the work with their errors. With a
 * pool (lake_pool.h) it may be called some files later. schema and what it points to are borrowed
 * until end. One thread at a time.
 */
#ifndef DX_BUILDER_LAKE_LAKE_PARTS_H
#define DX_BUILDER_LAKE_LAKE_PARTS_H

#include <limits.h>

#include "base/buf.h"
#include "builder/lake/lake_file.h"

struct dx_lake_parts_options {
    uint64_t rows_a_file;
    int zstd_level;            /* 0: that of lake_file.h */
    struct dx_lake_pool *pool; /* borrowed; NULL: each file by itself */
    void *ctx;
    int (*open)(void *ctx, char path[PATH_MAX], struct dx_error *err);
    dx_lake_closed *closed;
};

struct dx_lake_parts {
    struct dx_lake_parts_options o;
    const struct dx_lake_schema *schema;
    bool has_locator; /* the last extra is the locator (format/text/locator.h) */
    uint32_t dataset_id;
    struct dx_lake_file file;
    uint64_t rows;        /* of the file */
    struct dx_buf domain; /* of the row before */
    uint64_t domain_id;
    struct dx_buf scratch;
    struct dx_buf url;
    struct dx_span extra[DX_LAKE_EXTRA_MAX];
};

void dx_lake_parts_init(struct dx_lake_parts *p, const struct dx_lake_parts_options *options);
void dx_lake_parts_begin(struct dx_lake_parts *p, const struct dx_lake_schema *schema,
                         uint32_t dataset_id);
int dx_lake_parts_add(struct dx_lake_parts *p, struct dx_span key, struct dx_span value,
                      struct dx_error *err);
int dx_lake_parts_end(struct dx_lake_parts *p, struct dx_error *err);
int dx_lake_parts_finish(struct dx_lake_parts *p, struct dx_error *err);
void dx_lake_parts_release(struct dx_lake_parts *p);

#endif
