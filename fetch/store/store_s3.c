/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/sha256.h"
#include "base/file.h"
#include "fetch/object_url.h"
#include "fetch/retry.h"
#include "fetch/store/s3_upload.h"
#include "fetch/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_MAX (2 * DX_OBJECT_NAME_MAX + 2)
#define PAGE_CAP (16u << 20) /* 1000 keys of 2 kB, percent-encoded, and their fields */
#define PAGE_SIZE (1u << 20) /* that its deadline is for */
#define READ_SIZE (8u << 20) /* the same, of a small object: most are far from what they may have */
#define COPY_MAX (5ull << 30) /* of the protocol, for one request */
#define EMPTY_PAGES_MAX 100   /* of one listing, one after the other */

struct store_s3 {
    struct dx_store store;
    struct dx_s3_session session;
};

static int write_key(const struct store_s3 *s3, const char *object, char key[KEY_MAX],
                     struct dx_error *err)
{
    int n = snprintf(key, KEY_MAX, "%s%s", s3->session.root.prefix, object);

    /* The protocol's own limit. */
    return n > 0 && n <= 1024
               ? DX_OK
               : dx_fail(err, DX_E_INVALID, "%s: with the prefix the key has more than 1024 bytes",
                         object);
}

static int put_whole(struct store_s3 *s3, struct dx_s3_commit *c, int fd, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    struct dx_s3_request r = { .method = "PUT", .key = c->key, .body = true, .fd = fd };
    char hex[DX_SHA256_HEX];
    char base64[DX_SHA256_BASE64];
    uint8_t sum[DX_SHA256_SIZE];
    int rc = DX_OK;

    if (fd >= 0) {
        r.size = c->size;
        rc = dx_s3_hash_file(fd, c->put->path, 0, c->size, sum, err);
    } else {
        r.bytes = c->put->bytes;
        if (!dx_sha256(r.bytes, sum))
            rc = dx_no_memory(err, "%s", c->key);
    }
    if (rc < 0)
        return rc;
    dx_sha256_hex(sum, hex);
    dx_sha256_base64(sum, base64);
    r.sha256 = hex; /* signed: the store compares it with what arrives */
    dx_s3_request_header(&r, "x-amz-checksum-sha256", base64); /* and keeps it, if it knows how */
    dx_s3_request_header(&r, DX_S3_NONCE_HEADER, c->nonce);
    rc = dx_s3_commit_send(&s3->session, c, &r, etag, err);
    dx_s3_request_release(&r);
    return rc;
}

static int open_file(const char *path, uint64_t *size, struct dx_error *err)
{
    struct stat st;
    int fd = dx_file_open(AT_FDCWD, path, 0, &st, err);

    if (fd >= 0)
        *size = (uint64_t)st.st_size;
    return fd;
}

