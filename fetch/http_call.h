/* SPDX-License-Identifier: Apache-2.0
 * http_call.h - one blocking request with any method and a body; for stores and metadata services.
 *
 *   rc = dx_http_client_new(&client, &settings, &err);
 *   struct dx_http_call call = DX_HTTP_CALL_INIT("PUT", url, deadline_ms);
 *   call.headers = list;  call.bytes = text;                 or call.fd, offset, size
 *   rc = dx_http_call_run(client, &call, &err);
 *   DX_OK: there is a whole reply: call.status, call.body...; whether it is a good one is for the
 *          caller to say. Else none came, and call.sent says whether the store may have acted.
 *   dx_http_call_release(&call);
 *   dx_http_client_free(&client);
 *
 * A request is made once: libcurl is kept from repeating one on another connection by itself, since
 * who sends conditions has to know of each attempt. Redirections are not followed. Connections stay
 * open for the next call. The call owns its headers; the caller keeps bytes and fd, which is read
 * by position. Errors name method and URL without its query.
 *
 * Any thread; a call is of one thread.
 */
#ifndef DX_FETCH_HTTP_CALL_H
#define DX_FETCH_HTTP_CALL_H

#include "base/buf.h"
#include "base/error.h"
#include "fetch/range_reply.h"

#include <curl/curl.h>

#define DX_HTTP_CALL_CAP 65536 /* of a reply unless set otherwise */
#define DX_HTTP_DATE_MAX 40
#define DX_HTTP_NONCE_MAX 64

struct dx_http_client;
struct dx_retry_watch;

struct dx_http_client_settings {
    unsigned connect_ms; /* DNS, TCP and TLS */
    unsigned stall_ms;   /* without a byte while the body is sent */
    unsigned reply_ms;   /* from its last byte to the first of the reply, and between those */
    bool direct;         /* through no proxy, whatever the environment says */
    const char *ca_file; /* NULL: the system's; copied */
    const char
        *unix_socket; /* NULL; else connections go there, whatever the URL's host is; copied */
    bool insecure;    /* certificates are not checked: only if a person says so */
};

struct dx_http_call {
    const char *method;
    const char *url;
    struct curl_slist *headers;
    uint64_t deadline_ms;         /* on the clock of dx_clock_ms */
    struct dx_retry_watch *watch; /* NULL, or where it is reported that no reply comes */
    bool has_body;                /* also of no bytes: Content-Length: 0 */
    struct dx_span bytes;
    int fd; /* -1: bytes */
    uint64_t offset;
    uint64_t size;
    unsigned reply_ms; /* 0: that of the settings */
    /* results */
    bool sent; /* all of the request may have arrived */
    unsigned status;
    struct dx_reply head;
    struct dx_buf body; /* its max is the cap: a longer one is DX_E_LIMIT */
    char date[DX_HTTP_DATE_MAX];
    char modified[DX_HTTP_DATE_MAX]; /* Last-Modified */
    char nonce[DX_HTTP_NONCE_MAX];   /* x-amz-meta-dx-nonce; "" if none or odd */
};

#define DX_HTTP_CALL_INIT(method_, url_, deadline_)                               \
    {                                                                             \
        .method = (method_), .url = (url_), .deadline_ms = (deadline_), .fd = -1, \
        .body = DX_BUF_INIT(DX_HTTP_CALL_CAP)                                     \
    }

int dx_http_client_new(struct dx_http_client **client,
                       const struct dx_http_client_settings *settings, struct dx_error *err);
void dx_http_client_free(struct dx_http_client **client);

int dx_http_call_run(struct dx_http_client *client, struct dx_http_call *call,
                     struct dx_error *err);
void dx_http_call_release(struct dx_http_call *call);

/* Puts "name: value" at the end of a list; false: out of memory, or control bytes in it. */
bool dx_http_header_ok(const char *value); /* no control characters */
bool dx_http_header_add(struct curl_slist **list, const char *name, const char *value);

/* "libcurl/7.88.1 OpenSSL/3.0.11 ...", for --version. */
const char *dx_http_library(void);

#endif
