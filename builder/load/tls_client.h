/* SPDX-License-Identifier: Apache-2.0
 * tls_client.h - what the TLS connections of a load share: whom they trust, and the name that they ask for.
 *
 *   rc = dx_tls_client_new(&c, "example.org", ca_file, insecure, &err);    ca_file NULL: the system's
 *   ssl = dx_tls_client_ssl(c, fd, &err);                  NULL: no memory; SSL_free ends it
 *   rc = dx_tls_client_code(ssl, n, "recv", &events, &err);   of an SSL_ call: 1 the peer ended, 0 events says
 *                                                          what it waits for, <0 of no use any more
 *   dx_tls_client_free(&c);
 *
 * TLS 1.2 and 1.3, ALPN http/1.1; the name is checked unless it is insecure, an address as an address.
 * Each connection is a whole handshake: no sessions are resumed, so that all cost a server the same.
 * After new the struct is read-only; threads may share it.
 */
#ifndef DX_BUILDER_LOAD_TLS_CLIENT_H
#define DX_BUILDER_LOAD_TLS_CLIENT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct ssl_st;
struct dx_tls_client;

int dx_tls_client_new(struct dx_tls_client **c, const char *name, const char *ca_file,
                      bool insecure, struct dx_error *err);
void dx_tls_client_free(struct dx_tls_client **c); /* NULL is fine */

struct ssl_st *dx_tls_client_ssl(const struct dx_tls_client *c, int fd, struct dx_error *err);
int dx_tls_client_code(struct ssl_st *ssl, int n, const char *doing, uint32_t *events,
                       struct dx_error *err);

#endif
