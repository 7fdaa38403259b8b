/* SPDX-License-Identifier: Apache-2.0
 * access.h - who may see which datasets now: index/access.json, followed while a server serves.
 *
 *   rc = dx_access_open(&a, root, file, &options, &err);     file NULL: {root}/index/access.json
 *   rc = dx_access_poll(a, &err);                            1 another table, 0 the same, <0 kept the old one
 *
 *   const struct dx_access_table *t = dx_access_pin(a);      NULL: there is none, all may see all
 *   ... format/access_table.h ...
 *   dx_access_unpin(t);
 *   dx_access_turn(a)                                        another number: pin again. A look at an atomic
 *   dx_access_close(&a);                                     after the last unpin
 *
 * Generations only grow; a table that is damaged, older, gone or cannot be read is refused, and the last
 * one holds for DX_ACCESS_STALE_MS; then dx_access_known says no, and nobody may see anything until there is
 * a good one. Poll is for one thread at a time; all else for any.
 */
#ifndef DX_LOADER_ACCESS_H
#define DX_LOADER_ACCESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define DX_ACCESS_STALE_MS 600000

struct dx_access;
struct dx_access_table;
struct dx_source_options;

int dx_access_open(struct dx_access **a, const char *root, const char *file,
                   const struct dx_source_options *options, struct dx_error *err);
int dx_access_poll(struct dx_access *a, struct dx_error *err);
void dx_access_close(struct dx_access **a);

const struct dx_access_table *dx_access_pin(struct dx_access *a);
const struct dx_access_table *dx_access_hold(const struct dx_access_table *t); /* one pin more */
void dx_access_unpin(const struct dx_access_table *t);                         /* NULL is fine */
uint64_t dx_access_turn(const struct dx_access *a);
bool dx_access_known(const struct dx_access *a);

struct dx_access_health {
    bool present; /* a table is in force */
    bool sound;
    uint64_t generation;
    uint64_t principals;
    int64_t read_us; /* when the last look succeeded, since 1970 */
    char text[520];
};

void dx_access_health(struct dx_access *a, struct dx_access_health *health);

#endif
