/* SPDX-License-Identifier: Apache-2.0
 * signing.h - who signs the requests of an S3 root: credentials that renew themselves, and the
 * store's clock.
 *
 *   rc = dx_signing_open(&s, region, profile, &err);      finds credentials, or says what to set
 *   rc = dx_signing_apply(s, easy, &headers, DX_SHA256_OF_NOTHING, &err);
 *                                     a libcurl handle: sets SigV4, user, token and date
 *   again = dx_signing_refused(s, "ExpiredToken", "Sat, 21 Nov 2026 10:00:00 GMT");
 *                                     after a 403: true if one more try may be signed differently
 *   dx_signing_close(&s);
 *
 * Credentials come from, in this order: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
 * AWS_SESSION_TOKEN; the profile in AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials; a
 * container's endpoint (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, or _FULL_URI with
 * AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE); the metadata service of an instance (IMDSv2,
 * not if AWS_EC2_METADATA_DISABLED is true). Those that expire are renewed five minutes before, by
 * one thread while the others go on with the old ones; if the service is down the old ones are
 * used until they are refused.
 *
 * Safe from several threads at once. apply may block for a renewal when nothing valid is left.
 */
#ifndef DX_FETCH_SIGNING_H
#define DX_FETCH_SIGNING_H

#include "base/error.h"

#include <curl/curl.h>

struct dx_signing;

/* Of no bytes: the x-amz-content-sha256 of a GET. */
#define DX_SHA256_OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

int dx_signing_open(struct dx_signing **s, const char *region, const char *profile,
                    struct dx_error *err);
void dx_signing_close(struct dx_signing **s);

/* Appends to *headers (also when it is NULL). The URL of easy must be set before; its query, if
 * any, sorted by name and with a '=' for each name: libcurl signs it as it stands. */
int dx_signing_apply(struct dx_signing *s, CURL *easy, struct curl_slist **headers,
                     const char *payload_sha256, struct dx_error *err);
bool dx_signing_refused(struct dx_signing *s, const char *s3_code, const char *date);

#endif
