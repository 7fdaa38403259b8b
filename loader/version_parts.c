/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version_parts.h"

#include "format/version/dataset_domains.h"
#include "loader/objects.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#define BATCH 256
#define NEAR 64  /* dead domains are passed one by one so far: to count a range takes as long */
#define IDS 1024 /* of a set at a time */

/* ---- domains ---- */

size_t dx_version_part_at(const struct dx_version *v, uint64_t number)
{
    size_t i = v->part_count - 1;

    assert(number < v->numbers);
    while (i > 0 && v->parts[i].first > number)
        i--;
    return i;
}

uint64_t dx_version_number(const struct dx_version *v, const struct dx_part *part, uint64_t ordinal)
{
    size_t i = v->part_count - 1;

    while (i > 0 && v->parts[i].part != part)
        i--;
    return v->parts[i].first + ordinal;
}

int dx_version_domain(const struct dx_version *v, uint64_t number, uint8_t domain[DX_SURT_MAX],
                      size_t *size, struct dx_error *err)
{
    const struct dx_version_part *p;

    if (number >= v->numbers)
        return 0;
    p = &v->parts[dx_version_part_at(v, number)];
    return dx_dictionary_get(&p->part->dictionary, number - p->first, domain, size, err);
}

bool dx_version_is_dead(const struct dx_version *v, size_t i, uint64_t ordinal)
{
    return v->parts[i].dead != NULL && roaring_bitmap_contains(v->parts[i].dead, (uint32_t)ordinal);
}

bool dx_version_is_live(const struct dx_version *v, uint64_t number)
{
    size_t i = dx_version_part_at(v, number);

    return !dx_version_is_dead(v, i, number - v->parts[i].first);
}

static bool all_dead(const roaring_bitmap_t *dead, uint64_t from, uint64_t count)
{
    return roaring_bitmap_range_cardinality(dead, from, from + count) == count;
}

uint64_t dx_version_next_live(const struct dx_version *v, size_t i, uint64_t ordinal)
{
    const roaring_bitmap_t *dead = v->parts[i].dead;
    uint64_t step = NEAR;

    for (unsigned n = 0; n < NEAR; n++, ordinal++)
        if (!dx_version_is_dead(v, i, ordinal))
            return ordinal;
    for (; all_dead(dead, ordinal, step); step *= 2)
        ordinal += step;
    for (step /= 2; step > 0; step /= 2)
        if (all_dead(dead, ordinal, step))
            ordinal += step;
    return ordinal;
}

void dx_version_add_numbers(const struct dx_version *v, size_t i,
                            const struct roaring_bitmap_s *ordinals, struct roaring_bitmap_s *to)
{
    roaring_uint32_iterator_t it;
    uint32_t ids[IDS];
    uint32_t n;

    if (v->parts[i].first == 0) {
        roaring_bitmap_or_inplace(to, ordinals);
        return;
    }
    roaring_init_iterator(ordinals, &it);
    while ((n = roaring_read_uint32_iterator(&it, ids, IDS)) > 0) {
        for (uint32_t k = 0; k < n; k++)
            ids[k] += (uint32_t)v->parts[i].first;
        roaring_bitmap_add_many(to, n, ids);
    }
}

int dx_version_remove_dead(const struct dx_version *v, struct roaring_bitmap_s *numbers,
                           struct dx_error *err)
{
    roaring_bitmap_t *dead = roaring_bitmap_create();
    uint64_t wanted = 0;
    uint64_t before, both;
    bool is_whole;

