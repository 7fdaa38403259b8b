/* SPDX-License-Identifier: Apache-2.0
 * row_reply.h - rows of an answer as a stream in another format (query/formats): page after page of the
 * JSON answer, each asked for when the client has taken what came of the one before.
 *
 *   dx_row_reply(&x);                       x.ask is parsed, and its row_format is not JSON
 *   dx_row_reply_answered(c, job);          job->rows is set
 *   dx_row_reply_is_out(c);                 the client has taken what waited
 *   dx_row_reply_go_on(c);                  DX_WAIT_LATER is over
 *   dx_row_reply_late(c);                   DX_WAIT_JOB is
 *   dx_row_reply_release(c);                the end of the connection
 *
 * The version is held from the first page to the last byte. Each page has its own deadline, place in the
 * queue of the workers, price and look at whether its caller may still go on: a long stream is many
 * short requests. What fails after the first part breaks the reply off (server/engine/chunked_reply.h).
 * Memory is that of one page, and DX_ROW_REPLY_BYTES. Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_ROW_REPLY_H
#define DX_SERVER_ENGINE_ROW_REPLY_H

#include "server/engine/exchange.h"

#define DX_ROW_REPLY_BYTES ((size_t)1 << 20) /* beside the page, and a coding's */

struct dx_row_reply;

void dx_row_reply(struct dx_exchange *x);
void dx_row_reply_answered(struct dx_connection *c, struct dx_job *job);
void dx_row_reply_is_out(struct dx_connection *c);
void dx_row_reply_go_on(struct dx_connection *c);
void dx_row_reply_late(struct dx_connection *c);
void dx_row_reply_release(struct dx_connection *c);

#endif
