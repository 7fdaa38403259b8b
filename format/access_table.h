/* SPDX-License-Identifier: Apache-2.0
 * access_table.h - the table of who may see which datasets: index/access.json. No I/O.
 *
 *   rc = dx_access_table_parse(&t, text, name, &err);        what is wrong, with the place
 *   p = dx_access_table_token(t, sha256, now_s);             NULL: no such token, or it has expired
 *   p = dx_access_table_named(t, name);                      NULL: not known
 *   p = dx_access_table_anonymous(t);                        never NULL
 *   rc = dx_access_table_write(t, &buf, &err);
 *   dx_access_table_free(&t);
 *
 * Its layout and rules: docs/notes/access.md, docs/FORMAT.md. A table does not change once it is parsed; any
 * thread. Tokens are found by the first bytes of their SHA-256 and compared in constant time.
 */
#ifndef DX_FORMAT_ACCESS_TABLE_H
#define DX_FORMAT_ACCESS_TABLE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "format/scope.h"

#define DX_ACCESS_NAME_MAX 128 /* bytes of a principal's name: letters, digits, . _ : @ + - */

struct dx_access_table;

struct dx_principal {
    const char *name;
    const struct dx_scope *scope; /* NULL: all datasets */
    uint32_t number;              /* of the table: below its count */
    double cost_per_s; /* what it may spend (server/admission.h); 0: the server's setting */
    double cost_burst;
};

int dx_access_table_parse(struct dx_access_table **t, struct dx_span text, const char *name,
                          struct dx_error *err);
void dx_access_table_free(struct dx_access_table **t);

const struct dx_principal *dx_access_table_token(const struct dx_access_table *t,
                                                 const uint8_t sha256[32], int64_t now_s);
const struct dx_principal *dx_access_table_named(const struct dx_access_table *t,
                                                 struct dx_span name);
const struct dx_principal *dx_access_table_anonymous(const struct dx_access_table *t);
uint64_t dx_access_table_generation(const struct dx_access_table *t);

#endif
