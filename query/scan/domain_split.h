/* SPDX-License-Identifier: Apache-2.0
 * domain_split.h - cuts a set of domains into parts with equal numbers of them.
 *
 *   rc = dx_domain_set_count(&set, DX_DOMAIN_SPLIT_MAX, &err);                      first
 *   rc = dx_domain_split(&set, end, parts, bounds, &err);           bounds: parts + 1 of them
 *
 * The i-th part begins with the domain bounds[i] and ends before bounds[i + 1], in order of keys; the last one ends before `end`, which the
 * set does too (dx_domain_set_to), or which is the version's `numbers`, behind its last domain. Parts may be empty. Domains that are dead, or hidden by
 * suppressions, count. Mapped memory alone; one thread.
 */
#ifndef DX_QUERY_SCAN_DOMAIN_SPLIT_H
#define DX_QUERY_SCAN_DOMAIN_SPLIT_H

#include "query/scan/domain_set.h"

#define DX_DOMAIN_SPLIT_MAX (32u << 20) /* domains of datasets that are counted: some ns each */

int dx_domain_split(const struct dx_domain_set *set, uint64_t end, uint64_t parts, uint64_t *bounds,
                    struct dx_error *err);

#endif
