/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/jws.h"

#include "base/crypto/secret.h"
#include "base/crypto/sha256.h"
#include "base/file.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 32
#define SIGNATURE_BYTES 64
#define HEADER_MAX 512
#define FILE_MAX 4096

struct dx_jws_key {
    EVP_PKEY *pkey;
    bool signs;
    char header[HEADER_MAX]; /* in base64url */
};

/* ---- base64url without padding (RFC 4648 5) ---- */

static void put_base64(struct dx_buf *out, struct dx_span s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    for (size_t i = 0; i < s.size; i += 3) {
        size_t n = s.size - i < 3 ? s.size - i : 3;
        uint32_t bits = (uint32_t)s.data[i] << 16;

        bits |= n > 1 ? (uint32_t)s.data[i + 1] << 8 : 0;
        bits |= n > 2 ? s.data[i + 2] : 0;
        for (size_t k = 0; k <= n; k++)
            dx_buf_u8(out, (uint8_t)digits[bits >> (18 - 6 * k) & 63]);
    }
}

static int value_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* One text for the same bytes: bits behind the last byte are zero. */
static bool take_base64(struct dx_span s, struct dx_buf *out)
{
    uint32_t bits = 0;
    unsigned have = 0;

    if (s.size % 4 == 1)
        return false;
    for (size_t i = 0; i < s.size; i++) {
        int value = value_of(s.data[i]);

        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            dx_buf_u8(out, (uint8_t)(bits >> have));
            bits &= (1u << have) - 1;
        }
    }
    return bits == 0 && !out->failed;
}

/* ---- keys ---- */

/* "kid" is the hash of the key's JWK with its members in order. */
static bool write_header(struct dx_jws_key *key)
{
    uint8_t raw[KEY_BYTES];
    size_t size = sizeof raw;
    uint8_t sum[DX_SHA256_SIZE];
    struct dx_buf jwk = DX_BUF_INIT(HEADER_MAX);
    struct dx_buf header = DX_BUF_INIT(HEADER_MAX);
    struct dx_buf text = DX_BUF_INIT(HEADER_MAX - 1);
    bool ok = EVP_PKEY_get_raw_public_key(key->pkey, raw, &size) == 1 && size == sizeof raw;

    dx_buf_str(&jwk, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"");
    put_base64(&jwk, dx_span_of(raw, sizeof raw));
    dx_buf_str(&jwk, "\"}");
    ok = ok && !jwk.failed && dx_sha256(dx_span_of(jwk.data, jwk.size), sum);
    dx_buf_str(&header, "{\"alg\":\"EdDSA\",\"kid\":\"");
    put_base64(&header, dx_span_of(sum, sizeof sum));
    dx_buf_str(&header, "\"}");
    put_base64(&text, dx_span_of(header.data, header.size));
    dx_buf_u8(&text, '\0');
    ok = ok && !header.failed && !text.failed;
    if (ok)
        memcpy(key->header, text.data, text.size);
    dx_buf_release(&jwk);
    dx_buf_release(&header);
    dx_buf_release(&text);
    return ok;
}

static EVP_PKEY *parse_pem(struct dx_span pem, bool *private)
{
    BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.size);
    EVP_PKEY *pkey = NULL;

    *private = memmem(pem.data, pem.size, "PRIVATE", 7) != NULL;
    if (bio == NULL)
        return NULL;
    pkey = *private ? PEM_read_bio_PrivateKey(bio, NULL, NULL, "")
                    : PEM_read_bio_PUBKEY(bio, NULL, NULL, "");
    (void)BIO_free(bio);
    return pkey;
}

int dx_jws_key_read(struct dx_jws_key **key, const char *path, struct dx_error *err)
{
    struct dx_buf pem = DX_BUF_INIT(FILE_MAX);
    struct dx_jws_key *k;
    int rc;

    *key = NULL;
    dx_secret_held(); /* it may be a private one */
    rc = dx_file_read(path, FILE_MAX, &pem, err);
    if (rc < 0)
        return rc;
    k = calloc(1, sizeof *k);
    if (k != NULL)
        k->pkey = parse_pem(dx_span_of(pem.data, pem.size), &k->signs);
    if (pem.data != NULL)
        explicit_bzero(pem.data, pem.size);
    dx_buf_release(&pem);
    if (k == NULL)
        return dx_no_memory(err, "%s", path);
    if (k->pkey != NULL && EVP_PKEY_get_base_id(k->pkey) == EVP_PKEY_ED25519 && write_header(k)) {
        *key = k;
        return DX_OK;
    }
    dx_jws_key_free(&k);
    return dx_fail(
        err, DX_E_INVALID,
        "%s is not an Ed25519 key in PEM; `openssl genpkey -algorithm ed25519` makes one", path);
}

