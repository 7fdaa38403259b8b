/* SPDX-License-Identifier: Apache-2.0
 * reply.h - from an outcome to the bytes of an HTTP reply. The one place that knows status codes.
 *
 *   struct dx_reply r = { .status = 200, .body_size = body.size, ... };
 *   dx_reply_head(&r, &out);                       appends the head, empty line included
 *   status = dx_reply_problem(&problem, 0, true, &body);    RFC 9457 document into body
 *   n = dx_reply_etag(body, etag);                 strong: the hash of exactly these bytes
 *
 * Nothing a client sent goes into a head. No I/O; any thread.
 */
#ifndef DX_SERVER_HTTP_REPLY_H
#define DX_SERVER_HTTP_REPLY_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/civil_time.h"
#include "query/view/problem.h"

/* Begins the type of every problem; the slug ends it. docs/API.md lists them. */
#define DX_PROBLEM_TYPE "urn:domaindex:problem:"

/* Begins the instance of a failure; the request's number ends it, in hex as the log writes it. */
#define DX_PROBLEM_INSTANCE "urn:domaindex:request:"

#define DX_ETAG_TEXT 40   /* with quotes and NUL */
#define DX_ORIGIN_MAX 200 /* bytes of dx_reply.origin */
#define DX_REPLY_HEAD_MAX 2048
#define DX_RECEIPT_MAX 24576 /* of dx_reply.receipt, beside that */
#define DX_REPLY_SMALL \
    4096 /* a body that is copied behind its head costs less than a second piece */

struct dx_reply {
    int status;
    const char *content_type; /* NULL: no body and no Content-Length (304) */
    const char *disposition;  /* NULL: none; else a Content-Disposition */
    size_t body_size;
    bool chunked;        /* the body's size is not known: it comes in chunks */
    bool until_close;    /* nor is it, and the end of the connection is its end */
    const char *date;    /* from dx_http_date */
    const char *version; /* NULL: unknown */
    const char *etag;    /* NULL: none */
    const char *caching; /* Cache-Control of what has an etag; NULL: it has to be asked for again */
    const char *policy;  /* Content-Security-Policy; NULL: nothing may be run, loaded or framed */
    const char *coding;  /* Content-Encoding; NULL: none */
    bool negotiated;     /* Accept-Encoding has a say in it */
    bool by_accept;      /* so has Accept */
    const char *origin;  /* whose scripts may read it; NULL: no other origin's */
    const char *methods; /* of a 204: those that such scripts may use; else NULL */
    const char *vary;    /* fields that name the caller; NULL: the reply is for everybody */
    const char *allow;   /* of a 405: the methods there are */
    const char *location; /* of a 303 */
    const char *timing;   /* NULL: none; else a Server-Timing */
    unsigned retry_s;     /* 0: as the status has it: 1 of a 429 and a 503, else none */
    uint64_t untimed;     /* rows that were left out because they have no time; 0: none */
    bool more;            /* rows than the limit let in */
    bool by_paths;        /* rows were searched for by the order of paths, not by keys */
    struct dx_span
        receipt; /* a signed statement of this reply (server/policy/receipt.h); size 0: none */
    bool close;
};

void dx_reply_head(const struct dx_reply *r, struct dx_buf *out);

/* Where the text of the date begins in the head of a reply with this status. */
size_t dx_reply_date_at(int status);

/* Clears body and writes the document; returns the status. number: of the request, under which the
 * log has details of a failure; 0: it has none. words false: the caller must not get the problem's
 * detail. Without memory for it: 503, and an empty body. */
int dx_reply_problem(const struct dx_problem *problem, uint64_t number, bool words,
                     struct dx_buf *body);

/* For what goes wrong in HTTP itself: status, slug and title from the status alone. Without memory the body is empty. */
void dx_reply_http_problem(int status, const char *detail, struct dx_buf *body);

/* The slug of that; static. */
const char *dx_reply_http_slug(int status);

void dx_reply_etag(struct dx_span body, char etag[DX_ETAG_TEXT]);

/* Whether a field value of If-None-Match names the etag, by weak comparison (RFC 9110 13.1.2). */
bool dx_reply_etag_matches(struct dx_span field, const char *etag);

/* 1 to 4, others for neighbouring n: those who are refused together should not come back
 * together. */
static inline unsigned dx_retry_spread_s(uint64_t n)
{
    return 1 + (unsigned)(n * UINT64_C(0x9e3779b97f4a7c15) >> 62);
}

#endif
