/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_merge.h"

#include <string.h>

#include "builder/scan/parts_policy.h"
#include "format/version/manifest.h"

bool dx_publish_merge_due(const struct dx_manifest *m, const struct dx_parts_policy *policy)
{
    const struct dx_manifest_version *v = dx_manifest_current(m);
    uint64_t pairs[DX_PARTS_MAX];
    size_t count = 0;

    if (v == NULL || v->missing_files > 0)
        return false;
    for (; count < v->part_count; count++) {
        const struct dx_manifest_version *part = dx_manifest_find(m, v->parts[count]);

        if (part == NULL)
            return false;
        pairs[count] = part->part.pairs;
    }
    pairs[count++] = v->part.pairs;
    return dx_parts_kept_of_merge(pairs, count, v->pairs, policy) < count;
}

static bool same_file(const struct dx_manifest_version *a, const struct dx_manifest_version *b,
                      const char *name)
{
    const struct dx_manifest_file *x = dx_manifest_file(a, name);
    const struct dx_manifest_file *y = dx_manifest_file(b, name);

    return x != NULL && y != NULL ? dx_hash128_equal(&x->hash, &y->hash) : x == y;
}

/* Numbers of files are never given again and holes stay, so as many numbers and as many files are
 * the same files; datasets.json has names, metadata and totals. */
bool dx_publish_is_merge_of(const struct dx_manifest *m, const char *before)
{
    const struct dx_manifest_version *a = dx_manifest_current(m);
    const struct dx_manifest_version *b = dx_manifest_find(m, before);

    return a != NULL && b != NULL && strcmp(a->base, before) == 0 &&
           a->part_count < b->part_count && a->file_ids == b->file_ids &&
           a->lake_files == b->lake_files && a->pairs == b->pairs && a->domains == b->domains &&
           a->cleansed == b->cleansed && a->rows_left_out == b->rows_left_out &&
           same_file(a, b, DX_FILE_DATASETS) && same_file(a, b, DX_FILE_PSL) &&
           same_file(a, b, DX_FILE_MISSING);
}
