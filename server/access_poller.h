/* SPDX-License-Identifier: Apache-2.0
 * access_poller.h - the thread that looks for another access table while the server serves.
 *
 *   rc = dx_access_poller_start(&p, access, remote, poll_ms, &err);
 *   dx_access_poller_ask(p);                  now, and say what came of it
 *   clean = dx_access_poller_stop(&p);        false: a look is under way and does not end soon
 *
 * A thread of its own: a token that is revoked does not wait until a version is loaded, or until rows
 * that are to be hidden are found. It looks each poll_ms (0: only when asked), in a directory at least
 * four times a second, which costs a stat. News, and failures once, are logged.
 *
 * ask is safe from every thread; the others are for one, the owner.
 */
#ifndef DX_SERVER_ACCESS_POLLER_H
#define DX_SERVER_ACCESS_POLLER_H

#include "base/error.h"

#include <stdbool.h>

struct dx_access;
struct dx_access_poller;

int dx_access_poller_start(struct dx_access_poller **p, struct dx_access *access, bool remote,
                           unsigned poll_ms, struct dx_error *err);
void dx_access_poller_ask(struct dx_access_poller *p);
bool dx_access_poller_stop(struct dx_access_poller **p); /* NULL is fine */

#endif
