/* SPDX-License-Identifier: Apache-2.0
 * The lake of a root on object storage, by its listing.
 */
#include "builder/lake/lake_layout.h"

#include "builder/root/root.h"
#include "fetch/store/store.h"

struct listing {
    struct dx_lake_list *list;
    struct dx_left_out *left;
};

static int add_listed(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    const struct listing *l = ctx;
    int rc = dx_lake_list_add(l->list, l->left, listed->object, listed->size, listed->etag, err);

    return rc < 0 ? rc : DX_OK;
}

int dx_lake_list_store(struct dx_lake_list *list, struct dx_left_out *left, struct dx_store *store,
                       struct dx_error *err)
{
    struct listing l = { list, left };
    int rc;

    *list = (struct dx_lake_list){ NULL, 0, 0 };
    rc = dx_store_list(store, DX_LAKE_DIR "/", add_listed, &l, err);
    if (rc < 0) {
        dx_lake_list_release(list);
        return rc;
    }
    dx_lake_list_sort(list);
    return DX_OK;
}

int dx_lake_list_root(struct dx_lake_list *list, struct dx_left_out *left,
                      const struct dx_root *root, struct dx_error *err)
{
    *list = (struct dx_lake_list){ NULL, 0, 0 };
    if (root->in_place)
        return dx_lake_list(list, left, root->name, err);
    if (root->store == NULL)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: a root over HTTP cannot be listed", root->name);
    return dx_lake_list_store(list, left, root->store, err);
}
