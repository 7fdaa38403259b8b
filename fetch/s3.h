/* SPDX-License-Identifier: Apache-2.0
 * s3.h - s3://bucket/prefix: its URL, its region, who signs.
 *
 *   rc = dx_source_open_s3(&src, "s3://bucket/prefix", &options, &err);      then source.h
 *
 *   rc = dx_s3_address_parse("s3://bucket/prefix", &address, &err);          the parts, pure
 *   rc = dx_s3_root_url(&address, &place, &url, &err);                       "https://bucket.s3..."
 *   rc = dx_s3_credentials_parse(&c, text, "default", &err);                 1 found, 0 no profile
 *
 * Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else from
 * the profile in AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials. They are read once, when the
 * source is opened. Roles of containers and instances, SSO, credential_process and ~/.aws/config
 * are not known here; without credentials opening fails unless s3_anonymous is set.
 *
 * Requests are signed by libcurl (Signature Version 4). 7.88 signs wrongly when a query is not in
 * sorted order, and does not send x-amz-content-sha256; a GET of an object has no query, and the
 * header is ours. The clock of the machine must be within 15 minutes of the store's.
 */
#ifndef DX_FETCH_S3_H
#define DX_FETCH_S3_H

#include "fetch/source.h"

#define DX_S3_BUCKET_MAX 63
#define DX_S3_CREDENTIAL_MAX 2048

struct dx_s3_address {
    char bucket[DX_S3_BUCKET_MAX + 1];
    const char *prefix; /* borrowed from the text; "" if none; slashes at its end are not cut */
};

struct dx_s3_place {
    const char *endpoint; /* NULL: Amazon's */
    const char *region;
    bool
        virtual_host; /* of an endpoint of one's own; Amazon's is one unless the bucket has a dot */
};

struct dx_s3_credentials {
    char key_id[DX_S3_CREDENTIAL_MAX];
    char secret[DX_S3_CREDENTIAL_MAX];
    char token[DX_S3_CREDENTIAL_MAX]; /* "": none */
};

int dx_s3_address_parse(const char *text, struct dx_s3_address *address, struct dx_error *err);

/* The URL of the prefix without a slash at its end, to be freed. */
int dx_s3_root_url(const struct dx_s3_address *address, const struct dx_s3_place *place, char **url,
                   struct dx_error *err);

/* A shared credentials file: [profile], key = value, # and ; comments. */
int dx_s3_credentials_parse(struct dx_s3_credentials *c, struct dx_span text, const char *profile,
                            struct dx_error *err);

int dx_source_open_s3(struct dx_source **src, const char *root,
                      const struct dx_source_options *options, struct dx_error *err);

#endif
