/* SPDX-License-Identifier: Apache-2.0
 * reloader.h - the thread that looks for newer versions while the server serves.
 *
 *   rc = dx_reloader_start(&r, current, directory, poll_ms, &err);
 *   dx_reloader_tell(r, server);               the server to notify of a new version; NULL: none any more
 *   dx_reloader_ask(r);                        now, and say what came of it
 *   dx_reloader_when_done(r, call, ctx);       after each look that was asked for, in its thread
 *   clean = dx_reloader_stop(&r);              false: a reload is under way and does not end soon
 *
 * It looks each poll_ms, a quarter more or less by chance so that the servers of a fleet do not
 * load all at once; 0: only when asked. A look costs a stat, or a conditional GET. Of a root that
 * is a directory it also looks as soon as a manifest was put there. In between it lets go of
 * versions that are over. What a poll finds is logged when it is news; the same failure is not
 * said twice. New suppressions are looked for beside (server/follow/watched.h).
 *
 * ask is safe from every thread. The others are for one thread, the owner; the server must outlive
 * its notification.
 */
#ifndef DX_SERVER_PROCESS_RELOADER_H
#define DX_SERVER_PROCESS_RELOADER_H

#include "base/error.h"

#include <stdbool.h>

struct dx_current;
struct dx_reloader;
struct dx_server;

int dx_reloader_start(struct dx_reloader **r, struct dx_current *current, const char *directory,
                      unsigned poll_ms, struct dx_error *err); /* directory: NULL: no such root */
void dx_reloader_tell(struct dx_reloader *r, struct dx_server *server);
void dx_reloader_ask(struct dx_reloader *r);
void dx_reloader_when_done(struct dx_reloader *r, void (*call)(void *ctx),
                           void *ctx); /* NULL: none */
bool dx_reloader_stop(struct dx_reloader **r);

#endif
