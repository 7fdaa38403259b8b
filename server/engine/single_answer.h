/* SPDX-License-Identifier: Apache-2.0
 * single_answer.h - the answer to a GET: from a loop at once, or from a worker.
 *
 *   dx_single_answer(&x);                      x.ask is parsed of x.target, and none of own_routes
 *   dx_single_answered(c, job);                its job came back
 *   dx_single_answer_late(c);                  its job did not in time
 *
 * Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_SINGLE_ANSWER_H
#define DX_SERVER_ENGINE_SINGLE_ANSWER_H

#include "server/engine/exchange.h"

struct dx_exchange;

void dx_single_answer(struct dx_exchange *x);
void dx_single_answered(struct dx_connection *c, struct dx_job *job);
void dx_single_answer_late(struct dx_connection *c);

#endif