    if (dead == NULL)
        return dx_no_memory(err, "dead domains");
    for (size_t i = 0; i < v->part_count; i++)
        if (v->parts[i].dead != NULL) {
            dx_version_add_numbers(v, i, v->parts[i].dead, dead);
            wanted += roaring_bitmap_get_cardinality(v->parts[i].dead);
        }
    before = roaring_bitmap_get_cardinality(numbers);
    both = roaring_bitmap_and_cardinality(numbers, dead);
    is_whole = roaring_bitmap_get_cardinality(dead) == wanted;
    roaring_bitmap_andnot_inplace(numbers, dead);
    roaring_bitmap_free(dead);
    /* Where memory ran out some versions of CRoaring leave members out, or in, and say nothing. */
    if (!is_whole || roaring_bitmap_get_cardinality(numbers) != before - both)
        return dx_no_memory(err, "dead domains");
    return DX_OK;
}

int dx_version_add_dataset(const struct dx_version *v, uint32_t dataset_id, uint64_t first,
                           uint64_t end, struct roaring_bitmap_s *to, uint64_t *count,
                           struct dx_error *err)
{
    const struct dx_version_part *of;
    const struct dx_dataset_domains *d;
    struct dx_domain_list list;
    struct dx_domain_cursor c;
    int rc;

    if (first == end)
        return DX_OK;
    of = &v->parts[dx_version_part_at(v, first)];
    d = &of->part->dataset_domains;
    rc = dx_dataset_domains_of(d, dataset_id, &list, err);
    if (rc != 1)
        return rc;
    dx_domain_cursor_begin(&c, d, &list);
    rc = dx_domain_cursor_seek(&c, first - of->first, err);
    for (; rc == 1 && of->first + c.ordinal < end; rc = dx_domain_cursor_next(&c, err)) {
        roaring_bitmap_add(to, (uint32_t)(of->first + c.ordinal));
        ++*count;
    }
    return rc < 0 ? rc : DX_OK;
}

/* Places in v->parts, the part with most domains first. */
static void order_parts(const struct dx_version *v, uint8_t order[DX_PARTS_MAX])
{
    for (size_t i = 0; i < v->part_count; i++) {
        size_t k = i;

        for (; k > 0 && v->parts[order[k - 1]].part->mphf.n < v->parts[i].part->mphf.n; k--)
            order[k] = order[k - 1];
        order[k] = (uint8_t)i;
    }
}

/* Those that are not live in the parts before, from the next one: a domain is live in one part at most. */
static void find_some(const struct dx_version *v, const uint8_t order[DX_PARTS_MAX],
                      const struct dx_span *domains, size_t count, struct dx_version_hit *hits)
{
    struct dx_span left[BATCH];
    uint64_t hashes[BATCH];
    struct dx_mphf_hit found[BATCH];
    size_t at[BATCH];
    size_t n = count;

    for (size_t k = 0; k < count; k++) {
        left[k] = domains[k];
        hashes[k] = dx_id64(domains[k]);
        at[k] = k;
        hits[k].rc = 0;
    }
    for (size_t i = 0; i < v->part_count && n > 0; i++) {
        const struct dx_part *part = v->parts[order[i]].part;
        size_t kept = 0;

        dx_mphf_find_batch(&part->mphf, &part->dictionary, left, hashes, n, found);
        for (size_t k = 0; k < n; k++) {
            int rc = found[k].rc;

            if (rc == 0 || (rc == 1 && dx_version_is_dead(v, order[i], found[k].ordinal))) {
                left[kept] = left[k];
                hashes[kept] = hashes[k];
                at[kept++] = at[k];
            } else {
                hits[at[k]] = (struct dx_version_hit){ rc, part, found[k].ordinal,
                                                       found[k].domain_id };
            }
        }
        n = kept;
    }
}

void dx_version_find_batch(const struct dx_version *v, const struct dx_span *domains, size_t count,
                           struct dx_version_hit *hits)
{
    uint8_t order[DX_PARTS_MAX];

    order_parts(v, order);
    for (size_t i = 0; i < count; i += BATCH)
        find_some(v, order, domains + i, count - i < BATCH ? count - i : BATCH, hits + i);
}

int dx_version_find_newest(const struct dx_version *v, struct dx_span domain,
                           const struct dx_part **part, uint64_t *ordinal, uint64_t *domain_id,
                           struct dx_error *err)
{
    DX_UNINITIALIZED struct dx_mphf_probe probes[DX_PARTS_MAX];
    uint64_t hash = dx_id64(domain);
    int rc = 0;

