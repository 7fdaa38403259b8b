/* SPDX-License-Identifier: Apache-2.0
 * source_memory.h - objects that are in memory: for tests, and for a program that embeds a root.
 *
 *   const struct dx_memory_object objects[] = { { "index/manifest.json", bytes, "\"1\"" }, ... };
 *   rc = dx_source_open_memory(&src, objects, count, &err);             then source.h
 *
 * Objects and their bytes are borrowed until close and must not change while a read is under way;
 * names are unique. Pins are held to: another total or ETag than an object's is DX_E_CONFLICT.
 */
#ifndef DX_FETCH_SOURCE_MEMORY_H
#define DX_FETCH_SOURCE_MEMORY_H

#include "fetch/source.h"

struct dx_memory_object {
    const char *name;
    struct dx_span bytes;
    const char *etag; /* strong, with quotes; NULL: none */
};

int dx_source_open_memory(struct dx_source **src, const struct dx_memory_object *objects,
                          size_t count, struct dx_error *err);

#endif
