/* SPDX-License-Identifier: Apache-2.0
 * postgres_export.h - the visible rows of a version as a table of PostgreSQL, partitioned by
 * domain64.
 *
 *   struct dx_postgres_export e = { .root = root, .opened = &o, .dsn = dsn, .ddl = { .table = "urls" }, … };
 *   rc = dx_postgres_export_run(&e, &err);        after an error too: e.done says what is committed
 *   dx_postgres_export_summary(&e, stderr);
 *
 * Each dataset is one transaction: its old rows go, its new ones come, and TABLE_datasets says what
 * they were made of (files, suppressions, numbers, columns). A dataset of which that is still so is
 * not loaded again; so a run that died goes on where it was, and a later version costs what
 * changed. With all datasets exported, those that the version has no more are removed. One thread.
 */
#ifndef DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_EXPORT_H
#define DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_EXPORT_H

#include <stdio.h>

#include "builder/exchange/postgres/postgres_ddl.h"
#include "builder/exchange/postgres/postgres_load.h"
#include "builder/root/opened_version.h"

struct dx_postgres_export {
    const char *root;
    struct dx_opened_version *opened;
    const char *dsn;
    struct dx_postgres_ddl ddl; /* but its layout */
    uint32_t dataset_id;        /* 0: all */
    uint64_t partition_rows;
    bool strict;
    bool dry_run; /* rows are read and counted, the server is asked only */
    bool quiet;   /* no progress */
    const char *tmp;
    bool (*stopped)(void);

    struct {
        char where[300];     /* which server; "": none was reached */
        uint64_t partitions; /* made */
        uint64_t domains;    /* with rows enough for a partition */
        uint64_t loaded;     /* datasets */
        uint64_t as_before;
        uint64_t removed;
        struct dx_postgres_counts n; /* of those loaded */
    } done;
};

int dx_postgres_export_run(struct dx_postgres_export *e, struct dx_error *err);
void dx_postgres_export_summary(const struct dx_postgres_export *e, FILE *out);

#endif
