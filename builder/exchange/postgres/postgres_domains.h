/* SPDX-License-Identifier: Apache-2.0
 * postgres_domains.h - which domains have so many rows that they get a partition of their own.
 *
 *   struct dx_postgres_domains d = { .version = v, .numbers = n, .rows_min = 1000000 };
 *   rc = dx_postgres_domains_find(&d, &err);         d.at[0 .. d.count), by number
 *   dx_postgres_domains_release(&d);                 safe at any time
 *
 * Rows are those of the index, of one dataset or (0) of all. A domain without a number, and a
 * domain that a suppression hides as a whole, have no partition. PostgreSQL plans and locks each
 * partition of a query, so at most DX_POSTGRES_DOMAINS_MAX domains have one: those with the most
 * rows. One thread.
 */
#ifndef DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_DOMAINS_H
#define DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_DOMAINS_H

#include "loader/followed/domain64_registry.h"

struct dx_version;

/* A statement about the whole table locks every partition and its index, and a server as it comes
 * has room for 6400 locks. */
#define DX_POSTGRES_DOMAINS_MAX 1000

struct dx_postgres_domain {
    uint64_t number;
    uint64_t rows;
};

struct dx_postgres_domains {
    struct dx_version *version;
    const struct dx_domain64_registry *numbers;
    uint32_t dataset_id;
    uint64_t rows_min; /* 0: none get one */
    bool (*stopped)(void);

    struct dx_postgres_domain *at;
    size_t count;
    uint64_t found; /* with so many rows; those above count get no partition */
};

int dx_postgres_domains_find(struct dx_postgres_domains *d, struct dx_error *err);
void dx_postgres_domains_release(struct dx_postgres_domains *d);

#endif
