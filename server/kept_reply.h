/* SPDX-License-Identifier: Apache-2.0
 * kept_reply.h - when a loop may send a reply that it kept (server/hot_replies.h), and which it keeps.
 *
 *   if (dx_kept_reply_answer(c, target, match)) ...            sent
 *   if (dx_kept_reply_wants(c, rc, &problem, target))          loop->ask was answered so, and may be kept:
 *       loop->keep = target;                                   dx_deliver does it
 *
 * What decides must be the same before an answer is made and after: begin with dx_kept_reply_answer.
 * Of the loop's thread.
 */
#ifndef DX_SERVER_KEPT_REPLY_H
#define DX_SERVER_KEPT_REPLY_H

#include "server/connection.h"

/* False: there is none, or it does not do; nothing has been sent. */
bool dx_kept_reply_answer(struct dx_connection *c, struct dx_span target, struct dx_span match);

bool dx_kept_reply_wants(struct dx_connection *c, int rc, const struct dx_problem *problem,
                         struct dx_span target);

#endif
