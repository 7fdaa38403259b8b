/* SPDX-License-Identifier: Apache-2.0
 * shedding.h - which connections of a loop are given up when something runs out.
 *
 *   dx_shed_connections(loop);    connections or descriptors: those that are idle, oldest first, and then those
 *                                 whose head has not come for a second
 *   dx_shed_readers(loop);        memory of replies: clients that read slowly
 *   dx_shed_lists(loop, one);     places for lists of names: clients whose list goes slowly, also for want of budget (server/engine/charge.h), but not `one`
 *
 * Slow is below DX_SHED_BYTES_PER_S, after DX_SHED_MS; of lists in the last second or two
 * (server/engine/list_progress.h). While there is enough for all, only the time limits end
 * connections. Shed connections are closed and counted. Of the loop's thread; the connections it is
 * called for stay.
 */
#ifndef DX_SERVER_ENGINE_SHEDDING_H
#define DX_SERVER_ENGINE_SHEDDING_H

#include "server/engine/exchange.h"

#define DX_SHED_MS 1000
#define DX_SHED_BYTES_PER_S 65536

void dx_shed_connections(struct dx_loop *loop);
void dx_shed_readers(struct dx_loop *loop);
void dx_shed_lists(struct dx_loop *loop, const struct dx_connection *one);

/* Its list goes on: whether it is slow is found from how far it was when. */
void dx_shed_note_list(struct dx_connection *c);

#endif
