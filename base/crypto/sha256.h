/* SPDX-License-Identifier: Apache-2.0
 * sha256.h - SHA-256 and HMAC, for what the S3 protocol wants hashed.
 *
 *   dx_sha256(span, sum);  dx_sha256_hex(sum, hex);  dx_sha256_base64(sum, text);
 *
 *   struct dx_sha256_state *s = dx_sha256_new();       NULL: out of memory
 *   dx_sha256_update(s, span);  dx_sha256_end(&s, sum); frees it
 *
 * By libcrypto, which libcurl fetches along anyway and which uses the processor's instructions.
 * false: libcrypto cannot, for want of memory. Any thread; a state is for one at a time.
 */
#ifndef DX_BASE_CRYPTO_SHA256_H
#define DX_BASE_CRYPTO_SHA256_H

#include "base/bytes.h"

#define DX_SHA256_SIZE 32
#define DX_SHA256_HEX 65    /* 64 digits and NUL */
#define DX_SHA256_BASE64 45 /* 44 characters and NUL */

struct dx_sha256_state;

bool dx_sha256(struct dx_span s, uint8_t sum[DX_SHA256_SIZE]);
bool dx_hmac_sha256(struct dx_span key, struct dx_span s, uint8_t sum[DX_SHA256_SIZE]);

struct dx_sha256_state *dx_sha256_new(void);
bool dx_sha256_update(struct dx_sha256_state *state, struct dx_span s);
bool dx_sha256_end(struct dx_sha256_state **state, uint8_t sum[DX_SHA256_SIZE]);

void dx_sha256_hex(const uint8_t sum[DX_SHA256_SIZE], char hex[DX_SHA256_HEX]);
void dx_sha256_base64(const uint8_t sum[DX_SHA256_SIZE], char text[DX_SHA256_BASE64]);

#endif
