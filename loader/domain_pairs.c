/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/domain_pairs.h"

#include "base/search.h"
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

/* 1 and the set, which the domain has; its size is one that the part can have. */
static int read_set(const struct dx_part *part, uint64_t ordinal, struct dx_dataset_set *set,
                    size_t *count, struct dx_error *err)
{
    int rc = dx_membership_get(&part->membership, ordinal, set, err);

    if (rc < 0)
        return rc;
    *count = dx_dataset_set_count(set);
    if (*count > part->dataset_domains.datasets)
        return dx_fail(err, DX_E_CORRUPT, "%s: domain %llu has %zu datasets of %llu",
                       part->directory, (unsigned long long)ordinal, *count,
                       (unsigned long long)part->dataset_domains.datasets);
    return 1;
}

void dx_domain_pairs_prefetch(const struct dx_part *part, uint64_t ordinal, unsigned step)
{
    if (step > 0) {
        dx_counts_prefetch_pairs(&part->counts, ordinal);
        return;
    }
    dx_membership_prefetch(&part->membership, ordinal);
    dx_counts_prefetch(&part->counts, ordinal);
}

int dx_domain_pairs_read(struct dx_domain_pairs *p, const struct dx_part *part, uint64_t ordinal,
                         struct dx_error *err)
{
    struct dx_dataset_set set;
    size_t count;
    int rc = read_set(part, ordinal, &set, &count, err);

    p->count = 0;
    if (rc < 0)
        return rc;
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

/* ---- places ---- */

static int find_domain_id(const struct dx_part *part, uint64_t ordinal, uint64_t *domain_id,
                          struct dx_error *err)
{
    uint8_t domain[DX_SURT_MAX];
    size_t size;
    int rc = dx_dictionary_get(&part->dictionary, ordinal, domain, &size, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: the dictionary does not have domain %llu",
                     part->directory, (unsigned long long)ordinal);
    if (rc == 1)
        rc = dx_mphf_domain_id(&part->mphf, ordinal, dx_span_of(domain, size), domain_id, err);
    return rc < 0 ? rc : 1;
}

int dx_pair_place(const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id,
                  struct dx_pair_place *place, struct dx_error *err)
{
    struct dx_dataset_set set;
    int rc;

    *place = (struct dx_pair_place){ ordinal, dataset_id };
    if (part->postings.by_ids)
        return find_domain_id(part, ordinal, &place->domain, err);
    rc = dx_membership_get(&part->membership, ordinal, &set, err);
    return rc < 0 ? rc : dx_dataset_set_rank(&set, dataset_id, &place->dataset);
}

int dx_pair_places_open(struct dx_pair_places *p, const struct dx_part *part, uint64_t ordinal,
                        struct dx_error *err)
{
    struct dx_dataset_set set;
    int rc;

    *p = (struct dx_pair_places){ .by_ids = part->postings.by_ids, .domain = ordinal };
    if (p->by_ids)
        rc = find_domain_id(part, ordinal, &p->domain, err);
    else
        rc = read_set(part, ordinal, &set, &p->count, err);
    if (rc < 0)
        return rc;
    p->ids = malloc((p->count + 1) * sizeof *p->ids);
    if (p->ids == NULL)
        return dx_no_memory(err, "%s", part->directory);
    if (!p->by_ids)
        (void)dx_dataset_set_ids(&set, p->ids, p->count);
    p->open = true;
    return DX_OK;
}

void dx_pair_places_close(struct dx_pair_places *p)
{
    free(p->ids);
    *p = (struct dx_pair_places){ 0 };
}

struct sought {
    const uint32_t *ids;
    uint32_t dataset_id;
};

static int compare_id(const void *ctx, size_t i)
{
    const struct sought *s = ctx;

    return (s->ids[i] > s->dataset_id) - (s->ids[i] < s->dataset_id);
}

int dx_pair_places_find(const struct dx_pair_places *p, uint32_t dataset_id,
                        struct dx_pair_place *place)
{
    const struct sought s = { p->ids, dataset_id };
    size_t at = dataset_id;

    if (!p->by_ids && !dx_search(p->count, compare_id, &s, &at))
        return 0;
    *place = (struct dx_pair_place){ p->domain, (uint32_t)at };
    return 1;
}

int dx_pair_places_dataset(const struct dx_pair_places *p, uint32_t number, uint32_t *dataset_id)
{
    if (!p->by_ids && number >= p->count)
        return 0;
    *dataset_id = p->by_ids ? number : p->ids[number];
    return 1;
}
