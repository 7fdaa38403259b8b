/* SPDX-License-Identifier: Apache-2.0
 * hash_wide.h - XXH3 of long texts with vectors of 256 bits, where the processor has them. For base/hash.c alone.
 *
 *   if (size > DX_HASH_WIDE_MIN && dx_hash_wide_works())
 *       h = dx_hash_wide_128(data, size);              the same numbers as without, in half of the instructions
 *
 * Any thread.
 */
#ifndef DX_BASE_HASH_WIDE_H
#define DX_BASE_HASH_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_HASH_WIDE_MIN 240 /* shorter texts are hashed without vectors */

struct dx_hash_wide {
    uint64_t low, high;
};

#if defined(__x86_64__) && defined(__GNUC__)
#define DX_HASH_WIDE 1
struct dx_hash_wide dx_hash_wide_128(const void *data, size_t size);
uint64_t dx_hash_wide_64(const void *data, size_t size, uint64_t seed);

static inline bool dx_hash_wide_works(void)
{
    return __builtin_cpu_supports("avx2");
}
#endif

#endif
