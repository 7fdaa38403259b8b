/* SPDX-License-Identifier: Apache-2.0
 * own_routes.h - what is asked of the server itself: healthz and readyz, the
 * description of the API, and of its admin listener
 * also metrics and version. That one answers nothing else, and healthz and readyz with more words
 * than for everybody.
 *
 *   done = dx_own_routes_answer(c, route, match);     it is one of them, and is answered; false: it is not
 *   dx_admin_answer(c, target);
 *   dx_admin_methods(target)             "GET, HEAD", as in Allow; NULL: it has no such path
 *
 * Of the loop's thread; nothing here waits for anything.
 */
#ifndef DX_SERVER_ENGINE_OWN_ROUTES_H
#define DX_SERVER_ENGINE_OWN_ROUTES_H

#include "server/engine/exchange.h"

/* match: value of If-None-Match; size 0: none. */
bool dx_own_routes_answer(struct dx_connection *c, enum dx_route_id route, struct dx_span match);
void dx_admin_answer(struct dx_connection *c, struct dx_span target);
const char *dx_admin_methods(struct dx_span target);

#endif
