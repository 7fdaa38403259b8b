/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/dataset_order.h"

#include "format/core/counts.h"
#include "loader/dataset_heads.h"

#include <stdlib.h>

/* What a dataset is placed by: a name, or a fraction, as shares are compared exactly. */
struct key {
    struct dx_span name;
    uint64_t number, of;
    uint32_t place;
    bool missing;
    bool reverse;
};

static int compare(const void *of_a, const void *of_b)
{
    const struct key *a = of_a;
    const struct key *b = of_b;
    unsigned __int128 x = (unsigned __int128)a->number * b->of;
    unsigned __int128 y = (unsigned __int128)b->number * a->of;
    int c;

    if (a->missing != b->missing)
        return a->missing ? 1 : -1;
    c = a->missing ? 0 : dx_span_compare(a->name, b->name);
    if (c == 0 && !a->missing)
        c = (x > y) - (x < y);
    if (c != 0)
        return a->reverse ? -c : c;
    return (a->place > b->place) - (a->place < b->place);
}

/* In the order of the times, as unsigned numbers. */
static uint64_t number_of_time(int64_t us)
{
    return (uint64_t)us ^ (UINT64_C(1) << 63);
}

static int read_key(const struct dx_dataset_order *o, const struct dx_dataset_items *items,
                    size_t i, const struct dx_dataset_heads *heads, struct key *key,
                    struct dx_error *err)
{
    const struct dx_pair_count *pair = &items->pairs[i];
    const struct dx_dataset *dataset = dx_registry_by_id(heads->registry, items->ids[i]);

    if (dataset == NULL)
        return dx_fail(err, DX_E_CORRUPT, "dataset %u of a domain is not in datasets.json",
                       (unsigned)items->ids[i]);
    *key = (struct key){ .place = (uint32_t)i, .of = 1, .reverse = o->reverse };
    switch (o->by) {
    case DX_DOMAIN_FIELD_NAME:
        key->name = dx_span_str(dataset->name);
        break;
    case DX_DOMAIN_FIELD_URLS:
    case DX_DOMAIN_FIELD_URLS_EST:
        key->number = pair->url_count;
        break;
    case DX_DOMAIN_FIELD_ROWS:
        key->number = pair->row_count;
        break;
    case DX_DOMAIN_FIELD_FIRST_TS:
    case DX_DOMAIN_FIELD_LAST_TS:
        key->missing = !pair->has_ts;
        key->number = number_of_time(o->by == DX_DOMAIN_FIELD_FIRST_TS ? pair->first_us
                                                                       : pair->last_us);
        break;
    case DX_DOMAIN_FIELD_SHARE:
        key->number = pair->url_count;
        key->of = dataset->urls;
        break;
    case DX_DOMAIN_FIELD_RANK:
        return items->rank(items->rank_ctx, i, &key->number, err);
    default:
        key->number = items->ids[i];
        break;
    }
    return DX_OK;
}

int dx_dataset_order_make(const struct dx_dataset_order *o, const struct dx_dataset_items *items,
                          const struct dx_dataset_heads *heads, uint32_t **places,
                          struct dx_error *err)
{
    struct key *keys;
    int rc = DX_OK;

    *places = NULL;
    if ((o->by == 0 && !o->reverse) || items->count == 0)
        return DX_OK;
    keys = malloc(items->count * sizeof *keys);
    *places = malloc(items->count * sizeof **places);
    if (keys == NULL || *places == NULL)
        rc = dx_no_memory(err, "order of %zu datasets", items->count);
    for (size_t i = 0; i < items->count && rc >= 0; i++)
        rc = read_key(o, items, i, heads, &keys[i], err);
    if (rc >= 0) {
        qsort(keys, items->count, sizeof *keys, compare);
        for (size_t i = 0; i < items->count; i++)
            (*places)[i] = keys[i].place;
    }
    free(keys);
    if (rc < 0) {
        free(*places);
        *places = NULL;
    }
    return rc < 0 ? rc : DX_OK;
}
