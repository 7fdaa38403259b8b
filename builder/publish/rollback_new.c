/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/rollback_new.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/lake/listed_files.h"

struct comparison {
    const struct dx_lake_snapshot *now;
    struct dx_buf known; /* struct dx_hash128 of paths, of the current version */
    uint64_t others;     /* files of the version to come that are not among them */
    uint32_t dataset_id; /* of the first of them */
    char first[DX_FILES_PATH_MAX + 1];
};

static int by_hash(const void *a, const void *b)
{
    return memcmp(((const struct dx_hash128 *)a)->bytes, ((const struct dx_hash128 *)b)->bytes,
                  sizeof(struct dx_hash128));
}

static int add_known(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct comparison *c = ctx;
    struct dx_hash128 hash = dx_hash128_of(row->path);

    if (dx_lake_snapshot_is_unpublished(c->now, row->dataset_id))
        dx_buf_append(&c->known, &hash, sizeof hash);
    return c->known.failed ? dx_buf_fail(&c->known, err, "names of lake files") : DX_OK;
}

static int see_other(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct comparison *c = ctx;
    struct dx_hash128 hash = dx_hash128_of(row->path);
    size_t count = c->known.size / sizeof hash;

    (void)err;
    if (!dx_lake_snapshot_is_unpublished(c->now, row->dataset_id) ||
        (count > 0 && bsearch(&hash, c->known.data, count, sizeof hash, by_hash) != NULL))
        return DX_OK;
    if (c->others++ == 0) {
        c->dataset_id = row->dataset_id;
        (void)snprintf(c->first, sizeof c->first, "%.*s", (int)row->path.size,
                       (const char *)row->path.data);
    }
    return DX_OK;
}

static int refuse(const struct comparison *c, const struct dx_manifest *m,
                  const struct dx_manifest_version *to, const char *root, struct dx_error *err)
{
    const struct dx_dataset *d = dx_registry_by_id(
        dx_dataset_registry_registry(c->now->dataset_registry), c->dataset_id);

    return dx_fail(
        err, DX_E_EXISTS,
        "%.100s: dataset '%.60s' has lake files that no version has, and their rows were "
        "not compared with %.60s of version %s: the next publish could have rows twice. "
        "Nothing was changed. Publish first (the new files join version %s), then roll "
        "back; or --force",
        root, d == NULL ? "" : d->name, c->first, to->version, m->current);
}

int dx_rollback_new_check(const struct dx_lake_snapshot *now, struct dx_source *source,
                          const struct dx_manifest *m, const struct dx_manifest_version *to,
                          const char *root, struct dx_error *err)
{
    const struct dx_manifest_version *current = dx_manifest_current(m);
    struct comparison c = { .now = now };
    int rc;

    if (now->named.new_count == 0)
        return DX_OK;
    dx_buf_init(&c.known, SIZE_MAX / 2);
    rc = dx_listed_files_all(source, NULL, m, current, add_known, &c, err);
    if (rc == DX_OK)
        rc = dx_listed_missing(source, NULL, current, add_known, &c, err);
    if (c.known.size > 0)
        qsort(c.known.data, c.known.size / sizeof(struct dx_hash128), sizeof(struct dx_hash128),
              by_hash);
    if (rc == DX_OK)
        rc = dx_listed_files_all(source, NULL, m, to, see_other, &c, err);
    if (rc == DX_OK)
        rc = dx_listed_missing(source, NULL, to, see_other, &c, err);
    if (rc == DX_OK && c.others > 0)
        rc = refuse(&c, m, to, root, err);
    dx_buf_release(&c.known);
    return rc;
}
