/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/store/s3_commit.h"

#include <stdio.h>
#include <stdlib.h>

#define READ_BACK_MS 10000 /* beyond the deadline, if need be: not knowing is worse than waiting */

void dx_s3_commit_begin(struct dx_s3_commit *c, const struct dx_put *put, const char *key,
                        uint64_t size, uint64_t deadline_ms)
{
    *c = (struct dx_s3_commit){ .put = put, .key = key, .size = size, .deadline_ms = deadline_ms };
    dx_nonce(c->nonce);
}

int dx_s3_commit_seen(struct dx_s3_session *session, const struct dx_s3_commit *c,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_s3_request r = { .method = "GET", .key = c->key, .fd = -1 };
    uint64_t now = dx_clock_ms();
    uint64_t deadline = c->deadline_ms > now + READ_BACK_MS ? c->deadline_ms : now + READ_BACK_MS;
    const struct dx_reply *head = &r.call.head;
    uint64_t size;
    int rc;

    if (c->size > 0) /* there is no range of nothing */
        dx_s3_request_header(&r, "Range", "bytes=0-0");
    rc = dx_s3_run(session, &r, deadline, err);
    size = r.call.status == 206 ? head->total : head->length;
    if (r.call.status == 200 || r.call.status == 206) {
        /* Another object may be too long a reply; its head says enough. */
        rc = strcmp(r.call.nonce, c->nonce) == 0 && size == c->size && head->etags == 1 &&
             head->etag[0] != '\0';
        if (rc == 1)
            (void)snprintf(etag, DX_SOURCE_ETAG, "%s", head->etag);
    } else if (rc < 0 && (r.outcome == DX_S3_ABSENT || r.call.status == 416)) {
        rc = 0;
    }
    dx_s3_request_release(&r);
    return rc;
}

/* A 2xx is believed if it says what object it made. */
static bool take_etag(const struct dx_s3_commit *c, struct dx_s3_request *r,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    const struct dx_reply *head = &r->call.head;

    if (c->put->from != NULL)
        return dx_s3_xml_copy(dx_span_of(r->call.body.data, r->call.body.size), etag, err) == DX_OK;
    if (strcmp(r->method, "POST") == 0) {
        int rc = dx_s3_xml_complete(dx_span_of(r->call.body.data, r->call.body.size), etag, err);

        return rc == DX_OK;
    }
    if (r->call.status == 200 && head->etags == 1 && head->etag[0] != '\0') {
        (void)snprintf(etag, DX_SOURCE_ETAG, "%s", head->etag);
        return true;
    }
    (void)dx_fail(err, DX_E_CORRUPT,
                  "%s of '%s': HTTP %u without an ETag is not a reply of a store", r->method,
                  r->key, r->call.status);
    return false;
}

static int lost(const struct dx_s3_commit *c, struct dx_error *err)
{
    char why[256];

    (void)snprintf(why, sizeof why, "%.255s", err->text);
    return dx_fail(
        err, DX_E_UNKNOWN,
        "'%s' may have been written or not, and what is there now does not tell: look at "
        "it before writing again (%s)",
        c->key, why);
}

/* No more attempts, and what is there is not ours. */
static int give_up(const struct dx_s3_commit *c, const struct dx_s3_request *r,
                   struct dx_error *err)
{
    const struct dx_put *put = c->put;

    if (c->unsure)
        return lost(c, err);
    if (r->outcome == DX_S3_CONDITION && put->from_etag != NULL)
        return dx_fail(err, DX_E_CONFLICT, "'%s' is another one by now", put->from);
    if (r->outcome == DX_S3_CONDITION && put->if_absent)
        return dx_fail(err, DX_E_EXISTS, "'%s' is there already", c->key);
    if (r->outcome == DX_S3_CONDITION || (r->outcome == DX_S3_ABSENT && put->if_match != NULL &&
                                          strcmp(r->error.code, "NoSuchUpload") != 0))
        return dx_fail(err, DX_E_CONFLICT, "'%s' is another one by now, or gone", c->key);
    return (int)err->code;
}

/* 0: go on; 1: an attempt with unknown outcome has been applied meanwhile; negative: no. */
static int may(struct dx_s3_session *session, const struct dx_s3_commit *c,
               char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    int rc = c->put->may == NULL ? DX_OK : c->put->may(c->put->may_ctx, err);

    if (rc >= 0)
        return 0;
    return c->unsure && dx_s3_commit_seen(session, c, etag, NULL) == 1 ? 1 : rc;
}

int dx_s3_commit_send(struct dx_s3_session *session, struct dx_s3_commit *c,
                      struct dx_s3_request *r, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    unsigned made = 0;
    struct dx_error own = DX_ERROR_INIT;

    err = err != NULL ? err : &own;
    r->deadline_ms = c->deadline_ms;
    if (c->put->if_absent)
        dx_s3_request_header(r, "If-None-Match", "*");
    else if (c->put->if_match != NULL)
        dx_s3_request_header(r, "If-Match", c->put->if_match);
    for (;;) {
        struct dx_error why = DX_ERROR_INIT;
        int rc = may(session, c, etag, err);

        if (rc != 0)
            return rc < 0 ? rc : DX_OK;
        rc = dx_s3_send(session, r, err);
        if (rc == DX_OK && take_etag(c, r, etag, err))
            return DX_OK;
        if (rc == DX_OK)
            r->outcome = DX_S3_UNSURE;
        c->unsure = c->unsure || r->outcome == DX_S3_UNSURE;
        if (r->outcome != DX_S3_REFUSED && r->outcome != DX_S3_NOT_NOW) {
            int seen = dx_s3_commit_seen(session, c, etag, &why);

            if (seen == 1)
                return DX_OK;
            if (seen < 0 && r->outcome == DX_S3_CONDITION && !c->unsure)
                return give_up(c, r, err);
        }
        if (!dx_s3_again(session, &made, r, err))
            return give_up(c, r, err);
    }
}
