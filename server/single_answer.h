/* SPDX-License-Identifier: Apache-2.0
 * single_answer.h - the answer to a GET: from a loop at once, or from a worker.
 *
 *   dx_single_answer(c, target, match);        loop->ask is parsed of target, and none of own_routes
 *   dx_single_answered(c, job);                its job came back
 *   dx_single_answer_late(c);                  its job did not in time
 *
 * match: value of If-None-Match. Of the loop's thread.
 */
#ifndef DX_SERVER_SINGLE_ANSWER_H
#define DX_SERVER_SINGLE_ANSWER_H

#include "server/connection.h"

void dx_single_answer(struct dx_connection *c, struct dx_span target, struct dx_span match);
void dx_single_answered(struct dx_connection *c, struct dx_job *job);
void dx_single_answer_late(struct dx_connection *c);

#endif
