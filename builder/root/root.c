/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/root.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "builder/root/root_probe.h"
#include "fetch/source_open.h"
#include "fetch/store/store.h"
#include "loader/version.h"

#define FIRST_SHARE 6 /* a name or a port may be wrong: 20 s */
#define STORE_FACTOR \
    12 /* a store bears with so many deadlines (fetch/store/store.h): two minutes too */

int dx_root_options(struct dx_source_options *o, struct dx_error *err)
{
    const char *wrong;

    *o = (struct dx_source_options)DX_SOURCE_OPTIONS_INIT;
    o->connect_ms = 5000;
    o->first_byte_ms = 15000;
    o->stall_ms = 15000;
    o->deadline_ms = 120000;
    o->attempts_max = 6;
    wrong = dx_source_options_env(o);
    o->first_deadline_ms = (o->deadline_ms + FIRST_SHARE - 1) / FIRST_SHARE;
    return wrong == NULL ? DX_OK : dx_fail(err, DX_E_INVALID, "%s", wrong);
}

bool dx_root_in_place(const char *name)
{
    return strstr(name, "://") == NULL;
}

/* dx_source_root_url, or the name if it is a directory. To be freed. */
static int find_store_url(const char *name, char **url, struct dx_error *err)
{
    struct dx_source_options options;
    int rc = dx_root_options(&options, err);

    *url = NULL;
    if (rc == DX_OK && !dx_root_in_place(name))
        return dx_source_root_url(name, &options, url, err);
    if (rc == DX_OK && (*url = strdup(name)) == NULL)
        rc = dx_no_memory(err, "root");
    return rc;
}

static int open_store(struct dx_root *r, const struct dx_source_options *options,
                      enum dx_root_use use, struct dx_error *err)
{
    struct dx_source_options writing = *options;
    int rc = DX_OK;

    writing.deadline_ms = (options->deadline_ms + STORE_FACTOR - 1) / STORE_FACTOR;
    if (use == DX_ROOT_WRITE || (use == DX_ROOT_LIST && !r->in_place))
        rc = dx_store_open(&r->store, r->name, &writing, err);
    if (rc == DX_E_UNSUPPORTED && use == DX_ROOT_LIST)
        rc = DX_OK;
    return rc == DX_OK && use == DX_ROOT_WRITE ? find_store_url(r->name, &r->url, err) : rc;
}

int dx_root_open(struct dx_root *r, const char *name, enum dx_root_use use, struct dx_error *err)
{
    struct dx_source_options options;
    int rc = dx_root_options(&options, err);

    *r = (struct dx_root)DX_ROOT_INIT;
    r->name = name;
    r->in_place = dx_root_in_place(name);
    if (rc == DX_OK)
        rc = open_store(r, &options, use, err);
    if (rc == DX_OK)
        rc = dx_source_open(&r->source, name, &options, err);
    if (rc < 0)
        dx_root_close(r);
    return rc;
}

int dx_root_enter(struct dx_root *r, uint64_t wait_ms, int64_t now_us, struct dx_error *err)
{
    assert(r->in_place || r->url != NULL); /* it is open for writing */
    if (!r->in_place)
        return dx_root_probe(r->source, r->store, r->url, now_us, err);
    r->lock.wait_ms = wait_ms;
    return dx_root_lock_take(&r->lock, r->name, err);
}

void dx_root_close(struct dx_root *r)
{
    dx_store_close(&r->store);
    dx_source_close(&r->source);
    dx_root_lock_drop(&r->lock);
    free(r->url);
    r->url = NULL;
}

int dx_root_manifest(const char *name, struct dx_manifest *m, struct dx_error *err)
{
    struct dx_root r = DX_ROOT_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc;

    if (dx_root_in_place(name))
        return dx_version_manifest(name, m, err);
    *m = (struct dx_manifest)DX_MANIFEST_INIT;
    rc = dx_root_open(&r, name, DX_ROOT_READ, err);
    if (rc == DX_OK)
        rc = dx_version_manifest_get(r.source, name, NULL, etag, m, err);
    dx_root_close(&r);
    return rc < 0 ? rc : DX_OK;
}

int dx_root_get(const struct dx_root *r, const char *object, size_t cap, struct dx_buf *out,
                char etag[DX_SOURCE_ETAG], struct dx_error *err)
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

int dx_root_identity(const char *name, char **id, struct dx_error *err)
{
    char shown[DX_ROOT_SHOWN];
    char *url = NULL;
    int rc;

    if (dx_root_in_place(name)) {
        *id = realpath(name, NULL);
        return *id != NULL ? DX_OK : dx_fail_errno(err, errno, "%s: cannot resolve", name);
    }
    rc = find_store_url(name, &url, err);
    if (rc == DX_OK && (*id = strdup(dx_root_shown(url, shown))) == NULL)
        rc = dx_no_memory(err, "%s", name);
    free(url);
    return rc;
}

const char *dx_root_shown(const char *url, char out[DX_ROOT_SHOWN])
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
    (void)snprintf(out, DX_ROOT_SHOWN, "%.*s%.*s", (int)before, url, (int)(end - host), host);
    return out;
}

static int copy_parts(const char *url, const char *slash, char **root, char **object,
                      struct dx_error *err)
{
    *root = strndup(url, (size_t)(slash - url));
    *object = strdup(slash + 1);
    return *root == NULL || *object == NULL ? dx_no_memory(err, "root") : DX_OK;
}

int dx_root_split(const char *url, char **root, char **object, struct dx_error *err)
{
    bool is_s3 = strncasecmp(url, "s3://", 5) == 0;
    const char *host = strstr(url, "://");
    const char *slash = host == NULL ? NULL : strrchr(host + 3, '/');
    char shown[DX_ROOT_SHOWN];
    int rc;

    *root = NULL;
    *object = NULL;
    (void)dx_root_shown(url, shown);
    if (!is_s3 && strpbrk(url, "?#") != NULL)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: a URL with '?' or '#' cannot be read by ranges; download the object "
                       "first: curl -fsS -o FILE URL",
                       shown);
    if (slash == NULL || slash == host + 3 || slash[1] == '\0')
        return dx_fail(err, DX_E_INVALID, "%s: names no object", shown);
    rc = copy_parts(url, slash, root, object, err);
    if (rc == DX_OK && ((!is_s3 && !dx_hex_unescape(*object)) || !dx_object_name_valid(*object)))
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: its last part is not the plain name of an object; download it first",
                     shown);
    if (rc < 0) {
        free(*root);
        free(*object);
        *root = NULL;
        *object = NULL;
    }
    return rc;
}
