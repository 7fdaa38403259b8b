/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <limits.h>
#include <pthread.h>

static EVP_MD *fetched; /* kept for the process */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fetch(void)
{
    fetched = EVP_MD_fetch(NULL, "SHA256", NULL);
}

/* EVP_sha256() has libcrypto look for the implementation at each use, which takes longer than
 * hashing a token does. */
static const EVP_MD *sha256(void)
{
    (void)pthread_once(&once, fetch);
    return fetched != NULL ? fetched : EVP_sha256();
}

bool dx_sha256(struct dx_span s, uint8_t sum[DX_SHA256_SIZE])
{
    return EVP_Digest(s.data, s.size, sum, NULL, sha256(), NULL) == 1;
}

bool dx_hmac_sha256(struct dx_span key, struct dx_span s, uint8_t sum[DX_SHA256_SIZE])
{
    return key.size <= INT_MAX &&
           HMAC(EVP_sha256(), key.data, (int)key.size, s.data, s.size, sum, NULL) != NULL;
}

/* The state is an EVP_MD_CTX under a name of ours, so that only this file knows libcrypto. */
struct dx_sha256_state *dx_sha256_new(void)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    if (ctx != NULL && EVP_DigestInit_ex(ctx, sha256(), NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        ctx = NULL;
    }
    return (struct dx_sha256_state *)(void *)ctx;
}

bool dx_sha256_update(struct dx_sha256_state *state, struct dx_span s)
{
    return EVP_DigestUpdate((EVP_MD_CTX *)(void *)state, s.data, s.size) == 1;
}

bool dx_sha256_end(struct dx_sha256_state **state, uint8_t sum[DX_SHA256_SIZE])
{
    EVP_MD_CTX *ctx = (EVP_MD_CTX *)(void *)*state;
    bool ok = EVP_DigestFinal_ex(ctx, sum, NULL) == 1;

    EVP_MD_CTX_free(ctx);
    *state = NULL;
    return ok;
}

void dx_sha256_hex(const uint8_t sum[DX_SHA256_SIZE], char hex[DX_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < DX_SHA256_SIZE; i++) {
        hex[2 * i] = digits[sum[i] >> 4];
        hex[2 * i + 1] = digits[sum[i] & 15];
    }
    hex[2 * DX_SHA256_SIZE] = '\0';
}

void dx_sha256_base64(const uint8_t sum[DX_SHA256_SIZE], char text[DX_SHA256_BASE64])
{
    (void)EVP_EncodeBlock((unsigned char *)text, sum, DX_SHA256_SIZE);
}
