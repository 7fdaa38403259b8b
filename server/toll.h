/* SPDX-License-Identifier: Apache-2.0
 * toll.h - what a request costs who asks (server/cost.h), paid before it is begun (server/admission.h).
 *
 *   if (!dx_toll_take(c, cost))       429 has been delivered
 *       return;
 *   dx_toll_more(c, &seen);           it is answered: what it cost beyond that
 *   dx_toll_of_job(job);              the same of one that a worker had, whether or not somebody still waits
 *   ok = dx_toll_go_on(c, cost);      a part of a long answer; false: not now, again in a moment
 *   dx_toll_owe(c, cost);             what has been done and was not paid
 *
 * c->who says who asks. Costs nothing while no bucket is set. Of the loop's thread.
 */
#ifndef DX_SERVER_TOLL_H
#define DX_SERVER_TOLL_H

#include "server/connection.h"
#include "server/cost.h"

bool dx_toll_take(struct dx_connection *c, double cost);
void dx_toll_more(struct dx_connection *c, const struct dx_cost_seen *seen);
void dx_toll_of_job(const struct dx_job *job);
void dx_toll_owe(struct dx_connection *c, double cost);
bool dx_toll_go_on(struct dx_connection *c, double cost);

#endif
