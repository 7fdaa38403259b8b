/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_objects.h"

#include <stdlib.h>
#include <string.h>

#include "builder/root/parallel.h"
#include "fetch/store/store.h"

int dx_gc_objects_add(struct dx_gc_objects *o, const char *name, uint64_t size,
                      struct dx_error *err)
{
    if (o->count == o->room) {
        size_t room = o->room == 0 ? 256 : 2 * o->room;
        char **more = reallocarray(o->name, room, sizeof *more);

        if (more == NULL)
            return dx_no_memory(err, "gc: %zu names", room);
        o->name = more;
        o->room = room;
    }
    o->name[o->count] = strdup(name);
    if (o->name[o->count] == NULL)
        return dx_no_memory(err, "gc: %zu names", o->count + 1);
    o->count++;
    o->bytes += size;
    return DX_OK;
}

struct removal {
    const struct dx_gc_objects *objects;
    struct dx_store *store;
};

static int remove_one(void *ctx, size_t i, struct dx_error *err)
{
    const struct removal *r = ctx;

    return dx_store_remove(r->store, r->objects->name[i], err);
}

int dx_gc_objects_remove(const struct dx_gc_objects *o, struct dx_store *store, unsigned threads,
                         struct dx_error *err)
{
    struct removal r = { o, store };

    return dx_parallel(threads, o->count, remove_one, &r, err);
}

void dx_gc_objects_release(struct dx_gc_objects *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->name[i]);
    free(o->name);
    *o = (struct dx_gc_objects)DX_GC_OBJECTS_INIT;
}
