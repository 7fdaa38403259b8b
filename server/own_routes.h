/* SPDX-License-Identifier: Apache-2.0
 * own_routes.h - what is asked of the server itself: healthz, readyz.
 *
 *   done = dx_own_routes_answer(c);      loop->ask is one of them, and is answered; false: it is not
 *
 * Of the loop's thread; nothing here waits for anything.
 */
#ifndef DX_SERVER_OWN_ROUTES_H
#define DX_SERVER_OWN_ROUTES_H

#include "server/connection.h"

bool dx_own_routes_answer(struct dx_connection *c);

#endif
