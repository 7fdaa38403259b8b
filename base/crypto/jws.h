/* SPDX-License-Identifier: Apache-2.0
 * jws.h - signed statements: JWS in compact form (RFC 7515) with Ed25519 (RFC 8037).
 *
 *   rc = dx_jws_key_read(&key, "receipt.pem", &err);      PEM, private or public, as `openssl genpkey -algorithm ed25519` writes
 *   dx_jws_sign(key, payload, &token);                    appends HEADER.PAYLOAD.SIGNATURE; false: it cannot sign
 *   dx_jws_public(key, &pem);                             appends the public key as PEM
 *   rc = dx_jws_verify(key, token, &payload, &err);       1 with the payload; 0: another key signed it, or it was changed; <0: not a JWS
 *   dx_jws_key_free(&key);
 *
 * The header is {"alg":"EdDSA","kid":...}, kid the thumbprint of the public key (RFC 7638). A token with another algorithm is
 * refused, whatever its signature. DX_JWS_EXTRA bytes and a third of the payload are added to it. libcrypto's Ed25519; a key
 * may be used by several threads.
 */
#ifndef DX_BASE_CRYPTO_JWS_H
#define DX_BASE_CRYPTO_JWS_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_JWS_EXTRA 250
#define DX_JWS_MAX 65536 /* bytes of a token that verify looks at */

struct dx_jws_key;

int dx_jws_key_read(struct dx_jws_key **key, const char *path, struct dx_error *err);
void dx_jws_key_free(struct dx_jws_key **key);
/* A public one is DX_E_INVALID. */
int dx_jws_private_key_read(struct dx_jws_key **key, const char *path, struct dx_error *err);

bool dx_jws_sign(const struct dx_jws_key *key, struct dx_span payload, struct dx_buf *token);
bool dx_jws_public(const struct dx_jws_key *key, struct dx_buf *pem);
int dx_jws_verify(const struct dx_jws_key *key, struct dx_span token, struct dx_buf *payload,
                  struct dx_error *err);

#endif
