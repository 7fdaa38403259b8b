/* SPDX-License-Identifier: Apache-2.0
 * request_head.h - a strict, incremental parser of HTTP/1.1 request heads. No I/O.
 *
 *   struct dx_request_head h;
 *   dx_request_head_begin(&h);
 *   h.names = &names;                                     of headers of ours; NULL: none
 *   h.memory = &memory;                                   of fields that were read before; NULL: none
 *   verdict = dx_request_head_parse(&h, bytes_so_far);    from the head's first byte
 *     DX_HEAD_MORE    call again with the same bytes and more behind them
 *     DX_HEAD_DONE    h.size bytes are the head; what follows is the next request
 *     DX_HEAD_REJECT  h.reject_status and h.reject_reason; close the connection
 *
 * The bytes may lie elsewhere at each call; only their content must continue. The
 * verdict and where it falls do not depend on how the bytes were cut into calls. Spans
 * are given as offsets and lengths from the head's first byte.
 *
 * Accepted is GET and HEAD without a body, POST of DX_HEAD_POST_PATH with one, and nothing else, so
 * that no other reader of the same bytes can see another request in them:
 *   400  bare CR or LF, folded lines, control bytes, names that are not tokens, space
 *        before the colon, other than one Host (HTTP/1.1) or more than one (HTTP/1.0),
 *        a Host that is not host[:port], spaces, fragments or non-ASCII bytes in the target;
 *        of GET and HEAD any Transfer-Encoding, and a Content-Length that is not a single "0";
 *        of POST a Content-Length that is not a plain number, a Transfer-Encoding other than
 *        "chunked", either of them twice, or both
 *   405  another method, or POST elsewhere: behind the target, which is valid then and empty
 *        where it names no resource ("*", that of CONNECT)     414  target over DX_TARGET_MAX
 *   411  a POST with neither                                   413  over DX_BODY_SIZE_MAX
 *   415  a POST with a Content-Encoding                        417  one with another Expect
 *   431  fields over DX_HEAD_FIELDS_MAX bytes or DX_HEAD_FIELD_COUNT_MAX in number
 *   501  a method over DX_METHOD_MAX     505  not HTTP/1.0 or HTTP/1.1; a POST of HTTP/1.0
 * One empty line before the request line is skipped (RFC 9112 2.2). The absolute form
 * is accepted; target is then what follows the authority.
 * One thread at a time.
 */
#ifndef DX_SERVER_HTTP_REQUEST_HEAD_H
#define DX_SERVER_HTTP_REQUEST_HEAD_H

#include "base/bytes.h"

/* A URL of DX_URL_MAX bytes and room for the path around it. */
#define DX_TARGET_MAX (8192 + 256)
#define DX_HEAD_FIELDS_MAX (16 * 1024) /* what load balancers send, with room (notes: M5) */
#define DX_HEAD_FIELD_COUNT_MAX 100
#define DX_METHOD_MAX 24 /* longer than any registered method */

/* No head is larger: empty line, request line, fields. */
#define DX_HEAD_MAX (2 + DX_METHOD_MAX + 1 + DX_TARGET_MAX + 11 + DX_HEAD_FIELDS_MAX)

enum dx_head_verdict { DX_HEAD_MORE, DX_HEAD_DONE, DX_HEAD_REJECT };

enum dx_method { DX_METHOD_NONE, DX_METHOD_GET, DX_METHOD_HEAD, DX_METHOD_POST };

/* The path of POST, also without "/v1". Bodies anywhere else are refused before they come. */
#define DX_HEAD_POST_PATH "/v1/domains"

#define DX_BODY_SIZE_MAX (UINT64_C(1) << 40) /* no list of names is longer */

struct dx_head_span {
    uint32_t at;
    uint32_t size;
};

/* Names of fields that proxies add, as they are set; lower case, NULL: none. */
struct dx_head_names {
    const char *principal;
    const char *address;
};

struct dx_head_memory;

/* Lines of the address header. A proxy may add one of its own below the client's; the last ones
 * matter. */
#define DX_HEAD_ADDRESSES 4

struct dx_request_head {
    const struct dx_head_names *names;
    struct dx_head_memory *memory;
    /* Valid after DX_HEAD_DONE; method also after a reject that came behind it. */
    enum dx_method method;
    struct dx_head_span target; /* origin form: path and query; never empty unless is_bare */
    bool bare_authority;        /* "http://host" or "http://host?q": the path is "/" */
    bool http_1_0;
    bool close; /* the client wants, or its version needs, the connection closed */
    struct dx_head_span if_none_match;   /* size 0: absent */
    struct dx_head_span accept_encoding; /* size 0: absent */
    bool accept_encoding_twice;
    struct dx_head_span accept; /* size 0: absent */
    bool accept_twice;
    bool if_none_match_twice; /* lists over several lines are not joined: ignore it */
    /* The caller (server/policy/identity.h), and the trace of the request. Counts are of the fields
     * that came; a span is of the last one. Their values are secret: no log, no message has
     * them. */
    struct dx_head_span authorization, principal, traceparent, host;
    uint32_t authorization_count, principal_count, traceparent_count;
    struct dx_head_span address[DX_HEAD_ADDRESSES]; /* field number i in place i % ADDRESSES */
    uint32_t address_count;
    struct dx_head_span content_type; /* of POST; size 0: absent */
    bool chunked;                     /* of POST; else body_size bytes follow the head */
    bool expects;                     /* of POST: waits for "100 Continue" */
    uint64_t body_size;
    uint32_t size;

    int reject_status;
    const char *reject_reason; /* static */

    /* Where the parser stands. */
    int state;
    uint32_t at;
    uint32_t mark;      /* first byte of the token being read */
    uint32_t fields_at; /* first byte behind the request line */
    uint32_t value_end; /* behind the last byte of the value that is not white space */
    struct dx_head_span name;
    uint32_t field_count;
    uint32_t host_count;
    uint32_t length_count;
    uint32_t coding_count;
};

/* Most clients send the same fields with each GET, so those of the last one are looked up as a whole, by their bytes, and read only
 * where they differ. Begins as zeros, and serves any number of heads, one after the other, that have the same names.
 * Fields with Authorization are not remembered: a token stays no longer than its request. */
#define DX_HEAD_MEMORY_MAX 512

struct dx_head_memory {
    uint32_t size; /* of the text, with the empty line; 0: nothing */
    uint8_t text[DX_HEAD_MEMORY_MAX];
    struct dx_request_head head; /* as it was read */
};

void dx_request_head_begin(struct dx_request_head *h);
enum dx_head_verdict dx_request_head_parse(struct dx_request_head *h, struct dx_span bytes);

static inline struct dx_span dx_head_slice(struct dx_span bytes, struct dx_head_span s)
{
    return (struct dx_span){ bytes.data + s.at, s.size };
}

/* One element of a comma-separated list, trimmed; false at the end. Empty elements are skipped. */
bool dx_head_list_next(struct dx_span *rest, struct dx_span *element);

#endif
