/* SPDX-License-Identifier: Apache-2.0
 * ip_literal.h - IPv4 and IPv6 addresses as hosts, in every spelling the URL Standard reads.
 *
 *   if (dx_ipv4_meant(host))                      the last label is a number
 *       ok = dx_ipv4_parse(host, &address);       "0x7f.1", "017700000001", "127.0.0.1"
 *   size = dx_ipv4_text(address, text);
 *   ok = dx_ipv6_parse(span, address);            between the brackets, without them
 *   size = dx_ipv6_text(address, text);           compressed, lower case, without brackets
 *
 * No state; any thread. true/false: is it one.
 */
#ifndef DX_CANON_IP_LITERAL_H
#define DX_CANON_IP_LITERAL_H

#include "base/bytes.h"

enum { DX_IPV4_TEXT = 15, DX_IPV6_TEXT = 39 }; /* bytes, no NUL is written */

/* A host that must be an IPv4 address or is invalid: lower-case ASCII, may end with a dot. */
bool dx_ipv4_meant(struct dx_span host);
bool dx_ipv4_parse(struct dx_span host, uint32_t *address);
size_t dx_ipv4_text(uint32_t address, uint8_t out[DX_IPV4_TEXT]);

bool dx_ipv6_parse(struct dx_span s, uint16_t address[8]);
size_t dx_ipv6_text(const uint16_t address[8], uint8_t out[DX_IPV6_TEXT]);

#endif
