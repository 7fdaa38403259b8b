/* SPDX-License-Identifier: Apache-2.0
 * sigv4.h - Signature Version 4 of a request, in its Authorization header. Pure.
 *
 *   struct dx_sigv4 sign = { key_id, secret, "us-east-1", "s3", unix_s };
 *   dx_sigv4_date(unix_s, date);                      goes into x-amz-date, which is one of headers
 *   struct dx_sigv4_request r = { "GET", path, query, headers, count, payload_sha256 };
 *   ok = dx_sigv4_authorization(&sign, &r, &out);     "AWS4-HMAC-SHA256 Credential=..., ..."
 *
 * path and query are those of the URL: percent-encoded with all but the unreserved characters,
 * the query sorted by name with a '=' for each ("" if there is none): they are signed as they
 * stand. Headers come in any order and case; all of them are signed, and host and x-amz-date have
 * to be among them.
 *
 * Not left to libcurl, which can sign too: 7.88 sends x-amz-date twice when it is given one (and
 * without one there is no way to sign with the store's clock), orders headers by whole lines, and
 * signs headers that it does not send. Checked with the AWS test suite (tests/unit/test_s3_sign).
 * Any thread.
 */
#ifndef DX_FETCH_SIGV4_H
#define DX_FETCH_SIGV4_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_SIGV4_DATE 17 /* "20150830T123600Z" and NUL */
#define DX_SIGV4_HEADERS_MAX 32

struct dx_sigv4 {
    const char *key_id;
    const char *secret;
    const char *region;
    const char *service;
    int64_t unix_s;
};

struct dx_sigv4_header {
    struct dx_span name;
    struct dx_span value;
};

struct dx_sigv4_request {
    const char *method;
    struct dx_span path;
    struct dx_span query;
    const struct dx_sigv4_header *headers;
    size_t header_count;
    const char *payload_sha256; /* in hex, or UNSIGNED-PAYLOAD */
};

void dx_sigv4_date(int64_t unix_s, char date[DX_SIGV4_DATE]);

/* Appends the value of the header, without NUL. false: out of memory or too many headers. */
bool dx_sigv4_authorization(const struct dx_sigv4 *sign, const struct dx_sigv4_request *request,
                            struct dx_buf *out);

/* What is hashed and signed, for tests; *signed_names: "host;x-amz-date". */
bool dx_sigv4_canonical(const struct dx_sigv4_request *request, struct dx_buf *out,
                        struct dx_buf *signed_names);

#endif
