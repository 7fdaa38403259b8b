/* SPDX-License-Identifier: Apache-2.0
 * loop_access.h - the access table that a loop has pinned, for all of its requests.
 *
 *   struct dx_loop_access l = { 0 };                  one for each loop
 *   table = dx_loop_access_now(&l, access);           NULL: none is in force
 *   dx_loop_access_release(&l);
 *
 * It costs a look at a number that changes with the table. Borrowed until the next call: a caller
 * that needs it for longer takes a pin of its own (loader/followed/access.h). One thread.
 */
#ifndef DX_SERVER_CACHE_LOOP_ACCESS_H
#define DX_SERVER_CACHE_LOOP_ACCESS_H

#include <stdint.h>

struct dx_access;
struct dx_access_table;

struct dx_loop_access {
    const struct dx_access_table *table; /* pinned; NULL: none */
    uint64_t turn;                       /* 0: not looked at yet */
};

const struct dx_access_table *dx_loop_access_now(struct dx_loop_access *l,
                                                 struct dx_access *access);
void dx_loop_access_release(struct dx_loop_access *l);

#endif
