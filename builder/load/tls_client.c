/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/tls_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct dx_tls_client {
    SSL_CTX *context;
    char *name;
    bool is_address;
};

static int fail_tls(struct dx_error *err, const char *what)
{
    unsigned long code = ERR_get_error();
    const char *why = code == 0 ? NULL : ERR_reason_error_string(code);

    ERR_clear_error();
    return dx_fail(err, DX_E_IO, "%s: %s", what, why == NULL ? "TLS failed" : why);
}

static bool is_address(const char *name)
{
    struct in6_addr any;

    return inet_pton(AF_INET, name, &any) == 1 || inet_pton(AF_INET6, name, &any) == 1;
}

static int trust(SSL_CTX *context, const char *ca_file, bool insecure, struct dx_error *err)
{
    if (insecure) {
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
        return DX_OK;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (ca_file == NULL && SSL_CTX_set_default_verify_paths(context) != 1)
        return fail_tls(err, "the system's certificates");
    if (ca_file != NULL && SSL_CTX_load_verify_file(context, ca_file) != 1)
        return fail_tls(err, ca_file);
    return DX_OK;
}

int dx_tls_client_new(struct dx_tls_client **out, const char *name, const char *ca_file,
                      bool insecure, struct dx_error *err)
{
    static const unsigned char alpn[] = "\x08http/1.1";
    struct dx_tls_client *c = calloc(1, sizeof *c);

    *out = c;
    if (c != NULL)
        c->context = SSL_CTX_new(TLS_client_method());
    if (c == NULL || c->context == NULL || (c->name = strdup(name)) == NULL ||
        SSL_CTX_set_alpn_protos(c->context, alpn, sizeof alpn - 1) != 0 ||
        SSL_CTX_set_min_proto_version(c->context, TLS1_2_VERSION) != 1)
        return dx_no_memory(err, "TLS");
    c->is_address = is_address(name);
    (void)SSL_CTX_set_session_cache_mode(c->context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(c->context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return trust(c->context, ca_file, insecure, err);
}

void dx_tls_client_free(struct dx_tls_client **c)
{
    if (*c == NULL)
        return;
    SSL_CTX_free((*c)->context);
    free((*c)->name);
    free(*c);
    *c = NULL;
}

SSL *dx_tls_client_ssl(const struct dx_tls_client *c, int fd, struct dx_error *err)
{
    SSL *ssl = SSL_new(c->context);
    X509_VERIFY_PARAM *p = ssl == NULL ? NULL : SSL_get0_param(ssl);
    bool ok = p != NULL && SSL_set_fd(ssl, fd) == 1;

    if (ok && c->is_address)
        ok = X509_VERIFY_PARAM_set1_ip_asc(p, c->name) == 1;
    else if (ok)
        ok = SSL_set1_host(ssl, c->name) == 1 && SSL_set_tlsext_host_name(ssl, c->name) == 1;
    if (!ok) {
        SSL_free(ssl);
        ERR_clear_error();
        (void)dx_no_memory(err, "TLS");
        return NULL;
    }
    SSL_set_connect_state(ssl);
    return ssl;
}

int dx_tls_client_code(SSL *ssl, int n, const char *doing, uint32_t *events, struct dx_error *err)
{
    int why = errno;
    long verified;

    switch (SSL_get_error(ssl, n)) {
    case SSL_ERROR_WANT_READ:
        *events = EPOLLIN;
        return 0;
    case SSL_ERROR_WANT_WRITE:
        *events = EPOLLIN | EPOLLOUT;
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return 1;
    case SSL_ERROR_SYSCALL:
        ERR_clear_error();
        return why == 0
                   ? dx_fail(err, DX_E_TRUNCATED, "%s: the server closed without TLS's end", doing)
                   : dx_fail_errno(err, why, "%s", doing);
    default:
        verified = SSL_get_verify_result(ssl);
        if (verified == X509_V_OK || SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE)
            return fail_tls(err, doing);
        ERR_clear_error();
        return dx_fail(err, DX_E_DENIED, "the server's certificate: %s",
                       X509_verify_cert_error_string(verified));
    }
}
