/* SPDX-License-Identifier: Apache-2.0
 * postgres.h - one session of a PostgreSQL server: statements, and rows that go in by COPY.
 *
 *   rc = dx_postgres_open(&p, dsn, stopped, &err);          checked by postgres_dsn.h before
 *   rc = dx_postgres_run(p, "BEGIN; …", &err);              several statements; what they return is lost
 *   rc = dx_postgres_ask(p, sql, values, count, &err);      one, with $1 … $count as text (NULL: null)
 *   n = dx_postgres_rows(p);  text = dx_postgres_cell(p, row, column);      NULL: null
 *
 *   rc = dx_postgres_copy(p, "COPY t FROM STDIN (FORMAT binary)", &err);
 *   rc = dx_postgres_put(p, bytes, &err);                   often
 *   rc = dx_postgres_copied(p, &rows, &err);                the server has taken them
 *   dx_postgres_close(&p);                                  a transaction that is open is undone
 *
 * No call waits for longer than a quarter of a second before it looks at `stopped` (may be NULL):
 * then it fails with the words "interrupted", and close stops what the server is still doing. A
 * failed call leaves the session of no use but to close it. In a COPY the server's errors may be
 * heard only at its end: make many, not a long one.
 *
 * A statement's reply has at most DX_POSTGRES_REPLY_MAX bytes, or the call fails with DX_E_LIMIT.
 *
 * Words of errors are the server's, in one line; they hold no password. DX_E_DENIED: a right is
 * missing; DX_E_EXISTS: a name is taken; DX_E_IO: all else. Statements have no time limit here,
 * whatever the role's is; the encoding is UTF-8. Cells live until the next call. One thread at a
 * time.
 */
#ifndef DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_H
#define DX_BUILDER_EXCHANGE_POSTGRES_POSTGRES_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_postgres;

#define DX_POSTGRES_REPLY_MAX (64u << 20) /* ours have some bytes a dataset or partition */

int dx_postgres_open(struct dx_postgres **p, const char *dsn, bool (*stopped)(void),
                     struct dx_error *err);
void dx_postgres_close(struct dx_postgres **p);

/* "database 'd' at localhost:5432". */
const char *dx_postgres_shown(const struct dx_postgres *p);

int dx_postgres_run(struct dx_postgres *p, const char *sql, struct dx_error *err);
int dx_postgres_ask(struct dx_postgres *p, const char *sql, const char *const *values,
                    unsigned count, struct dx_error *err);
size_t dx_postgres_rows(const struct dx_postgres *p);
const char *dx_postgres_cell(const struct dx_postgres *p, size_t row, unsigned column);

int dx_postgres_copy(struct dx_postgres *p, const char *sql, struct dx_error *err);
int dx_postgres_put(struct dx_postgres *p, struct dx_span bytes, struct dx_error *err);
int dx_postgres_copied(struct dx_postgres *p, uint64_t *rows, struct dx_error *err);

#endif