    for (size_t i = v->part_count; i-- > 0;)
        if (v->parts[i].part->mphf.n > 0)
            probes[i] = dx_mphf_probe(&v->parts[i].part->mphf, domain, hash);
    for (size_t i = v->part_count; i-- > 0;)
        if (v->parts[i].part->mphf.n > 0)
            dx_mphf_probe_next(&probes[i], &v->parts[i].part->mphf);
    for (size_t i = v->part_count; rc == 0 && i-- > 0;) {
        *part = v->parts[i].part;
        if ((*part)->mphf.n == 0)
            continue;
        rc = dx_mphf_probe_end(&probes[i], &(*part)->mphf, &(*part)->dictionary, domain, ordinal,
                               domain_id, err);
        if (rc == 1 && v->parts[i].dead != NULL && dx_version_is_dead(v, i, *ordinal))
            return 0;
    }
    return rc;
}

/* ---- lake files ---- */

const struct dx_part *dx_version_part_of_file(const struct dx_version *v, uint64_t file_id)
{
    for (size_t i = v->part_count; i-- > 0;) {
        const struct dx_part *part = v->parts[i].part;

        if (file_id >= part->pages.first_file)
            return file_id - part->pages.first_file < part->pages.files ? part : NULL;
    }
    return NULL;
}

bool dx_version_is_gone(const struct dx_version *v, uint64_t file_id)
{
    return v->dead.files != NULL && roaring_bitmap_contains(v->dead.files, (uint32_t)file_id);
}

int dx_version_file(const struct dx_version *v, uint64_t file_id, const struct dx_part **part,
                    struct dx_pages_file *file, struct dx_error *err)
{
    *part = dx_version_part_of_file(v, file_id);
    return *part == NULL || dx_version_is_gone(v, file_id)
               ? 0
               : dx_pages_file(&(*part)->pages, file_id, file, err);
}

uint64_t dx_version_objects_broken(const struct dx_version *v)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < v->part_count; i++)
        sum += dx_objects_broken(v->parts[i].part->objects);
    return sum;
}

static int count_rank(const struct dx_version *v, uint32_t dataset_id, uint64_t url_count,
                      uint64_t *rank, struct dx_error *err)
{
    bool any = false;

    *rank = 1;
    for (size_t i = 0; i < v->part_count; i++) {
        const struct dx_dataset_domains *d = &v->parts[i].part->dataset_domains;
        struct dx_domain_list list;
        uint64_t one;
        int rc = dx_dataset_domains_of(d, dataset_id, &list, err);

        if (rc == 1) {
            any = true;
            rc = dx_dataset_domains_rank(d, &list, url_count, &one, err);
            *rank += rc < 0 ? 0 : one - 1;
        }
        if (rc < 0)
            return rc;
    }
    *rank -= dx_dead_domains_above(&v->dead, dataset_id, url_count);
    return any;
}

int dx_version_rank(const struct dx_version *v, uint32_t dataset_id, uint64_t url_count,
                    uint64_t *rank, struct dx_error *err)
{
    const struct dx_dataset_head *head = dx_dataset_heads_get(&v->heads, dataset_id);
    _Atomic uint32_t *kept = head == NULL ? NULL
                                          : dx_dataset_heads_rank(&v->heads, head, url_count);
    uint32_t known = kept == NULL ? 0 : atomic_load_explicit(kept, memory_order_relaxed);
    int rc;

    *rank = known;
    if (known > 0)
        return 1;
    rc = count_rank(v, dataset_id, url_count, rank, err);
    /* Threads that come at once find the same one. */
    if (rc == 1 && kept != NULL && *rank <= UINT32_MAX)
        atomic_store_explicit(kept, (uint32_t)*rank, memory_order_relaxed);
    return rc;
}
