/* SPDX-License-Identifier: Apache-2.0
 * reply_reuse.h - when a loop may send a reply that it kept (server/cache/reply_cache.h), and which
 * it keeps.
 *
 *   if (dx_reply_reuse_answer(&x)) ...            sent
 *   x.keeps_reply = dx_reply_reuse_wants(&x);     x.ask was answered so, and dx_deliver_answer shall keep it
 *
 * What decides must be the same before an answer is made and after: begin with
 * dx_reply_reuse_answer. Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_REPLY_REUSE_H
#define DX_SERVER_ENGINE_REPLY_REUSE_H

#include <stdbool.h>

struct dx_exchange;

/* False: there is none, or it does not do; nothing has been sent. */
bool dx_reply_reuse_answer(const struct dx_exchange *x);
bool dx_reply_reuse_wants(const struct dx_exchange *x);

#endif
