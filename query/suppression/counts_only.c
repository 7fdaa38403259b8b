/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/counts_only.h"

#include "loader/version.h"
#include "query/view/view.h"

static bool is_counted(const struct dx_view *view, const struct dx_suppression_view *withheld,
                       uint32_t id)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(withheld, id);

    return dx_view_of_counts(view, id) && (hidden == NULL || hidden->visible.row_count > 0);
}

int dx_counts_only_datasets(const struct dx_view *view, const struct dx_found *found,
                            const struct dx_suppression_view *withheld, uint64_t *count,
                            struct dx_error *err)
{
    const struct dx_view all = { view->version, view->scope, false };
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    int rc;

    *count = 0;
    if (!view->version->registry.has_counts)
        return DX_OK;
    rc = dx_view_pairs(&pairs, &all, found->part, found->ordinal, err);
    for (size_t i = 0; i < pairs.count; i++)
        *count += is_counted(view, withheld, pairs.ids[i]);
    dx_domain_pairs_release(&pairs);
    return rc < 0 ? rc : DX_OK;
}
