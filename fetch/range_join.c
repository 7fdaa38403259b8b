/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/range_join.h"

#include <stdlib.h>
#include <string.h>

struct sorting {
    const struct dx_read *reads;
    const struct dx_pin *pins;
};

static int compare_pins(const struct dx_pin *a, const struct dx_pin *b)
{
    if (a->total != b->total)
        return a->total < b->total ? -1 : 1;
    if (a->etag == NULL || b->etag == NULL)
        return (a->etag != NULL) - (b->etag != NULL);
    return strcmp(a->etag, b->etag);
}

/* Whether what is demanded of the replies is the same: 0. */
static int compare_objects(const struct sorting *s, size_t i, size_t j)
{
    int c = strcmp(s->reads[i].object, s->reads[j].object);

    return c != 0 || s->pins == NULL ? c : compare_pins(&s->pins[i], &s->pins[j]);
}

static int compare_reads(const void *a, const void *b, void *arg)
{
    const struct sorting *s = arg;
    size_t i = *(const size_t *)a;
    size_t j = *(const size_t *)b;
    int c = compare_objects(s, i, j);

    if (c != 0)
        return c;
    if (s->reads[i].offset != s->reads[j].offset)
        return s->reads[i].offset < s->reads[j].offset ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* The read begins at or behind the beginning of the join. */
static bool may_join(const struct dx_join *join, const struct dx_read *read)
{
    uint64_t end = join->offset + join->size;
    uint64_t read_end = read->offset + read->size;

    if (read_end <= end)
        return true;
    return (read->offset <= end || read->offset - end <= DX_JOIN_GAP) &&
           read_end - join->offset <= DX_JOIN_MAX;
}

size_t dx_range_join(const struct dx_read *reads, const struct dx_pin *pins, size_t count,
                     struct dx_join *joins, size_t *order)
{
    struct sorting sorting = { reads, pins };
    size_t some = 0;
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (reads[i].size > 0)
            order[some++] = i;
    qsort_r(order, some, sizeof order[0], compare_reads, &sorting);
    for (size_t i = 0; i < some; i++) {
        const struct dx_read *read = &reads[order[i]];
        uint64_t end = read->offset + read->size;
        struct dx_join *join = n > 0 ? &joins[n - 1] : NULL;

        if (join == NULL || compare_objects(&sorting, order[i - 1], order[i]) != 0 ||
            !may_join(join, read)) {
            joins[n++] = (struct dx_join){ read->offset, read->size, i, 1 };
            continue;
        }
        if (end > join->offset + join->size)
            join->size = (size_t)(end - join->offset);
        join->count++;
    }
    return n;
}

void dx_range_join_hand_out(const struct dx_read *reads, const size_t *order,
                            const struct dx_join *join, const uint8_t *bytes)
{
    for (size_t i = join->first; i < join->first + join->count; i++) {
        const struct dx_read *read = &reads[order[i]];

        memcpy(read->to, bytes + (read->offset - join->offset), read->size);
    }
}
