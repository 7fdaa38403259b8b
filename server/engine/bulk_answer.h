/* SPDX-License-Identifier: Apache-2.0
 * bulk_answer.h - the answer to a POST: a list of names comes in, a line for each goes out
 * (server/engine/bulk.h).
 *
 *   dx_bulk_answer(c, head, target);            the body follows
 *   dx_bulk_answered(c, job);                   the version that it wants has been fetched, or not
 *   if (dx_bulk_answer_takes(c)) {              what comes is its body
 *       dx_bulk_answer_take(c, bytes);          the rest of them goes to c->pending
 *       dx_bulk_answer_go_on(c);                also when its turn comes, and without new bytes
 *   }
 *   dx_bulk_answer_is_out(c);                   the client has taken what waited
 *   dx_bulk_answer_late(c);                     DX_WAIT_BODY or DX_WAIT_LATER is over
 *   dx_bulk_answer_release(c);                  the end of the connection
 *
 * Each may end the exchange; c->bulk is NULL then. Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_BULK_ANSWER_H
#define DX_SERVER_ENGINE_BULK_ANSWER_H

#include "server/engine/exchange.h"

void dx_bulk_answer(struct dx_connection *c, struct dx_span head, struct dx_span target);
void dx_bulk_answered(struct dx_connection *c, struct dx_job *job);

/* Not while its version is fetched, nor while the client takes what there is. */
bool dx_bulk_answer_takes(const struct dx_connection *c);
size_t dx_bulk_answer_take(struct dx_connection *c, struct dx_span bytes);
void dx_bulk_answer_go_on(struct dx_connection *c);
void dx_bulk_answer_is_out(struct dx_connection *c);
void dx_bulk_answer_late(struct dx_connection *c);
void dx_bulk_answer_release(struct dx_connection *c);

#endif
