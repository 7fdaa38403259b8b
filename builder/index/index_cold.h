/* SPDX-License-Identifier: Apache-2.0
 * index_cold.h - the files of a version in the making that are read a page at a time
 * (format/version/cold.h).
 *
 *   struct dx_index_cold cold = { .dir, .sync, .build, .entry };
 *   rc = dx_index_cold_begin(&cold, DX_COLD_FACTS, level, &writer, &err);  opens the file
 *   ... dx_cold_writer_page(writer, ...) ...
 *   rc = dx_index_cold_end(&cold, DX_COLD_FACTS, &err);                    and its line in the entry
 *   rc = dx_index_cold_directory(&cold, &err);                             all ended: cold.dxp
 *   dx_index_cold_release(&cold);                                          on every path, at any time
 *
 * Files may be open side by side, each of one thread; directory after all of them.
 */
#ifndef DX_BUILDER_INDEX_INDEX_COLD_H
#define DX_BUILDER_INDEX_INDEX_COLD_H

#include "builder/index/index_out.h"
#include "format/version/cold.h"

struct dx_manifest_version;

struct dx_index_cold {
    /* given: */
    const char *dir;
    enum dx_sync sync;
    const struct dx_build_id *build;
    struct dx_manifest_version *entry; /* gets name, size and hash of each file */

    /* private: */
    struct dx_index_out outs[DX_COLD_FILES];
    struct dx_cold_writer writers[DX_COLD_FILES];
};

int dx_index_cold_begin(struct dx_index_cold *cold, enum dx_cold_file file, int level,
                        struct dx_cold_writer **writer, struct dx_error *err);
int dx_index_cold_end(struct dx_index_cold *cold, enum dx_cold_file file, struct dx_error *err);
int dx_index_cold_directory(struct dx_index_cold *cold, struct dx_error *err);
void dx_index_cold_release(struct dx_index_cold *cold);

#endif
