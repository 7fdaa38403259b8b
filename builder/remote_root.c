/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/remote_root.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fetch/store.h"
#include "loader/version.h"

#define STORE_FACTOR 12 /* a store bears with so many deadlines (fetch/store.h): two minutes too */

int dx_remote_root_options(struct dx_source_options *o, struct dx_error *err)
{
    const char *wrong;

    *o = (struct dx_source_options)DX_SOURCE_OPTIONS_INIT;
    o->connect_ms = 5000;
    o->first_byte_ms = 15000;
    o->stall_ms = 15000;
    o->deadline_ms = 120000;
    o->attempts_max = 6;
    wrong = dx_source_options_env(o);
    return wrong == NULL ? DX_OK : dx_fail(err, DX_E_INVALID, "%s", wrong);
}

int dx_remote_root_open(struct dx_remote_root *r, const char *root, enum dx_remote_use use,
                        struct dx_error *err)
{
    struct dx_source_options options;
    struct dx_source_options writing;
    int rc = dx_remote_root_options(&options, err);

    *r = (struct dx_remote_root)DX_REMOTE_ROOT_INIT;
    writing = options;
    writing.deadline_ms = (options.deadline_ms + STORE_FACTOR - 1) / STORE_FACTOR;
    if (rc == DX_OK && use != DX_REMOTE_READ)
        rc = dx_store_open(&r->store, root, &writing, err);
    if (rc == DX_E_UNSUPPORTED && use == DX_REMOTE_LIST)
        rc = DX_OK;
    if (rc == DX_OK)
        rc = dx_source_open(&r->source, root, &options, err);
    if (rc < 0)
        dx_remote_root_close(r);
    return rc;
}

void dx_remote_root_close(struct dx_remote_root *r)
{
    dx_store_close(&r->store);
    dx_source_close(&r->source);
}

int dx_remote_root_manifest(const char *root, struct dx_manifest *m, struct dx_error *err)
{
    struct dx_remote_root r = DX_REMOTE_ROOT_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc;

    if (!dx_source_remote(root))
        return dx_version_manifest(root, m, err);
    *m = (struct dx_manifest)DX_MANIFEST_INIT;
    rc = dx_remote_root_open(&r, root, DX_REMOTE_READ, err);
    if (rc == DX_OK)
        rc = dx_version_manifest_get(r.source, root, NULL, etag, m, err);
    dx_remote_root_close(&r);
    return rc < 0 ? rc : DX_OK;
}

int dx_remote_root_get(const struct dx_remote_root *r, const char *object, size_t cap,
                       struct dx_buf *out, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_get get = { .object = object, .cap = cap };
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_source_get(r->source, &get, out, etag, &why);

    if (rc == DX_E_NOT_FOUND)
        return 0;
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

int dx_remote_root_url(const char *root, char **url, struct dx_error *err)
{
    struct dx_source_options options;
    int rc = dx_remote_root_options(&options, err);

    *url = NULL;
    if (rc == DX_OK && dx_source_remote(root))
        return dx_source_root_url(root, &options, url, err);
    if (rc == DX_OK && (*url = strdup(root)) == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "root: out of memory");
    return rc;
}

const char *dx_remote_shown(const char *url, char out[DX_REMOTE_SHOWN])
{
    bool s3 = strncasecmp(url, "s3://", 5) == 0;
    const char *scheme = strstr(url, "://");
    const char *host = scheme == NULL ? url : scheme + 3;
    size_t before = (size_t)(host - url);
    const char *end = host + strcspn(host, s3 ? "" : "?#");

    for (const char *c = host + strcspn(host, "/?#"); c > host; c--)
        if (c[-1] == '@') {
            host = c;
            break;
        }
    (void)snprintf(out, DX_REMOTE_SHOWN, "%.*s%.*s", (int)before, url, (int)(end - host), host);
    return out;
}
