/* SPDX-License-Identifier: Apache-2.0
 * numbers_poller.h - the thread that looks for another registry of numbers while the server serves.
 *
 *   rc = dx_numbers_poller_start(&p, now, remote, poll_ms, &err);
 *   dx_poller_ask(p);  dx_poller_stop(&p);         server/poller.h
 *
 * A thread of its own: books may have to be fetched and checked, which neither a version nor a suppression should
 * wait for. It looks each poll_ms (0: only when asked), in a directory at least once a second, which costs a stat.
 * News, and failures once, are logged.
 */
#ifndef DX_SERVER_NUMBERS_POLLER_H
#define DX_SERVER_NUMBERS_POLLER_H

#include "server/poller.h"

struct dx_numbers_now;

int dx_numbers_poller_start(struct dx_poller **p, struct dx_numbers_now *now, bool remote,
                            unsigned poll_ms, struct dx_error *err);

#endif
