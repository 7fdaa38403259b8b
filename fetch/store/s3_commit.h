/* SPDX-License-Identifier: Apache-2.0
 * s3_commit.h - the request that makes an object appear, once, however its reply gets lost.
 *
 *   dx_s3_commit_begin(&c, put, key, size);                 draws a nonce
 *   dx_s3_request_header(&r, DX_S3_NONCE_HEADER, c.nonce);  on the PUT, or where an upload begins
 *   rc = dx_s3_commit_send(&session, &c, &r, etag, &err);   the PUT, or CompleteMultipartUpload
 *
 * The nonce is in the object's metadata, written by the store in one step with the bytes, which it
 * has compared with the signed SHA-256. So finding the nonce means finding the whole write. What
 * each outcome leads to:
 *
 *   2xx                     done
 *   lost, 5xx, 200+<Error>  read back: ours is there: done; else the same request again
 *   412, 409, 404           read back: ours is there: done (an earlier attempt, or a proxy's);
 *                           409: again; else another was first
 *   time or budget spent    if one of them may still have been applied: DX_E_UNKNOWN
 *   put.may says no         read back after an unsure attempt: ours is there: done; else its error
 *
 * The same nonce goes with all attempts, so a second one cannot write a second object: with a
 * condition it fails, without one it writes the same bytes. Read back is a GET of one byte, since
 * HEAD has no words in its errors. A commit is for one thread at a time.
 */
#ifndef DX_FETCH_STORE_S3_COMMIT_H
#define DX_FETCH_STORE_S3_COMMIT_H

#include "base/nonce.h"
#include "fetch/store/s3_request.h"
#include "fetch/store/store.h"

#define DX_S3_NONCE_HEADER "x-amz-meta-dx-nonce"

struct dx_s3_commit {
    const struct dx_put *put;
    const char *key;
    uint64_t size;
    uint64_t deadline_ms;
    char nonce[DX_NONCE];
    bool unsure; /* an attempt was made whose outcome is unknown */
};

void dx_s3_commit_begin(struct dx_s3_commit *c, const struct dx_put *put, const char *key,
                        uint64_t size, uint64_t deadline_ms);

/* r without the headers of the condition, which are added here. */
int dx_s3_commit_send(struct dx_s3_session *session, struct dx_s3_commit *c,
                      struct dx_s3_request *r, char etag[DX_SOURCE_ETAG], struct dx_error *err);

/* Whether the object is there as this commit wrote it: 1 yes, 0 no, negative: unknown. */
int dx_s3_commit_seen(struct dx_s3_session *session, const struct dx_s3_commit *c,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err);

#endif
