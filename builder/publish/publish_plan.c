/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_plan.h"

#include <stdio.h>

#include "builder/publish/publish_lake.h"
#include "builder/publish/publish_listing.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

/* A first publish that died may have left the number 1. */
static int check_lost(const struct dx_root *root, const struct dx_manifest *m, struct dx_error *err)
{
    struct dx_store *store = NULL;
    struct dx_publish_listing l;
    int rc = DX_OK;

    if (m->version_count > 0)
        return DX_OK;
    if (root->store == NULL && root->in_place)
        rc = dx_store_open_local(&store, root->name, err);
    dx_publish_listing_init(&l, m, 0);
    if (rc == DX_OK && (store != NULL || root->store != NULL))
        rc = dx_publish_listing_read(&l, store != NULL ? store : root->store, err);
    if (rc == DX_OK)
        rc = dx_publish_listing_check_lost(&l, root->name, 2, err);
    dx_publish_listing_release(&l);
    dx_store_close(&store);
    return rc;
}

int dx_publish_plan(const struct dx_publish_options *options, struct dx_publish_plan *plan,
                    struct dx_error *err)
{
    struct dx_root root = DX_ROOT_INIT;
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_publish_lake lake = { .root = NULL };
    int rc = dx_root_manifest(options->root, &manifest, err);

    *plan = (struct dx_publish_plan){ .files = 0 };
    if (rc == DX_E_NOT_FOUND)
        rc = DX_OK; /* the first version */
    if (rc == DX_OK)
        rc = dx_root_open(&root, options->root, DX_ROOT_LIST, err);
    if (rc == DX_OK) /* the folder is where files would be fetched to: none is */
        rc = dx_publish_lake_open(&lake, &root, &manifest, &options->allow, "/tmp", err);
    if (rc == DX_OK)
        rc = check_lost(&root, &manifest, err);
    if (rc == DX_OK) {
        (void)snprintf(plan->current, sizeof plan->current, "%s", manifest.current);
        plan->files = lake.named.list.count;
        plan->bytes = lake.bytes;
        plan->files_new = lake.named.new_count;
        plan->bytes_new = lake.bytes_new;
        plan->files_out = lake.named.out_count;
        plan->files_gone = lake.named.missing.count;
    }
    dx_publish_lake_close(&lake);
    dx_root_close(&root);
    dx_manifest_release(&manifest);
    return rc;
}
