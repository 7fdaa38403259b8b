/* SPDX-License-Identifier: Apache-2.0
 * admin_routes.h - what the admin listener answers, and nothing else does: metrics and version, and with
 * more words than for everybody healthz and readyz.
 *
 *   dx_admin_answer(c, target);
 *
 * Of the loop's thread; nothing here waits for anything.
 */
#ifndef DX_SERVER_ADMIN_ROUTES_H
#define DX_SERVER_ADMIN_ROUTES_H

#include "server/connection.h"

void dx_admin_answer(struct dx_connection *c, struct dx_span target);

#endif
