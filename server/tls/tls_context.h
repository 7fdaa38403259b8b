/* SPDX-License-Identifier: Apache-2.0
 * tls_context.h - what all TLS connections of a server share: certificate, key, rules, tickets.
 *
 *   dx_tls_begin();                            once, before a sandbox: libssl reads its settings
 *   struct dx_tls_files files = { "chain.pem", "key.pem", NULL };
 *   rc = dx_tls_open(&tls, &files, now_s, &err);
 *   rc = dx_tls_poll(tls, asked, now_s, &err); 1 another certificate is in force; 0 the same;
 *                                              <0 the new files are refused, the old one stays
 *   dx_tls_health(tls, &health);
 *   dx_tls_close(&tls);                        links (tls_link.h) may outlive it
 *
 * TLS 1.2 and 1.3; of 1.2 ECDHE with AES-GCM or ChaCha20 alone. ALPN: http/1.1. No renegotiation, no
 * compression, no early data. Sessions are resumed by tickets, so that none is kept here; their keys
 * are of this process and end with the context: at each reload, and after DX_TLS_KEYS_S. With client_ca
 * a client must show a certificate that one of its authorities signed.
 *
 * open takes a certificate that has expired, for a server must start, and says so by health; poll refuses
 * one in place of one that is valid. poll reads the files when a stat of them has changed, when asked,
 * and after a failure. The texts of `files` must outlive it. Thread-safe but for close.
 */
#ifndef DX_SERVER_TLS_TLS_CONTEXT_H
#define DX_SERVER_TLS_TLS_CONTEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define DX_TLS_KEYS_S 86400

struct dx_tls;

struct dx_tls_files {
    const char *certificate; /* PEM: leaf, then its chain */
    const char *key;         /* NULL: in the same file */
    const char *client_ca;   /* NULL: clients show none */
};

struct dx_tls_health {
    bool sound; /* the last look found nothing wrong */
    bool key_is_open;
    int64_t not_after_s; /* of the certificate in force */
    int64_t loaded_s;
};

void dx_tls_begin(void);
int dx_tls_open(struct dx_tls **tls, const struct dx_tls_files *files, int64_t now_s,
                struct dx_error *err);
int dx_tls_poll(struct dx_tls *tls, bool asked, int64_t now_s, struct dx_error *err);
void dx_tls_health(struct dx_tls *tls, struct dx_tls_health *health);
void dx_tls_close(struct dx_tls **tls); /* NULL is fine */

/* For tls_link: a new SSL of the context in force; NULL: no memory. */
struct ssl_st;
struct ssl_st *dx_tls_ssl_new(struct dx_tls *tls);

#endif
