/* SPDX-License-Identifier: Apache-2.0
 * visible_rows.h - every row of a version that may be shown, from the files of its lake.
 *
 *   struct dx_visible_rows r = { .version = v, .dataset_id = 0, .tmp = dir, .row = fn, .ctx = ctx };
 *   rc = dx_visible_rows_each(&r, &err);            fn gets each row, with the scan it is of; DX_OK goes on
 *   r.rows, r.hidden                                given, and left out by suppressions
 *
 * Datasets of counts have no such rows, and are passed over. By file of the version, in it by domain, host, path, time. dataset_id 0: all datasets. The rows
 * of a file are borrowed for the call; scan->column tells the names of the extras
 * (builder/lake/lake_scan.h). Of a remote root each file is fetched to `tmp` and removed after it.
 * The suppressions are those of the moment of the call; of a row that is given a raw URL and a requested_url that they hide are
 * null, and so is its locator then. One thread.
 */
#ifndef DX_BUILDER_EXCHANGE_NUMBERS_VISIBLE_ROWS_H
#define DX_BUILDER_EXCHANGE_NUMBERS_VISIBLE_ROWS_H

#include "builder/lake/lake_scan.h"

struct dx_canon;
struct dx_row_form;
struct dx_version;

struct dx_visible_rows {
    struct dx_version *version;
    uint32_t dataset_id;
    const char *tmp;
    int (*row)(void *ctx, const struct dx_lake_scan *scan, const struct dx_lake_row *row,
               struct dx_error *err);
    void *ctx;
    bool (*stopped)(void); /* may be NULL */
    uint64_t rows;
    uint64_t hidden;

    struct dx_canon *canon;   /* private; NULL */
    struct dx_row_form *form; /* likewise: of a version that leaves faulty rows out */
    struct dx_span extra[DX_LAKE_EXTRA_MAX]; /* likewise: of a row of which one is changed */
};

int dx_visible_rows_each(struct dx_visible_rows *r, struct dx_error *err);

#endif
