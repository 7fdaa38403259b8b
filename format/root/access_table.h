/* SPDX-License-Identifier: Apache-2.0
 * access_table.h - which principals may see which datasets: index/access.json. No I/O.
 *
 *   rc = dx_access_table_parse(&t, text, name, former, &err);   what is wrong, with the place
 *   dx_access_table_open(t)                                  true: it is out of force, all may see all
 *   p = dx_access_table_token(t, sha256, now_s);             NULL: no such token, or it has expired
 *   p = dx_access_table_named(t, name);                      NULL: not known
 *   p = dx_access_table_anonymous(t);                        never NULL
 *   dx_access_table_hold(t);  dx_access_table_drop(&t);
 *
 * Its layout and rules: docs/notes/access.md, docs/FORMAT.md; its text is
 * format/root/access_json.h's. A table does not change once it is parsed, and is counted; any
 * thread. Tokens are found by the first bytes of their SHA-256 and compared in constant time.
 *
 * Principals that may see the same have the same scope, and a scope that the table before
 * (`former`, NULL: none) had already is that one: what is kept under its key stays good when
 * another principal changes.
 */
#ifndef DX_FORMAT_ROOT_ACCESS_TABLE_H
#define DX_FORMAT_ROOT_ACCESS_TABLE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "format/root/access_json.h"
#include "format/root/scope.h"

struct dx_access_table;

struct dx_principal {
    const char *name;
    const struct dx_scope *scope; /* NULL: all datasets */
    uint32_t number;              /* of the table: below its count */
    double cost_per_s; /* what it may spend (server/policy/admission.h); 0: as the server is set */
    double cost_burst;
};

int dx_access_table_parse(const struct dx_access_table **t, struct dx_span text, const char *name,
                          const struct dx_access_table *former, struct dx_error *err);
const struct dx_access_table *dx_access_table_hold(const struct dx_access_table *t);
void dx_access_table_drop(const struct dx_access_table **t); /* a pointer to NULL is fine */

const struct dx_principal *dx_access_table_token(const struct dx_access_table *t,
                                                 const uint8_t sha256[32], int64_t now_s);
const struct dx_principal *dx_access_table_named(const struct dx_access_table *t,
                                                 struct dx_span name);
const struct dx_principal *dx_access_table_anonymous(const struct dx_access_table *t);
uint64_t dx_access_table_generation(const struct dx_access_table *t);
bool dx_access_table_open(const struct dx_access_table *t);
size_t dx_access_table_principals(const struct dx_access_table *t); /* without anonymous */
bool dx_access_table_same(const struct dx_access_table *a, const struct dx_access_table *b);

#endif
