/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/sketch_registers.h"

#define VALUES (DX_SKETCH_RANK_MAX + 1)
#define VALUE_BITS 5
#define K_BITS 4
#define COUNT_BITS DX_SKETCH_BITS /* of registers that have another value: never all */

/* Values that occur, the most frequent first, of equally frequent ones the smaller. */
static unsigned order_values(const uint8_t *registers, uint8_t *order, uint32_t *most)
{
    uint32_t counts[VALUES] = { 0 };
    unsigned n = 0;

    for (size_t i = 0; i < DX_SKETCH_REGISTERS; i++)
        counts[registers[i]]++;
    for (unsigned v = 0; v < VALUES; v++) {
        unsigned at = n;

        if (counts[v] == 0)
            continue;
        for (; at > 0 && counts[order[at - 1]] < counts[v]; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)v;
        n++;
    }
    *most = counts[order[0]];
    return n;
}

/* The least k that makes the gaps shortest. */
static unsigned best_k(const uint8_t *registers, unsigned usual)
{
    uint32_t bits[DX_SKETCH_BITS] = { 0 };
    uint32_t gap = 0;
    unsigned best = 0;

    for (size_t i = 0; i < DX_SKETCH_REGISTERS; i++) {
        if (registers[i] == usual) {
            gap++;
            continue;
        }
        for (unsigned k = 0; k < DX_SKETCH_BITS; k++)
            bits[k] += dx_bits_rice_size(gap, k);
        gap = 0;
    }
    for (unsigned k = 1; k < DX_SKETCH_BITS; k++)
        best = bits[k] < bits[best] ? k : best;
    return best;
}

void dx_sketch_registers_put(struct dx_bits_out *bits, const uint8_t *registers)
{
    uint8_t order[VALUES];
    uint8_t place[VALUES];
    uint32_t most;
    uint32_t gap = 0;
    unsigned n = order_values(registers, order, &most);
    unsigned k = best_k(registers, order[0]);

    dx_bits_put(bits, n, VALUE_BITS);
    for (unsigned i = 0; i < n; i++) {
        dx_bits_put(bits, order[i], VALUE_BITS);
        place[order[i]] = (uint8_t)i;
    }
    dx_bits_put(bits, k, K_BITS);
    dx_bits_put(bits, DX_SKETCH_REGISTERS - most, COUNT_BITS);
    for (size_t i = 0; i < DX_SKETCH_REGISTERS; i++) {
        if (registers[i] == order[0]) {
            gap++;
            continue;
        }
        dx_bits_put_rice(bits, gap, k);
        dx_bits_put_rice(bits, place[registers[i]] - 1u, 0);
        gap = 0;
    }
}

static int corrupt(struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "sketch: registers contradict themselves, or are cut");
}

static unsigned take_values(struct dx_bits *bits, uint8_t *order)
{
    unsigned n = (unsigned)dx_bits_take(bits, VALUE_BITS);

    if (n > VALUES)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        order[i] = (uint8_t)dx_bits_take(bits, VALUE_BITS);
        if (order[i] > DX_SKETCH_RANK_MAX)
            return 0;
    }
    return n;
}

/* No two rows of bits mean the same: values and k are those that we would write. */
static bool is_as_written(const uint8_t *registers, const uint8_t *order, unsigned n, unsigned k)
{
    uint8_t own[VALUES];
    uint32_t most;

    return order_values(registers, own, &most) == n && memcmp(own, order, n) == 0 &&
           best_k(registers, order[0]) == k;
}

int dx_sketch_registers_take(struct dx_bits *bits, uint8_t *registers, struct dx_error *err)
{
    uint8_t order[VALUES];
    unsigned n = take_values(bits, order);
    unsigned k = (unsigned)dx_bits_take(bits, K_BITS);
    uint32_t count = (uint32_t)dx_bits_take(bits, COUNT_BITS);
    size_t at = 0;

    if (bits->failed || n == 0 || k >= DX_SKETCH_BITS)
        return corrupt(err);
    memset(registers, order[0], DX_SKETCH_REGISTERS);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t gap = dx_bits_rice(bits, k);
        uint64_t place = dx_bits_rice(bits, 0) + 1;

        if (bits->failed || gap >= DX_SKETCH_REGISTERS - at || place >= n)
            return corrupt(err);
        at += gap;
        registers[at++] = order[place];
    }
    return is_as_written(registers, order, n, k) ? DX_OK : corrupt(err);
}
