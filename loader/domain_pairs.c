/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/domain_pairs.h"

#include "loader/part.h"

#include <stdlib.h>

static int reserve(struct dx_domain_pairs *p, const struct dx_part *part, size_t count,
                   struct dx_error *err)
{
    struct dx_pair_count *counts;

    if (count <= p->capacity)
        return DX_OK;
    counts = malloc(count * (sizeof *counts + sizeof *p->ids));
    if (counts == NULL)
        return dx_no_memory(err, "%s", part->directory);
    free(p->counts);
    p->counts = counts;
    p->ids = (uint32_t *)(void *)(counts + count);
    p->capacity = count;
    return DX_OK;
}

int dx_domain_pairs_read(struct dx_domain_pairs *p, const struct dx_part *part, uint64_t ordinal,
                         struct dx_error *err)
{
    struct dx_dataset_set set;
    size_t count;
    int rc = dx_membership_get(&part->membership, ordinal, &set, err);

    p->count = 0;
    if (rc < 0)
        return rc;
    count = dx_dataset_set_count(&set);
    if (count > part->dataset_domains.datasets)
        return dx_fail(err, DX_E_CORRUPT, "%s: domain %llu has %zu datasets of %llu",
                       part->directory, (unsigned long long)ordinal, count,
                       (unsigned long long)part->dataset_domains.datasets);
    rc = reserve(p, part, count, err);
    if (rc < 0)
        return rc;
    (void)dx_dataset_set_ids(&set, p->ids, count);
    rc = dx_counts_get(&part->counts, ordinal, (uint32_t)count, p->counts, err);
    if (rc < 0)
        return rc;
    p->count = count;
    return DX_OK;
}

void dx_domain_pairs_release(struct dx_domain_pairs *p)
{
    free(p->counts);
    *p = (struct dx_domain_pairs)DX_DOMAIN_PAIRS_INIT;
}
