/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/objects.h"

#include "fetch/range_reply.h"
#include "format/version/cold.h"

#include <stdlib.h>
#include <string.h>

#define OWN (2 + DX_COLD_FILES) /* those of the index */

/* An ETag of a reply that proved wrong; kept, for a pin may have the pointer. */
struct former {
    struct former *next;
    char *etag;
};

/* With a store that makes up an ETag for each reply, the last one stays. */
#define FORMERS_MAX 65536 /* ETags that are kept, however often they are refuted */

struct slot {
    char *_Atomic etag;
    bool given; /* by dx_objects_set */
};

struct dx_objects {
    _Atomic uint64_t broken;
    struct former *_Atomic formers;
    _Atomic uint32_t former_count;
    uint64_t lake_files;
    struct slot slots[]; /* idx, dat, cold files, lake files */
};

int dx_objects_new(struct dx_objects **objects, uint64_t lake_files, struct dx_error *err)
{
    *objects = NULL;
    if (lake_files <= (uint64_t)UINT32_MAX + 1)
        *objects = calloc(1, sizeof **objects +
                                 (OWN + (size_t)lake_files) * sizeof(*objects)->slots[0]);
    if (*objects == NULL)
        return dx_no_memory(err, "ETags of %llu lake files", (unsigned long long)lake_files);
    (*objects)->lake_files = lake_files;
    return DX_OK;
}

void dx_objects_free(struct dx_objects **objects)
{
    struct former *f = *objects != NULL ? (*objects)->formers : NULL;

    if (*objects != NULL)
        for (uint64_t i = 0; i < OWN + (*objects)->lake_files; i++)
            free((*objects)->slots[i].etag);
    while (f != NULL) {
        struct former *next = f->next;

        free(f->etag);
        free(f);
        f = next;
    }
    free(*objects);
    *objects = NULL;
}

/* false: the version has no such object. */
static bool place_of(const struct dx_objects *objects, struct dx_object o, uint64_t *at)
{
    *at = o.number;
    switch (o.kind) {
    case DX_OBJECT_IDX:
        return o.number == 0;
    case DX_OBJECT_DAT:
        *at += 1;
        return o.number == 0;
    case DX_OBJECT_COLD:
        *at += 2;
        return o.number < DX_COLD_FILES;
    case DX_OBJECT_LAKE:
        *at += OWN;
        return o.number < objects->lake_files;
    }
    return false;
}

int dx_objects_set(struct dx_objects *objects, struct dx_object o, const char *etag,
                   struct dx_error *err)
{
    uint64_t at;
    char *copy;

    if (!place_of(objects, o, &at) || !dx_etag_strong(etag))
        return dx_fail(err, DX_E_INVALID, "no strong ETag, or of no object of the version: %.140s",
                       etag);
    copy = strdup(etag);
    if (copy == NULL)
        return dx_no_memory(err, "an ETag");
    free(atomic_exchange(&objects->slots[at].etag, copy));
    objects->slots[at].given = true;
    return DX_OK;
}

struct dx_pin dx_objects_pin(const struct dx_objects *objects, struct dx_object o, uint64_t size)
{
    struct dx_pin pin = { size, NULL };
    uint64_t at;

    if (place_of(objects, o, &at))
        pin.etag = atomic_load_explicit(&objects->slots[at].etag, memory_order_acquire);
    return pin;
}

void dx_objects_seen(struct dx_objects *objects, struct dx_object o, const char *etag)
{
    char *none = NULL;
    uint64_t at;
    char *copy;

    if (!place_of(objects, o, &at) ||
        atomic_load_explicit(&objects->slots[at].etag, memory_order_relaxed) != NULL ||
        !dx_etag_strong(etag))
        return;
    copy = strdup(etag);
    /* Without memory it stays unknown, and the next reply tells it again. */
    if (copy != NULL &&
        !atomic_compare_exchange_strong_explicit(&objects->slots[at].etag, &none, copy,
                                                 memory_order_acq_rel, memory_order_acquire))
        free(copy);
}

/* One reply's ETag may be refuted by another: otherwise an ETag that a cache on the way made up
 * would be trusted until the version ends. The next reply sets it again, and checksums decide what
 * the object is. */
static void forget_etag(struct dx_objects *objects, struct slot *slot)
{
    struct former *f;

    /* Of several at once a few may be kept beyond the limit. */
    if (atomic_load_explicit(&slot->etag, memory_order_relaxed) == NULL ||
        atomic_load(&objects->former_count) >= FORMERS_MAX)
        return;
    f = malloc(sizeof *f);
    if (f == NULL)
        return;
    f->etag = atomic_exchange(&slot->etag, NULL);
    if (f->etag == NULL) { /* another was faster */
        free(f);
        return;
    }
    atomic_fetch_add(&objects->former_count, 1);
    f->next = atomic_load(&objects->formers);
    while (!atomic_compare_exchange_weak(&objects->formers, &f->next, f))
        ;
}

void dx_objects_broke(struct dx_objects *objects, struct dx_object o)
{
    uint64_t at;

    atomic_fetch_add_explicit(&objects->broken, 1, memory_order_relaxed);
    if (place_of(objects, o, &at) && !objects->slots[at].given)
        forget_etag(objects, &objects->slots[at]);
}

uint64_t dx_objects_broken(const struct dx_objects *objects)
{
    return atomic_load_explicit(&objects->broken, memory_order_relaxed);
}
