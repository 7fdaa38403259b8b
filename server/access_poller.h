/* SPDX-License-Identifier: Apache-2.0
 * access_poller.h - the thread that looks for another access table while the server serves.
 *
 *   rc = dx_access_poller_start(&p, access, remote, poll_ms, &err);
 *   dx_poller_ask(p);  dx_poller_stop(&p);         server/poller.h
 *
 * A thread of its own: a token that is revoked does not wait until a version is loaded, or until rows
 * that are to be hidden are found. It looks each poll_ms (0: only when asked), in a directory at least
 * four times a second, which costs a stat. News, and failures once, are logged.
 */
#ifndef DX_SERVER_ACCESS_POLLER_H
#define DX_SERVER_ACCESS_POLLER_H

#include "server/poller.h"

struct dx_access;

int dx_access_poller_start(struct dx_poller **p, struct dx_access *access, bool remote,
                           unsigned poll_ms, struct dx_error *err);

#endif
