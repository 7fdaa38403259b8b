/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_known.h"

#include "base/array.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_pair.h"
#include "builder/sort/spill_sort.h"
#include "loader/version_parts.h"

#include <assert.h>
#include <stdlib.h>

#define BATCH 64
#define LOOKUP_MAPS (256u << 10)
#define LOOKUPS_MIN 64
#define LOOKUPS_SHARE 32 /* of the pairs of the scan: a small publish maps little */

/* Keys and names of the domains that are looked up together. */
struct batch {
    struct dx_span domains[BATCH];
    struct dx_version_hit hits[BATCH];
    uint8_t text[BATCH][DX_SURT_MAX];
    size_t count;
    uint8_t key[DX_SURT_MAX]; /* of the last one */
    size_t key_size;
    uint64_t lookups, drop_every;
};

uint64_t dx_index_known_lookups(const struct dx_index_lake *lake, size_t memory)
{
    size_t parts = lake->base->part_count;
    uint64_t lookups = memory / (LOOKUP_MAPS * parts);
    uint64_t share = dx_spill_sort_count(lake->pairs) / LOOKUPS_SHARE;

    lookups = lookups < share ? lookups : share;
    return lookups < LOOKUPS_MIN ? LOOKUPS_MIN : lookups;
}

void dx_index_known_drop(const struct dx_index_lake *lake)
{
    for (size_t i = 0; i < lake->base->part_count; i++)
        dx_part_drop_pages(lake->base->parts[i].part);
}

static int add(struct dx_index_known *k, uint32_t number, struct dx_error *err)
{
    uint32_t *to = dx_array_room(k->numbers, k->count, &k->capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "known domains");
    k->numbers = to;
    k->numbers[k->count++] = number;
    return DX_OK;
}

/* Of a lookup that failed, the words. */
static int say_why(const struct dx_version *base, struct dx_span domain, int failed,
                   struct dx_error *err)
{
    const struct dx_part *part;
    uint64_t ordinal;
    uint64_t id;
    int rc = dx_version_find(base, domain, &part, &ordinal, &id, err);

    return rc < 0 ? rc : dx_fail(err, (enum dx_code)failed, "%s: lookup", dx_version_name(base));
}

static int look_up(struct dx_index_known *k, struct dx_index_lake *lake, struct batch *b,
                   struct dx_error *err)
{
    const struct dx_version *base = lake->base;
    int rc = DX_OK;

    dx_version_find_batch(base, b->domains, b->count, b->hits);
    for (size_t i = 0; rc == DX_OK && i < b->count; i++) {
        const struct dx_version_hit *hit = &b->hits[i];

        if (hit->rc < 0)
            return say_why(base, b->domains[i], hit->rc, err);
        rc = add(k,
                 hit->rc == 1 ? (uint32_t)dx_version_number(base, hit->part, hit->ordinal)
                              : DX_INDEX_UNKNOWN,
                 err);
    }
    b->lookups += b->count;
    if (b->lookups >= b->drop_every) {
        dx_index_known_drop(lake);
        b->lookups = 0;
    }
    b->count = 0;
    return rc;
}

static int take_key(struct batch *b, struct dx_span key, struct dx_error *err)
{
    struct dx_span surt;
    size_t size;

    assert(b->count < BATCH);
    if (dx_index_pair_surt(key, &surt, err) < 0)
        return err == NULL ? DX_E_CORRUPT : (int)err->code;
    if (dx_span_equal(surt, dx_span_of(b->key, b->key_size)))
        return DX_OK;
    size = dx_surt_domain(surt, b->text[b->count]);
    if (size == 0)
        return dx_fail(err, DX_E_CORRUPT, "pair: a key of no domain");
    memcpy(b->key, surt.data, surt.size);
    b->key_size = surt.size;
    b->domains[b->count] = dx_span_of(b->text[b->count], size);
    b->count++;
    return DX_OK;
}

int dx_index_known_find(struct dx_index_known *k, struct dx_index_lake *lake, size_t memory,
                        struct dx_error *err)
{
    struct batch *b = calloc(1, sizeof *b);
    struct dx_span key;
    struct dx_span value;
    int rc;

    assert(lake->kept_parts > 0); /* else the walk over the base finds all */
    if (b == NULL)
        return dx_no_memory(err, "known domains");
    b->drop_every = dx_index_known_lookups(lake, memory);
    while ((rc = dx_spill_sort_next(lake->pairs, &key, &value, err)) == 1) {
        rc = take_key(b, key, err);
        if (rc == DX_OK && b->count == BATCH)
            rc = look_up(k, lake, b, err);
        if (rc != DX_OK)
            break;
    }
    if (rc == DX_OK)
        rc = look_up(k, lake, b, err);
    dx_index_known_drop(lake);
    free(b);
    return rc;
}

void dx_index_known_release(struct dx_index_known *k)
{
    free(k->numbers);
    *k = (struct dx_index_known)DX_INDEX_KNOWN_INIT;
}
