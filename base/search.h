/* SPDX-License-Identifier: Apache-2.0
 * search.h - where something stands in a sorted row of things, or where it belongs.
 *
 *   static int compare(const void *ctx, size_t i)        <0: thing i comes before what is sought,
 *                                                        0: it is that, >0: it comes behind it
 *   found = dx_search(count, compare, ctx, &at);
 *
 * For rows that are looked at by name now and then; what is hot has a loop of its own. No state.
 */
#ifndef DX_BASE_SEARCH_H
#define DX_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

bool dx_search(size_t count, int (*compare)(const void *ctx, size_t i), const void *ctx,
               size_t *at);

#endif
