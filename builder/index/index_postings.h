/* SPDX-License-Identifier: Apache-2.0
 * index_postings.h - the postings of a version: pages of all pairs in two files, and their directory.
 *
 *   rc = dx_index_postings_new(&p, &job, &err);
 *   rc = dx_index_postings_add(p, place, dataset_id, runs, &err);      each pair, in the order of their places
 *   rc = dx_index_postings_keep(p, place, dataset_id, part, &known, &err);    or so: as part `part` of the base has it
 *   rc = dx_index_postings_end(p, &err);                               job.written, job.kept
 *   dx_index_postings_free(&p);                                        also after errors
 *
 * runs: as index_pair.h encodes them. The payload of a pair that is kept comes from the base as it is,
 * but for the file that it counts from, by reads that may go to a store and whose places ascend.
 * The calling thread encodes the payloads, cuts pages and writes them in order; `threads` others
 * compress pages. The bytes do not depend on how many. Memory: at most memory_bytes for pages that
 * wait (or one page, if that is larger), two compressors a thread, 64 bytes for 512 pairs in a
 * temporary file, and 2 MiB for each part of the base that is read.
 */
#ifndef DX_BUILDER_INDEX_INDEX_POSTINGS_H
#define DX_BUILDER_INDEX_INDEX_POSTINGS_H

#include "base/file.h"
#include "base/hash.h"
#include "format/version/postings.h"

struct dx_index_lake;
struct dx_index_postings;
struct dx_manifest_version;

struct dx_index_postings_job {
    const char *dir; /* of the version */
    const char *tmp_dir;
    uint64_t pairs; /* that will come */
    struct dx_build_id build;
    size_t memory_bytes;
    unsigned threads;
    enum dx_sync sync;
    struct dx_manifest_version *entry; /* files are added */
    const struct dx_index_lake *lake;
    uint64_t written, kept; /* pairs, and those that came from the base; so far */
};

/* job: must stay, and not move, until free. */
int dx_index_postings_new(struct dx_index_postings **out, struct dx_index_postings_job *job,
                          struct dx_error *err);
int dx_index_postings_add(struct dx_index_postings *p, struct dx_pair_place place,
                          uint32_t dataset_id, struct dx_span runs, struct dx_error *err);
int dx_index_postings_keep(struct dx_index_postings *p, struct dx_pair_place place,
                           uint32_t dataset_id, size_t part, const struct dx_pair_place *known,
                           struct dx_error *err);
int dx_index_postings_end(struct dx_index_postings *p, struct dx_error *err);
void dx_index_postings_free(struct dx_index_postings **p);

#endif
