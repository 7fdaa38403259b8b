/* SPDX-License-Identifier: Apache-2.0
 * suppression_cache.h - which rows of a domain of a build rules hide: read once, and kept.
 *
 *   rc = dx_suppression_cache_get(&e, v, &found, &of, &err);
 *     1   dx_suppression_cache_rows(e)         pinned until
 *         dx_suppression_cache_release(e);
 *     0   being read by the thread of the cache, which holds v pinned meanwhile: ask again soon
 *    <0   they could not be read (tried again after a second)
 *
 * With DX_SUPPRESSIONS_LIVE_WAIT the caller's thread reads the rows, and get never returns 0.
 *
 * The cache belongs to a log of suppressions, is made when it is first asked for rows, and closed with the log. It
 * keeps 256 MiB, the least recently used first out, and beyond that what was used within a minute (2 GiB at most). What no
 * open version has, or what was read for rules that are others by now, goes a minute after its last use, at the next sweep:
 *
 *   dx_suppression_cache_sweep(caches, dx_clock_ms());         every now and then; looks every ten seconds at most
 *
 * All functions are safe from every thread.
 */
#ifndef DX_QUERY_SUPPRESSION_SUPPRESSION_CACHE_H
#define DX_QUERY_SUPPRESSION_SUPPRESSION_CACHE_H

#include "base/error.h"
#include "query/suppression/suppression_rows.h"

struct dx_caches;
struct dx_suppression_entry;
struct dx_suppressions_live;

/* of: of rules that stay until it returns. */
int dx_suppression_cache_get(struct dx_suppression_entry **out, struct dx_version *v,
                             const struct dx_found *found, const struct dx_rules_of *of,
                             struct dx_error *err);
const struct dx_suppression_rows *dx_suppression_cache_rows(const struct dx_suppression_entry *e);
void dx_suppression_cache_release(struct dx_suppression_entry *e); /* NULL is fine */

/* Until nothing is being read or waits to be, or until_ms (dx_clock_ms) has come. */
void dx_suppression_cache_wait(struct dx_suppressions_live *o, uint64_t until_ms);

/* Pins the open versions of the caches meanwhile. */
void dx_suppression_cache_sweep(struct dx_caches *caches, uint64_t now_ms);

/* That it holds now. */
size_t dx_suppression_cache_bytes(struct dx_suppressions_live *o);

/* How many bytes are kept of what was not used lately, for tests; 256 MiB without it. */
void dx_suppression_cache_keep(struct dx_suppressions_live *o, size_t bytes);

#endif
