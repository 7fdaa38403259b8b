/* SPDX-License-Identifier: Apache-2.0
 * The registry of a root on object storage: read with its ETag, put in place of that one only.
 */
#include "builder/registry.h"

#include <string.h>

#include "base/buf.h"
#include "builder/ingest_claim.h"
#include "builder/remote_root.h"
#include "fetch/store.h"

#define CHANGE_TRIES 500 /* each lost one was won by somebody else */
#define CHANGE_WAIT_MS 500

int dx_roster_read(struct dx_roster **reg, const struct dx_remote_root *root,
                   char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    int rc = dx_remote_root_get(root, DX_ROSTER_FILE, DX_REGISTRY_MAX, &text, etag, err);

    *reg = NULL;
    if (rc == 0) {
        rc = dx_roster_new(reg, err);
    } else if (rc > 0 && etag[0] == '\0') {
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     DX_ROSTER_FILE ": the store tells no ETag, without which two writers cannot "
                                    "be kept apart");
    } else if (rc > 0) {
        rc = dx_roster_parse(reg, dx_span_of(text.data, text.size), DX_ROSTER_FILE, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    return rc;
}

int dx_roster_put(struct dx_roster *reg, const struct dx_remote_root *root,
                  char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT((size_t)2 * DX_REGISTRY_MAX);
    struct dx_put put = { .object = DX_ROSTER_FILE,
                          .if_absent = etag[0] == '\0',
                          .if_match = etag[0] == '\0' ? NULL : etag };
    char written[DX_SOURCE_ETAG];
    int rc;

    if (!dx_roster_changed(reg))
        return DX_OK;
    rc = dx_roster_text(reg, &text, err);
    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = dx_store_put(root->store, &put, written, err);
    if (rc == DX_OK) {
        memcpy(etag, written, sizeof written);
        dx_roster_written(reg);
    }
    dx_buf_release(&text);
    return rc;
}

/* 1 it is as we want it, 0 somebody was faster, or the reply was lost: read again. */
static int try_change(const struct dx_remote_root *remote, const struct dx_roster_change *c,
                      bool must_exist, bool *exists, struct dx_roster **reg, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc = dx_roster_read(reg, remote, etag, err);

    if (rc == 0 && must_exist)
        return dx_fail(err, DX_E_CORRUPT,
                       DX_ROSTER_FILE " was there and is gone; bring it back: without it ids would "
                                      "be given twice");
    *exists = rc > 0;
    if (rc >= 0)
        rc = c->edit(c->ctx, *reg, err);
    if (rc < 0)
        return rc;
    rc = dx_roster_put(*reg, remote, etag, err);
    if (rc == DX_E_EXISTS || rc == DX_E_CONFLICT || rc == DX_E_UNKNOWN)
        return 0;
    return rc < 0 ? rc : 1;
}

int dx_roster_change(const struct dx_remote_root *remote, const struct dx_roster_change *change,
                     struct dx_roster **reg, struct dx_error *err)
{
    bool exists = change->must_exist;
    int rc = 0;

    for (int i = 0; rc == 0 && i < CHANGE_TRIES; i++) {
        if (i > 0)
            dx_ingest_claim_jitter(CHANGE_WAIT_MS);
        if (change->stopped != NULL && change->stopped())
            return dx_fail(err, DX_E_IO, "interrupted");
        dx_roster_free(reg);
        rc = try_change(remote, change, exists, &exists, reg, err);
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_BUSY,
                     DX_ROSTER_FILE ": changed by others %d times while this run wanted to change "
                                    "it; run it again",
                     CHANGE_TRIES);
    return rc < 0 ? rc : DX_OK;
}

struct raise {
    const char *const *paths;
    size_t count;
};

static int raise_parts(void *ctx, struct dx_roster *reg, struct dx_error *err)
{
    const struct raise *r = ctx;

    (void)err;
    dx_roster_raise(reg, r->paths, r->count);
    return DX_OK;
}

int dx_roster_raise_remote(const struct dx_remote_root *remote, const char *const *paths,
                           size_t count, struct dx_error *err)
{
    struct raise r = { paths, count };
    const struct dx_roster_change change = { .edit = raise_parts, .ctx = &r, .must_exist = true };
    struct dx_roster *reg = NULL;
    int rc = dx_roster_change(remote, &change, &reg, err);

    dx_roster_free(&reg);
    return rc;
}
