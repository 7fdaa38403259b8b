/* SPDX-License-Identifier: Apache-2.0
 * scope.h - a set of datasets that a principal may see.
 *
 *   if (dx_scope_has(scope, dataset_id))                 scope NULL: everything
 *   dx_scope_key(scope)                                  what depends on a scope is kept under this
 *
 *   rc = dx_scope_more(&scope, base, ids, count, &err);  in any order, and those of base, if not NULL; none is a scope too
 *   dx_scope_hold(scope);  dx_scope_drop(&scope);
 *
 * A list that names every dataset there is is another thing than no scope: see
 * docs/notes/access.md. Scopes never change, and are counted; any thread.
 */
#ifndef DX_FORMAT_ROOT_SCOPE_H
#define DX_FORMAT_ROOT_SCOPE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_scope;

/* Two scopes of a process have the same key only if they have the same datasets; each that is made
 * has a new one, so the maker of a table takes one that is there already. 0: no scope. */
uint64_t dx_scope_key(const struct dx_scope *scope);

bool dx_scope_has(const struct dx_scope *scope, uint32_t dataset_id);

int dx_scope_more(struct dx_scope **scope, const struct dx_scope *base, const uint32_t *ids,
                  size_t count, struct dx_error *err);
bool dx_scope_equal(const struct dx_scope *a, const struct dx_scope *b);
bool dx_scope_within(const struct dx_scope *a, const struct dx_scope *b); /* b has all that a has */
uint64_t dx_scope_hash(const struct dx_scope *scope); /* the same for equal ones */
uint64_t dx_scope_count(const struct dx_scope *scope);
size_t dx_scope_bytes(const struct dx_scope *scope); /* of memory, about */
const struct dx_scope *dx_scope_hold(const struct dx_scope *scope);
void dx_scope_drop(const struct dx_scope **scope);

#endif