/* Parts are read from a file. */
static int file_of(const struct dx_put *put, struct dx_error *err)
{
    int fd = memfd_create("domaindex-put", MFD_CLOEXEC);
    int rc;

    if (fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot make a file in memory", put->object);
    rc = dx_file_write(fd, put->object, put->bytes, err);
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    return fd;
}

/* The store copies; metadata are replaced, for the nonce. A condition on the new object beside it is
 * not known to all stores, so the caller has a name that no other writer takes. */
static int put_copy(struct store_s3 *s3, struct dx_s3_commit *c, char etag[DX_SOURCE_ETAG],
                    struct dx_error *err)
{
    struct dx_s3_request r = { .method = "PUT", .key = c->key, .body = true, .fd = -1 };
    struct dx_buf from = DX_BUF_INIT(4 * KEY_MAX);
    char key[KEY_MAX];
    int rc = write_key(s3, c->put->from, key, err);

    if (rc == DX_OK && c->size > COPY_MAX)
        rc = dx_fail(err, DX_E_LIMIT, "'%s' has more than %llu GiB, the most that a store copies",
                     key, COPY_MAX >> 30);
    if (rc < 0)
        return rc;
    dx_buf_str(&from, s3->session.root.bucket);
    dx_buf_u8(&from, '/');
    dx_url_encode(&from, key);
    dx_buf_u8(&from, '\0');
    if (from.failed)
        rc = dx_buf_fail(&from, err, key);
    dx_s3_request_header(&r, "x-amz-copy-source", (const char *)from.data);
    if (c->put->from_etag != NULL)
        dx_s3_request_header(&r, "x-amz-copy-source-if-match", c->put->from_etag);
    dx_s3_request_header(&r, "x-amz-metadata-directive", "REPLACE");
    dx_s3_request_header(&r, DX_S3_NONCE_HEADER, c->nonce);
    if (rc == DX_OK)
        rc = dx_s3_commit_send(&s3->session, c, &r, etag, err);
    dx_s3_request_release(&r);
    dx_buf_release(&from);
    return rc;
}

static int put_s3(struct dx_store *store, const struct dx_put *put, char etag[DX_SOURCE_ETAG],
                  struct dx_error *err)
{
    struct store_s3 *s3 = (struct store_s3 *)store;
    uint64_t size = put->from != NULL ? put->from_size : put->bytes.size;
    struct dx_s3_commit commit;
    char key[KEY_MAX];
    bool in_parts;
    int fd = -1;
    int rc = write_key(s3, put->object, key, err);

    if (rc == DX_OK && put->path != NULL) {
        fd = open_file(put->path, &size, err);
        rc = fd < 0 ? fd : DX_OK;
    } else if (rc == DX_OK && put->in_parts && size > 0) {
        fd = file_of(put, err);
        rc = fd < 0 ? fd : DX_OK;
    }
    if (rc < 0)
        return rc;
    in_parts = fd >= 0 && size > 0 && (size > DX_S3_UPLOAD_FROM || put->in_parts);
    dx_s3_commit_begin(&commit, put, key, size,
                       put->deadline_ms != 0 ? put->deadline_ms
                                             : dx_s3_deadline(&s3->session, size));
    if (put->from != NULL)
        rc = put_copy(s3, &commit, etag, err);
    else
        rc = in_parts ? dx_s3_upload(&s3->session, &commit, fd, etag, err)
                      : put_whole(s3, &commit, fd, etag, err);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* Those who list keep the names. With 60 bytes a name and an ETag this is three million files of a
 * lake; a listing without end is refused before it has the memory of the machine. */
#define LISTING_MAX ((size_t)512 << 20)
#define LISTED_COST 64 /* of an object beside its name and ETag */

struct s3_listing {
    struct store_s3 *s3;
    dx_store_each *each;
    void *ctx;
    const char *below; /* what every key begins with */
    char last[DX_S3_KEY_MAX + 1];
    size_t bytes; /* of what was listed, as those who list keep it */
};

static int list_key(void *ctx, const struct dx_s3_listed *key, struct dx_error *err)
{
    struct s3_listing *l = ctx;
    const struct dx_s3_root *root = &l->s3->session.root;
    const char *object = key->key + strlen(root->prefix);
    const struct dx_listed listed = { object, key->size, key->etag };
    size_t n = strlen(key->key);
    int rc;

    if (strncmp(key->key, l->below, strlen(l->below)) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: the listing of '%s' has the key '%.200s'",
                       root->bucket_url, l->below, key->key);
    if (strcmp(key->key, l->last) <= 0)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: the store lists '%.150s' after '%.150s': not in the order of bytes",
                       root->bucket_url, key->key, l->last);
    memcpy(l->last, key->key, n + 1);
    l->bytes += n + strlen(key->etag) + LISTED_COST;
    if (l->bytes > LISTING_MAX)
        return dx_fail(err, DX_E_LIMIT,
                       "%s: the listing of '%s' goes on behind %zu MiB of names; a root has far "
                       "fewer objects: does the store list without end, or do others write below?",
                       root->bucket_url, l->below, LISTING_MAX >> 20);
    if (key->key[n - 1] == '/') /* a mark for a folder, as consoles make it */
        return DX_OK;
    if (!dx_object_name_valid(object))
        return dx_fail(err, DX_E_INVALID,
                       "%s: '%.300s' is not the name of an object: move it out of the root",
                       root->bucket_url, key->key);
    rc = l->each(l->ctx, &listed, err);
    return rc > 0 ? DX_OK : rc;
}

/* In the order of the names: it is signed as it stands. */
static int write_query(struct dx_buf *query, const char *below, const char *token,
                       struct dx_error *err)
{
    dx_buf_clear(query);
    if (token[0] != '\0') {
        dx_buf_str(query, "continuation-token=");
        dx_url_encode_value(query, token);
        dx_buf_u8(query, '&');
    }
    dx_buf_str(query, "encoding-type=url&list-type=2&max-keys=1000&prefix=");
    dx_url_encode_value(query, below);
    dx_buf_u8(query, '\0');
    return query->failed ? dx_buf_fail(query, err, "the query of a listing") : DX_OK;
}

static int list_page(struct s3_listing *l, const char *query, struct dx_s3_page *page,
                     struct dx_error *err)
{
    struct dx_s3_session *session = &l->s3->session;
    struct dx_s3_request r = { .method = "GET", .query = query, .fd = -1, .reply_cap = PAGE_CAP };
    int rc = dx_s3_run(session, &r, dx_s3_deadline(session, PAGE_SIZE), err);

    if (rc == DX_OK)
        rc = dx_s3_xml_list(dx_span_of(r.call.body.data, r.call.body.size), page, list_key, l, err);
    dx_s3_request_release(&r);
    return rc;
}

static int list_s3(struct dx_store *store, const char *prefix, dx_store_each *each, void *ctx,
                   struct dx_error *err)
{
    struct dx_buf query = DX_BUF_INIT(3 * (KEY_MAX + DX_S3_TOKEN_MAX) + 256);
    struct dx_s3_page *page = calloc(1, sizeof *page);
    struct s3_listing l = { .s3 = (struct store_s3 *)store, .each = each, .ctx = ctx };
    unsigned empty = 0;
    char below[KEY_MAX];
    int rc = DX_OK;

    (void)snprintf(below, sizeof below, "%s%s", l.s3->session.root.prefix, prefix);
    l.below = below;
    if (page == NULL)
        rc = dx_no_memory(err, "%s", below);
    /* Keys only grow, so a listing that goes round ends in an error. */
    do {
        if (rc == DX_OK)
            rc = write_query(&query, below, page->token, err);
        if (rc == DX_OK)
            rc = list_page(&l, (const char *)query.data, page, err);
        empty = page != NULL && page->count == 0 ? empty + 1 : 0;
        if (rc == DX_OK && page->truncated && empty > EMPTY_PAGES_MAX)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: the listing of '%s' goes on, but has no keys",
                         l.s3->session.root.bucket_url, below);
    } while (rc == DX_OK && page->truncated);
    free(page);
    dx_buf_release(&query);
    return rc;
}

