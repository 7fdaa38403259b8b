/* SPDX-License-Identifier: Apache-2.0
 * objects.h - what a part knows of the objects it is read from, beside their names.
 *
 *   struct dx_object o = { DX_OBJECT_LAKE, file_id };
 *   struct dx_pin pin = dx_objects_pin(part->objects, o, size);      for a batch
 *   dx_objects_seen(part->objects, o, etag);                         what an accepted reply said
 *   dx_objects_broke(part->objects, o);                              DX_E_CONFLICT or DX_E_TRUNCATED
 *
 * The ETag of an object is what etags.tsv.zst of the version says, if that was written for the root
 * that it is read from; else what the first accepted reply said, so that a root that was copied to
 * another store can be read and a later change is still seen. An ETag of a reply is forgotten when
 * a read is refused for it: what the object is then is for checksums to say.
 *
 * seen, broke and pin are safe from every thread. A pin's etag lives as long as the objects.
 */
#ifndef DX_LOADER_OBJECTS_H
#define DX_LOADER_OBJECTS_H

#include "fetch/source.h"

#include <stdatomic.h>

enum dx_object_kind { DX_OBJECT_IDX, DX_OBJECT_DAT, DX_OBJECT_COLD, DX_OBJECT_LAKE };

struct dx_object {
    enum dx_object_kind kind;
    uint32_t number; /* of postings 0; enum dx_cold_file; or file_id */
};

struct dx_objects;

int dx_objects_new(struct dx_objects **objects, uint64_t lake_files, struct dx_error *err);
void dx_objects_free(struct dx_objects **objects);

/* etag: strong, or it is not taken. Not beside other calls. */
int dx_objects_set(struct dx_objects *objects, struct dx_object o, const char *etag,
                   struct dx_error *err);
struct dx_pin dx_objects_pin(const struct dx_objects *objects, struct dx_object o, uint64_t size);
void dx_objects_seen(struct dx_objects *objects, struct dx_object o, const char *etag);
void dx_objects_broke(struct dx_objects *objects, struct dx_object o);
uint64_t dx_objects_broken(const struct dx_objects *objects); /* times; 0: sound */

#endif
