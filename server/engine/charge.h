/* SPDX-License-Identifier: Apache-2.0
 * charge.h - what a request costs its client (server/routes/cost.h), charged before it runs
 * (server/policy/admission.h).
 *
 *   if (!dx_charge_take(c, cost))       429 has been delivered
 *       return;
 *   dx_charge_more(c, &seen);           it is answered: what it cost beyond that
 *   dx_charge_of_job(job);              the same of one that a worker had, whether or not the client still waits
 *   ok = dx_charge_go_on(c, cost);      a part of a long answer; false: not now, again in a moment
 *   dx_charge_owe(c, cost);             what has been done and was not paid
 *
 * c->who names the client. Costs nothing while no bucket is set. Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_CHARGE_H
#define DX_SERVER_ENGINE_CHARGE_H

#include "server/engine/exchange.h"
#include "server/routes/cost.h"

bool dx_charge_take(struct dx_connection *c, double cost);
void dx_charge_more(struct dx_connection *c, const struct dx_cost_seen *seen);
void dx_charge_of_job(const struct dx_job *job);
void dx_charge_owe(struct dx_connection *c, double cost);
bool dx_charge_go_on(struct dx_connection *c, double cost);

#endif
