/* SPDX-License-Identifier: Apache-2.0
 * chance.h - pseudo-random numbers that a seed repeats (splitmix64).
 *
 *   uint64_t state = seed;
 *   uint64_t bits = dx_chance_bits(&state);
 *   double u = dx_chance_unit(&state);        in (0, 1]: a logarithm may be taken of it
 *
 * A state is for one thread at a time.
 */
#ifndef DX_BUILDER_LOAD_CHANCE_H
#define DX_BUILDER_LOAD_CHANCE_H

#include <stdint.h>

static inline uint64_t dx_chance_bits(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static inline double dx_chance_unit(uint64_t *state)
{
    return (double)((dx_chance_bits(state) >> 11) + 1) * 0x1p-53;
}

#endif
