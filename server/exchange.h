/* SPDX-License-Identifier: Apache-2.0
 * exchange.h - one request of a connection and its reply: what it holds meanwhile, and its end.
 *
 *   dx_exchange_begin(c);        a head begins: the current version is pinned
 *   rc = dx_exchange_find_version(c, &problem);
 *   dx_exchange_own_pin(c);      the pin is for who may give it up elsewhere, or for another version
 *   dx_exchange_sent(c, sent);   what dx_stream_send said of the whole reply; DX_SENT_ALL ends it
 *   dx_exchange_unpin(c);        to the version, wherever the pin is from; again is fine
 *
 * After the end the connection is idle, or lingers, or is shut. Of the loop's thread.
 */
#ifndef DX_SERVER_EXCHANGE_H
#define DX_SERVER_EXCHANGE_H

#include "server/connection.h"

void dx_exchange_begin(struct dx_connection *c);
void dx_exchange_own_pin(struct dx_connection *c);
void dx_exchange_unpin(struct dx_connection *c);

/* Resolves loop->ask and pins the version that shall answer: the current one, or the one that is named. 1;
 * DX_ASK_COLD: a worker has to bring it; else as query/answer.h. */
int dx_exchange_find_version(struct dx_connection *c, struct dx_problem *problem);

/* Why there is no version: the lease has run out, so that a collector may remove what is open here. */
int dx_exchange_no_version(struct dx_problem *problem);

void dx_exchange_sent(struct dx_connection *c, enum dx_sent sent);

#endif
