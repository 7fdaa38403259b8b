/* SPDX-License-Identifier: Apache-2.0
 * bad_messages.h - messages that are not segments, moved to a queue of their own.
 *
 *   rc = dx_bad_messages_move(&url, "pages.bad", &message, reason, &err);
 *
 * The copy has the bytes and properties of the message, and the header `reason`. DX_OK: the broker
 * has confirmed it, so the message itself may be acknowledged. A process that dies in between leaves two
 * copies, never none. A connection of its own for each: they are rare.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_BAD_MESSAGES_H
#define DX_BUILDER_EXCHANGE_QUEUE_BAD_MESSAGES_H

#include "base/error.h"

struct dx_amqp_message;
struct dx_amqp_url;

int dx_bad_messages_move(const struct dx_amqp_url *from, const char *queue,
                         const struct dx_amqp_message *m, const char *reason, struct dx_error *err);

#endif
