/* SPDX-License-Identifier: Apache-2.0
 * server.h - the HTTP server: sockets, event loops and workers around a table of answers.
 *
 *   struct dx_server_options options = dx_server_options_default();
 *   rc = dx_server_start(&s, &options, &answers, &err);     listens and serves when it returns
 *   dx_server_address(s)                                    "127.0.0.1:8080", the real port
 *   dx_server_admin_address(s)                              the same of the other listener; NULL: none
 *   dx_server_version_changed(s);                           after a reload
 *   ok = dx_server_lives(s, within_ms, &why);               for a watchdog
 *   dx_server_drain(s);                                     /readyz says 503, all else goes on
 *   clean = dx_server_stop(&s, grace_ms);                   no accepts, in-flight finish, threads end
 *
 * One event loop a thread. One thread accepts, for itself and, in turn, for the others: a
 * listener for each loop (SO_REUSEPORT) spreads connections by chance, lets a second server
 * share the port by mistake, and resets what waits in a listener that closes.
 *
 * `answers` must outlive the server. Signals: block those you handle before start; the
 * server's threads inherit the mask. All functions here are for one thread, the owner.
 */
#ifndef DX_SERVER_ENGINE_SERVER_H
#define DX_SERVER_ENGINE_SERVER_H

#include "server/engine/server_options.h"
#include "server/routes/answers.h"

struct dx_server;

struct dx_server_options dx_server_options_default(void);

int dx_server_start(struct dx_server **server, const struct dx_server_options *options,
                    const struct dx_answers *answers, struct dx_error *err);
const char *dx_server_address(const struct dx_server *s);
bool dx_server_speaks_tls(const struct dx_server *s);
const char *dx_server_admin_address(const struct dx_server *s); /* NULL: there is none */
void dx_server_reopen_log(struct dx_server *s); /* of requests; its file was moved */
void dx_server_version_changed(struct dx_server *s);
void dx_server_drain(struct dx_server *s);

/* Whether each loop has turned within that time, and some worker is not at one and the same job for
 * longer than two jobs may take. What is slow or gone outside makes no difference: jobs that wait
 * for a store are with no worker, or with half of them at most. False: `why` has the words. */
bool dx_server_lives(const struct dx_server *s, unsigned within_ms, struct dx_error *why);

/* Takes up to grace_ms and a little. True: all freed. False: a worker still hangs in a read
 * of the lake; its thread and what it uses stay, and the caller should end the process. */
bool dx_server_stop(struct dx_server **server, unsigned grace_ms);

/* For tests; metrics read the same counts. */
struct dx_server_counts dx_server_counts_of(const struct dx_server *s);

#endif
