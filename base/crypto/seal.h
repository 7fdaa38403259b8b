/* SPDX-License-Identifier: Apache-2.0
 * seal.h - short texts that clients keep for us: they can neither read nor change them.
 *
 *   if (!dx_seal(key, with, plain, out))              out: DX_SEAL_EXTRA + plain.size bytes
 *   rc = dx_unseal(key, with, sealed, out)            1: out has sealed.size - DX_SEAL_EXTRA bytes;
 *                                                     0: it was not sealed with this key and `with`; <0: out of memory
 *
 * `with` is not part of what is sealed, but it opens only with the same. Neither is empty; both
 * together have DX_SEAL_MAX bytes at most.
 *
 * AES-256-SIV (RFC 5297) of libcrypto: 16 bytes of synthetic IV, then the ciphertext.
 * Deterministic: the same text under the same key has the same bytes, so that an answer that
 * contains it keeps its ETag. Two sealed texts reveal whether they are equal, and their length. Any
 * thread.
 */
#ifndef DX_BASE_CRYPTO_SEAL_H
#define DX_BASE_CRYPTO_SEAL_H

#include "base/bytes.h"

#define DX_SEAL_KEY 64
#define DX_SEAL_EXTRA 16
#define DX_SEAL_MAX 2560

bool dx_seal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span plain,
             uint8_t *out);
int dx_unseal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span sealed,
              uint8_t *out);

#endif
