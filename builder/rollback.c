/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/rollback.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "builder/publish_probe.h"
#include "builder/remote_root.h"
#include "builder/root_lock.h"
#include "fetch/store.h"
#include "loader/version.h"

#define MANIFEST "index/manifest.json"
#define COLLECTORS_MAX 32 /* that may change the manifest between our reading and our put */
#define KEPT_SHOWN 8      /* versions that an error names */
#define CACHE_BYTES (1u << 20)

struct rollback {
    const struct dx_rollback_options *options;
    struct dx_rollback_result *result;
    struct dx_root_lock lock;
    struct dx_remote_root remote;
    struct dx_store *store; /* remote.store, or of the directory */
    struct dx_manifest manifest;
    struct dx_store_stamp stamp; /* of it */
    char first[DX_VERSION_NAME]; /* current when we began */
    uint64_t first_sequence;
};

/* ---- the root ---- */

static int open_directory(struct rollback *r, struct dx_error *err)
{
    const char *root = r->options->root;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/" MANIFEST, root);
    int rc;

    if (n < 0 || (size_t)n >= sizeof path)
        return dx_fail(err, DX_E_INVALID, "%s: path too long", root);
    /* The lock would make a folder of whatever name. */
    if (access(path, F_OK) < 0)
        return dx_fail_errno(err, errno, "%s: nothing was published here", path);
    rc = dx_root_lock_take(&r->lock, root, err);
    return rc == DX_OK ? dx_store_open_local(&r->store, root, err) : rc;
}

static int open_remote(struct rollback *r, struct dx_error *err)
{
    const char *root = r->options->root;
    char *url = NULL;
    int rc = dx_remote_root_url(root, &url, err);

    if (rc == DX_OK)
        rc = dx_remote_root_open(&r->remote, root, DX_REMOTE_WRITE, err);
    if (rc == DX_OK)
        rc = dx_publish_probe(&r->remote, url, r->options->now_us, err);
    r->store = r->remote.store;
    free(url);
    return rc;
}

static int read_manifest(struct rollback *r, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    int rc = dx_store_read(r->store, MANIFEST, 0, &text, &r->stamp, err);

    dx_manifest_release(&r->manifest);
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s/" MANIFEST ": nothing was published here",
                     r->options->root);
    if (rc == 1)
        rc = dx_manifest_parse(dx_span_of(text.data, text.size), MANIFEST, &r->manifest, err);
    dx_buf_release(&text);
    return rc;
}

/* ---- the version ---- */

static void name_kept(const struct dx_manifest *m, struct dx_buf *out)
{
    unsigned shown = 0;

    for (size_t i = m->version_count; i-- > 0;) {
        const struct dx_manifest_version *v = &m->versions[i];

        if (v->state == DX_VERSION_DROPPED || ++shown > KEPT_SHOWN)
            continue;
        dx_buf_fmt(out, "%s%s%s", shown == 1 ? "" : ", ", v->version,
                   strcmp(v->version, m->current) == 0 ? " (current)" : "");
    }
    if (shown > KEPT_SHOWN)
        dx_buf_fmt(out, " and %u older ones", shown - KEPT_SHOWN);
    dx_buf_u8(out, '\0');
}

static int not_there(const struct rollback *r, const struct dx_manifest_version *v,
                     struct dx_error *err)
{
    struct dx_buf kept = DX_BUF_INIT(4096);
    int rc;

    name_kept(&r->manifest, &kept);
    rc = dx_fail(err, DX_E_NOT_FOUND, "version %.40s %s; kept are: %s", r->options->version,
                 v == NULL ? "is not in the manifest" : "is being removed by a collector",
                 kept.failed || kept.data == NULL ? "?" : (const char *)kept.data);
    dx_buf_release(&kept);
    return rc;
}

