/* SPDX-License-Identifier: Apache-2.0
 * amqp_link.h - the connection below amqp.h: made, kept alive, read frame by frame. For amqp*.c
 * alone.
 *
 *   rc = dx_amqp_link_open(a, &url, &err);          connected, logged in, one channel
 *   rc = dx_amqp_frame(a, until_ms, &f, &err);      1 a frame, 0 none in time
 *   rc = dx_amqp_call(a, &call, &err);              a method, and the broker's reply to it
 *   rc = dx_amqp_beat_begin(a, &err);               a thread sends heartbeats from now on
 *   dx_amqp_link_close(a);
 *
 * Frames that end the connection or the channel are errors with the broker's words; those that say
 * whether the broker takes messages at all go into `blocked`. Memory of a frame lives until the
 * next one is read. The library's own calls are not used once the login is done: they keep whatever
 * else comes before the reply, without a bound; dx_amqp_call drops it.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_AMQP_LINK_H
#define DX_BUILDER_EXCHANGE_QUEUE_AMQP_LINK_H

#include "base/buf.h"
#include "base/error.h"
#include "builder/exchange/queue/amqp_url.h"

#include <amqp.h>
#include <pthread.h>
#include <stdbool.h>

#define DX_AMQP_CHANNEL 1
#define DX_AMQP_FRAME_MAX 131072
#define DX_AMQP_CALL_MS 60000 /* for what the broker must answer */

struct dx_amqp {
    amqp_connection_state_t state;
    char shown[DX_AMQP_PART_MAX * 2];
    char queue[DX_AMQP_PART_MAX];
    char user[DX_AMQP_PART_MAX]; /* is not to be said */
    bool is_open;                /* logged in */
    const char *what;            /* is being done; NULL: reading */
    char blocked[64];            /* why the broker takes no messages now; "": it does */
    struct dx_buf body;          /* of the last message */
    struct dx_buf properties;    /* what the message's spans point into */

    pthread_t beat; /* while paused */
    bool is_beating;
    bool beat_ends;
    pthread_mutex_t lock; /* beat_ends, and what is sent while paused */
    pthread_cond_t changed;

    uint64_t sent;
    uint64_t confirmed; /* the first ones, all of them */
    uint64_t beyond;    /* bit i: also number confirmed + 1 + i */
};

int dx_amqp_link_open(struct dx_amqp *a, const struct dx_amqp_url *url, struct dx_error *err);
void dx_amqp_link_close(struct dx_amqp *a);
int dx_amqp_channel_open(struct dx_amqp *a, struct dx_error *err);

int dx_amqp_frame(struct dx_amqp *a, uint64_t until_ms, amqp_frame_t *f, struct dx_error *err);
/* The same, and what is said of blocked comes as a frame too. */
int dx_amqp_frame_any(struct dx_amqp *a, uint64_t until_ms, amqp_frame_t *f, struct dx_error *err);
bool dx_amqp_is_method(const amqp_frame_t *f, amqp_method_number_t id);

struct dx_amqp_call {
    amqp_method_number_t id;
    void *arguments; /* amqp_..._t of amqp_framing.h */
    amqp_method_number_t reply;
    const char *what; /* for errors: "making the queue" */
};

/* DX_E_NOT_FOUND and the like where the broker closes the channel instead. */
int dx_amqp_call(struct dx_amqp *a, const struct dx_amqp_call *call, struct dx_error *err);
int dx_amqp_lost(struct dx_amqp *a, int status, const char *what, struct dx_error *err);
int dx_amqp_sent_method(struct dx_amqp *a, int status, struct dx_error *err);

uint64_t dx_amqp_beat_ms(const struct dx_amqp *a); /* between two heartbeats */
int dx_amqp_beat_begin(struct dx_amqp *a, struct dx_error *err);
void dx_amqp_beat_end(struct dx_amqp *a);

#endif
