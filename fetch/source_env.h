/* SPDX-License-Identifier: Apache-2.0
 * source_env.h - what the environment says of remote roots, in words for manuals. The reading is
 * dx_source_options_env in source.h and, for AWS_..., what opens an S3 root.
 */
#ifndef DX_FETCH_SOURCE_ENV_H
#define DX_FETCH_SOURCE_ENV_H

#define DX_SOURCE_ENV_HELP                                                                       \
    "ROOT is a directory, http://..., https://... or s3://bucket/prefix. For remote roots the "  \
    "environment is read: DOMAINDEX_CA_FILE, a file of certificates instead of the system's; "   \
    "DOMAINDEX_DEADLINE_MS, how long a request may take with its retries; for S3 "               \
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE and "        \
    "AWS_SHARED_CREDENTIALS_FILE; AWS_REGION; AWS_ENDPOINT_URL_S3 for a store that is not "      \
    "Amazon's, with DOMAINDEX_S3_VIRTUAL_HOST=1 if it wants the bucket in the host's name; and " \
    "DOMAINDEX_S3_ANONYMOUS=1 for a bucket that anybody may read."

#endif
