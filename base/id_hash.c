/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#if !defined(DX_HASH_BITS) || DX_HASH_BITS == 0
#define BITS 64
#else
#define BITS DX_HASH_BITS
#endif

#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)

static const uint64_t mask = UINT64_MAX << (64 - BITS);

uint64_t dx_id64(struct dx_span text)
{
    return XXH3_64bits(text.data, text.size) & mask;
}

uint64_t dx_id64_seeded(struct dx_span text, uint64_t seed)
{
    return XXH3_64bits_withSeed(text.data, text.size, seed) & mask;
}

const char *dx_id_warning(void)
{
    return BITS == 64 ? "" : " (built for tests: ids of " TEXT(BITS) " bits)";
}
