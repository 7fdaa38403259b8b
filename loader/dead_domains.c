/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dead_domains.h"

#include "loader/open_parts.h"

#include <roaring/roaring.h>
#include <stdlib.h>

#define IDS 1024 /* of a set at a time */

static int add_members(roaring_bitmap_t **to, const struct dx_dataset_set *set,
                       struct dx_error *err)
{
    uint32_t ids[IDS];
    uint64_t from = 0;
    size_t n;

    if (*to == NULL)
        *to = roaring_bitmap_create();
    if (*to == NULL)
        return dx_no_memory(err, "dead domains");
    while (from <= UINT32_MAX && (n = dx_dataset_set_ids_from(set, (uint32_t)from, ids, IDS)) > 0) {
        from = (uint64_t)ids[n - 1] + 1;
        roaring_bitmap_add_many(*to, n, ids);
    }
    return DX_OK;
}

static int add_ranks(struct dx_dead_domains *d, const struct dx_dead *file,
                     const struct dx_dead_part *p, struct dx_error *err)
{
    struct dx_dead_rank *more = realloc(d->rank, (d->rank_count + p->ranks + 1) * sizeof *more);
    int rc = DX_OK;

    if (more == NULL)
        return dx_no_memory(err, "ranks of dead domains");
    d->rank = more;
    for (uint64_t k = 0; rc == DX_OK && k < p->ranks; k++) {
        struct dx_dead_rank *rank = &d->rank[d->rank_count];

        rc = dx_dead_rank(file, p, k, rank, err);
        if (rc == DX_OK) {
            d->rank_count++;
            d->pairs += rank->domains;
            d->urls += rank->domains * rank->url_count;
        }
    }
    return rc;
}

/* What a part says of an older one. */
static int take_part(struct dx_dead_domains *d, const struct dx_part *newer,
                     struct dx_version_part *older, size_t i, struct dx_error *err)
{
    const struct dx_manifest_version *entry = &older->part->entry;
    struct dx_dataset_set set;
    struct dx_dead_part p;
    int rc = dx_dead_part(newer->dead, i, &p, err);

    if (rc == DX_OK &&
        (memcmp(&p.build, &entry->build, sizeof p.build) != 0 || p.of != entry->part.domains))
        rc = dx_fail(err, DX_E_CORRUPT, "%s/" DX_FILE_DEAD ": its part %zu is not %s",
                     newer->directory, i, older->part->directory);
    if (rc == DX_OK && p.domains > 0)
        rc = dx_dead_ordinals(newer->dead, &p, &set, err);
    if (rc == DX_OK && p.domains > 0)
        rc = add_members(&older->dead, &set, err);
    if (rc == DX_OK)
        d->domains += p.domains;
    return rc == DX_OK ? add_ranks(d, newer->dead, &p, err) : rc;
}

/* A lake file of an older part that the version does not have. */
static int add_rows(struct dx_dead_domains *d, const struct dx_version_part *parts, size_t count,
                    uint32_t file_id, struct dx_error *err)
{
    struct dx_pages_file file;
    size_t i = count - 1;
    int rc;

    while (i > 0 && file_id < parts[i].part->pages.first_file)
        i--;
    rc = dx_pages_file(&parts[i].part->pages, file_id, &file, err);
    if (rc == 0 || (rc == 1 && i + 1 == count))
        return dx_fail(err, DX_E_CORRUPT, "%s/" DX_FILE_DEAD ": file %lu is of no older part",
                       parts[count - 1].part->directory, (unsigned long)file_id);
    d->rows += rc == 1 ? file.rows : 0;
    return rc < 0 ? rc : DX_OK;
}

/* What the version's own part says of files. */
static int take_gone(struct dx_dead_domains *d, const struct dx_version_part *parts, size_t count,
                     struct dx_error *err)
{
    const struct dx_part *own = parts[count - 1].part;
    uint64_t gone = own->dead == NULL ? 0 : own->dead->gone;
    roaring_uint32_iterator_t it;
    struct dx_dataset_set set;
    int rc = DX_OK;

    if (gone != own->entry.gone_files)
        return dx_fail(
            err, DX_E_CORRUPT, "%s/" DX_FILE_DEAD ": %llu files left, the manifest says %llu",
            own->directory, (unsigned long long)gone, (unsigned long long)own->entry.gone_files);
    if (gone == 0)
        return DX_OK;
    rc = dx_dead_gone(own->dead, &set, err);
    if (rc == DX_OK)
        rc = add_members(&d->files, &set, err);
    if (rc != DX_OK)
        return rc;
    for (roaring_init_iterator(d->files, &it); rc == DX_OK && it.has_value;
         (void)roaring_advance_uint32_iterator(&it))
        rc = add_rows(d, parts, count, it.current_value, err);
    return rc;
}

/* By dataset, those with more URLs first. */
static int by_rank(const void *a, const void *b)
{
    const struct dx_dead_rank *x = a;
    const struct dx_dead_rank *y = b;

    if (x->dataset_id != y->dataset_id)
        return x->dataset_id < y->dataset_id ? -1 : 1;
    return (x->url_count < y->url_count) - (x->url_count > y->url_count);
}

static void sum_ranks(struct dx_dead_domains *d)
{
    struct dx_dead_rank *r = d->rank;
    size_t n = 0;

    if (d->rank_count > 1)
        qsort(r, d->rank_count, sizeof *r, by_rank);
    for (size_t i = 0; i < d->rank_count; i++) {
        bool same = n > 0 && r[n - 1].dataset_id == r[i].dataset_id;
        uint64_t sum = r[i].domains + (same ? r[n - 1].domains : 0);

        if (!same || r[n - 1].url_count != r[i].url_count)
            r[n++] = r[i];
        r[n - 1].domains = sum;
    }
    d->rank_count = n;
}

int dx_dead_domains_join(struct dx_version_part *parts, size_t count, struct dx_dead_domains *d,
                         struct dx_error *err)
{
    uint64_t numbers = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        const struct dx_part *part = parts[i].part;

        if ((part->dead == NULL ? 0 : part->dead->parts) != i)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: it is not part %zu of a version", part->directory,
                         i);
        parts[i].first = numbers;
        numbers += part->entry.part.domains;
        for (size_t k = 0; rc == DX_OK && k < i; k++)
            rc = take_part(d, part, &parts[k], k, err);
    }
    if (rc == DX_OK && numbers > UINT32_MAX)
        rc = dx_fail(err, DX_E_LIMIT, "the parts of a version have over %lu domains together",
                     (unsigned long)UINT32_MAX);
    if (rc == DX_OK)
        sum_ranks(d);
    return rc == DX_OK && count > 0 ? take_gone(d, parts, count, err) : rc;
}

uint64_t dx_dead_domains_above(const struct dx_dead_domains *d, uint32_t dataset_id,
                               uint64_t url_count)
{
    size_t low = 0;
    size_t high = d->rank_count;

    /* The first entry that is behind them. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct dx_dead_rank *r = &d->rank[middle];

        if (r->dataset_id < dataset_id || (r->dataset_id == dataset_id && r->url_count > url_count))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && d->rank[low - 1].dataset_id == dataset_id ? d->rank[low - 1].domains : 0;
}

void dx_dead_domains_release(struct dx_version_part *parts, size_t count, struct dx_dead_domains *d)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].dead != NULL)
            roaring_bitmap_free(parts[i].dead);
        dx_open_parts_put(&parts[i].part);
    }
    free(d->rank);
    if (d->files != NULL)
        roaring_bitmap_free(d->files);
    *d = (struct dx_dead_domains){ 0 };
}