void dx_jws_key_free(struct dx_jws_key **key)
{
    if (*key == NULL)
        return;
    EVP_PKEY_free((*key)->pkey);
    free(*key);
    *key = NULL;
}

int dx_jws_private_key_read(struct dx_jws_key **key, const char *path, struct dx_error *err)
{
    int rc = dx_jws_key_read(key, path, err);

    if (rc < 0 || (*key)->signs)
        return rc;
    dx_jws_key_free(key);
    return dx_fail(err, DX_E_INVALID, "%s is a public key; the private one signs", path);
}

bool dx_jws_public(const struct dx_jws_key *key, struct dx_buf *pem)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool ok = bio != NULL && PEM_write_bio_PUBKEY(bio, key->pkey) == 1;
    char *text;
    long size = ok ? BIO_get_mem_data(bio, &text) : 0;

    if (size > 0)
        dx_buf_append(pem, text, (size_t)size);
    (void)BIO_free(bio);
    return ok && size > 0 && !pem->failed;
}

/* ---- tokens ---- */

bool dx_jws_sign(const struct dx_jws_key *key, struct dx_span payload, struct dx_buf *token)
{
    EVP_MD_CTX *ctx = key->signs ? EVP_MD_CTX_new() : NULL;
    size_t begin = token->size;
    uint8_t signature[SIGNATURE_BYTES];
    size_t size = sizeof signature;
    bool ok;

    dx_buf_str(token, key->header);
    dx_buf_u8(token, '.');
    put_base64(token, payload);
    ok = ctx != NULL && !token->failed &&
         EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
         EVP_DigestSign(ctx, signature, &size, token->data + begin, token->size - begin) == 1;
    EVP_MD_CTX_free(ctx);
    if (!ok)
        return false;
    dx_buf_u8(token, '.');
    put_base64(token, dx_span_of(signature, size));
    return !token->failed;
}

static bool is_signed(const struct dx_jws_key *key, struct dx_span text, struct dx_span signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx != NULL && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
              EVP_DigestVerify(ctx, signature.data, signature.size, text.data, text.size) == 1;

    EVP_MD_CTX_free(ctx);
    return ok;
}

/* The next piece, up to a dot or the end. */
static struct dx_span next_piece(struct dx_span *rest)
{
    const uint8_t *dot = rest->size == 0 ? NULL : memchr(rest->data, '.', rest->size);
    size_t size = dot == NULL ? rest->size : (size_t)(dot - rest->data);
    struct dx_span piece = dx_span_of(rest->data, size);

    *rest = dot == NULL ? dx_span_of(NULL, 0) : dx_span_of(dot + 1, rest->size - size - 1);
    return piece;
}

int dx_jws_verify(const struct dx_jws_key *key, struct dx_span token, struct dx_buf *payload,
                  struct dx_error *err)
{
    struct dx_span rest = token;
    struct dx_span header = next_piece(&rest);
    struct dx_span body = next_piece(&rest);
    struct dx_span tail = next_piece(&rest);
    struct dx_buf signature = DX_BUF_INIT(SIGNATURE_BYTES);
    bool formed = token.size <= DX_JWS_MAX && header.size > 0 && rest.data == NULL &&
                  take_base64(tail, &signature) && signature.size == SIGNATURE_BYTES;
    int rc;

    dx_buf_clear(payload);
    if (!formed || !take_base64(body, payload))
        rc = dx_fail(err, DX_E_INVALID,
                     "not a JWS in compact form: three pieces of base64url with "
                     "dots between them, the last one of 64 bytes");
    else if (!dx_span_equal(header, dx_span_str(key->header)))
        rc = 0; /* of another key, or algorithm */
    else
        rc = is_signed(key, dx_span_of(token.data, header.size + 1 + body.size),
                       dx_span_of(signature.data, signature.size));
    dx_buf_release(&signature);
    if (rc != 1)
        dx_buf_clear(payload);
    return rc;
}
