/* SPDX-License-Identifier: Apache-2.0
 * delivery.h - from the outcome of a request to its reply, on its way to the client.
 *
 *   dx_deliver_answer(&x);                                       what query/answers/answer.h left
 *   done = dx_deliver_cached(&x);                                an answer that is kept
 *   dx_deliver_problem(c, &problem);
 *   dx_deliver_refusal(c, 408, "the request head did not arrive in time");
 *   dx_deliver(c, &(struct dx_delivery){ .status = 200, ... });
 *
 *   dx_deliver_failure(c, &problem);
 *   dx_delivery_write_failure(c, &problem, &body);                   the document alone, for a line of an answer
 *
 * Each sends one reply, or begins to, and leaves the connection at what comes next
 * (server/engine/exchange.h). Nothing that was computed from a damaged version is sent, and nothing
 * large while too much waits for slow clients. Of the loop's thread; what is sent may lie in
 * loop->body.
 */
#ifndef DX_SERVER_ENGINE_DELIVERY_H
#define DX_SERVER_ENGINE_DELIVERY_H

#include "server/engine/exchange.h"

struct dx_exchange;

struct dx_delivery {
    int status;
    const char *content_type; /* NULL: no body (304) */
    const char *location;     /* of a 303 */
    const char *etag;         /* NULL: none */
    const char *caching;      /* as in server/http/reply.h */
    const char *policy;       /* as in server/http/reply.h */
    uint64_t untimed;         /* as in server/http/reply.h */
    bool more;                /* as in server/http/reply.h */
    bool by_paths;            /* likewise */
    unsigned retry_s;         /* as in server/http/reply.h */
    struct dx_span payload;
    struct dx_span subject;   /* the domain that it is about; size 0: none */
    enum dx_coding coding;    /* that it is in */
    struct dx_buf *body;      /* that it lies in: its storage may be exchanged */
    struct dx_cached **block; /* or; taken over if it has to wait */
    struct dx_span keep;      /* target that a 200 or 404 is kept under; size 0: it is not kept */
};

void dx_deliver(struct dx_connection *c, const struct dx_delivery *d);
void dx_deliver_body(struct dx_connection *c, const char *content_type, struct dx_buf *body);
void dx_deliver_unchanged(struct dx_connection *c, const char *etag); /* 304 */
void dx_deliver_problem(struct dx_connection *c, const struct dx_problem *problem);

/* Of ours: an error from below, or one that makes an answer untrustworthy. It is logged with the
 * number of the request, one line a second a loop: a broken file must not fill a disk. Restricted
 * callers get no more than that number, since an error names files and places. */
void dx_deliver_failure(struct dx_connection *c, const struct dx_problem *problem);
void dx_deliver_no_answer(struct dx_connection *c, int rc,
                          const struct dx_problem *problem); /* by rc */
void dx_delivery_write_failure(struct dx_connection *c, const struct dx_problem *problem,
                               struct dx_buf *body);

/* HTTP itself went wrong: nothing after this can be trusted to be a request. */
void dx_deliver_refusal(struct dx_connection *c, int status, const char *words);
void dx_deliver_overloaded(struct dx_connection *c, const char *why);

/* Whether nothing may be sent of what was computed from the version, or nothing that may have to be
 * held; then the reason is sent. */
bool dx_delivery_is_broken(struct dx_connection *c);
bool dx_delivery_is_overloaded(struct dx_connection *c, size_t bytes);
bool dx_delivery_has_room(const struct dx_connection *c, size_t bytes);
void dx_deliver_no_room(struct dx_connection *c);

/* The body of a job that is done counts as one that waits until its loop takes it up; beyond
 * --reply-memory it is dropped. Any thread. */
void dx_delivery_hold(struct dx_serving *serving, struct dx_job *job);
void dx_delivery_unhold(struct dx_serving *serving, struct dx_job *job);

/* What the record says of a reply that is about to be sent, and how long it took until now. */
void dx_delivery_record(struct dx_connection *c, int status);

void dx_deliver_answer(const struct dx_exchange *x);

/* What is cached under x->key, by the same rules; false: nothing is. */
bool dx_deliver_cached(const struct dx_exchange *x);

#endif
