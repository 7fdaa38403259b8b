/* SPDX-License-Identifier: Apache-2.0
 * connection.h - one client: bytes in, heads parsed, answers out, in order.
 *
 *   dx_connection_open(loop, fd);         fd is the connection's from here, also on failure
 *   dx_connection_turn(c);                its turn again (it had more requests than one wake serves)
 *   dx_connection_answered(job);          a worker's answer came back
 *   dx_connection_expire(c);              the deadline of what it waits for has passed
 *   dx_connection_close(c);
 *
 * One request is in work at a time; those behind it wait as bytes, at most DX_HEAD_MAX of
 * them and one read, then the socket is not read: the client's TCP holds the rest. A version is
 * pinned from a request's first byte to its reply's last one, or to the end of the connection.
 *
 * A body (server/bulk.h) is the other way round: it is read only while there is nothing of it left to
 * work on and nothing of its answer left to send, and its connection works on it a turn at a time.
 *
 * Every function may free the connection. All belong to the loop's thread.
 */
#ifndef DX_SERVER_CONNECTION_H
#define DX_SERVER_CONNECTION_H

#include "server/loop.h"

struct dx_bulk;

struct dx_connection {
    TAILQ_ENTRY(dx_connection) links; /* of loop->waits[wait] */
    TAILQ_ENTRY(dx_connection) turn;  /* of loop->turns */
    struct dx_loop *loop;
    int fd;
    enum dx_wait wait;
    bool reading; /* read_event is added */
    bool in_turns;
    bool in_head;
    bool eof;     /* the client sends no more; it may still read */
    bool closing; /* after the reply in work */
    int64_t deadline_ms;
    struct event read_event;
    struct event write_event;
    struct dx_request_head head;
    struct dx_version *version; /* NULL: no request begun */
    bool lent;                  /* it is the loop's pin (server/lent_pins.h), not one of its own */
    struct dx_job *job;         /* waits for it */
    struct dx_bulk *bulk;       /* the answer to a body that comes; NULL: none */
    bool bulk_counted;          /* in serving->list_bytes */
    bool bulk_begun;            /* its head is out */
    bool bulk_failed;           /* it is closed when what is in out_* has gone */
    bool bulk_ended;
    unsigned bulk_waits;          /* times in a row that it waited for something of ours */
    struct dx_buf pending;        /* read, not yet parsed */
    struct dx_buf out_head;       /* what the socket did not take yet */
    struct dx_buf out_body;       /* or */
    struct dx_cached *out_block;  /* NULL: none; of serving->hot, its body is out_kept */
    struct dx_hot_reply *out_hot; /* or NULL; held, out_kept is what is sent of it, head and all */
    struct dx_span out_kept;
    size_t held;       /* bytes of the body that are counted in serving->held_bytes */
    size_t sent;       /* of both */
    size_t lingered;   /* bytes thrown away */
    size_t match_size; /* If-None-Match of the request whose job runs; 0: none, or too long */
    uint8_t match[128];
};

void dx_connection_open(struct dx_loop *loop, int fd);
void dx_connection_turn(struct dx_connection *c);
void dx_connection_answered(struct dx_job *job);
void dx_connection_expire(struct dx_connection *c);
void dx_connection_close(struct dx_connection *c);

/* Drain: an idle one is closed, the others after their reply. */
void dx_connection_drain(struct dx_connection *c);

#endif
