/* SPDX-License-Identifier: Apache-2.0
 * shedding.h - which connections of a loop are given up when something runs out.
 *
 *   dx_shed_connections(loop);    connections or descriptors: those that are idle, oldest first, and then those
 *                                 whose head has not come for a second
 *   dx_shed_readers(loop);        memory of replies: who takes his reply slowly
 *   dx_shed_lists(loop, one);     places for lists of names: whose list goes slowly, also for want of
 *                                 what he would have to pay (server/toll.h), but not `one`
 *
 * Slow is below DX_SHED_BYTES_PER_S both ways, after DX_SHED_MS. Nobody is given up while there is enough for
 * all, but by the time limits. Those who are given up are closed, and counted as shed. Of the loop's thread; the
 * connections it is called for stay.
 */
#ifndef DX_SERVER_SHEDDING_H
#define DX_SERVER_SHEDDING_H

#include "server/connection.h"

#define DX_SHED_MS 1000
#define DX_SHED_BYTES_PER_S 65536

void dx_shed_connections(struct dx_loop *loop);
void dx_shed_readers(struct dx_loop *loop);
void dx_shed_lists(struct dx_loop *loop, const struct dx_connection *one);

#endif
