/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/store/store.h"

#include "base/nonce.h"
#include "fetch/range_reply.h"

#include <stdio.h>
#include <strings.h>

static int check_name(const char *name, struct dx_error *err)
{
    if (dx_object_name_valid(name))
        return DX_OK;
    return dx_fail(err, DX_E_INVALID, "object name '%s' is not a plain relative path", name);
}

int dx_store_open(struct dx_store **store, const char *root,
                  const struct dx_source_options *options, struct dx_error *err)
{
    *store = NULL;
    if (strncasecmp(root, "s3://", 5) == 0)
        return dx_store_open_s3(store, root, options, err);
    if (dx_source_remote(root))
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: a root over HTTP can only be read; write to a directory or "
                       "s3://bucket/prefix",
                       root);
    if (strstr(root, "://") != NULL)
        return dx_fail(err, DX_E_INVALID, "%s: not a directory or s3://bucket/prefix", root);
    return dx_store_open_local(store, root, err);
}

void dx_store_close(struct dx_store **store)
{
    if (*store != NULL)
        (*store)->ops->close(*store);
    *store = NULL;
}

int dx_store_put(struct dx_store *store, const struct dx_put *put, char etag[DX_SOURCE_ETAG],
                 struct dx_error *err)
{
    int rc = check_name(put->object, err);

    etag[0] = '\0';
    if (rc == DX_OK && put->if_absent && put->if_match != NULL)
        rc = dx_fail(err, DX_E_INVALID, "%s: to be absent and to match at once", put->object);
    if (rc == DX_OK && put->if_match != NULL && !dx_etag_strong(put->if_match))
        rc = dx_fail(err, DX_E_INVALID, "%s: the expected ETag is not a strong one", put->object);
    return rc < 0 ? rc : store->ops->put(store, put, etag, err);
}

int dx_store_list(struct dx_store *store, const char *prefix, dx_store_each *each, void *ctx,
                  struct dx_error *err)
{
    char folder[DX_OBJECT_NAME_MAX + 1];
    size_t n = strlen(prefix);

    if (n > 0) {
        if (prefix[n - 1] != '/' || n > DX_OBJECT_NAME_MAX)
            return dx_fail(err, DX_E_INVALID, "'%s' is not the name of a folder", prefix);
        memcpy(folder, prefix, n - 1);
        folder[n - 1] = '\0';
        if (!dx_object_name_valid(folder))
            return dx_fail(err, DX_E_INVALID, "'%s' is not the name of a folder", prefix);
    }
    return store->ops->list(store, prefix, each, ctx, err);
}

int dx_store_remove(struct dx_store *store, const char *object, struct dx_error *err)
{
    int rc = check_name(object, err);

    return rc < 0 ? rc : store->ops->remove(store, object, err);
}

int dx_store_read(struct dx_store *store, const char *object, uint64_t deadline_ms,
                  struct dx_buf *out, struct dx_store_stamp *stamp, struct dx_error *err)
{
    int rc = check_name(object, err);

    *stamp = (struct dx_store_stamp){ "", 0, 0 };
    return rc < 0 ? rc : store->ops->read(store, object, deadline_ms, out, stamp, err);
}

/* ETags that no store gives to the bytes of the probe. */
#define OTHER_ETAG "\"00000000000000000000000000000000\""

struct probe {
    struct dx_store *store;
    char object[64];
    char etag[DX_SOURCE_ETAG]; /* of what is there */
};

struct step {
    const char *text; /* each puts other bytes, so that each has another ETag */
    bool if_absent;
    bool remove_first;
    bool other_etag;
    bool in_parts;
    enum dx_code want;
    const char *words;
};

/* In this order: each finds what the one before left. */
static const struct step steps[] = {
    { "1", true, false, false, false, DX_OK, "If-None-Match: * on a name that is free is refused" },
    { "2", true, false, false, false, DX_E_EXISTS,
      "If-None-Match: * on a name that is taken is ignored" },
    { "3", false, false, true, false, DX_E_CONFLICT, "If-Match with another ETag is ignored" },
    { "4", false, false, false, false, DX_OK, "If-Match with the ETag of the object is refused" },
    { "5", false, true, false, false, DX_E_CONFLICT,
      "If-Match on an object that is gone is ignored" },
    { "6", true, false, false, true, DX_OK,
      "If-None-Match: * of an upload in parts (CompleteMultipartUpload) is refused on a name that "
      "is free" },
    { "7", true, false, false, true, DX_E_EXISTS,
      "If-None-Match: * of an upload in parts (CompleteMultipartUpload) is ignored on a name that "
      "is taken" },
};

static int probe_step(struct probe *p, const struct step *step, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    struct dx_put put = { .object = p->object,
                          .bytes = dx_span_str(step->text),
                          .in_parts = step->in_parts,
                          .if_absent = step->if_absent };
    struct dx_error why = DX_ERROR_INIT;
    int rc = DX_OK;

    if (!step->if_absent)
        put.if_match = step->other_etag ? OTHER_ETAG : p->etag;
    if (step->remove_first)
        rc = dx_store_remove(p->store, p->object, err);
    if (rc < 0)
        return rc;
    rc = dx_store_put(p->store, &put, etag, &why);
    if (rc == DX_OK)
        memcpy(p->etag, etag, sizeof etag);
    if (rc == (int)step->want)
        return DX_OK;
    /* An answer, but not the one that the condition demands; anything else is not an answer. */
    if (rc == DX_OK || rc == DX_E_EXISTS || rc == DX_E_CONFLICT)
        return dx_fail(
            err, DX_E_UNSUPPORTED,
            "the store does not keep conditions: %s. Two publishers could overwrite each "
            "other, so nothing is published there",
            step->words);
    return dx_fail(err, (enum dx_code)rc, "trying the store's conditions: %.400s", why.text);
}

int dx_store_probe(struct dx_store *store, struct dx_error *err)
{
    struct probe p = { .store = store };
    char nonce[DX_NONCE];
    int removed;
    int rc = DX_OK;

    dx_nonce(nonce);
    (void)snprintf(p.object, sizeof p.object, "probe/%s", nonce);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && rc == DX_OK; i++)
        rc = probe_step(&p, &steps[i], err);
    removed = dx_store_remove(store, p.object, rc == DX_OK ? err : NULL);
    return rc < 0 ? rc : removed;
}
