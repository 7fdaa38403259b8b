/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_dead.h"

#include "base/array.h"
#include "builder/lake/lake_files.h"
#include "format/version/dead.h"
#include "loader/version_parts.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#define IDS 1024 /* of a set at a time */

struct rank {
    uint32_t part;
    struct dx_dead_rank is;
};

struct dx_index_dead {
    const struct dx_index_lake *lake;
    const struct dx_version *base;
    size_t parts; /* that stay */
    roaring_bitmap_t *ordinals[DX_PARTS_MAX];
    struct rank *ranks;
    size_t rank_count, rank_capacity;
};

static int add_rank(struct dx_index_dead *d, size_t part, const struct dx_dead_rank *rank,
                    struct dx_error *err)
{
    struct rank *to = dx_array_room(d->ranks, d->rank_count, &d->rank_capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "dead domains");
    d->ranks = to;
    d->ranks[d->rank_count++] = (struct rank){ (uint32_t)part, *rank };
    return DX_OK;
}

/* What a part that is merged says of one that stays. */
static int take_part(struct dx_index_dead *d, const struct dx_dead *from, size_t i,
                     struct dx_error *err)
{
    struct dx_dataset_set set;
    struct dx_dead_part p;
    uint32_t ids[IDS];
    uint64_t at = 0;
    size_t n;
    int rc = dx_dead_part(from, i, &p, err);

    for (uint64_t k = 0; rc == DX_OK && k < p.ranks; k++) {
        struct dx_dead_rank rank;

        rc = dx_dead_rank(from, &p, k, &rank, err);
        if (rc == DX_OK)
            rc = add_rank(d, i, &rank, err);
    }
    if (rc != DX_OK || p.domains == 0)
        return rc;
    rc = dx_dead_ordinals(from, &p, &set, err);
    while (rc == DX_OK && at <= UINT32_MAX &&
           (n = dx_dataset_set_ids_from(&set, (uint32_t)at, ids, IDS)) > 0) {
        at = (uint64_t)ids[n - 1] + 1;
        roaring_bitmap_add_many(d->ordinals[i], n, ids);
    }
    return rc;
}

int dx_index_dead_new(struct dx_index_dead **out, const struct dx_index_lake *lake,
                      struct dx_error *err)
{
    struct dx_index_dead *d = calloc(1, sizeof *d);
    int rc = DX_OK;

    assert(lake->kept_parts > 0 && lake->kept_parts <= lake->base->part_count);
    *out = d;
    if (d == NULL)
        return dx_no_memory(err, "dead domains");
    d->lake = lake;
    d->base = lake->base;
    d->parts = lake->kept_parts;
    for (size_t i = 0; i < d->parts; i++) {
        d->ordinals[i] = roaring_bitmap_create();
        if (d->ordinals[i] == NULL)
            return dx_no_memory(err, "dead domains");
    }
    for (size_t k = d->parts; k < d->base->part_count; k++)
        for (size_t i = 0; rc == DX_OK && i < d->parts; i++)
            rc = take_part(d, d->base->parts[k].part->dead, i, err);
    return rc;
}

void dx_index_dead_free(struct dx_index_dead **out)
{
    struct dx_index_dead *d = *out;

    if (d == NULL)
        return;
    for (size_t i = 0; i < d->parts; i++)
        if (d->ordinals[i] != NULL)
            roaring_bitmap_free(d->ordinals[i]);
    free(d->ranks);
    free(d);
    *out = NULL;
}

int dx_index_dead_add(struct dx_index_dead *d, size_t part, uint64_t ordinal,
                      const struct dx_domain_pairs *pairs, struct dx_error *err)
{
    int rc = DX_OK;

    assert(part < d->parts); /* merged parts go whole: nothing of them is marked */
    if (!roaring_bitmap_add_checked(d->ordinals[part], (uint32_t)ordinal))
        return DX_OK;
    for (size_t i = 0; rc == DX_OK && i < pairs->count; i++) {
        const struct dx_dead_rank rank = { pairs->ids[i], pairs->counts[i].url_count, 1 };

        rc = add_rank(d, part, &rank, err);
    }
    return rc;
}

static int by_rank(const void *a, const void *b)
{
    const struct rank *x = a;
    const struct rank *y = b;

    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->is.dataset_id != y->is.dataset_id)
        return x->is.dataset_id < y->is.dataset_id ? -1 : 1;
    return (x->is.url_count > y->is.url_count) - (x->is.url_count < y->is.url_count);
}

static void join_ranks(struct dx_index_dead *d)
{
    size_t n = 0;

    if (d->rank_count > 1)
        qsort(d->ranks, d->rank_count, sizeof *d->ranks, by_rank);
    for (size_t i = 0; i < d->rank_count; i++) {
        if (n > 0 && by_rank(&d->ranks[n - 1], &d->ranks[i]) == 0)
            d->ranks[n - 1].is.domains += d->ranks[i].is.domains;
        else
            d->ranks[n++] = d->ranks[i];
    }
    d->rank_count = n;
}

/* Of the parts that stay, the lake files that the new version does not have. */
static int write_gone(const struct dx_index_dead *d, struct dx_dead_writer *w, struct dx_error *err)
{
    roaring_bitmap_t *gone = roaring_bitmap_create();
    int rc = gone == NULL ? dx_no_memory(err, "files that left") : DX_OK;

    for (uint64_t i = 0; rc >= 0 && i < d->lake->first_file; i++) {
        const struct dx_part *part = d->lake->files[i].path == NULL
                                         ? dx_version_part_of_file(d->base, i)
                                         : NULL;
        struct dx_pages_file file;

        rc = part == NULL ? 0 : dx_pages_file(&part->pages, i, &file, err);
        if (rc == 1)
            roaring_bitmap_add(gone, (uint32_t)i);
    }
    if (rc >= 0)
        rc = dx_dead_writer_gone(w, gone, err);
    if (gone != NULL)
        roaring_bitmap_free(gone);
    return rc;
}

int dx_index_dead_write(struct dx_index_dead *d, const struct dx_build_id *build,
                        int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                        void *ctx, uint64_t *gone, struct dx_error *err)
{
    struct dx_dead_writer w;
    size_t next = 0;
    int rc = DX_OK;

    join_ranks(d);
    dx_dead_writer_init(&w);
    for (size_t i = 0; rc == DX_OK && i < d->parts; i++) {
        const struct dx_manifest_version *entry = &d->base->parts[i].part->entry;

        rc = dx_dead_writer_part(&w, &entry->build, entry->part.domains, d->ordinals[i], err);
        for (; rc == DX_OK && next < d->rank_count && d->ranks[next].part == i; next++)
            rc = dx_dead_writer_rank(&w, &d->ranks[next].is, err);
    }
    if (rc == DX_OK)
        rc = write_gone(d, &w, err);
    *gone = w.gone;
    if (rc == DX_OK)
        rc = dx_dead_writer_end(&w, build, sink, ctx, err);
    dx_dead_writer_release(&w);
    return rc;
}
