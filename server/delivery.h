/* SPDX-License-Identifier: Apache-2.0
 * delivery.h - from the outcome of a request to its reply, on its way to the client.
 *
 *   dx_deliver_answer(c, rc, &body, &problem, match, key, &ask);     what query/answer.h left
 *   done = dx_deliver_kept(c, key, match);                           an answer that is kept
 *   dx_deliver_problem(c, &problem);
 *   dx_deliver_refusal(c, 408, "the request head did not arrive in time");
 *   dx_deliver(c, &(struct dx_delivery){ .status = 200, ... });
 *
 *   dx_deliver_failure(c, &problem);
 *   dx_delivery_write_failure(c, &problem, &body);                   the document alone, for a line of an answer
 *
 * Each sends one reply, or begins to, and leaves the connection at what comes next (server/exchange.h). Nothing
 * that was computed from a damaged version is sent, and nothing large while too much waits for slow clients.
 * Of the loop's thread; what is sent may lie in loop->body.
 */
#ifndef DX_SERVER_DELIVERY_H
#define DX_SERVER_DELIVERY_H

#include "server/connection.h"

struct dx_delivery {
    int status;
    const char *content_type; /* NULL: no body (304) */
    const char *disposition;  /* NULL: none */
    const char *etag;         /* NULL: none */
    unsigned retry_s;         /* as in server/reply.h */
    struct dx_span payload;
    struct dx_buf *body;      /* that it lies in: its storage may be exchanged */
    struct dx_cached **block; /* or; taken over if it has to wait */
};

void dx_deliver(struct dx_connection *c, const struct dx_delivery *d);
void dx_deliver_body(struct dx_connection *c, const char *content_type, struct dx_buf *body);
void dx_deliver_unchanged(struct dx_connection *c, const char *etag); /* 304 */
void dx_deliver_problem(struct dx_connection *c, const struct dx_problem *problem);

/* Of ours: an error from below, or what makes an answer not to be believed. It is logged with the number of the
 * request, one line a second a loop: a broken file must not fill a disk. Who may not see everything is told
 * no more than that number, since an error names files and places. */
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

/* What the record says of a reply that is about to be sent, and how long it took until now. */
void dx_delivery_record(struct dx_connection *c, int status);

/* match: value of If-None-Match; key: NULL if the answer is none that is kept. */
void dx_deliver_answer(struct dx_connection *c, int rc, struct dx_buf *body,
                       const struct dx_problem *problem, struct dx_span match,
                       const struct dx_answer_key *key, const struct dx_ask *ask);

/* By the same rules; false: there is none. */
bool dx_deliver_kept(struct dx_connection *c, const struct dx_answer_key *key,
                     struct dx_span match);

#endif
