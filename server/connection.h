/* SPDX-License-Identifier: Apache-2.0
 * connection.h - one client: bytes in, heads parsed, answers out, in order.
 *
 *   dx_connection_open(loop, &guest);     its socket is the connection's from here, also on failure
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
 * Its layers, each of which only calls those before it:
 *   stream         the socket
 *   exchange       one request: what it holds, and its end
 *   delivery       from an outcome to the reply
 *   toll           what a request costs who asks, and 429
 *   job_wait       answers of workers
 *   own_routes     healthz, readyz
 *   admin_routes   these, metrics and version, on the admin listener
 *   kept_reply     whole replies that are sent again
 *   single_answer  of a GET
 *   bulk_answer    of a POST
 *   connection     heads in, requests in order, what the loop calls
 *
 * Lower layers only shut the stream; what else a connection holds goes when the entry point ends. So every
 * function here may free the connection. All belong to the loop's thread.
 */
#ifndef DX_SERVER_CONNECTION_H
#define DX_SERVER_CONNECTION_H

#include "server/request_record.h"
#include "server/stream.h"

#include <stddef.h>

struct dx_bulk;

struct dx_connection {
    struct dx_stream stream;
    bool in_head;
    bool closing; /* after the reply in work */
    struct dx_request_head head;
    bool recorded; /* a request has begun, and `record` has not been given away */
    struct dx_request_record record;
    struct dx_buf target; /* of the request in work; empty unless it is to be logged */
    int64_t marked_us;    /* all before is in one of the record's stages */
    struct dx_who who;    /* asks: as of the last whole head. Its principal is of the table */
    bool under_table;     /* there is one in force */
    bool restricted;      /* who asks may not see all of it, or is not known */
    const struct dx_access_table *table; /* pinned for longer than a turn; NULL: the loop's does */
    double paid;                         /* by him for the request in work (server/toll.h) */
    struct dx_version *version;          /* NULL: no request begun */
    bool lent;            /* it is the loop's pin (server/lent_pins.h), not one of its own */
    struct dx_job *job;   /* waits for it */
    struct dx_bulk *bulk; /* the answer to a body that comes; NULL: none */
    bool bulk_counted;    /* in serving->list_bytes */
    bool bulk_begun;      /* its head is out */
    bool bulk_failed;     /* it is closed when what is in out_* has gone */
    bool bulk_ended;
    uint64_t bulk_paid;    /* names of it */
    bool bulk_owes;        /* it waits until it has paid for the names so far */
    unsigned bulk_waits;   /* times in a row that it waited for something of ours */
    struct dx_buf pending; /* read, not yet parsed */
    size_t match_size;     /* If-None-Match of the request whose job runs; 0: none, or too long */
    uint8_t match[128];
};

static inline struct dx_connection *dx_connection_of(struct dx_stream *s)
{
    return (struct dx_connection *)(void *)((char *)s - offsetof(struct dx_connection, stream));
}

void dx_connection_open(struct dx_loop *loop, const struct dx_guest *guest);
void dx_connection_turn(struct dx_connection *c);
void dx_connection_answered(struct dx_job *job);
void dx_connection_expire(struct dx_connection *c);
void dx_connection_close(struct dx_connection *c);

/* Drain: an idle one is closed, the others after their reply. */
void dx_connection_drain(struct dx_connection *c);

#endif
