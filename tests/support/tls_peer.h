/* SPDX-License-Identifier: Apache-2.0
 * tls_peer.h - for tests of TLS: certificates made here, and a client at the other end of a server's link.
 *
 *   struct tls_pair p = tls_pair_new(serial, not_after_s);       a key on P-256 and its own certificate, CN and SAN "localhost"
 *   tls_pair_write(&p, "cert.pem", "key.pem");  tls_pair_free(&p);
 *
 *   struct tls_peer c;
 *   tls_peer_open(&c, tls, &want);           a socket pair, the server's link at one end, a client of libssl at the other
 *   is = tls_peer_shake(&c);                 both ends in turn, until the server's is done or has failed
 *   tls_peer_close(&c);
 *
 * Nothing waits: both ends are non-blocking and in one thread. What cannot be made ends the test.
 */
#ifndef DX_TESTS_SUPPORT_TLS_PEER_H
#define DX_TESTS_SUPPORT_TLS_PEER_H

#include <openssl/ssl.h>

#include "server/tls/tls_link.h"

struct tls_pair {
    EVP_PKEY *key;
    X509 *certificate;
};

struct tls_pair tls_pair_new(long serial, int64_t not_after_s);
void tls_pair_write(const struct tls_pair *p, const char *certificate, const char *key);
void tls_pair_free(struct tls_pair *p);

struct tls_want {
    int version;      /* TLS1_2_VERSION; 0: any */
    const char *alpn; /* "\x02h2": as on the wire; NULL: none */
    const char *name; /* SNI; NULL: none */
};

struct tls_peer {
    int client_fd, server_fd;
    SSL_CTX *context;
    SSL *ssl;
    struct dx_tls_link *link;
};

void tls_peer_open(struct tls_peer *c, struct dx_tls *tls, const struct tls_want *want);
enum dx_shake tls_peer_shake(struct tls_peer *c);
long tls_peer_serial(const struct tls_peer *c); /* of the certificate that the server showed */
void tls_peer_close(struct tls_peer *c);

#endif
