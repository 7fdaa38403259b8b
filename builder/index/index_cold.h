/* SPDX-License-Identifier: Apache-2.0
 * index_cold.h - the files of a version in the making that are read a page at a time
 * (format/version/cold.h).
 *
 *   rc = dx_index_cold_begin(b, DX_COLD_FACTS, level, &writer, &err);      opens the file
 *   ... dx_cold_writer_page(writer, ...) ...
 *   rc = dx_index_cold_end(b, DX_COLD_FACTS, &err);                        and its line in the entry
 *   rc = dx_index_cold_directory(b, &err);                                 all ended: cold.dxp
 *   dx_index_cold_release(b);                                              on every path, at any time
 *
 * b->cold holds them, zeroed at first. Files may be open side by side. One thread.
 */
#ifndef DX_BUILDER_INDEX_INDEX_COLD_H
#define DX_BUILDER_INDEX_INDEX_COLD_H

#include "builder/index/index_out.h"
#include "format/version/cold.h"

struct dx_index_state;

struct dx_index_cold {
    struct dx_index_out outs[DX_COLD_FILES];
    struct dx_cold_writer writers[DX_COLD_FILES];
};

int dx_index_cold_begin(struct dx_index_state *b, enum dx_cold_file file, int level,
                        struct dx_cold_writer **writer, struct dx_error *err);
int dx_index_cold_end(struct dx_index_state *b, enum dx_cold_file file, struct dx_error *err);
int dx_index_cold_directory(struct dx_index_state *b, struct dx_error *err);
void dx_index_cold_release(struct dx_index_state *b);

#endif
