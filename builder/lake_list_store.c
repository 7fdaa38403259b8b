/* SPDX-License-Identifier: Apache-2.0
 * The lake of a root on object storage, by its listing.
 */
#include "builder/lake_layout.h"

#include "fetch/store.h"

static int add_listed(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    int rc = dx_lake_list_add(ctx, listed->object, listed->size, listed->etag, err);

    return rc < 0 ? rc : DX_OK;
}

int dx_lake_list_store(struct dx_lake_list *list, struct dx_store *store, struct dx_error *err)
{
    int rc;

    *list = (struct dx_lake_list){ NULL, 0, 0 };
    rc = dx_store_list(store, DX_LAKE_DIR "/", add_listed, list, err);
    if (rc < 0) {
        dx_lake_list_release(list);
        return rc;
    }
    dx_lake_list_sort(list);
    return DX_OK;
}
