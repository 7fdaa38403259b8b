/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash_wide.h"

#ifdef DX_HASH_WIDE /* compiled with -mavx2 (cmake/layers.cmake): nothing else may stand here */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct dx_hash_wide dx_hash_wide_128(const void *data, size_t size)
{
    XXH128_hash_t h = XXH3_128bits(data, size);

    return (struct dx_hash_wide){ h.low64, h.high64 };
}

uint64_t dx_hash_wide_64(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}
#else
typedef int dx_hash_wide_is_not_here; /* no translation unit is empty */
#endif
