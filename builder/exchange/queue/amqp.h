/* SPDX-License-Identifier: Apache-2.0
 * amqp.h - one queue of a broker (AMQP 0-9-1): messages taken from it, or put into it.
 *
 *   rc = dx_amqp_open(&a, &url, &was_missing, &err);
 *   rc = dx_amqp_consume(a, prefetch, &err);
 *   rc = dx_amqp_next(a, size_max, timeout_ms, &message, &err);   1 there is one, 0 none in time
 *   rc = dx_amqp_ack(a, tag, &err);                     that one
 *   rc = dx_amqp_requeue(a, &err);                      all that came and were not acked
 *   rc = dx_amqp_pause(a, &err);                        no more; the broker has taken all acks
 *   ... long work: heartbeats are sent by a thread ...
 *   rc = dx_amqp_resume(a, prefetch, &err);             acks given in between have been taken too
 *
 *   rc = dx_amqp_begin_sending(a, &err);
 *   rc = dx_amqp_ready(a, timeout_ms, &err);            1 it takes messages, 0 not yet
 *   rc = dx_amqp_send(a, &properties, body, &err);           the n-th one, n from 1
 *   rc = dx_amqp_confirmed(a, n, timeout_ms, &err);     1 the broker has the first n, 0 not yet
 *   dx_amqp_close(&a);                                  what was not acked goes back to the queue
 *
 *   rc = dx_amqp_look(&url, &err);                      1 the queue is there, 0 it is not; makes none
 *
 * The queue is made (durable) if it is not there; was_missing, which may be NULL, is set then, also
 * if open fails. DX_E_NOT_FOUND while sending: the broker has it no more. A consumer is alone on its queue: a second one is
 * DX_E_BUSY. DX_E_IO: the connection is gone or the broker has closed it, open another one;
 * DX_E_DENIED: user, vhost or rights; DX_E_LIMIT: the broker takes no message of that size. Words
 * of errors never hold user or password. A message lives until the next call. One over size_max
 * comes without its bytes (too_large), and none can be read behind it. A caller that neither reads nor has paused must come back within
 * dx_amqp_away_ms, for the heartbeats. A broker that is silent for two heartbeats (of 20 s, or
 * fewer if it wants that) is gone. One thread at a time.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_AMQP_H
#define DX_BUILDER_EXCHANGE_QUEUE_AMQP_H

#include "base/bytes.h"
#include "base/error.h"
#include "builder/exchange/queue/amqp_url.h"

#define DX_AMQP_WINDOW 64 /* messages sent and not confirmed, at most */

struct dx_amqp;

struct dx_amqp_message {
    uint64_t tag;
    bool redelivered;
    bool too_large;
    uint64_t size;          /* as the broker says it */
    struct dx_span bytes;   /* empty if too_large */
    struct dx_span id;      /* message-id; NULL data: missing */
    struct dx_span dataset; /* header "dataset" */
    struct dx_span sum;     /* header "sha256" */
};

struct dx_amqp_properties { /* NULL data: left out */
    struct dx_span id;
    struct dx_span dataset;
    struct dx_span sum;
    struct dx_span reason; /* header "reason": why it lies in this queue */
};

int dx_amqp_open(struct dx_amqp **a, const struct dx_amqp_url *url, bool *was_missing,
                 struct dx_error *err);
void dx_amqp_close(struct dx_amqp **a);
int dx_amqp_look(const struct dx_amqp_url *url, struct dx_error *err);

int dx_amqp_consume(struct dx_amqp *a, unsigned prefetch, struct dx_error *err);
int dx_amqp_next(struct dx_amqp *a, size_t size_max, uint64_t timeout_ms,
                 struct dx_amqp_message *message, struct dx_error *err);
int dx_amqp_ack(struct dx_amqp *a, uint64_t tag, struct dx_error *err);
int dx_amqp_requeue(struct dx_amqp *a, struct dx_error *err);
int dx_amqp_pause(struct dx_amqp *a, struct dx_error *err);
int dx_amqp_resume(struct dx_amqp *a, unsigned prefetch, struct dx_error *err);

uint64_t dx_amqp_away_ms(const struct dx_amqp *a);

int dx_amqp_begin_sending(struct dx_amqp *a, struct dx_error *err);
int dx_amqp_ready(struct dx_amqp *a, uint64_t timeout_ms, struct dx_error *err);
const char *dx_amqp_blocked(const struct dx_amqp *a); /* why it takes none, or NULL */
int dx_amqp_send(struct dx_amqp *a, const struct dx_amqp_properties *properties,
                 struct dx_span body, struct dx_error *err);
int dx_amqp_confirmed(struct dx_amqp *a, uint64_t count, uint64_t timeout_ms, struct dx_error *err);

#endif
