/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/root_registry.h"

#include "builder/root/root.h"

int root_registry(struct dx_dataset_registry **registry, const char *root, struct dx_error *err)
{
    struct dx_root r = DX_ROOT_INIT;
    int rc;

    *registry = NULL;
    rc = dx_root_open(&r, root, DX_ROOT_READ, err);
    if (rc >= 0)
        rc = dx_dataset_registry_read(registry, &r, err);
    dx_root_close(&r);
    return rc < 0 ? rc : DX_OK;
}
