/* SPDX-License-Identifier: Apache-2.0
 * amqp_link.h - the connection below amqp.h: made, kept alive, read frame by frame. For fetch/amqp_*.c.
 *
 *   rc = dx_amqp_link_open(a, &url, &err);          connected, logged in, one channel
 *   rc = dx_amqp_frame(a, until_ms, &f, &err);      1 a frame, 0 none in time
 *   rc = dx_amqp_replied(a, reply, what, &err);     of the library's own calls
 *   rc = dx_amqp_beat_begin(a, &err);               a thread sends heartbeats from now on
 *   dx_amqp_link_close(a);
 *
 * Frames that end the connection or the channel are errors with the broker's words; those that say
 * whether the broker takes messages at all go into `blocked`. Memory of a frame lives until
 * the library is told to release it.
 */
#ifndef DX_FETCH_AMQP_LINK_H
#define DX_FETCH_AMQP_LINK_H

#include "base/buf.h"
#include "base/error.h"
#include "fetch/amqp_url.h"

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
    char blocked[64];            /* why the broker takes no messages now; "": it does */
    struct dx_buf body;          /* of the last message */
    struct dx_buf properties;    /* what the message's spans point into */

    pthread_t beat; /* while paused */
    bool is_beating;
    bool beat_ends;
    pthread_mutex_t lock; /* beat_ends */
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

int dx_amqp_replied(struct dx_amqp *a, amqp_rpc_reply_t r, const char *what, struct dx_error *err);
int dx_amqp_lost(struct dx_amqp *a, int status, const char *what, struct dx_error *err);
int dx_amqp_sent_method(struct dx_amqp *a, int status, struct dx_error *err);

int dx_amqp_beat_begin(struct dx_amqp *a, struct dx_error *err);
void dx_amqp_beat_end(struct dx_amqp *a);

#endif
