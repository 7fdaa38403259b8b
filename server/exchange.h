/* SPDX-License-Identifier: Apache-2.0
 * exchange.h - one request of a connection and its reply: what it holds meanwhile, its record, and its end.
 *
 *   dx_exchange_begin(c);          a head begins: the current version is pinned
 *   dx_exchange_head_read(c);      it is whole
 *   rc = dx_exchange_identify(c, head, &problem);     1: c->who asks; 0: nothing may be told him
 *   rc = dx_exchange_find_version(c, &problem);
 *   dx_exchange_own_pin(c);        the pins are for longer than this turn, or for another version
 *   dx_exchange_mark(c, stage);    what passed until now went into this stage
 *   dx_exchange_tell(c, &told);    what its answer says
 *   dx_exchange_sent(c, sent);     what dx_stream_send said of the whole reply; DX_SENT_ALL ends it
 *   dx_exchange_drop(c);           the end of the connection, whatever has begun; again is fine
 *
 * After the end the connection is idle, or lingers, or is shut, and the record was given to
 * server/request_done.h. Of the loop's thread.
 */
#ifndef DX_SERVER_EXCHANGE_H
#define DX_SERVER_EXCHANGE_H

#include "server/connection.h"
#include "server/told.h"

void dx_exchange_begin(struct dx_connection *c);
void dx_exchange_head_read(struct dx_connection *c);
int dx_exchange_identify(struct dx_connection *c, struct dx_span head, struct dx_problem *problem);

/* The same of who asked when a request began that lasts, with a pin of its own: 0: no more may be told him. */
int dx_exchange_may_go_on(struct dx_connection *c, struct dx_problem *problem);
void dx_exchange_own_pin(struct dx_connection *c);

/* What who asks may see; NULL: everything. */
static inline const struct dx_scope *dx_exchange_scope(const struct dx_connection *c)
{
    return c->who.principal == NULL ? NULL : c->who.principal->scope;
}

/* Resolves loop->ask and pins the version that shall answer: the current one, or the one that is named. 1;
 * DX_ASK_COLD: a worker has to bring it; else as query/answer.h. */
int dx_exchange_find_version(struct dx_connection *c, struct dx_problem *problem);

/* Why there is no version: the lease has run out, so that a collector may remove what is open here. */
int dx_exchange_no_version(struct dx_problem *problem);

void dx_exchange_mark(struct dx_connection *c, enum dx_stage stage);
void dx_exchange_tell(struct dx_connection *c, const struct dx_told *told);
void dx_exchange_sent(struct dx_connection *c, enum dx_sent sent);
void dx_exchange_drop(struct dx_connection *c);

#endif
