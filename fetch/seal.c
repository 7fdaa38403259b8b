/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/seal.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "fetch/sha256.h"

#define HALF (DX_SEAL_KEY / 2)

static_assert(DX_SEAL_EXTRA <= DX_SHA256_SIZE, "the IV is the beginning of a MAC");

/* The size comes first: no byte can be moved from one to the other. */
static bool synthetic_iv(const uint8_t *key, struct dx_span with, struct dx_span plain,
                         uint8_t iv[DX_SEAL_EXTRA])
{
    uint8_t text[8 + DX_SEAL_MAX];
    uint8_t sum[DX_SHA256_SIZE];
    bool ok;

    assert(with.size <= DX_SEAL_MAX && plain.size <= DX_SEAL_MAX - with.size);
    dx_store_u64(text, with.size);
    if (with.size > 0)
        memcpy(text + 8, with.data, with.size);
    if (plain.size > 0)
        memcpy(text + 8 + with.size, plain.data, plain.size);
    ok = dx_hmac_sha256(dx_span_of(key, HALF), dx_span_of(text, 8 + with.size + plain.size), sum);
    if (ok)
        memcpy(iv, sum, DX_SEAL_EXTRA);
    OPENSSL_cleanse(text, sizeof text);
    return ok;
}

/* Its own inverse. */
static bool stream(const uint8_t *key, const uint8_t iv[DX_SEAL_EXTRA], struct dx_span in,
                   uint8_t *out)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int size = 0;
    bool ok = ctx != NULL && EVP_EncryptInit_ex(ctx, EVP_aes_256_ctr(), NULL, key, iv) == 1;

    if (ok && in.size > 0)
        ok = EVP_EncryptUpdate(ctx, out, &size, in.data, (int)in.size) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return ok && (size_t)size == in.size;
}

bool dx_seal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span plain,
             uint8_t *out)
{
    return synthetic_iv(key, with, plain, out) &&
           stream(key + HALF, out, plain, out + DX_SEAL_EXTRA);
}

int dx_unseal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span sealed,
              uint8_t *out)
{
    uint8_t iv[DX_SEAL_EXTRA];
    struct dx_span in;

    if (with.size > DX_SEAL_MAX || sealed.size < DX_SEAL_EXTRA ||
        sealed.size - DX_SEAL_EXTRA > DX_SEAL_MAX - with.size)
        return 0;
    in = dx_span_of(sealed.data + DX_SEAL_EXTRA, sealed.size - DX_SEAL_EXTRA);
    if (!stream(key + HALF, sealed.data, in, out) ||
        !synthetic_iv(key, with, dx_span_of(out, in.size), iv))
        return DX_E_NOMEM;
    if (CRYPTO_memcmp(iv, sealed.data, sizeof iv) == 0)
        return 1;
    OPENSSL_cleanse(out, in.size); /* of a forged text: nobody is to work with it by mistake */
    return 0;
}
