/* SPDX-License-Identifier: Apache-2.0
 * cluster_index.h - the cluster index of a ZipNum CDX: which compressed files it is of, and how many bytes each has.
 *
 *   struct dx_cluster_index c = DX_CLUSTER_INDEX_INIT;
 *   rc = dx_cluster_index_read(&c, "indexes/cluster.idx", &err);    1; 0: the file is something else
 *   c.shard[i].name, .size                                          in the order of the index
 *   dx_cluster_index_release(&c);
 *
 *   rc = dx_cluster_index_line(&c, line, &err);                     or line by line, and
 *   rc = dx_cluster_index_end(&c, &err);                            at the end. No I/O
 *
 * A line is "key time TAB shard TAB offset TAB length TAB number": where a block of some thousand lines
 * lies. The blocks of a shard stand together and follow each other without a gap from offset 0 on, so
 * the last one says how long the shard is: a shard that was cut at a block's border is found by that,
 * which no checksum inside of it does. Anything else is DX_E_CORRUPT.
 *
 * Names are relative: an index cannot lead out of the folder that it lies in (dx_cluster_name_valid).
 * At most DX_CLUSTER_SHARDS_MAX shards. Any thread, one at a time.
 */
#ifndef DX_BUILDER_INPUT_ARCHIVE_CLUSTER_INDEX_H
#define DX_BUILDER_INPUT_ARCHIVE_CLUSTER_INDEX_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_CLUSTER_SHARDS_MAX 100000
#define DX_CLUSTER_NAME_MAX 1024

struct dx_cluster_shard {
    char *name;
    uint64_t size;
};

struct dx_cluster_index {
    struct dx_cluster_shard *shard;
    size_t count;
    size_t room;   /* private */
    uint64_t line; /* private: the last one */
};

#define DX_CLUSTER_INDEX_INIT \
    {                         \
        NULL, 0, 0, 0         \
    }

int dx_cluster_index_read(struct dx_cluster_index *c, const char *path, struct dx_error *err);
int dx_cluster_index_line(struct dx_cluster_index *c, struct dx_span line, struct dx_error *err);
int dx_cluster_index_end(struct dx_cluster_index *c, struct dx_error *err);
void dx_cluster_index_release(struct dx_cluster_index *c);

bool dx_cluster_index_named(const char *path); /* by its ending: .idx, also of an address */
bool dx_cluster_name_valid(struct dx_span name);

#endif
