/* SPDX-License-Identifier: Apache-2.0
 * url_order.h - the parameters that say in which order rows of several datasets come: sort, reverse, closest, collapse.
 *
 *   .params = DX_PARAMS(..., DX_ORDER_PARAMS)
 *   rc = dx_url_order_check(ask, &problem);         of a route's check: what contradicts itself, and what follows
 *   rc = dx_url_order_take(ask, &problem);          of its take_cursor
 *   dx_url_order_restart(ask, &b);                  of its restart
 *
 * Pure; any thread.
 */
#ifndef DX_SERVER_ROUTES_URL_ORDER_H
#define DX_SERVER_ROUTES_URL_ORDER_H

#include "server/routes/route.h"

extern const struct dx_param dx_param_sort, dx_param_reverse, dx_param_closest, dx_param_collapse;
#define DX_ORDER_PARAMS &dx_param_sort, &dx_param_reverse, &dx_param_closest, &dx_param_collapse

int dx_url_order_check(struct dx_ask *ask, struct dx_problem *problem);
int dx_url_order_take(struct dx_ask *ask, struct dx_problem *problem);
void dx_url_order_restart(const struct dx_ask *ask, struct dx_buf *b);

#endif
