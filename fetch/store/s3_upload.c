/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/store/s3_upload.h"

#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/xml_out.h"
#include "fetch/object_url.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define HASH_PIECE (1u << 20)
#define COMPLETE_MAX (4u << 20) /* 10,000 parts with ETags of 128 bytes */
#define COMPLETE_REPLY_FACTOR 6 /* a store may put the parts together before it replies */

#define TAKE_BACK_MS 30000

struct upload {
    struct dx_s3_session *session;
    struct dx_s3_commit *commit;
    int fd;
    uint64_t part_size;
    size_t part_count;
    char (*etags)[DX_SOURCE_ETAG];
    char id[3 * DX_S3_UPLOAD_ID_MAX + 1]; /* encoded for a query */
    atomic_size_t next;
    pthread_mutex_t lock; /* of the two below */
    int rc;
    struct dx_error error; /* the first one */
};

static uint64_t size_of_part(uint64_t size)
{
    uint64_t mib = UINT64_C(1) << 20;
    uint64_t least = (size + DX_S3_PARTS_MAX - 1) / DX_S3_PARTS_MAX;

    return least <= DX_S3_PART_SIZE ? DX_S3_PART_SIZE : (least + mib - 1) / mib * mib;
}

int dx_s3_hash_file(int fd, const char *name, uint64_t offset, uint64_t size,
                    uint8_t sum[DX_SHA256_SIZE], struct dx_error *err)
{
    uint8_t *piece = malloc(HASH_PIECE);
    struct dx_sha256_state *state = dx_sha256_new();
    bool ok = piece != NULL && state != NULL;
    int rc = DX_OK;

    while (ok && rc == DX_OK && size > 0) {
        size_t n = size < HASH_PIECE ? (size_t)size : HASH_PIECE;

        rc = dx_file_pread(fd, name, offset, n, piece, err);
        ok = rc < 0 || dx_sha256_update(state, dx_span_of(piece, n));
        offset += n;
        size -= n;
    }
    if (state != NULL)
        ok = dx_sha256_end(&state, sum) && ok;
    free(piece);
    return !ok ? dx_no_memory(err, "%s", name) : rc;
}

/* A file of gigabytes may take a day, but none of its requests: a store that is gone for good is
 * found out long before. */
static uint64_t deadline_of(const struct upload *u, uint64_t size)
{
    uint64_t one = dx_s3_deadline(u->session, size);

    return one < u->commit->deadline_ms ? one : u->commit->deadline_ms;
}

static int begin_upload(struct upload *u, struct dx_error *err)
{
    struct dx_s3_request r = {
        .method = "POST", .key = u->commit->key, .query = "uploads=", .body = true, .fd = -1
    };
    struct dx_buf encoded = DX_BUF_INIT(sizeof u->id);
    char id[DX_S3_UPLOAD_ID_MAX + 1];
    int rc;

    dx_s3_request_header(&r, DX_S3_NONCE_HEADER, u->commit->nonce);
    rc = dx_s3_run(u->session, &r, deadline_of(u, 0), err);
    if (rc == DX_OK)
        rc = dx_s3_xml_upload_id(dx_span_of(r.call.body.data, r.call.body.size), id, err);
    if (rc == DX_OK) {
        dx_url_encode_value(&encoded, id);
        dx_buf_u8(&encoded, '\0');
        rc = encoded.failed ? dx_buf_fail(&encoded, err, "the upload's id") : DX_OK;
    }
    if (rc == DX_OK)
        memcpy(u->id, encoded.data, encoded.size);
    dx_buf_release(&encoded);
    dx_s3_request_release(&r);
    return rc;
}

static int put_part(struct upload *u, size_t part, struct dx_error *err)
{
    uint64_t offset = part * u->part_size;
    uint64_t left = u->commit->size - offset;
    char query[sizeof u->id + 64];
    char hex[DX_SHA256_HEX];
    uint8_t sum[DX_SHA256_SIZE];
    struct dx_s3_request r = {
        .method = "PUT",
        .key = u->commit->key,
        .query = query,
        .body = true,
        .fd = u->fd,
        .offset = offset,
        .size = left < u->part_size ? left : u->part_size,
        .sha256 = hex,
    };
    int rc = dx_s3_hash_file(u->fd, u->commit->key, offset, r.size, sum, err);

    (void)snprintf(query, sizeof query, "partNumber=%zu&uploadId=%s", part + 1, u->id);
    dx_sha256_hex(sum, hex);
    if (rc == DX_OK)
        rc = dx_s3_run(u->session, &r, deadline_of(u, r.size), err);
    if (rc == DX_OK && (r.call.head.etags != 1 || r.call.head.etag[0] == '\0'))
        rc = dx_fail(err, DX_E_CORRUPT, "'%s', part %zu: HTTP %u without an ETag", u->commit->key,
                     part + 1, r.call.status);
    if (rc == DX_OK)
        (void)snprintf(u->etags[part], DX_SOURCE_ETAG, "%s", r.call.head.etag);
    dx_s3_request_release(&r);
    return rc;
}

