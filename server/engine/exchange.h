/* SPDX-License-Identifier: Apache-2.0
 * exchange.h - one request of a connection and its reply: what it holds meanwhile, its record, and
 * its end.
 *
 *   dx_exchange_begin(c);          a head begins: the current version is pinned
 *   dx_exchange_head_read(c);      it is whole
 *   rc = dx_exchange_identify(c, head, &problem);     1: c->who is set; 0: no answer for this caller
 *   dx_exchange_find_version(&x);
 *   dx_exchange_own_pin(c);        the pins are for longer than this turn, or for another version
 *   dx_exchange_mark(c, stage);    what passed until now went into this stage
 *   dx_exchange_sent(c, sent);     what dx_stream_send said of the whole reply; DX_SENT_ALL ends it
 *   dx_exchange_drop(c);           the end of the connection, whatever has begun; again is fine
 *
 * After the end the connection is idle, or lingers, or is shut, and the record was given to
 * server/observe/request_log.h and request_counts.h. Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_EXCHANGE_H
#define DX_SERVER_ENGINE_EXCHANGE_H

#include "server/engine/list_progress.h"
#include "server/engine/stream.h"
#include "server/observe/request_record.h"

#include <stddef.h>

struct dx_bulk;
struct dx_row_reply;

struct dx_connection {
    struct dx_stream stream;
    bool in_head;
    bool closing;      /* after the reply in work */
    const char *allow; /* of a 405: what the resource takes */
    bool negotiates;   /* replies to this client depend on its Accept-Encoding */
    bool by_accept;    /* or on its Accept */
    struct dx_request_head head;
    bool recorded; /* a request has begun, and `record` has not been given away */
    struct dx_request_record record;
    struct dx_address client; /* at the other end, or for whom a PROXY header says it is */
    bool needs_proxy_header;  /* which has not come yet */
    bool needs_handshake;     /* of TLS, which is not done */
    struct dx_buf target;     /* of the request in work; empty unless it is to be logged */
    bool of_version; /* the request names its version, and nothing else is in its way into caches */
    struct dx_buf receipt_of; /* the same; empty unless a receipt is wanted */
    int64_t marked_us;        /* all before is in one of the record's stages */
    struct dx_who who;        /* asks: as of the last whole head. Its principal is of the table */
    bool under_table;         /* there is one in force */
    bool restricted;          /* the client may not see all of it, or is not known */
    const struct dx_access_table *table; /* pinned for longer than a turn; NULL: the loop's does */
    double paid;                /* by the client for the request in work (server/engine/charge.h) */
    struct dx_version *version; /* NULL: no request begun */
    bool loop_ref; /* it is the loop's pin (server/cache/loop_versions.h), not one of its own */
    struct dx_job *job;        /* waits for it */
    struct dx_bulk *bulk;      /* the answer to a body that comes; NULL: none */
    uint64_t bulk_paid;        /* names of it */
    struct dx_row_reply *rows; /* rows as a stream; NULL: none, or its job has it */
    /* Of either: an answer in parts (server/engine/chunked_reply.h). */
    size_t list_counted;                /* bytes of it in serving->list_bytes; 0: there is none */
    struct dx_admission_stream list_of; /* and whose it is */
    bool list_begun;                    /* its head is out */
    bool list_failed;                   /* it is closed when what is in out_* has gone */
    bool list_ended;
    bool list_owes;      /* it waits until it has paid for what was done so far */
    unsigned list_waits; /* times in a row that it waited for something of ours */
    struct dx_list_progress list_progress;
    struct dx_buf pending; /* read, not yet parsed */
    size_t match_size;     /* If-None-Match of the request whose job runs; 0: none, or too long */
    uint8_t match[128];
};

static inline struct dx_connection *dx_connection_of(struct dx_stream *s)
{
    return (struct dx_connection *)(void *)((char *)s - offsetof(struct dx_connection, stream));
}

/* A request at work during one turn of the loop: what the functions on its way hand to each
 * other. */
struct dx_exchange {
    struct dx_connection *c;
    struct dx_ask *ask;            /* the loop's, or its job's */
    struct dx_span target, match;  /* of its head; match: value of If-None-Match */
    struct dx_span kept_as;        /* target and coding: what a whole reply is kept under */
    struct dx_encoding *encoding;  /* of body, by its job; NULL: not yet */
    const struct dx_body_key *key; /* that its body is cached under; NULL: it is not */
    bool keeps_reply;              /* whole, under target (server/engine/reply_reuse.h) */

    /* Of the job that it may become. */
    struct dx_task *task; /* begun here already; NULL: not */
    uint64_t deadline_ms;
    bool cold;   /* its version must be fetched */
    double paid; /* by the client, which is charged for the rest when it is known; 0: nothing is */

    int rc; /* as query/answers/answer.h, or DX_ASK_NOT_OPEN */
    struct dx_answer_summary summary;
    struct dx_buf *body;
    struct dx_problem *problem;
};

void dx_exchange_begin(struct dx_connection *c);
void dx_exchange_head_read(struct dx_connection *c);
int dx_exchange_identify(struct dx_connection *c, struct dx_span head, struct dx_problem *problem);

/* The same, again, of the caller of a request that lasts, with a pin of its own: 0: it must get no
 * more. */
int dx_exchange_may_go_on(struct dx_connection *c, struct dx_problem *problem);
void dx_exchange_own_pin(struct dx_connection *c);

/* What the caller may see; NULL: everything. */
static inline const struct dx_scope *dx_exchange_scope(const struct dx_connection *c)
{
    return c->who.principal == NULL ? NULL : c->who.principal->scope;
}

/* Resolves x->ask and pins the version that shall answer: the current one, or the one that is
 * named. x->rc: 1; DX_ASK_NOT_OPEN: a worker has to fetch it; else as query/answers/answer.h. */
void dx_exchange_find_version(struct dx_exchange *x);

/* Why there is no version: the lease has run out, so that a collector may remove what is open
 * here. */
int dx_exchange_no_version(struct dx_problem *problem);

void dx_exchange_mark(struct dx_connection *c, enum dx_stage stage);
void dx_exchange_sent(struct dx_connection *c, enum dx_sent sent);
void dx_exchange_drop(struct dx_connection *c);

#endif
