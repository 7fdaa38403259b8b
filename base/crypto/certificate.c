/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/certificate.h"

#include "base/crypto/secret.h"
#include "base/file.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <time.h>

#define PEM_FILE_MAX ((size_t)1 << 20)
#define AUTHORITIES_MAX ((size_t)16 << 20)
#define CHAIN_MAX 16

/* Without one, libcrypto asks at the terminal. */
static int no_passphrase(char *buffer, int size, int writes, void *ctx)
{
    (void)buffer;
    (void)size;
    (void)writes;
    (void)ctx;
    return -1;
}

static int open_pem(const char *path, struct dx_buf *text, BIO **bio, struct dx_error *err)
{
    int rc = dx_file_read(path, text->max, text, err);

    if (rc < 0)
        return rc;
    *bio = BIO_new_mem_buf(text->data, (int)text->size);
    return *bio == NULL ? dx_no_memory(err, "%s", path) : DX_OK;
}

bool dx_certificate_no_memory(void)
{
    return ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE ||
           ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE;
}

static bool is_end_of_pem(void)
{
    unsigned long e = ERR_peek_last_error();

    return ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
}

static int read_chain(struct dx_certificate *c, BIO *bio, const char *path, struct dx_error *err)
{
    X509 *next;

    c->leaf = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    if (c->leaf == NULL && dx_certificate_no_memory())
        return dx_no_memory(err, "%s", path);
    if (c->leaf == NULL)
        return dx_fail(err, DX_E_INVALID, "%s: no certificate in PEM begins it", path);
    c->chain = sk_X509_new_null();
    if (c->chain == NULL)
        return dx_no_memory(err, "%s", path);
    while ((next = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
        bool has_room = sk_X509_num(c->chain) < CHAIN_MAX;

        if (!has_room || sk_X509_push(c->chain, next) == 0) {
            X509_free(next);
            if (has_room)
                return dx_no_memory(err, "%s", path);
            return dx_fail(err, DX_E_LIMIT, "%s: over %d certificates behind the first", path,
                           CHAIN_MAX);
        }
    }
    if (is_end_of_pem())
        return DX_OK;
    return dx_certificate_no_memory() ? dx_no_memory(err, "%s", path)
                                      : dx_fail(err, DX_E_INVALID, "%s: certificate %d is damaged",
                                                path, sk_X509_num(c->chain) + 2);
}

static int64_t seconds_of(const ASN1_TIME *time)
{
    struct tm tm = { 0 };

    return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static int read_certificate(struct dx_certificate *c, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(PEM_FILE_MAX);
    BIO *bio = NULL;
    int rc = open_pem(path, &text, &bio, err);

    if (rc == DX_OK)
        rc = read_chain(c, bio, path, err);
    if (rc == DX_OK) {
        c->not_before_s = seconds_of(X509_get0_notBefore(c->leaf));
        c->not_after_s = seconds_of(X509_get0_notAfter(c->leaf));
    }
    (void)BIO_free(bio);
    dx_buf_release(&text);
    return rc;
}

static int read_key(struct dx_certificate *c, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(PEM_FILE_MAX);
    struct stat st;
    BIO *bio = NULL;
    int rc;

    dx_secret_held();
    rc = open_pem(path, &text, &bio, err);
    if (rc == DX_OK) {
        c->key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
        c->key_is_open = stat(path, &st) == 0 && (st.st_mode & S_IROTH) != 0;
    }
    if (rc == DX_OK && c->key == NULL && dx_certificate_no_memory())
        rc = dx_no_memory(err, "%s", path);
    if (rc == DX_OK && c->key == NULL)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: no private key in PEM, or one with a passphrase; 'openssl pkey -in FILE' "
                     "removes a passphrase",
                     path);
    (void)BIO_free(bio);
    if (text.data != NULL)
        explicit_bzero(text.data, text.size);
    dx_buf_release(&text);
    return rc;
}

/* Of authorities there may be many: a system's file has over a hundred. */
int dx_certificates_check(const char *file, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(AUTHORITIES_MAX);
    X509 *next;
    BIO *bio = NULL;
    unsigned count = 0;
    int rc;

    ERR_clear_error();
    rc = open_pem(file, &text, &bio, err);
    while (rc == DX_OK && (next = PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL)) != NULL) {
        X509_free(next);
        count++;
    }
    if (rc == DX_OK && dx_certificate_no_memory())
        rc = dx_no_memory(err, "%s", file);
    else if (rc == DX_OK && (count == 0 || !is_end_of_pem()))
        rc = dx_fail(err, DX_E_INVALID,
                     count == 0 && is_end_of_pem() ? "%s: no certificates of authorities in PEM"
                                                   : "%s: a certificate in it is damaged",
                     file);
    (void)BIO_free(bio);
    dx_buf_release(&text);
    ERR_clear_error();
    return rc;
}

int dx_certificate_read(struct dx_certificate *c, const char *file, const char *key_file,
                        struct dx_error *err)
{
    const char *key = key_file == NULL ? file : key_file;
    int rc;

    *c = (struct dx_certificate){ .leaf = NULL };
    ERR_clear_error();
    rc = read_certificate(c, file, err);
    if (rc == DX_OK)
        rc = read_key(c, key, err);
    if (rc == DX_OK && X509_check_private_key(c->leaf, c->key) != 1)
        rc = dx_certificate_no_memory()
                 ? dx_no_memory(err, "%s", key)
                 : dx_fail(err, DX_E_INVALID, "%s: not the key of the certificate in %s", key,
                           file);
    ERR_clear_error();
    if (rc < 0)
        dx_certificate_release(c);
    return rc;
}

void dx_certificate_release(struct dx_certificate *c)
{
    X509_free(c->leaf);
    sk_X509_pop_free(c->chain, X509_free);
    EVP_PKEY_free(c->key);
    *c = (struct dx_certificate){ .leaf = NULL };
}
