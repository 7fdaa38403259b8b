/* SPDX-License-Identifier: Apache-2.0
 * near_name.h - the known name that a mistyped one most likely means.
 *
 *   struct dx_near_name near = DX_NEAR_NAME_INIT(typed, strlen(typed));
 *   dx_near_name_try(&near, "ingest");          each known name
 *   near.best                                   NULL: none is near
 *   dx_near_name_distance(a, a_size, b, b_size)     the edit distance alone
 *
 * Near is an edit distance (insert, delete, replace, swap of neighbours; '_' is '-', case does not
 * count) of at most a third of the typed length, or a typed piece of four letters and more of the
 * name. Of equally near names the first one tried wins. No storage: names are borrowed.
 * One thread at a time.
 */
#ifndef DX_BASE_COMMAND_NEAR_NAME_H
#define DX_BASE_COMMAND_NEAR_NAME_H

#include <stddef.h>

struct dx_near_name {
    const char *typed;
    size_t typed_size;
    const char *best;
    size_t distance; /* of best */
};

#define DX_NEAR_NAME_INIT(typed_, size_) \
    {                                    \
        (typed_), (size_), NULL, 0       \
    }

#define DX_NEAR_NAME_MAX 40 /* bytes; options and commands are shorter */

void dx_near_name_try(struct dx_near_name *near, const char *name);

/* Of names that are longer that of their beginnings. */
size_t dx_near_name_distance(const char *a, size_t n, const char *b, size_t m);

#endif
