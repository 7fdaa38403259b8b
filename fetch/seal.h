/* SPDX-License-Identifier: Apache-2.0
 * seal.h - short texts that others keep for us: they can neither read nor change them.
 *
 *   if (!dx_seal(key, with, plain, out))              out: DX_SEAL_EXTRA + plain.size bytes
 *   rc = dx_unseal(key, with, sealed, out)            1: out has sealed.size - DX_SEAL_EXTRA bytes;
 *                                                     0: it was not sealed so; <0: out of memory
 *
 * `with` is not in what is sealed, but it opens only with the same. Both together have DX_SEAL_MAX bytes
 * at most.
 *
 * Deterministic: the same text under the same key has the same bytes, so that an answer that it is part
 * of keeps its ETag; who sees two sealed texts learns that they are equal or not, and their length. A
 * synthetic IV (Rogaway and Shrimpton, 2006): IV = the first 16 bytes of HMAC-SHA256(first half of
 * the key, u64 size of with, with, plain); then the IV, and plain under AES-256-CTR with it and the second
 * half. By libcrypto, as sha256.h. Any thread.
 */
#ifndef DX_FETCH_SEAL_H
#define DX_FETCH_SEAL_H

#include "base/bytes.h"

#define DX_SEAL_KEY 64
#define DX_SEAL_EXTRA 16
#define DX_SEAL_MAX 1024

bool dx_seal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span plain,
             uint8_t *out);
int dx_unseal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span sealed,
              uint8_t *out);

#endif
