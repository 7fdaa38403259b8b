/* SPDX-License-Identifier: Apache-2.0
 * range_reply.h - the one predicate that accepts what an HTTP server sent.
 *
 *   struct dx_reply r;
 *   dx_reply_begin(&r);
 *   dx_reply_header(&r, line);                      each header line as it came, status line too
 *   refusal = dx_range_reply_head(&r, &want);       before the first byte of the body is kept
 *   dx_reply_body(&r, n);                           n bytes of the body came
 *   refusal = dx_range_reply_check(&r, &want);      at the end: DX_REPLY_ACCEPTED or why not
 *   refusal = dx_whole_reply_check(&r, &want);      the same for a GET of a whole object
 *
 * A transfer that ended well says nothing: of 16 faulty replies to a range request libcurl calls
 * 13 a success. A range is accepted if and only if the status is 206; there is one Content-Range,
 * equal to what was asked, with the total that is expected; the body has that many bytes and
 * Content-Length, if there is one, says so; the ETag is there once, strong, and the expected one
 * (if one is expected); nothing is encoded and nothing is multipart. A field that matters and
 * comes twice is refused even with equal values: two readers would differ on which one counts.
 * Whether the bytes are the right ones is decided by checksums, above this.
 *
 * Everything here is pure; spans passed in are not kept. One thread at a time for one dx_reply.
 */
#ifndef DX_FETCH_RANGE_REPLY_H
#define DX_FETCH_RANGE_REPLY_H

#include "base/bytes.h"

#define DX_ETAG_MAX 128
#define DX_RETRY_AFTER_MAX 40
#define DX_REPLY_LINE_MAX 8192
#define DX_REPLY_LINES_MAX 200

enum dx_refusal {
    DX_REPLY_ACCEPTED,
    DX_REPLY_NOT_MODIFIED, /* 304 to a conditional GET: no refusal, there is no body */
    /* by status */
    DX_REPLY_NO_STATUS,
    DX_REPLY_RANGE_IGNORED, /* 200 where a range was asked */
    DX_REPLY_PARTIAL,       /* 206 where the whole was asked */
    DX_REPLY_REDIRECT,
    DX_REPLY_NOT_FOUND,        /* 404, 410 */
    DX_REPLY_FORBIDDEN,        /* 401, 403 */
    DX_REPLY_CHANGED,          /* 412: the object is no longer the one with that ETag */
    DX_REPLY_RANGE_IMPOSSIBLE, /* 416, or cut at the end: the object is shorter than that */
    DX_REPLY_THROTTLED,        /* 429, 503 */
    DX_REPLY_SERVER_ERROR,     /* 408 and other 5xx */
    DX_REPLY_STATUS,           /* any other */
    /* by header */
    DX_REPLY_MALFORMED,
    DX_REPLY_MULTIPART,
    DX_REPLY_NO_CONTENT_RANGE,
    DX_REPLY_CONTENT_RANGE_TWICE,
    DX_REPLY_CONTENT_RANGE_BAD, /* cannot be read, or contradicts itself */
    DX_REPLY_OTHER_RANGE,
    DX_REPLY_TOTAL_UNKNOWN,
    DX_REPLY_OTHER_TOTAL,
    DX_REPLY_LENGTH_TWICE,
    DX_REPLY_LENGTH_BAD,
    DX_REPLY_OTHER_LENGTH,
    DX_REPLY_LENGTH_AND_CHUNKED,
    DX_REPLY_LENGTH_UNKNOWN, /* whole GET that ends when the connection does: it may be cut */
    DX_REPLY_TOO_LARGE,
    DX_REPLY_ENCODED,
    DX_REPLY_TRANSFER_CODED,
    DX_REPLY_NO_ETAG,
    DX_REPLY_ETAG_TWICE,
    DX_REPLY_ETAG_WEAK,
    DX_REPLY_OTHER_ETAG,
    /* by body */
    DX_REPLY_BODY_SHORT,
    DX_REPLY_BODY_LONG,
    DX_REFUSAL_COUNT
};

/* What a reply said; fields are counted so that a second one is seen. */
struct dx_reply {
    unsigned status; /* 0: no status line yet */
    bool http1;      /* the end of a body without length can be a cut */
    bool malformed;
    bool chunked;
    bool transfer_coded; /* anything but chunked */
    bool encoded;
    bool multipart;
    bool range_bad;
    bool length_bad;
    bool total_known;
    bool etag_weak;
    bool in_body;
    unsigned lines;
    unsigned ranges;
    unsigned lengths;
    unsigned etags;
    unsigned transfer_encodings;
    uint64_t first, last, total; /* of Content-Range */
    uint64_t length;             /* of Content-Length */
    uint64_t received;
    char etag[DX_ETAG_MAX + 1];               /* with its quotes; "" if none or not usable */
    char retry_after[DX_RETRY_AFTER_MAX + 1]; /* as it came; "" if none */
    char date[DX_RETRY_AFTER_MAX + 1];        /* the same */
};

/* What was asked, and what is known of the object. */
struct dx_range_want {
    uint64_t offset;
    uint64_t size;    /* of a whole GET: the most that is taken */
    uint64_t total;   /* of the object; 0: not known */
    const char *etag; /* strong, with quotes; NULL: not known */
};

void dx_reply_begin(struct dx_reply *r);
void dx_reply_header(struct dx_reply *r, struct dx_span line); /* with or without CR LF */
/* More lines than a reply may have, interim replies and trailers too: do not read on, libcurl keeps
 * each of them. */
bool dx_reply_lines_full(const struct dx_reply *r);
void dx_reply_body(struct dx_reply *r, size_t n);

enum dx_refusal dx_range_reply_head(const struct dx_reply *r, const struct dx_range_want *want);
enum dx_refusal dx_range_reply_check(const struct dx_reply *r, const struct dx_range_want *want);
enum dx_refusal dx_whole_reply_head(const struct dx_reply *r, const struct dx_range_want *want);
enum dx_refusal dx_whole_reply_check(const struct dx_reply *r, const struct dx_range_want *want);

/* "content_range", "etag"...: a stable word for metrics; words: a sentence part for people. */
const char *dx_refusal_name(enum dx_refusal refusal);
const char *dx_refusal_words(enum dx_refusal refusal);

/* A strong entity tag with its quotes, of at most DX_ETAG_MAX bytes: safe in a header. */
bool dx_etag_strong(const char *etag);

#endif
