/* SPDX-License-Identifier: Apache-2.0
 * key_number.h - a 64-bit key as people and databases write it.
 *
 *   ok = dx_key_number(text, &key);          "0x0100000100000000", "72057598332895232", "-1"
 *   ok = dx_key_number_end(text, &end);      the same as the upper end of a half-open range; 0: beyond all keys
 *
 * Hexadecimal digits follow "0x", in either case; else it is decimal. What begins with '-' is a
 * bigint, so "-1" is the highest key. No sign "+", no space, nothing behind, and no more than fits:
 * false. Leading zeros are fine.
 *
 * An end may also be 2^64 ("0x10000000000000000", "18446744073709551616"); 0, which a bigint has
 * for it, is the same; and MAXVALUE, as PostgreSQL has it, is 2^63. No state; any thread.
 */
#ifndef DX_CANON_KEY_NUMBER_H
#define DX_CANON_KEY_NUMBER_H

#include "base/bytes.h"

bool dx_key_number(struct dx_span text, uint64_t *key);
bool dx_key_number_end(struct dx_span text, uint64_t *end);

#endif
