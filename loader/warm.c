/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/warm.h"

#include "loader/hot_keys.h"
#include "loader/version.h"
#include "loader/warm_map.h"

static int warm_one(void *ctx, const char *name, struct dx_span bytes, struct dx_error *err)
{
    return dx_warm_map(name, bytes, *(const bool *)ctx, err);
}

int dx_warm_maps(struct dx_version *v, bool beside, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < v->part_count; i++) {
        struct dx_part *part = v->parts[i].part;

        if (atomic_load(&part->warm))
            continue; /* of a version that is open, or verified */
        rc = dx_part_maps(part, warm_one, &beside, err);
        atomic_store(&part->warm, rc == DX_OK);
    }
    return rc;
}

/* A domain that the version does not have is skipped. */
static int warm_key(struct dx_version *v, struct dx_span domain, struct dx_error *err)
{
    struct dx_pair_count first;
    struct dx_dataset_set set;
    const struct dx_part *part;
    uint64_t ordinal;
    uint64_t domain_id;
    int rc = dx_version_find(v, domain, &part, &ordinal, &domain_id, err);

    if (rc <= 0)
        return rc;
    rc = dx_membership_get(&part->membership, ordinal, &set, err);
    if (rc > 0)
        rc = dx_counts_one(&part->counts, ordinal, 0, &first, err);
    return rc;
}

int dx_warm_keys(struct dx_version *v, const struct dx_hot_keys *hot, struct dx_error *err)
{
    uint8_t domain[DX_HOT_KEY_MAX];
    size_t size;
    int rc = DX_OK;

    for (size_t i = 0; i < DX_HOT_KEYS && rc >= 0; i++)
        if (dx_hot_keys_get(hot, i, domain, &size))
            rc = warm_key(v, dx_span_of(domain, size), err);
    return rc < 0 ? rc : DX_OK;
}
