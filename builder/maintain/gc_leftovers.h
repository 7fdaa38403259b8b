/* SPDX-License-Identifier: Apache-2.0
 * gc_leftovers.h - what is left of versions that have no entry, because their publish lost or died,
 * or because they have been removed.
 *
 *   rc = dx_gc_leftovers_find(&l, &root, &names, &err);      root.manifest and names of one moment
 *   l.index, l.lake                                          what is to go
 *   l.folder[0 .. l.folder_count)                            names of versions; each to be tidied
 *   dx_gc_leftovers_release(&l);
 *
 * A version whose number is not above the manifest's sequence and that has no entry will never have
 * one: its creator began with a manifest that is another one now. So below index/N/ all that no
 * entry has is a leftover. The lake files that the list of its compaction names
 * (index/claims/N.lake) are leftovers too, if no entry has them. The list stays: a compaction that
 * has slept long may still put such a file, and without the list a publish would take it for new
 * data. One thread at a time.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_LEFTOVERS_H
#define DX_BUILDER_MAINTAIN_GC_LEFTOVERS_H

#include "builder/maintain/gc_names.h"
#include "builder/maintain/gc_objects.h"
#include "builder/maintain/gc_root.h"

struct dx_gc_leftovers {
    struct dx_gc_objects index;
    struct dx_gc_objects lake;
    char (*folder)[DX_VERSION_NAME];
    size_t folder_count, folder_room;
};

#define DX_GC_LEFTOVERS_INIT                               \
    {                                                      \
        DX_GC_OBJECTS_INIT, DX_GC_OBJECTS_INIT, NULL, 0, 0 \
    }

int dx_gc_leftovers_find(struct dx_gc_leftovers *l, const struct dx_gc_root *g,
                         const struct dx_gc_names *names, struct dx_error *err);
void dx_gc_leftovers_release(struct dx_gc_leftovers *l);

#endif
