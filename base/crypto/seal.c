/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/seal.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>

#include "base/error.h"

static EVP_CIPHER *cipher; /* fetched once: a fetch takes longer than the sealing of a cursor */
static pthread_once_t fetched = PTHREAD_ONCE_INIT;

static void fetch_cipher(void)
{
    cipher = EVP_CIPHER_fetch(NULL, "AES-256-SIV", NULL);
}

/* A context that has the key and has read `with`; NULL: out of memory. tag: of what is to be
 * opened. */
static EVP_CIPHER_CTX *make_context(const uint8_t *key, struct dx_span with, const uint8_t *tag)
{
    EVP_CIPHER_CTX *ctx;
    int size;
    bool ok;

    (void)pthread_once(&fetched, fetch_cipher);
    ctx = cipher == NULL ? NULL : EVP_CIPHER_CTX_new();
    if (ctx == NULL)
        return NULL;
    ok = EVP_CipherInit_ex2(ctx, cipher, key, NULL, tag == NULL, NULL) == 1;
    if (ok && tag != NULL)
        ok = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, DX_SEAL_EXTRA, (void *)tag) == 1;
    if (ok)
        ok = EVP_CipherUpdate(ctx, NULL, &size, with.data, (int)with.size) == 1;
    if (!ok)
        EVP_CIPHER_CTX_free(ctx);
    return ok ? ctx : NULL;
}

bool dx_seal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span plain,
             uint8_t *out)
{
    EVP_CIPHER_CTX *ctx;
    int size = 0;
    bool ok;

    assert(with.size > 0 && plain.size > 0);
    assert(with.size <= DX_SEAL_MAX && plain.size <= DX_SEAL_MAX - with.size);
    ctx = make_context(key, with, NULL);
    if (ctx == NULL)
        return false;
    ok = EVP_CipherUpdate(ctx, out + DX_SEAL_EXTRA, &size, plain.data, (int)plain.size) == 1 &&
         (size_t)size == plain.size && EVP_CipherFinal_ex(ctx, out, &size) == 1 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, DX_SEAL_EXTRA, out) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

int dx_unseal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span sealed,
              uint8_t *out)
{
    EVP_CIPHER_CTX *ctx;
    size_t plain_size = sealed.size - DX_SEAL_EXTRA;
    int size = 0;
    bool sound;

    if (with.size == 0 || with.size > DX_SEAL_MAX || sealed.size <= DX_SEAL_EXTRA ||
        plain_size > DX_SEAL_MAX - with.size)
        return 0;
    ctx = make_context(key, with, sealed.data);
    if (ctx == NULL)
        return DX_E_NOMEM;
    sound = EVP_CipherUpdate(ctx, out, &size, sealed.data + DX_SEAL_EXTRA, (int)plain_size) == 1 &&
            (size_t)size == plain_size;
    EVP_CIPHER_CTX_free(ctx);
    if (sound)
        return 1;
    OPENSSL_cleanse(out, plain_size); /* a forged text must not be used by mistake */
    return 0;
}
