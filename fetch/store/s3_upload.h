/* SPDX-License-Identifier: Apache-2.0
 * s3_upload.h - a large file put in parts, some at a time; nothing is seen of it until the end.
 *
 *   rc = dx_s3_upload(&session, &commit, fd, etag, &err);
 *
 * Begin, parts by DX_S3_UPLOAD_THREADS threads, complete with the condition of the put; after any
 * failure the upload is taken back, so that no parts are left to be paid for. Each part is hashed
 * and then read a second time to be sent: the store refuses it if the file changes in between.
 */
#ifndef DX_FETCH_STORE_S3_UPLOAD_H
#define DX_FETCH_STORE_S3_UPLOAD_H

#include "fetch/store/s3_commit.h"

#define DX_S3_UPLOAD_THREADS 4
#define DX_S3_UPLOAD_FROM (UINT64_C(64) << 20) /* smaller ones go in one piece */
#define DX_S3_PART_SIZE (UINT64_C(16) << 20)
#define DX_S3_PARTS_MAX 10000 /* of the protocol: parts of larger files grow */

int dx_s3_upload(struct dx_s3_session *session, struct dx_s3_commit *commit, int fd,
                 char etag[DX_SOURCE_ETAG], struct dx_error *err);

/* SHA-256 of a part of a file, in hex; name is for the words of an error. */
int dx_s3_hash_file(int fd, const char *name, uint64_t offset, uint64_t size, uint8_t sum[32],
                    struct dx_error *err);

#endif