/* By name, or by number. */
static const struct dx_manifest_version *find(const struct rollback *r)
{
    const struct dx_manifest_version *v = dx_manifest_find(&r->manifest, r->options->version);
    const char *text = r->options->version;
    char *end = NULL;
    unsigned long number;

    if (v != NULL || text[0] < '0' || text[0] > '9')
        return v;
    errno = 0;
    number = strtoul(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return NULL;
    for (size_t i = 0; i < r->manifest.version_count; i++)
        if (r->manifest.versions[i].sequence == number)
            return &r->manifest.versions[i];
    return NULL;
}

static int must_open(const struct rollback *r, const struct dx_manifest_version *entry,
                     struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    int rc;

    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = CACHE_BYTES;
    rc = dx_caches_new(&caches, &options, err);
    if (rc == DX_OK)
        rc = dx_version_open(&v, r->options->root, entry, caches, &options, err);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return rc == DX_OK ? rc
                       : dx_fail_in(err, "version %s does not open and is not made current",
                                    entry->version);
}

/* ---- the flip ---- */

static int64_t flip_time(const struct rollback *r)
{
    return r->options->fixed_time ? r->options->now_us : r->stamp.now_us;
}

static int put_manifest(struct rollback *r, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char etag[DX_SOURCE_ETAG];
    struct dx_put put = { .object = MANIFEST, .if_match = r->stamp.etag };
    int rc = dx_manifest_flip(&r->manifest, r->result->to, r->manifest.sequence + 1, flip_time(r),
                              err);

    if (rc == DX_OK)
        rc = dx_manifest_write(&r->manifest, &text, err);
    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = dx_store_put(r->store, &put, etag, err);
    r->result->sequence = r->manifest.sequence;
    dx_buf_release(&text);
    return rc;
}

/* What the manifest says after a put whose fate is not known, or that was refused. */
static int resolve(struct rollback *r, int rc, struct dx_error *err)
{
    bool unknown = rc != DX_E_CONFLICT;
    uint64_t ours = r->result->sequence;

    if (read_manifest(r, NULL) == DX_OK && r->manifest.sequence == ours &&
        strcmp(r->manifest.current, r->result->to) == 0)
        return DX_OK;
    if (unknown) {
        (void)dx_fail_in(err,
                         "%s: nobody can tell whether version %s became current or still will "
                         "(see `domaindex versions`)",
                         r->options->root, r->result->to);
        return rc;
    }
    return dx_fail(err, DX_E_CONFLICT,
                   "%s: somebody else was first: %s is current now, where %s was. Nothing was "
                   "changed; look at `domaindex versions` and try again",
                   r->options->root, r->manifest.current, r->first);
}

/* 1: try again on the manifest that is there now. */
static int attempt(struct rollback *r, struct dx_error *err)
{
    const struct dx_manifest_version *v = find(r);
    int rc = DX_OK;

    if (v == NULL || v->state == DX_VERSION_DROPPED)
        return not_there(r, v, err);
    memcpy(r->result->from, r->manifest.current, sizeof r->result->from);
    memcpy(r->result->to, v->version, sizeof r->result->to);
    r->result->sequence = r->manifest.sequence;
    r->result->unchanged = strcmp(v->version, r->manifest.current) == 0;
    if (r->result->unchanged)
        return DX_OK;
    if (r->remote.store == NULL)
        rc = must_open(r, v, err);
    if (rc == DX_OK)
        rc = put_manifest(r, err);
    if (rc != DX_E_CONFLICT && rc != DX_E_UNKNOWN)
        return rc;
    if (rc == DX_E_CONFLICT && read_manifest(r, err) == DX_OK &&
        r->manifest.sequence == r->first_sequence)
        return 1; /* only a collector was there */
    return resolve(r, rc, err);
}

static int run(struct rollback *r, struct dx_error *err)
{
    int rc = dx_source_remote(r->options->root) ? open_remote(r, err) : open_directory(r, err);

    if (rc == DX_OK)
        rc = read_manifest(r, err);
    if (rc < 0)
        return rc;
    memcpy(r->first, r->manifest.current, sizeof r->first);
    r->first_sequence = r->manifest.sequence;
    rc = 1;
    for (int i = 0; rc == 1 && i < COLLECTORS_MAX; i++)
        rc = attempt(r, err);
    return rc == 1 ? dx_fail(err, DX_E_BUSY, "%s: the manifest is changed all the time; try again",
                             r->options->root)
                   : rc;
}

int dx_rollback(const struct dx_rollback_options *options, struct dx_rollback_result *result,
                struct dx_error *err)
{
    struct rollback r = { .options = options,
                          .result = result,
                          .lock = DX_ROOT_LOCK_INIT,
                          .remote = DX_REMOTE_ROOT_INIT,
                          .manifest = DX_MANIFEST_INIT };
    int rc;

    *result = (struct dx_rollback_result){ 0 };
    rc = run(&r, err);
    dx_manifest_release(&r.manifest);
    if (r.store != r.remote.store)
        dx_store_close(&r.store);
    dx_remote_root_close(&r.remote);
    dx_root_lock_drop(&r.lock);
    return rc;
}
