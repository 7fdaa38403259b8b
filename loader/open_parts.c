/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/open_parts.h"

#include "loader/guard/guard.h"
#include "loader/objects.h"
#include "loader/part.h"
#include "loader/version_options.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

void dx_open_parts_init(struct dx_open_parts *t)
{
    (void)pthread_mutex_init(&t->lock, NULL);
    t->first = NULL;
    atomic_store(&t->mapped_bytes, 0);
}

void dx_open_parts_release(struct dx_open_parts *t)
{
    assert(t->first == NULL);
    (void)pthread_mutex_destroy(&t->lock);
}

static bool is_same(const struct dx_part *p, const char *root,
                    const struct dx_manifest_version *entry)
{
    const struct dx_manifest_version *e = &p->entry;

    if (strcmp(e->version, entry->version) != 0 || strcmp(p->root, root) != 0 ||
        memcmp(&e->build, &entry->build, sizeof e->build) != 0 ||
        e->file_count != entry->file_count || strcmp(e->pack.name, entry->pack.name) != 0 ||
        !dx_hash128_equal(&e->pack.hash, &entry->pack.hash))
        return false;
    for (size_t i = 0; i < e->file_count; i++)
        if (strcmp(e->files[i].name, entry->files[i].name) != 0 ||
            e->files[i].size != entry->files[i].size ||
            !dx_hash128_equal(&e->files[i].hash, &entry->files[i].hash))
            return false;
    return true;
}

/* Reads of objects that were lost fail until the part is opened again. */
static bool is_sound(struct dx_part *p)
{
    return dx_guard_intact(p->guard) && dx_objects_broken(p->objects) == 0;
}

struct dx_part *dx_open_parts_hold(struct dx_open_parts *t, const char *root,
                                   const struct dx_manifest_version *entry,
                                   const struct dx_version_options *o, bool verify)
{
    struct dx_part *p;

    (void)pthread_mutex_lock(&t->lock);
    for (p = t->first; p != NULL; p = p->next)
        if (is_same(p, root, entry) && p->open_flags == o->open_flags && (p->verified || !verify) &&
            (p->tree != NULL || !o->mirror_postings || !p->copied) && is_sound(p))
            break;
    if (p != NULL)
        p->holders++;
    (void)pthread_mutex_unlock(&t->lock);
    return p;
}

void dx_open_parts_add(struct dx_open_parts *t, struct dx_part *p)
{
    (void)pthread_mutex_lock(&t->lock);
    p->open_parts = t;
    p->holders = 1;
    p->next = t->first;
    t->first = p;
    atomic_fetch_add(&t->mapped_bytes, dx_part_mapped_bytes(&p->entry));
    (void)pthread_mutex_unlock(&t->lock);
}

static void unlist(struct dx_open_parts *t, const struct dx_part *p)
{
    struct dx_part **at = &t->first;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    atomic_fetch_sub(&t->mapped_bytes, dx_part_mapped_bytes(&p->entry));
}

void dx_open_parts_put(struct dx_part **part)
{
    struct dx_part *p = *part;
    struct dx_open_parts *t = p == NULL ? NULL : p->open_parts;
    bool last = true;

    *part = NULL;
    if (t != NULL) {
        (void)pthread_mutex_lock(&t->lock);
        assert(p->holders > 0);
        last = --p->holders == 0;
        if (last)
            unlist(t, p);
        (void)pthread_mutex_unlock(&t->lock);
    }
    if (last)
        dx_part_free(&p);
}

uint64_t dx_open_parts_fresh_bytes(struct dx_open_parts *t, const char *root,
                                   const struct dx_manifest_version *entry)
{
    bool open = false;

    (void)pthread_mutex_lock(&t->lock);
    for (const struct dx_part *p = t->first; p != NULL && !open; p = p->next)
        open = is_same(p, root, entry) && !dx_guard_poisoned(p->guard);
    (void)pthread_mutex_unlock(&t->lock);
    return open ? 0 : dx_part_mapped_bytes(entry);
}

uint64_t dx_open_parts_bytes(const struct dx_open_parts *t)
{
    return atomic_load(&t->mapped_bytes);
}
