/* SPDX-License-Identifier: Apache-2.0
 * sketch_registers.h - the registers of a sketch of many URLs as bits: docs/FORMAT.md, 14.3.
 *
 *   dx_sketch_registers_put(&bits, registers);                    DX_SKETCH_REGISTERS of them, at most DX_SKETCH_RANK_MAX each
 *   rc = dx_sketch_registers_take(&bits, registers, &err);        the same; the caller checks what is behind them
 *
 * The most frequent value takes no bits: what stands there are the others, with the number of registers before each that
 * have it. Of 513 to 1,000 URLs, which most such pairs of collected links have, that is 530 bytes where 6 bits a register
 * are 3,072; of a million 1,600. No state; any thread.
 */
#ifndef DX_FORMAT_VERSION_SKETCH_REGISTERS_H
#define DX_FORMAT_VERSION_SKETCH_REGISTERS_H

#include "base/bits.h"
#include "base/error.h"

#define DX_SKETCH_BITS 12 /* of a hash, which say its register */
#define DX_SKETCH_REGISTERS (1u << DX_SKETCH_BITS)
#define DX_SKETCH_RANK_MAX 29

void dx_sketch_registers_put(struct dx_bits_out *bits, const uint8_t *registers);
int dx_sketch_registers_take(struct dx_bits *bits, uint8_t *registers, struct dx_error *err);

#endif
