/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tls/tls_context.h"

#include "base/crypto/certificate.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CIPHERS_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define SESSION_S 7200 /* that a ticket may be used */
#define FILE_COUNT 3

static const unsigned char session_context[] = "domaindexd";

/* What a file was when it was read: another one has another stamp. */
struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct dx_tls {
    struct dx_tls_files files;
    pthread_mutex_t lock; /* of what follows */
    SSL_CTX *now;
    struct dx_tls_health health;
    /* Of the one who polls alone: */
    struct stamp stamps[FILE_COUNT];
};

void dx_tls_begin(void)
{
    (void)OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL);
}

/* ---- a context ---- */

/* A client that offers protocols, but none of ours, would be spoken to in a language that it does
 * not know. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                           const unsigned char *offered, unsigned offered_size, void *ctx)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;

    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&chosen, out_size, ours, sizeof ours - 1, offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static bool set_rules(SSL_CTX *ctx)
{
    /* The machine's settings may ask for more. */
    if (SSL_CTX_get_min_proto_version(ctx) < TLS1_2_VERSION &&
        SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
        return false;
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_timeout(ctx, SESSION_S);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    return SSL_CTX_set_cipher_list(ctx, CIPHERS_1_2) == 1 && SSL_CTX_set_num_tickets(ctx, 1) == 1 &&
           SSL_CTX_set_session_id_context(ctx, session_context, sizeof session_context - 1) == 1;
}

static int take_certificate(SSL_CTX *ctx, const struct dx_certificate *c, const char *file,
                            struct dx_error *err)
{
    if (SSL_CTX_use_cert_and_key(ctx, c->leaf, c->key, c->chain, 1) == 1)
        return DX_OK;
    if (dx_certificate_no_memory())
        return dx_no_memory(err, "%s", file);
    return dx_fail(err, DX_E_INVALID, "%s: libssl refuses it: %s", file,
                   ERR_reason_error_string(ERR_peek_last_error()));
}

static int take_client_ca(SSL_CTX *ctx, const char *file, struct dx_error *err)
{
    STACK_OF(X509_NAME) * names;
    int rc = dx_certificates_check(file, err); /* libssl would wait for a FIFO */

    if (rc < 0)
        return rc;
    names = SSL_load_client_CA_file(file);
    if (names == NULL || SSL_CTX_load_verify_file(ctx, file) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        if (dx_certificate_no_memory())
            return dx_no_memory(err, "%s", file);
        return dx_fail(err, DX_E_INVALID, "%s: no certificates of authorities in PEM", file);
    }
    SSL_CTX_set_client_CA_list(ctx, names); /* its now */
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return DX_OK;
}

static int make_context(SSL_CTX **out, const struct dx_tls_files *files,
                        const struct dx_certificate *c, struct dx_error *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int rc = ctx == NULL || !set_rules(ctx) ? dx_fail(err, DX_E_NOMEM, "libssl: no context")
                                            : DX_OK;

    if (rc == DX_OK)
        rc = take_certificate(ctx, c, files->certificate, err);
    if (rc == DX_OK && files->client_ca != NULL)
        rc = take_client_ca(ctx, files->client_ca, err);
    if (rc < 0)
        SSL_CTX_free(ctx);
    else
        *out = ctx;
    ERR_clear_error();
    return rc;
}

/* ---- files ---- */

static void stamp_files(const struct dx_tls_files *files, struct stamp stamps[FILE_COUNT])
{
    const char *const paths[FILE_COUNT] = { files->certificate, files->key, files->client_ca };

    memset(stamps, 0, FILE_COUNT * sizeof stamps[0]);
    for (size_t i = 0; i < FILE_COUNT; i++) {
        struct stat st;

        if (paths[i] == NULL || stat(paths[i], &st) != 0)
            continue;
        stamps[i].device = st.st_dev;
        stamps[i].inode = st.st_ino;
        stamps[i].size = st.st_size;
        stamps[i].changed.tv_sec = st.st_ctim.tv_sec;
        stamps[i].changed.tv_nsec = st.st_ctim.tv_nsec;
    }
}

static int refuse_expired(const struct dx_tls *tls, const struct dx_certificate *c, int64_t now_s,
                          struct dx_error *err)
{
    if (tls->now == NULL || tls->health.not_after_s <= now_s)
        return DX_OK; /* there is no better one */
    if (c->not_after_s <= now_s)
        return dx_fail(err, DX_E_INVALID, "%s: has expired", tls->files.certificate);
    return c->not_before_s <= now_s
               ? DX_OK
               : dx_fail(err, DX_E_INVALID, "%s: not valid yet; is the clock right?",
                         tls->files.certificate);
}

static int load_certificate(struct dx_tls *tls, int64_t now_s, struct dx_error *err)
{
    struct dx_certificate c;
    SSL_CTX *ctx = NULL;
    int rc = dx_certificate_read(&c, tls->files.certificate, tls->files.key, err);

    if (rc == DX_OK)
        rc = refuse_expired(tls, &c, now_s, err);
    if (rc == DX_OK)
        rc = make_context(&ctx, &tls->files, &c, err);
    (void)pthread_mutex_lock(&tls->lock);
    tls->health.sound = rc == DX_OK;
    if (rc == DX_OK) {
        SSL_CTX_free(tls->now); /* links hold it yet */
        tls->now = ctx;
        tls->health.not_after_s = c.not_after_s;
        tls->health.key_is_open = c.key_is_open;
        tls->health.loaded_s = now_s;
    }
    (void)pthread_mutex_unlock(&tls->lock);
    dx_certificate_release(&c);
    return rc;
}

int dx_tls_open(struct dx_tls **out, const struct dx_tls_files *files, int64_t now_s,
                struct dx_error *err)
{
    struct dx_tls *tls = calloc(1, sizeof *tls);
    int rc;

    *out = NULL;
    if (tls == NULL)
        return dx_no_memory(err, "TLS");
    tls->files = *files;
    (void)pthread_mutex_init(&tls->lock, NULL);
    stamp_files(files, tls->stamps);
    rc = load_certificate(tls, now_s, err);
    if (rc < 0)
        dx_tls_close(&tls);
    *out = tls;
    return rc;
}

int dx_tls_poll(struct dx_tls *tls, bool asked, int64_t now_s, struct dx_error *err)
{
    struct stamp stamps[FILE_COUNT];
    bool same;
    int rc;

    stamp_files(&tls->files, stamps);
    same = memcmp(stamps, tls->stamps, sizeof stamps) == 0;
    if (same && !asked && tls->health.sound && now_s - tls->health.loaded_s < DX_TLS_KEYS_S)
        return 0;
    memcpy(tls->stamps, stamps, sizeof stamps);
    rc = load_certificate(tls, now_s, err);
    return rc < 0 ? rc : same && !asked ? 0 : 1;
}

void dx_tls_health(struct dx_tls *tls, struct dx_tls_health *health)
{
    (void)pthread_mutex_lock(&tls->lock);
    *health = tls->health;
    (void)pthread_mutex_unlock(&tls->lock);
}

SSL *dx_tls_ssl_new(struct dx_tls *tls)
{
    SSL *ssl;

    (void)pthread_mutex_lock(&tls->lock);
    ssl = SSL_new(tls->now);
    (void)pthread_mutex_unlock(&tls->lock);
    return ssl;
}

void dx_tls_close(struct dx_tls **out)
{
    struct dx_tls *tls = *out;

    if (tls == NULL)
        return;
    SSL_CTX_free(tls->now);
    (void)pthread_mutex_destroy(&tls->lock);
    free(tls);
    *out = NULL;
}
