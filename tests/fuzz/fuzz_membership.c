/* SPDX-License-Identifier: Apache-2.0
 * domain_to_datasets.roar with all sums believed: bounds and structure must hold alone. What a
 * set says of itself must agree with what CRoaring makes of it.
 */
#include "format/core/membership.h"

#include <roaring/roaring.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_set(const struct dx_dataset_set *set)
{
    static uint32_t ids[70000];
    size_t n = dx_dataset_set_ids(set, ids, sizeof ids / sizeof ids[0]);
    uint32_t rank = 0;

    if (n != set->count && n != sizeof ids / sizeof ids[0])
        abort();
    for (size_t i = 0; i < n; i += 1 + n / 16)
        if (dx_dataset_set_rank(set, ids[i], &rank) != 1 || rank != i)
            abort();
    if (n < set->count)
        return; /* millions of ids: CRoaring would only cost time */
    roaring_bitmap_t *b = dx_dataset_set_bitmap(set);

    if (b == NULL || roaring_bitmap_get_cardinality(b) != n)
        abort();
    roaring_bitmap_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_dataset_set set;
    struct dx_membership m;

    if (dx_dataset_set_open(&set, dx_span_of(data, size), "fuzz", NULL) >= 0)
        use_set(&set);
    if (dx_membership_open(&m, dx_span_of(data, size), DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return 0;
    for (uint64_t i = 0; i < m.domains && i < 300; i++)
        if (dx_membership_get(&m, i, &set, NULL) == 1)
            use_set(&set);
    dx_membership_close(&m);
    return 0;
}
