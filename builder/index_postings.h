/* SPDX-License-Identifier: Apache-2.0
 * index_postings.h - the postings of a version: all shards and their directory.
 *
 *   dx_index_postings_key(domain_id, dataset_id, key);       of a record for the sorter
 *   rc = dx_index_postings_write(&job, &err);
 *
 * `sorted` gives one record a pair: that key, and the encoded runs of index_pair.h.
 * `shard_pairs` says how many pairs each shard has; without a base that is how many come. Shards are encoded, written and
 * synced by `threads` or more threads; their bytes do not depend on how many. Memory: at most
 * memory_bytes for waiting shards (a larger one is written as it comes), and 64 bytes for
 * 512 pairs in a temporary file.
 *
 * With lake->base (index_base.h) the pairs that stay come from the base: a shard that was touched is
 * merged from its old payloads and the new ones, which take the place of the same pair's; the files of
 * the others are named in the entry where they are, and not written. Its reads may go to a store.
 */
#ifndef DX_BUILDER_INDEX_POSTINGS_H
#define DX_BUILDER_INDEX_POSTINGS_H

#include "base/file.h"
#include "base/hash.h"
#include "format/postings.h"

struct dx_index_lake;
struct dx_manifest_version;
struct dx_spill_sort;

#define DX_INDEX_POSTINGS_KEY 12

struct dx_index_postings {
    const char *dir; /* of the version */
    const char *tmp_dir;
    struct dx_spill_sort *sorted;
    const uint64_t *shard_pairs; /* DX_POSTINGS_SHARDS of them */
    struct dx_build_id build;
    size_t memory_bytes;
    unsigned threads;
    enum dx_sync sync;
    struct dx_manifest_version *entry; /* files are added */
    const struct dx_index_lake *lake;  /* NULL: no base */
    const bool *touched;               /* DX_POSTINGS_SHARDS of them; of no use without a base */
    uint64_t written, shared;          /* shards; set by write */
};

void dx_index_postings_key(uint64_t domain_id, uint32_t dataset_id,
                           uint8_t key[DX_INDEX_POSTINGS_KEY]);
int dx_index_postings_write(struct dx_index_postings *job, struct dx_error *err);

#endif
