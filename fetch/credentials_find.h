/* SPDX-License-Identifier: Apache-2.0
 * credentials_find.h - where the credentials of an S3 root come from.
 *
 *   rc = dx_credentials_find(&c, &from, profile, &err);     the first place that has some
 *   rc = dx_credentials_renew(&c, from, profile, &err);     that place once more
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
 * caller or AWS_PROFILE, must be in the file: another role is never used instead of it.
 *
 * The services may block, for 5 s at most. Safe from several threads: nothing is kept.
 */
#ifndef DX_FETCH_CREDENTIALS_FIND_H
#define DX_FETCH_CREDENTIALS_FIND_H

#include "fetch/credentials.h"

enum dx_credentials_from {
    DX_CREDENTIALS_ENVIRONMENT,
    DX_CREDENTIALS_FILE,
    DX_CREDENTIALS_CONTAINER,
    DX_CREDENTIALS_INSTANCE
};

int dx_credentials_find(struct dx_credentials *c, enum dx_credentials_from *from,
                        const char *profile, struct dx_error *err);
int dx_credentials_renew(struct dx_credentials *c, enum dx_credentials_from from,
                         const char *profile, struct dx_error *err);

#endif
