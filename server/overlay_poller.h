/* SPDX-License-Identifier: Apache-2.0
 * overlay_poller.h - the thread that looks for new suppressions while the server serves.
 *
 *   rc = dx_overlay_poller_start(&p, current, remote, poll_ms, &err);
 *   dx_poller_ask(p);  dx_poller_stop(&p);         server/poller.h
 *
 * A thread of its own, beside that of reloads: what is to be hidden does not wait until a large
 * version is loaded. It looks each poll_ms (0: only when asked), in a directory at least twice a
 * second, which costs a stat. News, and failures once, are logged. Of new rules it has the rows of the
 * current version looked up at once (query/withheld.h).
 */
#ifndef DX_SERVER_OVERLAY_POLLER_H
#define DX_SERVER_OVERLAY_POLLER_H

#include "server/poller.h"

struct dx_current;

int dx_overlay_poller_start(struct dx_poller **p, struct dx_current *current, bool remote,
                            unsigned poll_ms, struct dx_error *err);

#endif
