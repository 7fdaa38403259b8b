/* SPDX-License-Identifier: Apache-2.0
 * Signed statements: there and back, each changed byte, other keys, what is not a statement, or not a key.
 */
#include "base/crypto/jws.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/damage.h"

static unsigned failures;
static char folder[] = "/tmp/domaindex-test-XXXXXX";

static void write_key(const char *type, bool with_private, char path[64], const char *name)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, type);
    FILE *f;

    (void)snprintf(path, 64, "%s/%s", folder, name);
    f = fopen(path, "w");
    if (key == NULL || f == NULL ||
        (with_private ? PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL)
                      : PEM_write_PUBKEY(f, key)) != 1 ||
        fclose(f) != 0)
        abort();
    EVP_PKEY_free(key);
}

static void check_statement(const struct dx_jws_key *key, const struct dx_jws_key *other)
{
    const struct dx_span text = dx_span_str("{\"a\":1}");
    struct dx_buf token = DX_BUF_INIT(4096), payload = DX_BUF_INIT(DX_JWS_MAX);
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_jws_sign(key, text, &token) && token.size < text.size * 4 / 3 + DX_JWS_EXTRA,
           "%zu bytes", token.size);
    EXPECT(dx_jws_verify(key, dx_span_of(token.data, token.size), &payload, &err) == 1 &&
               dx_span_equal(dx_span_of(payload.data, payload.size), text),
           "%s", err.text);
    EXPECT(dx_jws_verify(other, dx_span_of(token.data, token.size), &payload, &err) == 0 &&
               payload.size == 0,
           "of another key");
    for (size_t i = 0; i < token.size; i++) {
        token.data[i] ^= 1;
        EXPECT(dx_jws_verify(key, dx_span_of(token.data, token.size), &payload, &err) != 1 &&
                   payload.size == 0,
               "byte %zu changed", i);
        token.data[i] ^= 1;
    }
    for (size_t n = 0; n < token.size; n++)
        EXPECT(dx_jws_verify(key, dx_span_of(token.data, n), &payload, &err) < 1, "cut to %zu", n);
    dx_buf_u8(&token, '.');
    EXPECT(dx_jws_verify(key, dx_span_of(token.data, token.size), &payload, &err) == DX_E_INVALID,
           "a fourth piece");
    dx_buf_release(&token);
    dx_buf_release(&payload);
}

static void check_sizes(const struct dx_jws_key *key)
{
    static uint8_t text[DX_JWS_MAX];
    struct dx_buf token = DX_BUF_INIT(2 * DX_JWS_MAX), payload = DX_BUF_INIT(2 * DX_JWS_MAX);
    struct dx_buf small = DX_BUF_INIT(100);
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_jws_sign(key, dx_span_of(text, 48000), &token) &&
               dx_jws_verify(key, dx_span_of(token.data, token.size), &payload, &err) == 1 &&
               payload.size == 48000,
           "48000 bytes: %s", err.text);
    dx_buf_clear(&token);
    EXPECT(dx_jws_sign(key, dx_span_of(text, 50000), &token) && token.size > DX_JWS_MAX &&
               dx_jws_verify(key, dx_span_of(token.data, token.size), &payload, &err) ==
                   DX_E_INVALID,
           "a token that is too long");
    EXPECT(!dx_jws_sign(key, dx_span_str("{}"), &small), "no room for the token");
    dx_buf_release(&token);
    dx_buf_release(&payload);
    dx_buf_release(&small);
}

static void check_not_statements(const struct dx_jws_key *key)
{
    static const char *const tokens[] = {
        "", ".", "..", "a.b", "a.b.c", "...", "a.b.c.d", "a.?.b"
    };
    struct dx_buf payload = DX_BUF_INIT(4096);

    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        struct dx_error err = DX_ERROR_INIT;

        EXPECT(dx_jws_verify(key, dx_span_str(tokens[i]), &payload, &err) == DX_E_INVALID &&
                   strstr(err.text, "not a JWS") != NULL,
               "'%s': %s", tokens[i], err.text);
    }
    dx_buf_release(&payload);
}

int main(void)
{
    struct dx_jws_key *key = NULL, *other = NULL, *public = NULL, *none = NULL;
    char paths[5][64];
    struct dx_buf pem = DX_BUF_INIT(4096), token = DX_BUF_INIT(4096), payload = DX_BUF_INIT(4096);
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(folder) == NULL)
        abort();
    write_key("ED25519", true, paths[0], "key");
    write_key("ED25519", true, paths[1], "other");
    write_key("X25519", true, paths[2], "agreement");
    EXPECT(dx_jws_private_key_read(&key, paths[0], &err) == DX_OK &&
               dx_jws_key_read(&other, paths[1], &err) == DX_OK,
           "%s", err.text);
    check_statement(key, other);
    check_sizes(key);
    check_not_statements(key);
    (void)snprintf(paths[3], sizeof paths[3], "%s/public", folder);
    (void)snprintf(paths[4], sizeof paths[4], "%s/text", folder);
    EXPECT(dx_jws_public(key, &pem) &&
               dx_file_replace(paths[3], dx_span_of(pem.data, pem.size), &err) == DX_OK &&
               dx_jws_key_read(&public, paths[3], &err) == DX_OK,
           "%s", err.text);
    EXPECT(dx_jws_sign(key, dx_span_str("{}"), &token) &&
               dx_jws_verify(public, dx_span_of(token.data, token.size), &payload, &err) == 1,
           "by the public key: %s", err.text);
    EXPECT(!dx_jws_sign(public, dx_span_str("{}"), &token), "a public key signs nothing");
    EXPECT(dx_jws_private_key_read(&none, paths[3], &err) == DX_E_INVALID && none == NULL,
           "public: %s", err.text);
    EXPECT(dx_jws_key_read(&none, paths[2], &err) == DX_E_INVALID && none == NULL &&
               strstr(err.text, paths[2]) != NULL,
           "of another kind: %s", err.text);
    EXPECT(dx_file_replace(paths[4], dx_span_str("no PEM\n"), &err) == DX_OK &&
               dx_jws_key_read(&none, paths[4], &err) == DX_E_INVALID && none == NULL,
           "no PEM: %s", err.text);
    dx_jws_key_free(&key);
    dx_jws_key_free(&other);
    dx_jws_key_free(&public);
    dx_jws_key_free(&public);
    dx_buf_release(&pem);
    dx_buf_release(&token);
    dx_buf_release(&payload);
    for (size_t i = 0; i < 5; i++)
        (void)unlink(paths[i]);
    (void)rmdir(folder);
    return failures > 0;
}
