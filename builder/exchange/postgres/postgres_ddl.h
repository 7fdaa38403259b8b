/* SPDX-License-Identifier: Apache-2.0
 * postgres_ddl.h - a table partitioned by domain64, as statements for PostgreSQL.
 *
 *   struct dx_postgres_ddl d = { .table = "urls", .layout = numbers->layout };
 *   if (!dx_postgres_name_ok(d.table, DX_POSTGRES_TABLE_MAX)) …
 *   dx_postgres_ddl_table(&d, &out);                 the table, its index, a partition for the rest
 *   dx_postgres_ddl_datasets(&d, &out);              TABLE_datasets: names, and what was loaded
 *   rc = dx_postgres_ddl_partition(&d, numbers, number, DX_PART_TLD, true, &out, &err);
 *                                                    with a partition for the rest below it
 *   dx_postgres_ddl_name(&d, number, part, "_rest", &out);      "urls_01_rest", in quotes
 *
 * Partitions are named after numbers, and a comment says the host that the number stands for: a
 * domain is not an identifier, and 63 bytes are all that one may have. All names stand in quotes,
 * so a table may be called anything that is UTF-8 without control characters. Statements end with
 * ";\n" and are appended; out->failed is the caller's to see. No state; any thread.
 */
#ifndef DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_DDL_H
#define DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_DDL_H

#include <stdio.h>

#include "base/buf.h"
#include "loader/followed/domain64_registry.h"

#define DX_POSTGRES_TABLE_MAX 46 /* of 63 bytes "_ff_ffffff_ffffff" may follow */
#define DX_POSTGRES_COLUMN_MAX 63
#define DX_POSTGRES_COLUMNS_MAX 48 /* of texts */

struct dx_postgres_ddl {
    const char *table;
    enum dx_domain64_layout layout;
    const char *const *column; /* further ones, of text */
    size_t column_count;
};

/* A name that PostgreSQL takes, of at most `max` bytes. */
bool dx_postgres_name_ok(const char *name, size_t max);

void dx_postgres_quote(const char *name, const char *suffix, struct dx_buf *out);
void dx_postgres_ddl_name(const struct dx_postgres_ddl *d, uint64_t number, int part,
                          const char *suffix, struct dx_buf *out); /* part -1: the table itself */
void dx_postgres_ddl_columns(const struct dx_postgres_ddl *d, struct dx_buf *out); /* a, b, c */

void dx_postgres_ddl_table(const struct dx_postgres_ddl *d, struct dx_buf *out);
void dx_postgres_ddl_datasets(const struct dx_postgres_ddl *d, struct dx_buf *out);
int dx_postgres_ddl_partition(const struct dx_postgres_ddl *d,
                              const struct dx_domain64_registry *numbers, uint64_t number,
                              enum dx_domain64_part part, bool split, struct dx_buf *out,
                              struct dx_error *err);

/* All statements for a registry: the table, partitions down to `part`, each with a default
 * partition. Streams, so memory does not grow with the registry; a failing `out` is the caller's to
 * see. */
int dx_postgres_ddl_print(const struct dx_domain64_registry *n, const char *name,
                          enum dx_domain64_part part, FILE *out, struct dx_error *err);

#endif
