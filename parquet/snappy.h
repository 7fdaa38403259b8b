/* SPDX-License-Identifier: Apache-2.0
 * snappy.h - a block of Snappy's format, decoded.
 *
 *   if (!dx_snappy_size(from, &size)) ...                    what it says of itself; not checked yet
 *   if (!dx_snappy_decode(from, to, size)) ...               exactly that many bytes; false: broken, `to` has anything
 *
 * Reads and writes nothing outside of both, whatever the bytes are. In place of libsnappy, since that is all of it that is
 * needed, and C++'s library with its 5,000 symbols came with it into each process: half of the time of `domaindex lookup` before its
 * first instruction. Format: https://github.com/google/snappy/blob/main/format_description.txt. Any thread.
 */
#ifndef DX_PARQUET_SNAPPY_H
#define DX_PARQUET_SNAPPY_H

#include "base/bytes.h"

bool dx_snappy_size(struct dx_span from, size_t *size);
bool dx_snappy_decode(struct dx_span from, uint8_t *to, size_t size);

#endif
