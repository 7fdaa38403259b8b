/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_datasets.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_layout.h"

struct dx_ingest_datasets {
    pthread_mutex_t lock;           /* of everything below while threads run */
    struct dx_ingest_dataset **set; /* by number; each allocated alone, so it never moves */
    size_t count;
    size_t capacity;
    uint32_t *slot; /* open addressing by name: number + 1, 0 free */
    size_t slot_count;
};

int dx_ingest_datasets_new(struct dx_ingest_datasets **d, struct dx_error *err)
{
    *d = calloc(1, sizeof **d);
    if (*d == NULL)
        return dx_no_memory(err, "datasets");
    (void)pthread_mutex_init(&(*d)->lock, NULL);
    return DX_OK;
}

void dx_ingest_datasets_free(struct dx_ingest_datasets **d)
{
    if (*d == NULL)
        return;
    for (size_t i = 0; i < (*d)->count; i++) {
        free((*d)->set[i]->name);
        free((*d)->set[i]);
    }
    free((*d)->set);
    free((*d)->slot);
    (void)pthread_mutex_destroy(&(*d)->lock);
    free(*d);
    *d = NULL;
}

static bool named(const struct dx_ingest_dataset *set, struct dx_span name)
{
    return dx_span_equal(dx_span_str(set->name), name);
}

static size_t slot_of(const struct dx_ingest_datasets *d, struct dx_span name, uint64_t hash)
{
    size_t i = (size_t)hash & (d->slot_count - 1);

    assert(d->count < d->slot_count); /* a free slot ends the search */
    while (d->slot[i] != 0 && !named(d->set[d->slot[i] - 1], name))
        i = (i + 1) & (d->slot_count - 1);
    return i;
}

static int grow_tables(struct dx_ingest_datasets *d, struct dx_error *err)
{
    size_t capacity = d->capacity == 0 ? 64 : d->capacity * 2;
    struct dx_ingest_dataset **set = realloc(d->set, capacity * sizeof *set);
    uint32_t *slot;

    if (set != NULL)
        d->set = set;
    slot = set == NULL ? NULL : calloc(capacity * 2, sizeof *slot);
    if (slot == NULL)
        return dx_no_memory(err, "datasets: %zu names", capacity);
    free(d->slot);
    d->slot = slot;
    d->slot_count = capacity * 2;
    d->capacity = capacity;
    for (size_t i = 0; i < d->count; i++) {
        struct dx_span name = dx_span_str(d->set[i]->name);

        d->slot[slot_of(d, name, dx_hash64(name))] = (uint32_t)i + 1;
    }
    return DX_OK;
}

static int find_or_add(struct dx_ingest_datasets *d, struct dx_span name, uint64_t hash,
                       struct dx_ingest_dataset **set, struct dx_error *err)
{
    struct dx_ingest_dataset *fresh;
    size_t slot;

    if (d->count == d->capacity) {
        int rc = grow_tables(d, err);

        if (rc < 0)
            return rc;
    }
    slot = slot_of(d, name, hash);
    if (d->slot[slot] != 0) {
        *set = d->set[d->slot[slot] - 1];
        return DX_OK;
    }
    fresh = calloc(1, sizeof *fresh);
    if (fresh != NULL)
        fresh->name = strndup((const char *)name.data, name.size);
    if (fresh == NULL || fresh->name == NULL) {
        free(fresh);
        return dx_no_memory(err, "datasets");
    }
    fresh->number = (uint32_t)d->count;
    d->set[d->count++] = fresh;
    d->slot[slot] = fresh->number + 1;
    *set = fresh;
    return DX_OK;
}

struct dx_ingest_dataset *dx_ingest_datasets_cached(const struct dx_dataset_cache *cache,
                                                    struct dx_span name)
{
    struct dx_ingest_dataset *set = cache->set[dx_hash64(name) % DX_DATASET_CACHE];

    return set != NULL && named(set, name) ? set : NULL;
}

int dx_ingest_datasets_get(struct dx_ingest_datasets *d, struct dx_dataset_cache *cache,
                           struct dx_span name, struct dx_ingest_dataset **set,
                           struct dx_error *err)
{
    uint64_t hash = dx_hash64(name);
    int rc;

    (void)pthread_mutex_lock(&d->lock);
    rc = find_or_add(d, name, hash, set, err);
    (void)pthread_mutex_unlock(&d->lock);
    if (rc == DX_OK)
        cache->set[hash % DX_DATASET_CACHE] = *set;
    return rc;
}

size_t dx_ingest_datasets_count(const struct dx_ingest_datasets *d)
{
    return d->count;
}

struct dx_ingest_dataset *dx_ingest_datasets_at(const struct dx_ingest_datasets *d, size_t number)
{
    assert(number < d->count);
    return d->set[number];
}

static int by_name(const void *a, const void *b)
{
    const struct dx_ingest_dataset *const *x = a;
    const struct dx_ingest_dataset *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

bool dx_ingest_datasets_any_new(const struct dx_ingest_datasets *d,
                                const struct dx_dataset_registry *registry)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->set[i]->rows > 0 &&
            dx_dataset_registry_find(registry, dx_span_str(d->set[i]->name)) == 0)
            return true;
    return false;
}

static int add(struct dx_dataset_registry *registry, const struct dx_lake_list *lake,
               struct dx_span name, uint32_t *id, struct dx_error *err)
{
    for (;;) {
        uint32_t next = dx_dataset_registry_registry(registry)->next_id;
        size_t i = dx_lake_list_find(lake, next);

        if (i == lake->count || lake->file[i].dataset_id != next)
            return dx_dataset_registry_add(registry, name, id, err);
        dx_dataset_registry_skip_id(registry);
    }
}

int dx_ingest_datasets_assign(struct dx_ingest_datasets *d, struct dx_dataset_registry *registry,
                              const struct dx_lake_list *lake, struct dx_error *err)
{
    struct dx_ingest_dataset **sorted = malloc((d->count + 1) * sizeof *sorted);
    int rc = DX_OK;

    if (sorted == NULL)
        return dx_no_memory(err, "datasets");
    if (d->count > 0)
        memcpy(sorted, d->set, d->count * sizeof *sorted);
    qsort(sorted, d->count, sizeof *sorted, by_name);
    for (size_t i = 0; rc == DX_OK && i < d->count; i++) {
        struct dx_span name = dx_span_str(sorted[i]->name);

        sorted[i]->id = dx_dataset_registry_find(registry, name);
        sorted[i]->is_new = sorted[i]->id == 0;
        if (sorted[i]->is_new && sorted[i]->rows > 0)
            rc = add(registry, lake, name, &sorted[i]->id, err);
    }
    free(sorted);
    return rc;
}

int dx_ingest_datasets_set_kind(struct dx_ingest_datasets *d, struct dx_dataset_registry *registry,
                                enum dx_dataset_kind kind, struct dx_error *err)
{
    static const char *const words[] = {
        [DX_DATASET_URLS] = "URLs", [DX_DATASET_COUNTS] = "counts"
    };

    for (size_t i = 0; i < d->count; i++) {
        const struct dx_ingest_dataset *set = d->set[i];
        enum dx_dataset_kind is;

        if (set->id == 0)
            continue;
        if (set->is_new)
            dx_dataset_registry_set_kind(registry, set->id, kind);
        is = dx_dataset_registry_get(registry, set->id)->kind;
        if (is != kind)
            return dx_fail(err, DX_E_INVALID,
                           "dataset '%s' is of %s, and this run has %s; nothing was added to the "
                           "lake. Name another dataset",
                           set->name, words[is], words[kind]);
    }
    return DX_OK;
}
