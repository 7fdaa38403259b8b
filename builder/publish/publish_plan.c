/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_plan.h"

#include <stdio.h>

#include "builder/publish/publish_lake.h"
#include "builder/root/root.h"

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
