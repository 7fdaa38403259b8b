/* SPDX-License-Identifier: Apache-2.0
 * credentials.h - where the credentials of an S3 root come from.
 *
 *   rc = dx_credentials_find(&c, &from, profile, &err);     the first place that has some
 *   rc = dx_credentials_renew(&c, from, profile, &err);     that place once more
 *   dx_credentials_forget(&c);                              wipes them
 *
 * The places, in this order, and what renewing means there:
 *   environment  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *   file         profile in AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials; it is read again
 *   container    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI at 169.254.170.2, or ..._FULL_URI, which
 *                is https:// or leads to 169.254.170.2, 169.254.170.23, [fd00:ec2::23] or
 *                loopback; AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or ..._TOKEN is sent along
 *   instance     the metadata service, IMDSv2, at AWS_EC2_METADATA_SERVICE_ENDPOINT or
 *                169.254.169.254; not if AWS_EC2_METADATA_DISABLED is true
 * SSO, credential_process and ~/.aws/config are not known here. A profile that is named, by the
 * caller or AWS_PROFILE, has to be in the file: nobody wants another role instead of it.
 *
 * The services may block, for 5 s at most. Safe from several threads: nothing is kept.
 */
#ifndef DX_FETCH_CREDENTIALS_H
#define DX_FETCH_CREDENTIALS_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_CREDENTIAL_MAX 4096 /* tokens of STS have about 1 kB, and no stated limit */

enum dx_credentials_from {
    DX_CREDENTIALS_ENVIRONMENT,
    DX_CREDENTIALS_FILE,
    DX_CREDENTIALS_CONTAINER,
    DX_CREDENTIALS_INSTANCE
};

/* Printable ASCII without spaces: they go into headers. */
struct dx_credentials {
    char key_id[DX_CREDENTIAL_MAX];
    char secret[DX_CREDENTIAL_MAX];
    char token[DX_CREDENTIAL_MAX]; /* "": none */
    int64_t expires_s;             /* Unix time; 0: not said */
};

int dx_credentials_find(struct dx_credentials *c, enum dx_credentials_from *from,
                        const char *profile, struct dx_error *err);
int dx_credentials_renew(struct dx_credentials *c, enum dx_credentials_from from,
                         const char *profile, struct dx_error *err);
void dx_credentials_forget(struct dx_credentials *c);

/* A shared credentials file: [profile], key = value, # and ; comments. 1 found, 0 no profile. */
int dx_credentials_parse_file(struct dx_credentials *c, struct dx_span text, const char *profile,
                              struct dx_error *err);

/* Keeps a value if it may be part of a header. */
bool dx_credentials_keep(char to[DX_CREDENTIAL_MAX], struct dx_span value);

/* The variable, NULL if it is not set or empty. */
const char *dx_environment(const char *name);

#endif
