/* SPDX-License-Identifier: Apache-2.0
 * delta.h - DELTA_BINARY_PACKED: integers as bit-packed differences.
 *
 *   rc = dx_pq_delta_read(&bytes, type_bits, count, out, &err);    bytes: a cursor, moved
 *   dx_pq_delta_write(&buf, type_bits, values, count);             behind the stream
 *
 * type_bits is 32 or 64; 32-bit values wrap in 32 bits and come out sign-extended. The
 * stream must hold exactly count values. Nothing is owned. No state; any thread.
 */
#ifndef DX_PARQUET_DELTA_H
#define DX_PARQUET_DELTA_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

int dx_pq_delta_read(struct dx_bytes *bytes, unsigned type_bits, uint32_t count, int64_t *out,
                     struct dx_error *err);
void dx_pq_delta_write(struct dx_buf *out, unsigned type_bits, const int64_t *values, size_t count);

#endif
