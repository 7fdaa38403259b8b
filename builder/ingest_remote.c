/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest_remote.h"

#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "builder/ingest_claim.h"
#include "builder/lake_now.h"
#include "builder/publish_probe.h"
#include "builder/registry.h"
#include "fetch/store.h"

#define PSL_MAX ((size_t)64 << 20)

int dx_ingest_check_lake(const char *root, const struct dx_lake_list *lake,
                         const struct dx_roster *roster, struct dx_error *err)
{
    for (size_t i = 0; i < lake->count; i++)
        if (dx_roster_standing(roster, lake->file[i].path) == DX_LAKE_UNKNOWN)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s/%s: dataset %u is not in " DX_ROSTER_FILE "; bring that file back "
                           "or move the dataset's folder away",
                           root, lake->file[i].path, lake->file[i].dataset_id);
    return DX_OK;
}

int dx_ingest_remote_open(struct dx_ingest_remote *r, const struct dx_ingest_options *o,
                          struct dx_error *err)
{
    *r = (struct dx_ingest_remote)DX_INGEST_REMOTE_INIT;
    r->o = o;
    return dx_remote_root_open(&r->root, o->root, DX_REMOTE_WRITE, err);
}

void dx_ingest_remote_close(struct dx_ingest_remote *r)
{
    dx_ingest_claim_drop(&r->claim);
    dx_remote_root_close(&r->root);
}

static int probe(const struct dx_ingest_remote *r, struct dx_error *err)
{
    struct timespec now;
    char *url;
    int rc = dx_remote_root_url(r->o->root, &url, err);

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (rc == DX_OK)
        rc = dx_publish_probe(&r->root, url, now.tv_sec * INT64_C(1000000), err);
    free(url);
    return rc;
}

int dx_ingest_remote_begin(struct dx_ingest_remote *r, struct dx_roster **roster,
                           struct dx_error *err)
{
    struct dx_lake_now now = DX_LAKE_NOW_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc = dx_roster_read(roster, &r->root, etag, err);

    r->had_registry = rc > 0;
    if (rc >= 0)
        rc = probe(r, err);
    if (rc == DX_OK && !r->had_registry)
        rc = dx_lake_now_open(&now, r->o->root, &r->root, err);
    dx_lake_now_close(&now);
    return rc < 0 ? dx_fail_in(err, "%s", r->o->root) : DX_OK;
}

static int compare_psl(struct dx_ingest_remote *r, struct dx_span text, struct dx_error *err)
{
    struct dx_buf there = DX_BUF_INIT(PSL_MAX);
    char etag[DX_SOURCE_ETAG];
    int rc = dx_remote_root_get(&r->root, DX_LAKE_PSL, PSL_MAX, &there, etag, err);

    if (rc > 0 && !dx_span_equal(text, dx_span_of(there.data, there.size)))
        rc = dx_fail(err, DX_E_CONFLICT,
                     "%s: another run has begun this lake with another suffix list in " DX_LAKE_PSL
                     "; nothing was added, run it again",
                     r->o->root);
    dx_buf_release(&there);
    return rc;
}

int dx_ingest_remote_psl(struct dx_ingest_remote *r, struct dx_span text, struct dx_error *err)
{
    const struct dx_put put = { .object = DX_LAKE_PSL, .bytes = text, .if_absent = true };
    char etag[DX_SOURCE_ETAG];
    int rc = compare_psl(r, text, err);

    if (rc != 0)
        return rc < 0 ? rc : DX_OK;
    rc = dx_store_put(r->root.store, &put, etag, err);
    if (rc != DX_E_EXISTS && rc != DX_E_UNKNOWN)
        return rc;
    rc = compare_psl(r, text, err);
    if (rc == 0)
        return dx_fail(err, DX_E_UNKNOWN,
                       "%s/" DX_LAKE_PSL ": it is not known whether it was "
                       "written; nothing was added, run it again",
                       r->o->root);
    return rc < 0 ? rc : DX_OK;
}

int dx_ingest_remote_names(struct dx_ingest_remote *r, dx_ingest_names *edit, void *ctx,
                           struct dx_roster **roster, struct dx_error *err)
{
    const struct dx_roster_change change = {
        .edit = edit, .ctx = ctx, .must_exist = r->had_registry, .stopped = r->o->stopped
    };
    int rc = dx_roster_change(&r->root, &change, roster, err);

    if (rc < 0)
        return dx_fail_in(err, "%s: no row was added to the lake", r->o->root);
    r->had_registry = true;
    return DX_OK;
}

int dx_ingest_remote_claim(struct dx_ingest_remote *r, uint32_t *ids, size_t count,
                           struct dx_error *err)
{
    struct dx_ingest_claim_options options = {
        .remote = &r->root,
        .root = r->o->root,
        .stopped = r->o->stopped,
        .say = r->o->say,
        .lease_ms = r->o->test_lease_ms,
    };

    return dx_ingest_claim_take(&r->claim, &options, ids, count, err);
}
