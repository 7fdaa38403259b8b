/* SPDX-License-Identifier: Apache-2.0
 * version_files.h - all files of a version of a remote root, fetched to this machine.
 *
 *   struct dx_version_files f = { .mirror = m, .source = src, .entry = entry, .threads = 8 };
 *   rc = dx_version_files_fetch(&f, NULL, &err);       all are there and right, or the first error
 *   rc = dx_version_files_fetch(&f, found, &err);      found[i]: what is wrong with entry->files[i]
 *   rc = dx_version_files_path(&f, name, path, &err);  where the file with that name is
 *
 * Size and XXH3-128 of each are held against the entry (loader/mirror.h). What the mirror holds
 * already is not read from the root again: who wants to know what is there begins with an empty
 * one.
 */
#ifndef DX_BUILDER_ROOT_VERSION_FILES_H
#define DX_BUILDER_ROOT_VERSION_FILES_H

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

/* found: entry->file_count errors, set to DX_OK by the caller; lack of memory is an error of the
 * call. */
int dx_version_files_fetch(const struct dx_version_files *f, struct dx_error *found,
                           struct dx_error *err);
int dx_version_files_path(const struct dx_version_files *f, const char *name, char path[4096],
                          struct dx_error *err);

#endif
