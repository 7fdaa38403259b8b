/* SPDX-License-Identifier: Apache-2.0
 * proxy_header.h - whom a proxy speaks for: the header of the PROXY protocol, version 1 or 2, in front of a connection's bytes.
 *
 *   switch (dx_proxy_header_parse(bytes, &used, &from)) {
 *   case DX_PROXY_MORE:  the header is not whole yet
 *   case DX_PROXY_DONE:  behind `used` bytes comes what the client sent; from: its address, AF_UNSPEC: the proxy's own connection (LOCAL)
 *   case DX_PROXY_BAD:   it begins with something else
 *   }
 *
 * As haproxy.org/download/2.9/doc/proxy-protocol.txt has it. Version 2's extensions (TLVs) are passed over. A client that the
 * header does not name (UNKNOWN, another family) has the address 100::1, which no proxy has. A header has at most DX_PROXY_HEADER_MAX bytes. Pure; any thread.
 */
#ifndef DX_SERVER_HTTP_PROXY_HEADER_H
#define DX_SERVER_HTTP_PROXY_HEADER_H

#include "base/bytes.h"

#include <sys/socket.h>

#define DX_PROXY_HEADER_MAX 1024

enum dx_proxy_header { DX_PROXY_BAD = -1, DX_PROXY_MORE = 0, DX_PROXY_DONE = 1 };

enum dx_proxy_header dx_proxy_header_parse(struct dx_span bytes, size_t *used,
                                           struct sockaddr_storage *from);

#endif
