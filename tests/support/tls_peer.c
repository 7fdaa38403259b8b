/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/tls_peer.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "tls_peer: %s\n", what);
    abort();
}

struct tls_pair tls_pair_new(long serial, int64_t not_after_s)
{
    struct tls_pair p = { EVP_EC_gen("P-256"), X509_new() };
    int64_t now_s = (int64_t)time(NULL);
    X509_NAME *name;
    X509_EXTENSION *san;

    must(p.key != NULL && p.certificate != NULL, "no key");
    name = X509_get_subject_name(p.certificate);
    must(X509_set_version(p.certificate, 2) == 1 &&
             ASN1_INTEGER_set(X509_get_serialNumber(p.certificate), serial) == 1 &&
             X509_gmtime_adj(X509_getm_notBefore(p.certificate), -86400) != NULL &&
             X509_gmtime_adj(X509_getm_notAfter(p.certificate), (long)(not_after_s - now_s)) !=
                 NULL &&
             X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"localhost", -1,
                                        -1, 0) == 1 &&
             X509_set_issuer_name(p.certificate, name) == 1 &&
             X509_set_pubkey(p.certificate, p.key) == 1,
         "no certificate");
    san = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost");
    must(san != NULL && X509_add_ext(p.certificate, san, -1) == 1 &&
             X509_sign(p.certificate, p.key, EVP_sha256()) > 0,
         "not signed");
    X509_EXTENSION_free(san);
    return p;
}

void tls_pair_write(const struct tls_pair *p, const char *certificate, const char *key)
{
    FILE *to = fopen(certificate, "w");

    must(to != NULL && PEM_write_X509(to, p->certificate) == 1 && fclose(to) == 0, certificate);
    to = fopen(key, "w");
    must(to != NULL && PEM_write_PrivateKey(to, p->key, NULL, NULL, 0, NULL, NULL) == 1 &&
             fclose(to) == 0,
         key);
}

void tls_pair_free(struct tls_pair *p)
{
    X509_free(p->certificate);
    EVP_PKEY_free(p->key);
}

void tls_peer_open(struct tls_peer *c, struct dx_tls *tls, const struct tls_want *want)
{
    int fds[2];

    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0,
         "socketpair");
    *c = (struct tls_peer){ .client_fd = fds[0], .server_fd = fds[1] };
    c->context = SSL_CTX_new(TLS_client_method());
    must(c->context != NULL && (c->ssl = SSL_new(c->context)) != NULL &&
             SSL_set_fd(c->ssl, c->client_fd) == 1,
         "no client");
    if (want->version != 0)
        must(SSL_set_min_proto_version(c->ssl, want->version) == 1 &&
                 SSL_set_max_proto_version(c->ssl, want->version) == 1,
             "version");
    if (want->alpn != NULL)
        must(SSL_set_alpn_protos(c->ssl, (const uint8_t *)want->alpn,
                                 (unsigned)strlen(want->alpn)) == 0,
             "ALPN");
    if (want->name != NULL)
        must(SSL_set_tlsext_host_name(c->ssl, want->name) == 1, "SNI");
    SSL_set_connect_state(c->ssl);
    c->link = dx_tls_link_new(tls, c->server_fd);
}

/* The client speaks first, and has the last word: in TLS 1.3 the server is done before it reads the ticket. */
enum dx_shake tls_peer_shake(struct tls_peer *c)
{
    enum dx_shake is = DX_SHAKE_READS;

    for (int turn = 0; turn < 20 && (is == DX_SHAKE_READS || is == DX_SHAKE_WRITES); turn++) {
        (void)SSL_do_handshake(c->ssl);
        ERR_clear_error();
        is = dx_tls_link_shake(c->link);
    }
    (void)SSL_do_handshake(c->ssl);
    return is;
}

long tls_peer_serial(const struct tls_peer *c)
{
    X509 *shown = SSL_get1_peer_certificate(c->ssl);
    long serial = shown == NULL ? -1 : ASN1_INTEGER_get(X509_get_serialNumber(shown));

    X509_free(shown);
    return serial;
}

void tls_peer_close(struct tls_peer *c)
{
    dx_tls_link_free(&c->link);
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
    (void)close(c->client_fd);
    (void)close(c->server_fd);
    ERR_clear_error();
}
