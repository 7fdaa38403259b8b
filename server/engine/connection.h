/* SPDX-License-Identifier: Apache-2.0
 * connection.h - one client: bytes in, heads parsed, answers out, in order.
 *
 *   dx_connection_open(loop, &guest);     its socket is the connection's from here, also on failure
 *   dx_connection_turn(c);                its turn again (it had more requests than one wake serves)
 *   dx_connection_answered(job);          a worker's answer came back
 *   dx_connection_expire(c);              the deadline of what it waits for has passed
 *   dx_connection_close(c);
 *
 * One request is in work at a time; those behind it wait as bytes, at most DX_HEAD_MAX of
 * them and one read, then the socket is not read: the client's TCP holds the rest. A version is
 * pinned from a request's first byte to its reply's last one, or to the end of the connection.
 *
 * A body (server/engine/bulk.h) is the other way round: it is read only while there is nothing of
 * it left to work on and nothing of its answer left to send, and its connection works on it a turn
 * at a time.
 *
 * Its layers, each of which only calls those before it:
 *   stream         the socket
 *   exchange       one request: what it holds, and its end
 *   delivery       from an outcome to the reply
 *   charge         what a request costs its client, and 429
 *   job_wait       answers of workers
 *   own_routes     healthz, readyz
 *   reply_reuse    whole replies that are sent again
 *   single_answer  of a GET
 *   greeting       what comes before the first head: PROXY header, TLS handshake
 *   shedding       which connections go when something runs out
 *   bulk_answer    of a POST
 *   connection     heads in, requests in order, what the loop calls
 *
 * Lower layers only shut the stream; what else a connection holds goes when the entry point ends.
 * So every function here may free the connection. All belong to the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_CONNECTION_H
#define DX_SERVER_ENGINE_CONNECTION_H

#include "server/engine/loop.h"

struct dx_connection; /* server/engine/exchange.h */

void dx_connection_open(struct dx_loop *loop, const struct dx_guest *guest);
void dx_connection_turn(struct dx_connection *c);
void dx_connection_answered(struct dx_job *job);
void dx_connection_expire(struct dx_connection *c);
void dx_connection_close(struct dx_connection *c);

/* Drain: an idle one is closed, the others after their reply. */
void dx_connection_drain(struct dx_connection *c);

#endif
