/* SPDX-License-Identifier: Apache-2.0
 * array.h - room for one more in an array that grows.
 *
 *   to = dx_array_room(list, count, &capacity, sizeof *list);
 *   if (to == NULL)
 *       ...                          out of memory; list and capacity are as they were
 *   list = to;
 *   list[count++] = ...;             free(list) at the end
 *
 * list is NULL while capacity is 0. It is moved only when it is full, and has twice the room then.
 */
#ifndef DX_BASE_ARRAY_H
#define DX_BASE_ARRAY_H

#include <stdlib.h>

static inline void *dx_array_room(void *array, size_t count, size_t *capacity, size_t element)
{
    size_t more = *capacity == 0 ? 16 : *capacity * 2;
    void *to;

    if (count < *capacity)
        return array;
    to = reallocarray(array, more, element);
    if (to != NULL)
        *capacity = more;
    return to;
}

#endif