static void *put_parts(void *arg)
{
    struct upload *u = arg;
    size_t part;

    while ((part = atomic_fetch_add(&u->next, 1)) < u->part_count) {
        struct dx_error err = DX_ERROR_INIT;
        int rc = put_part(u, part, &err);

        if (rc == DX_OK)
            continue;
        (void)pthread_mutex_lock(&u->lock);
        if (u->rc == DX_OK) {
            u->rc = rc;
            u->error = err;
        }
        (void)pthread_mutex_unlock(&u->lock);
        atomic_store(&u->next, u->part_count); /* the others begin no more */
    }
    return NULL;
}

static int put_all_parts(struct upload *u, struct dx_error *err)
{
    pthread_t threads[DX_S3_UPLOAD_THREADS - 1];
    size_t started = 0;

    /* Fewer threads than wanted only take longer: this one works too. */
    while (started < DX_S3_UPLOAD_THREADS - 1 && started + 1 < u->part_count &&
           pthread_create(&threads[started], NULL, put_parts, u) == 0)
        started++;
    (void)put_parts(u);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    if (u->rc < 0 && err != NULL)
        *err = u->error;
    return u->rc;
}

static int complete_upload(struct upload *u, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_buf body = DX_BUF_INIT(COMPLETE_MAX);
    char query[sizeof u->id + 16];
    char hex[DX_SHA256_HEX];
    uint8_t sum[DX_SHA256_SIZE];
    struct dx_s3_request r = { .method = "POST",
                               .key = u->commit->key,
                               .query = query,
                               .body = true,
                               .fd = -1,
                               .sha256 = hex,
                               .reply_ms = u->session->reply_ms * COMPLETE_REPLY_FACTOR };
    int rc;

    dx_buf_str(&body, "<CompleteMultipartUpload "
                      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (size_t i = 0; i < u->part_count; i++) {
        dx_buf_str(&body, "<Part><ETag>");
        dx_xml_text(&body, dx_span_str(u->etags[i])); /* which come from the store */
        dx_buf_fmt(&body, "</ETag><PartNumber>%zu</PartNumber></Part>", i + 1);
    }
    dx_buf_str(&body, "</CompleteMultipartUpload>");
    (void)snprintf(query, sizeof query, "uploadId=%s", u->id);
    r.bytes = dx_span_of(body.data, body.size);
    if (body.failed)
        rc = dx_buf_fail(&body, err, "the list of parts");
    else if (!dx_sha256(r.bytes, sum))
        rc = dx_no_memory(err, "the list of parts");
    else {
        dx_sha256_hex(sum, hex);
        u->commit->deadline_ms = deadline_of(u, 0) + r.reply_ms;
        rc = dx_s3_commit_send(u->session, u->commit, &r, etag, err);
    }
    dx_s3_request_release(&r);
    dx_buf_release(&body);
    return rc;
}

/* A store that cannot be asked any more keeps the parts; only the error that led here is
 * reported. */
static void take_back(struct upload *u)
{
    char query[sizeof u->id + 16];
    struct dx_s3_request r = {
        .method = "DELETE", .key = u->commit->key, .query = query, .fd = -1
    };

    (void)snprintf(query, sizeof query, "uploadId=%s", u->id);
    (void)dx_s3_run(u->session, &r, dx_clock_ms() + TAKE_BACK_MS, NULL);
    dx_s3_request_release(&r);
}

int dx_s3_upload(struct dx_s3_session *session, struct dx_s3_commit *commit, int fd,
                 char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct upload *u = calloc(1, sizeof *u);
    int rc = DX_OK;

    if (u != NULL) {
        u->session = session;
        u->commit = commit;
        u->fd = fd;
        u->part_size = size_of_part(commit->size);
        u->part_count = (size_t)((commit->size + u->part_size - 1) / u->part_size);
        u->etags = calloc(u->part_count, sizeof *u->etags);
    }
    if (u == NULL || u->etags == NULL) {
        free(u);
        return dx_no_memory(err, "%s", commit->key);
    }
    (void)pthread_mutex_init(&u->lock, NULL);
    rc = begin_upload(u, err);
    if (rc == DX_OK) {
        rc = put_all_parts(u, err);
        if (rc == DX_OK)
            rc = complete_upload(u, etag, err);
        if (rc < 0)
            take_back(u);
        /* Taken back or completed by now: what is there says which, unless it is another's. */
        if (rc < 0 && commit->unsure && dx_s3_commit_seen(session, commit, etag, NULL) == 1)
            rc = DX_OK;
    }
    (void)pthread_mutex_destroy(&u->lock);
    free(u->etags);
    free(u);
    return rc;
}
