/* SPDX-License-Identifier: Apache-2.0
 * reply_head.h - the head of an HTTP/1.1 reply, strictly and bounded.
 *
 *   size_t size = dx_reply_head_size(bytes, from);       0: its end is not there yet
 *   rc = dx_reply_head_parse(bytes up to size, &head, &err);
 *
 * What a server under load sends is bytes from outside. Accepted: "HTTP/1.1" or "HTTP/1.0", a
 * status of three digits from 200 on, lines that end with CRLF, names of token characters with a
 * colon right behind them, values without control characters but tab. Refused with a message: all
 * else, a head of more than DX_REPLY_HEAD_MAX bytes, two Content-Length, one that is not a number
 * below 2^53, a Transfer-Encoding other than one "chunked" (chunked_body.h), one beside a Content-Length
 * or of HTTP/1.0, and a reply that says no length. 204 and 304 have no body. Pure functions; any thread.
 */
#ifndef DX_BUILDER_LOAD_REPLY_HEAD_H
#define DX_BUILDER_LOAD_REPLY_HEAD_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_REPLY_HEAD_MAX 16384

struct dx_reply_head {
    unsigned status;
    uint64_t body_size; /* of a chunked body: 0 until its end is there */
    bool close;         /* the server closes behind this reply */
    bool chunked;
};

/* Bytes of the head with the empty line behind it; the first `from` bytes were looked at before. */
size_t dx_reply_head_size(struct dx_span bytes, size_t from);

/* `head` is the whole of it, as long as dx_reply_head_size said. */
int dx_reply_head_parse(struct dx_span head, struct dx_reply_head *out, struct dx_error *err);

#endif
