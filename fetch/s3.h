/* SPDX-License-Identifier: Apache-2.0
 * s3.h - s3://bucket/prefix: its URL, its region, who signs.
 *
 *   rc = dx_source_open_s3(&src, "s3://bucket/prefix", &options, &err);      then source.h
 *
 *   rc = dx_s3_address_parse("s3://bucket/prefix", &address, &err);          the parts, pure
 *   rc = dx_s3_root_url(&address, &place, &url, &err);                       "https://bucket.s3..."
 *   rc = dx_s3_root_open(&r, "s3://bucket/prefix", &options, &err);          all of it, for stores
 *   dx_s3_root_close(&r);
 *
 * Endpoint and region come from the options, else from AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL,
 * AWS_REGION, AWS_DEFAULT_REGION; ~/.aws/config is not read. Requests are signed (signing.h)
 * unless s3_anonymous is set. A root is read-only after open: threads may share it.
 */
#ifndef DX_FETCH_S3_H
#define DX_FETCH_S3_H

#include "fetch/signing.h"
#include "fetch/source.h"

#define DX_S3_BUCKET_MAX 63

struct dx_s3_address {
    char bucket[DX_S3_BUCKET_MAX + 1];
    const char *prefix; /* borrowed from the text; "" if none; slashes at its end are not cut */
};

struct dx_s3_place {
    const char *endpoint; /* NULL: Amazon's */
    const char *region;
    /* of an endpoint of one's own; Amazon's is one unless the bucket has a dot */
    bool virtual_host;
};

struct dx_s3_root {
    char bucket[DX_S3_BUCKET_MAX + 1];
    char *url;                           /* of the prefix, without a slash at its end */
    char *bucket_url;                    /* of the bucket, likewise */
    char prefix[DX_OBJECT_NAME_MAX + 2]; /* "" or "a/b/": what every key begins with */
    struct dx_signing *signing;          /* NULL: anonymous */
};

int dx_s3_address_parse(const char *text, struct dx_s3_address *address, struct dx_error *err);

/* The URL of the prefix without a slash at its end, to be freed. */
int dx_s3_root_url(const struct dx_s3_address *address, const struct dx_s3_place *place, char **url,
                   struct dx_error *err);

/* Blocks while a service of the machine is asked for credentials. */
int dx_s3_root_open(struct dx_s3_root *r, const char *root, const struct dx_source_options *options,
                    struct dx_error *err);
void dx_s3_root_close(struct dx_s3_root *r);

int dx_source_open_s3(struct dx_source **src, const char *root,
                      const struct dx_source_options *options, struct dx_error *err);

#endif
