/* SPDX-License-Identifier: Apache-2.0
 * index_postings.h - the postings of a version: pages of all pairs in two files, and their directory.
 *
 *   dx_index_postings_key(domain_id, dataset_id, key);       of a record for the sorter
 *   rc = dx_index_postings_write(&job, &err);
 *
 * `sorted` gives one record a pair: that key, and the encoded runs of index_pair.h. Of a pair that
 * stays as the base has it, the number of the base's part follows the key, and there are no runs:
 * its payload comes from there as it is, by reads that may go to a store and whose places ascend.
 * The calling thread encodes the payloads, cuts pages and writes them in order; `threads` others
 * compress pages. The bytes do not depend on how many. Memory: at most memory_bytes for pages that
 * wait (or one page, if that is larger), two compressors a thread, 64 bytes for 512 pairs in a
 * temporary file, and 2 MiB for each part of the base that is read.
 */
#ifndef DX_BUILDER_INDEX_INDEX_POSTINGS_H
#define DX_BUILDER_INDEX_INDEX_POSTINGS_H

#include "base/file.h"
#include "base/hash.h"

struct dx_index_lake;
struct dx_manifest_version;
struct dx_spill_sort;

#define DX_INDEX_POSTINGS_KEY 12

struct dx_index_postings {
    const char *dir; /* of the version */
    const char *tmp_dir;
    struct dx_spill_sort *sorted;
    uint64_t pairs; /* that `sorted` has */
    struct dx_build_id build;
    size_t memory_bytes;
    unsigned threads;
    enum dx_sync sync;
    struct dx_manifest_version *entry; /* files are added */
    const struct dx_index_lake *lake;  /* NULL: no base */
    uint64_t written, kept;            /* pairs, and those that came from the base; set by write */
};

void dx_index_postings_key(uint64_t domain_id, uint32_t dataset_id,
                           uint8_t key[DX_INDEX_POSTINGS_KEY]);
int dx_index_postings_write(struct dx_index_postings *job, struct dx_error *err);

#endif
