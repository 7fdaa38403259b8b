/* SPDX-License-Identifier: Apache-2.0
 * bulk.h - POST /v1/domains between its framing and its answers. No I/O.
 *
 *   rc = dx_bulk_new(&bulk, &head, head_bytes, &why);         0: why.status and why.words refuse it
 *   rc = dx_bulk_open(bulk, answers, version, &ask, &problem);   1; 0 and <0 as query/answers/answer.h
 *   for (;;) {
 *       used = dx_bulk_take(bulk, bytes);                     of what came from the client
 *       switch (dx_bulk_step(bulk, &out, &problem))           one batch of names, appended to out
 *         DX_BULK_READY    there is more to do
 *         DX_BULK_MORE     the body's next bytes are needed
 *         DX_BULK_LATER    something that names need is being read: again in a moment
 *         DX_BULK_END      out has the last of the answer
 *         DX_BULK_FAILED   problem
 *         DX_BULK_REFUSED  the body's framing is broken: dx_bulk_refusal
 *   }
 *   dx_bulk_free(&bulk);
 *
 * Bytes that take did not use are kept by the caller: they are for later, or behind DX_BULK_END the
 * next request. What is held is bounded: DX_BULK_BYTES, and in out twice DX_BULK_OUT_MAX and one
 * answer. A step takes some hundred microseconds. The version must stay pinned until free. One
 * thread.
 */
#ifndef DX_SERVER_ENGINE_BULK_H
#define DX_SERVER_ENGINE_BULK_H

#include "server/http/request_head.h"
#include "server/routes/answers.h"

#define DX_BULK_BYTES ((size_t)448 << 10) /* the most of it is the canonicaliser's */
#define DX_BULK_OUT_MAX ((size_t)64 << 10)

struct dx_bulk;

enum dx_bulk_step {
    DX_BULK_READY,
    DX_BULK_MORE,
    DX_BULK_LATER,
    DX_BULK_END,
    DX_BULK_FAILED,
    DX_BULK_REFUSED
};

struct dx_bulk_refusal {
    int status;
    const char *words; /* static */
};

int dx_bulk_new(struct dx_bulk **bulk, const struct dx_request_head *head, struct dx_span bytes,
                struct dx_bulk_refusal *why);
int dx_bulk_open(struct dx_bulk *bulk, const struct dx_answers *answers, struct dx_version *v,
                 const struct dx_ask *ask, struct dx_problem *problem);
void dx_bulk_free(struct dx_bulk **bulk);

size_t dx_bulk_take(struct dx_bulk *bulk, struct dx_span bytes);
enum dx_bulk_step dx_bulk_step(struct dx_bulk *bulk, struct dx_buf *out,
                               struct dx_problem *problem);
struct dx_bulk_refusal dx_bulk_refusal_of(const struct dx_bulk *bulk);

struct dx_bulk_counts {
    uint64_t names;      /* taken from the body so far */
    uint64_t body_bytes; /* of it, without its framing */
};

struct dx_bulk_counts dx_bulk_counts_of(const struct dx_bulk *bulk); /* of NULL: none */

const char *dx_bulk_content_type(const struct dx_bulk *bulk); /* of the answer */

/* The answer has lines that a problem can be one of. */
bool dx_bulk_has_lines(const struct dx_bulk *bulk);

#endif
