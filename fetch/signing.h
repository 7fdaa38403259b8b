/* SPDX-License-Identifier: Apache-2.0
 * signing.h - who signs the requests of an S3 root: credentials that renew themselves, and the
 * store's clock.
 *
 *   rc = dx_signing_open(&s, region, profile, &err);      finds credentials, or says what to set
 *   struct dx_signing_request r = { "GET", url, DX_SHA256_OF_NOTHING };
 *   rc = dx_signing_apply(s, &r, &headers, &err);         adds date, token, Authorization
 *   again = dx_signing_refused(s, "ExpiredToken", "Sat, 21 Nov 2026 10:00:00 GMT");
 *                                     after a 403: true if one more try may be signed differently
 *   dx_signing_close(&s);
 *
 * Credentials come from the places that credentials.h lists. Those that expire are renewed five
 * minutes before, by one thread of their own while all others go on with the old ones; if the
 * service is down the old ones are used until they are refused, and the next to be signed waits
 * for the service, or fails with its words. A refusal because of the clock teaches the store's.
 *
 * The signature is ours (sigv4.h says why it is not libcurl's: do not set CURLOPT_AWS_SIGV4).
 *
 * Safe from several threads at once. apply may block for a renewal when nothing valid is left,
 * unless the request is to be signed at once; refused does not block.
 */
#ifndef DX_FETCH_SIGNING_H
#define DX_FETCH_SIGNING_H

#include "base/error.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

struct dx_signing;

/* Of no bytes: the x-amz-content-sha256 of a GET. */
#define DX_SHA256_OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct dx_signing_request {
    const char *method;
    const char *url; /* its query sorted by name, with a '=' for each name */
    const char *payload_sha256;
    bool at_once; /* DX_E_BUSY instead of a wait: come again in a moment */
};

/* profile: NULL: AWS_PROFILE, else "default". */
int dx_signing_open(struct dx_signing **s, const char *region, const char *profile,
                    struct dx_error *err);
void dx_signing_close(struct dx_signing **s);

/* Appends to *headers (also when it is NULL). Call it last: what is in the list is signed. */
int dx_signing_apply(struct dx_signing *s, const struct dx_signing_request *request,
                     struct curl_slist **headers, struct dx_error *err);

/* date: of the reply, "" if it has none. */
bool dx_signing_refused(struct dx_signing *s, const char *s3_code, const char *date);

/* For tests: when the credentials expire (0: not said), how far the store's clock is ahead. */
int64_t dx_signing_expires_s(struct dx_signing *s);
int64_t dx_signing_offset_s(struct dx_signing *s);

#endif
