/* SPDX-License-Identifier: Apache-2.0
 * poller.h - a thread that looks for something again and again, at a pace (server/pace.h).
 *
 *   rc = dx_poller_start(&p, "access", period_ms, look, context, &err);
 *   dx_poller_ask(p);                   now, and say what came of it
 *   clean = dx_poller_stop(&p);         false: a look is under way and does not end soon
 *
 * look(context, asked) is called in that thread alone; asked: somebody did since the last time. context, of
 * malloc, is the poller's from start on, also if that fails; NULL: there was no memory for it.
 *
 * ask is safe from every thread; the others are for one, the owner.
 */
#ifndef DX_SERVER_POLLER_H
#define DX_SERVER_POLLER_H

#include "base/error.h"

#include <stdbool.h>

struct dx_poller;

typedef void dx_poller_look(void *context, bool asked);

int dx_poller_start(struct dx_poller **p, const char *what, unsigned period_ms,
                    dx_poller_look *look, void *context, struct dx_error *err);
void dx_poller_ask(struct dx_poller *p);
bool dx_poller_stop(struct dx_poller **p); /* NULL is fine */

#endif
