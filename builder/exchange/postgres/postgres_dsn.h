/* SPDX-License-Identifier: Apache-2.0
 * postgres_dsn.h - whether a connection string of PostgreSQL may be used, without saying what is in
 * it.
 *
 *   rc = dx_postgres_dsn_check(text, &err);       "postgresql://user@host/db", "host=… dbname=…", "db", ""
 *
 * The string may hold a password, and libpq's words about a string that it cannot read, or that it
 * reads otherwise than was meant (a password with '/' or '@' in it), repeat pieces of it. So what
 * could lead to such words is refused here, by words that repeat nothing. What passes names a host,
 * a port and a database that may be said. "" leaves all to the environment (PGHOST, PGSERVICE, …).
 * Any thread.
 */
#ifndef DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_DSN_H
#define DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_DSN_H

#include "base/error.h"

int dx_postgres_dsn_check(const char *text, struct dx_error *err);

#endif
