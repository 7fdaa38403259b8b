/* SPDX-License-Identifier: Apache-2.0
 * postgres_table.h - the table at the server that an export loads: made, or found to be fit.
 *
 *   rc = dx_postgres_table_lock(db, &ddl, stopped, &err);       one export of a table at a time
 *   rc = dx_postgres_table_ready(db, &ddl, registry_id, dry_run, &there, &err);   there: which tables were
 *   rc = dx_postgres_table_partitions(db, &ddl, numbers, &domains, dry_run, &made, &err);
 *
 * ready refuses a table that is not partitioned by domain64, that lacks a column or has it of
 * another type, that holds numbers of another registry, and one with rows of which nothing says
 * where they are from. partitions makes what is missing: each TLD of the registry, with a partition
 * for its rest, and the domains of which rows cannot be in that rest already, since it is empty.
 * Each is a transaction of its own: a run that dies here can be run again. With dry_run nothing is
 * made: what is there is checked, what is missing is counted. One thread.
 */
#ifndef DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_TABLE_H
#define DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_TABLE_H

#include "builder/exchange/postgres/postgres_ddl.h"
#include "builder/exchange/postgres/postgres_domains.h"

struct dx_postgres;

struct dx_postgres_there {
    bool table;
    bool datasets; /* TABLE_datasets */
};

int dx_postgres_table_lock(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                           bool (*stopped)(void), struct dx_error *err);
int dx_postgres_table_ready(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                            const char *registry, bool dry_run, struct dx_postgres_there *there,
                            struct dx_error *err);
int dx_postgres_table_partitions(struct dx_postgres *db, const struct dx_postgres_ddl *d,
                                 const struct dx_domain64_registry *numbers,
                                 const struct dx_postgres_domains *domains, bool dry_run,
                                 uint64_t *made, struct dx_error *err);

#endif