static int remove_s3(struct dx_store *store, const char *object, struct dx_error *err)
{
    struct store_s3 *s3 = (struct store_s3 *)store;
    struct dx_s3_request r = { .method = "DELETE", .fd = -1 };
    char key[KEY_MAX];
    int rc = write_key(s3, object, key, err);

    if (rc < 0)
        return rc;
    r.key = key;
    rc = dx_s3_run(&s3->session, &r, dx_s3_deadline(&s3->session, 0), err);
    if (rc < 0 && r.outcome == DX_S3_ABSENT && strcmp(r.error.code, "NoSuchBucket") != 0)
        rc = DX_OK;
    if (rc == DX_OK && r.outcome == DX_S3_DONE && r.call.status != 204 && r.call.body.size > 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "removing '%s': HTTP %u with a body is not a reply of a store", key,
                     r.call.status);
    dx_s3_request_release(&r);
    return rc;
}

static int take_time(const char *text, const char *name, const char *key, int64_t *us,
                     struct dx_error *err)
{
    int64_t s;

    if (!dx_retry_date(text, &s))
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "'%s': the store's reply has no %s (or not one as HTTP writes it, '%.40s'): "
                       "without its clock the age of an object is unknown",
                       key, name, text);
    *us = s * 1000000;
    return DX_OK;
}

static int take_stamp(const struct dx_http_call *call, bool absent, const char *key,
                      struct dx_store_stamp *stamp, struct dx_error *err)
{
    int rc = take_time(call->date, "Date", key, &stamp->now_us, err);

    if (rc < 0 || absent)
        return rc;
    if (call->head.etags != 1 || call->head.etag[0] == '\0')
        return dx_fail(err, DX_E_CORRUPT, "'%s': a reply without an ETag is not a reply of a store",
                       key);
    (void)snprintf(stamp->etag, sizeof stamp->etag, "%s", call->head.etag);
    return take_time(call->modified, "Last-Modified", key, &stamp->modified_us, err);
}

static int read_s3(struct dx_store *store, const char *object, uint64_t deadline_ms,
                   struct dx_buf *out, struct dx_store_stamp *stamp, struct dx_error *err)
{
    struct store_s3 *s3 = (struct store_s3 *)store;
    struct dx_s3_request r = { .method = "GET", .fd = -1, .reply_cap = out->max - out->size };
    char key[KEY_MAX];
    bool absent;
    int rc = write_key(s3, object, key, err);

    if (rc < 0)
        return rc;
    r.key = key;
    if (deadline_ms == 0)
        deadline_ms = dx_s3_deadline(&s3->session, READ_SIZE);
    rc = dx_s3_run(&s3->session, &r, deadline_ms, err);
    absent = rc < 0 && r.outcome == DX_S3_ABSENT && strcmp(r.error.code, "NoSuchBucket") != 0;
    if (rc == DX_OK && r.call.status != 200)
        rc = dx_fail(err, DX_E_CORRUPT, "'%s': HTTP %u is not a reply to a GET", key,
                     r.call.status);
    if (rc == DX_OK || absent)
        rc = take_stamp(&r.call, absent, key, stamp, err);
    if (rc == DX_OK && !absent) {
        dx_buf_append(out, r.call.body.data, r.call.body.size);
        rc = out->failed ? dx_buf_fail(out, err, key) : 1;
    }
    dx_s3_request_release(&r);
    return rc;
}

static void close_s3(struct dx_store *store)
{
    struct store_s3 *s3 = (struct store_s3 *)store;

    dx_s3_session_close(&s3->session);
    free(s3);
}

int dx_store_open_s3(struct dx_store **store, const char *root,
                     const struct dx_source_options *options, struct dx_error *err)
{
    static const struct dx_store_ops ops = {
        .put = put_s3, .list = list_s3, .remove = remove_s3, .read = read_s3, .close = close_s3
    };
    struct store_s3 *s3 = calloc(1, sizeof *s3);
    int rc;

    *store = NULL;
    if (s3 == NULL)
        return dx_no_memory(err, "%s", root);
    s3->store.ops = &ops;
    rc = dx_s3_session_open(&s3->session, root, options, err);
    if (rc < 0) {
        free(s3);
        return rc;
    }
    *store = &s3->store;
    return DX_OK;
}
