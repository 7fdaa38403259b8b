/* SPDX-License-Identifier: Apache-2.0
 * input_shards.h - where the shards of a ZipNum CDX are, by its cluster index.
 *
 *   rc = dx_input_shards_find(&s, "indexes/cluster.idx", &err);     1; 0: the file is something else
 *   s.shard[i].path, .size                                          in the order of the index
 *   dx_input_shards_release(&s);
 *
 * A shard is beside the index, under the name that the index has. Of an index on a disk, FILE.loc tells other
 * places, as pywb writes them: "shard TAB path TAB path", relative to it; the first path that is
 * there counts. A shard of a disk that is not there is DX_E_NOT_FOUND. May block. One thread.
 */
#ifndef DX_BUILDER_INPUT_FILES_INPUT_SHARDS_H
#define DX_BUILDER_INPUT_FILES_INPUT_SHARDS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct dx_input_shard {
    char *path;
    uint64_t size; /* that it must have */
};

struct dx_input_shards {
    struct dx_input_shard *shard;
    size_t count;
};

int dx_input_shards_find(struct dx_input_shards *s, const char *index, struct dx_error *err);
void dx_input_shards_release(struct dx_input_shards *s);

#endif
