/* SPDX-License-Identifier: Apache-2.0
 * greeting.h - what a connection begins with before its first head: the header of a proxy, and the handshake of TLS.
 *
 *   used = dx_greeting_proxy_header(c, bytes);    while c->needs_proxy_header, of a connection without TLS
 *   dx_greeting_go_on(c);                         while c->needs_handshake, in turns: a step of all that
 *
 * A handshake has the time of a head: it and the first head must be over head_timeout_ms after the
 * connection was made, and those that have not come so far after a second go first when connections run out
 * (shedding.h). It costs its address DX_HANDSHAKE_COST (server/routes/cost.h has the unit), and does not begin
 * while that budget is empty. A client that speaks plain HTTP gets 400 in its own language. Of the
 * loop's thread.
 */
#ifndef DX_SERVER_ENGINE_GREETING_H
#define DX_SERVER_ENGINE_GREETING_H

#include "server/engine/exchange.h"

#define DX_HANDSHAKE_COST 25 /* half a millisecond: between a key of P-256 and RSA with 2048 bits */

/* The bytes used; 0 until it is whole. A proxy that sends none, or another, gets no reply: what it would be for is not known. */
size_t dx_greeting_proxy_header(struct dx_connection *c, struct dx_span bytes);

void dx_greeting_go_on(struct dx_connection *c);

#endif
