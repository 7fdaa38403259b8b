/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/domain_split.h"

#include <assert.h>
#include <roaring/roaring.h>

#include "loader/version_parts.h"

static const struct dx_version_part *part_of(const struct dx_domain_set *s, size_t i)
{
    return &s->view.version->parts[i];
}

/* Names of all, or visible ones, in [the range's beginning, ordinal). */
static uint64_t count_before(const struct dx_domain_set *s, size_t i, uint64_t ordinal)
{
    const struct dx_domain_set_range *range = &s->range[i];
    uint64_t first = part_of(s, i)->first;

    if (ordinal > range->end)
        ordinal = range->end;
    if (ordinal <= range->next)
        return 0;
    return dx_domain_set_is_whole(s)
               ? ordinal - range->next
               : roaring_bitmap_range_cardinality(s->numbers, first + range->next, first + ordinal);
}

/* The same over all parts, before the key of a number. */
static int count_before_number(const struct dx_domain_set *s, uint64_t number, uint64_t *count,
                               struct dx_error *err)
{
    uint64_t at[DX_PARTS_MAX];
    int rc = dx_domain_set_places(s, number, at, err);

    *count = 0;
    for (size_t i = 0; rc == DX_OK && i < s->view.version->part_count; i++)
        *count += count_before(s, i, at[i]);
    return rc;
}

/* The first ordinal of a part before whose key there are n; the range's end: none. */
static int find_nth_of(const struct dx_domain_set *s, size_t i, uint64_t n, uint64_t *ordinal,
                       struct dx_error *err)
{
    uint64_t low = s->range[i].next;
    uint64_t high = s->range[i].end;
    int rc = DX_OK;

    while (rc == DX_OK && low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t count;

        rc = count_before_number(s, part_of(s, i)->first + middle, &count, err);
        if (rc == DX_OK && count < n)
            low = middle + 1;
        else
            high = middle;
    }
    *ordinal = low;
    return rc;
}

/* The number of the least key with n before it; if the set has fewer, *number stays. */
static int find_nth(const struct dx_domain_set *s, uint64_t n, uint64_t *number,
                    struct dx_error *err)
{
    struct dx_dictionary_cursor least = { .key_size = 0 };
    size_t least_size = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < s->view.version->part_count; i++) {
        struct dx_dictionary_cursor c;
        struct dx_span key;
        uint64_t ordinal;

        rc = find_nth_of(s, i, n, &ordinal, err);
        if (rc < 0 || ordinal == s->range[i].end)
            continue;
        rc = dx_domain_set_key(s, part_of(s, i)->first + ordinal, &c, &key, err);
        if (rc == DX_OK &&
            (least_size == 0 || dx_span_compare(key, dx_span_of(least.key, least_size)) < 0)) {
            least = c;
            least_size = key.size;
            *number = part_of(s, i)->first + ordinal;
        }
    }
    return rc;
}

int dx_domain_split(const struct dx_domain_set *set, uint64_t end, uint64_t parts, uint64_t *bounds,
                    struct dx_error *err)
{
    uint64_t total = 0;
    int rc = DX_OK;

    assert(parts > 0 && end <= set->view.version->numbers);
    for (size_t i = 0; i < set->view.version->part_count; i++)
        total += count_before(set, i, set->range[i].end);
    for (uint64_t k = 0; k <= parts; k++) {
        bounds[k] = end;
        if (rc == DX_OK && k < parts)
            rc = find_nth(set, total / parts * k + total % parts * k / parts, &bounds[k], err);
    }
    return rc;
}
