/* SPDX-License-Identifier: Apache-2.0
 * version_files.h - all files of a version of a remote root, fetched to this machine.
 *
 *   struct dx_version_files f = { .mirror = m, .source = src, .entry = entry, .threads = 8 };
 *   rc = dx_version_files_fetch(&f, NULL, &err);       all are there and right, or the first error
 *   rc = dx_version_files_fetch(&f, found, &err);      found[i]: what is wrong with the i-th object
 *   rc = dx_version_files_map(&f, name, &map, &err);   the file with that name, also of a pack
 *   rc = dx_version_file_read(source, entry, name, cap, &buf, &err);   one file, without copies
 *   rc = dx_version_text_read(source, entry, name, cap, &buf, &err);   its plain bytes
 *
 * Size and XXH3-128 of each are held against the entry (loader/mirror.h). What the mirror holds
 * already is not read from the root again: to find out what is there, begin with an empty
 * one.
 */
#ifndef DX_BUILDER_ROOT_VERSION_FILES_H
#define DX_BUILDER_ROOT_VERSION_FILES_H

#include "base/map.h"
#include "format/version/manifest.h"
#include "loader/mirror.h"

struct dx_version_files {
    struct dx_mirror *mirror;
    struct dx_source *source;
    const struct dx_manifest_version *entry;
    unsigned threads;
    _Atomic uint64_t *bytes; /* += of each file; may be NULL */
    _Atomic uint64_t *items; /* += 1; may be NULL */
};

/* found: dx_manifest_object_count errors, set to DX_OK by the caller; lack of memory is an error of
 * the call. */
int dx_version_files_fetch(const struct dx_version_files *f, struct dx_error *found,
                           struct dx_error *err);
int dx_version_files_map(const struct dx_version_files *f, const char *name, struct dx_map *map,
                         struct dx_error *err);

/* DX_OK; DX_E_CORRUPT: not what the entry says. Of a map: a copy that was here already was not read. */
int dx_version_file_check(const struct dx_manifest_file *file, struct dx_span bytes,
                          const char *object, struct dx_error *err);

/* It is checked. DX_E_NOT_FOUND: its object is gone; DX_E_TRUNCATED, DX_E_CORRUPT: not listed,
 * or not what the entry says. source: of a directory, or of a store. */
int dx_version_file_read(struct dx_source *source, const struct dx_manifest_version *entry,
                         const char *name, size_t cap, struct dx_buf *out, struct dx_error *err);
/* The same into an empty buffer, and decoded if it is compressed. */
int dx_version_text_read(struct dx_source *source, const struct dx_manifest_version *entry,
                         const char *name, size_t cap, struct dx_buf *out, struct dx_error *err);

#endif
