/* SPDX-License-Identifier: Apache-2.0
 * gc_objects.h - names of objects that are to go, and their removal, some at a time.
 *
 *   struct dx_gc_objects o = DX_GC_OBJECTS_INIT;
 *   rc = dx_gc_objects_add(&o, "index/...", size, &err);     copied
 *   o.name[0 .. o.count), o.bytes
 *   rc = dx_gc_objects_remove(&o, store, threads, &err);     absent ones are fine
 *   dx_gc_objects_release(&o);
 */
#ifndef DX_BUILDER_MAINTAIN_GC_OBJECTS_H
#define DX_BUILDER_MAINTAIN_GC_OBJECTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct dx_store;

struct dx_gc_objects {
    char **name;
    size_t count, room;
    uint64_t bytes;
};

#define DX_GC_OBJECTS_INIT \
    {                      \
        NULL, 0, 0, 0      \
    }

int dx_gc_objects_add(struct dx_gc_objects *o, const char *name, uint64_t size,
                      struct dx_error *err);
int dx_gc_objects_remove(const struct dx_gc_objects *o, struct dx_store *store, unsigned threads,
                         struct dx_error *err);
void dx_gc_objects_release(struct dx_gc_objects *o);

#endif
