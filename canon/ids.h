/* SPDX-License-Identifier: Apache-2.0
 * ids.h - ids that stay the same over versions.
 *
 * domain_id and url_id are XXH3-64 of the canonical text. Text decides, ids lead to
 * it: the version's collision list distinguishes two domains with one hash. No state; any thread.
 */
#ifndef DX_CANON_IDS_H
#define DX_CANON_IDS_H

#include "base/id_hash.h"

static inline uint64_t dx_domain_id(struct dx_span domain)
{
    return dx_id64(domain);
}

static inline uint64_t dx_url_id(struct dx_span canonical_url)
{
    return dx_id64(canonical_url);
}

/* First two hex digits of a domain_id, 0..255. */
static inline unsigned dx_domain_prefix(uint64_t domain_id)
{
    return (unsigned)(domain_id >> 56);
}

#endif
