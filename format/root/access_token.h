/* SPDX-License-Identifier: Apache-2.0
 * access_token.h - the text of a bearer token: "dxk_", 43 characters, 6 of a checksum. No I/O.
 *
 *   dx_access_token_write(random, token);              of 32 random bytes; as long as a text can be
 *   ok = dx_access_token_ok(text);                     the form and the checksum are right
 *
 * Base62 of the 256 random bits, the first digit the highest; then the CRC32 (IEEE) of the 47
 * characters before it, in base62 too. So that a scanner for leaked secrets knows one when it sees
 * it, and so that mistyped ones are refused before any look-up. The checksum protects nothing: the
 * bits are the secret. Any thread.
 */
#ifndef DX_FORMAT_ROOT_ACCESS_TOKEN_H
#define DX_FORMAT_ROOT_ACCESS_TOKEN_H

#include "base/bytes.h"

#define DX_ACCESS_TOKEN_SIZE 53
#define DX_ACCESS_TOKEN_TEXT (DX_ACCESS_TOKEN_SIZE + 1) /* and NUL */
#define DX_ACCESS_TOKEN_RANDOM 32

void dx_access_token_write(const uint8_t random[DX_ACCESS_TOKEN_RANDOM],
                           char token[DX_ACCESS_TOKEN_TEXT]);
bool dx_access_token_ok(struct dx_span text);

#endif
