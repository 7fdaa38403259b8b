/* SPDX-License-Identifier: Apache-2.0
 * postgres_load.h - the rows of a dataset, with their numbers, into a table of PostgreSQL.
 *
 *   struct dx_postgres_load l = { .db = db, .ddl = &ddl, .version = v, .numbers = n, .tmp = dir };
 *   rc = dx_postgres_load_rows(&l, dataset_id, &err);        in the transaction that is open; l.n counts it
 *   dx_postgres_load_release(&l);
 *
 * Rows that a suppression hides are not there. A row whose URL has no number, or is not text, is
 * left out and counted; with `strict` it is an error that names the URL. Memory: one buffer of
 * COPY, 256 KiB and a row. One thread.
 */
#ifndef DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_LOAD_H
#define DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_LOAD_H

#include "builder/exchange/postgres/postgres_ddl.h"
#include "loader/followed/domain64_registry.h"

struct dx_postgres;
struct dx_version;

struct dx_postgres_counts {
    uint64_t rows;
    uint64_t hidden;
    uint64_t unnumbered[DX_DOMAIN64_PARTS]; /* by the first part that has no number */
    uint64_t one_label;                     /* of a host that is not a name below a TLD */
    uint64_t not_text;                      /* of a URL with bytes that are not UTF-8, or zero */
    uint64_t mended;                        /* other texts with such bytes */
    uint64_t times;                         /* before 4713 BC: null */
};

struct dx_postgres_load {
    struct dx_postgres *db;
    const struct dx_postgres_ddl *ddl;
    struct dx_version *version;
    const struct dx_domain64_registry *numbers;
    const char *tmp;
    bool strict;
    bool dry_run; /* rows are counted, the server gets nothing */
    bool (*stopped)(void);
    void (*progress)(void *ctx,
                     uint64_t rows); /* how many were read of this dataset, now and then */
    void *ctx;

    struct dx_postgres_counts n; /* of the last dataset */

    /* private */
    struct dx_buf sql;
    struct dx_buf copy;
    struct dx_buf url;
    uint64_t copied; /* bytes in the COPY that runs */
    uint64_t taken;  /* rows, by the server in the COPYs before it */
    uint64_t seen;
};

int dx_postgres_load_rows(struct dx_postgres_load *l, uint32_t dataset_id, struct dx_error *err);
void dx_postgres_load_release(struct dx_postgres_load *l);

void dx_postgres_counts_add(struct dx_postgres_counts *sum, const struct dx_postgres_counts *n);
uint64_t dx_postgres_counts_left_out(const struct dx_postgres_counts *n); /* but the hidden ones */

#endif
