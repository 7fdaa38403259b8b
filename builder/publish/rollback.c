/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/rollback.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/publish/rollback_new.h"
#include "builder/root/manifest_edit.h"
#include "builder/root/root.h"
#include "loader/version.h"

#define KEPT_SHOWN 8 /* versions that an error names */
#define CACHE_BYTES (1u << 20)

struct rollback {
    const struct dx_rollback_options *options;
    struct dx_rollback_result *result;
    struct dx_root root;
    struct dx_manifest_edit edit;
};

/* ---- the root ---- */

static int open_root(struct rollback *r, struct dx_error *err)
{
    const struct dx_rollback_options *o = r->options;
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/" DX_MANIFEST_FILE, o->root);

    if (rc < 0)
        return rc;
    /* The lock would make a folder of whatever name. */
    if (dx_root_in_place(o->root) && access(path, F_OK) < 0)
        return dx_fail_errno(err, errno, "%s: nothing was published here", path);
    rc = dx_root_open(&r->root, o->root, DX_ROOT_WRITE, err);
    return rc == DX_OK && (r->root.in_place || !o->dry_run) /* to enter a store writes */
               ? dx_root_enter(&r->root, o->lock_wait_ms, o->now_us, err)
               : rc;
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

    name_kept(&r->edit.manifest, &kept);
    rc = dx_fail(err, DX_E_NOT_FOUND, "version %.40s %s; kept are: %s", r->options->version,
                 v == NULL ? "is not in the manifest" : "is being removed by a collector",
                 kept.failed || kept.data == NULL ? "?" : (const char *)kept.data);
    dx_buf_release(&kept);
    return rc;
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
        rc = dx_version_open(&v, r->options->root, &r->edit.manifest, entry, caches, &options, err);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return rc == DX_OK ? rc
                       : dx_fail_in(err, "version %s does not open and is not made current",
                                    entry->version);
}

/* ---- the lake ---- */

static int check_new(const struct rollback *r, const struct dx_manifest_version *to,
                     struct dx_error *err)
{
    const struct dx_rollback_options *o = r->options;
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_lake_snapshot_open(&now, &r->root, &why);

    if (rc == DX_OK)
        rc = dx_rollback_new_check(&now, r->root.source, &r->edit.manifest, to, o->root, &why);
    r->result->files_new = now.named.new_count;
    dx_lake_snapshot_close(&now);
    if (rc == DX_E_EXISTS && !o->force) {
        *err = why;
        return rc;
    }
    if (rc < 0 && rc != DX_E_EXISTS)
        (void)snprintf(r->result->unseen, sizeof r->result->unseen, "%.255s", why.text);
    return DX_OK;
}

/* ---- the flip ---- */

static bool is_ours(void *ctx, const struct dx_manifest *m)
{
    const struct rollback *r = ctx;

    return m->sequence == r->result->sequence && strcmp(m->current, r->result->to) == 0;
}

static int edit_manifest(void *ctx, struct dx_manifest_edit *e, struct dx_error *err)
{
    struct rollback *r = ctx;
    const struct dx_manifest_version *v = dx_manifest_said(&r->edit.manifest, r->options->version);
    int rc = DX_OK;

    if (e->etag[0] == '\0')
        return dx_fail(err, DX_E_NOT_FOUND, "%s/" DX_MANIFEST_FILE ": nothing was published here",
                       e->root->name);
    if (v == NULL || v->state == DX_VERSION_DROPPED)
        return not_there(r, v, err);
    memcpy(r->result->from, e->manifest.current, sizeof r->result->from);
    memcpy(r->result->to, v->version, sizeof r->result->to);
    r->result->sequence = e->manifest.sequence;
    r->result->unchanged = strcmp(v->version, e->manifest.current) == 0;
    if (r->result->unchanged)
        return 0;
    if (r->root.in_place)
        rc = must_open(r, v, err);
    if (rc == DX_OK)
        rc = check_new(r, v, err);
    if (rc < 0 || r->options->dry_run)
        return rc;
    r->result->sequence++;
    rc = dx_manifest_flip(&e->manifest, r->result->to, r->result->sequence,
                          r->options->fixed_time || e->now_us == 0 ? r->options->now_us : e->now_us,
                          err);
    return rc < 0 ? rc : 1;
}

static int run(struct rollback *r, struct dx_error *err)
{
    const struct dx_manifest_change change = {
        .edit = edit_manifest, .is_ours = is_ours, .ctx = r, .version = r->result->to
    };
    int rc = open_root(r, err);

    if (rc == DX_OK)
        rc = dx_manifest_edit_run(&r->edit, &change, err);
    return rc < 0 ? rc : DX_OK;
}

int dx_rollback(const struct dx_rollback_options *options, struct dx_rollback_result *result,
                struct dx_error *err)
{
    struct rollback r = {
        .options = options, .result = result, .root = DX_ROOT_INIT, .edit = { .root = &r.root }
    };
    int rc;

    *result = (struct dx_rollback_result){ 0 };
    rc = run(&r, err);
    dx_manifest_edit_release(&r.edit);
    dx_root_close(&r.root);
    return rc;
}
