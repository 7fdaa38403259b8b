/* SPDX-License-Identifier: Apache-2.0
 * index_merge.h - the pairs of a part in the making, in order: those that a scan found, and those
 * that stay of the base.
 *
 *   struct dx_index_merge m = DX_INDEX_MERGE_INIT;
 *   rc = dx_index_merge_begin(&m, &lake, memory, &err);  after the scan; again and again
 *   while ((rc = dx_index_merge_next(&m, &pair, &origin, &err)) == 1)
 *       ... m.known_part, m.known_ordinal                valid until the next call
 *   dx_index_merge_release(&m);
 *
 * By key of the domain, then dataset_id. The domains are those of the base's parts that are merged
 * (all but the first lake.kept_parts), and those that the scan found: what the kept parts have of
 * these is looked up, so that the new part has them whole. A pair that the scan found takes the
 * place of the base's same pair. Those that stay have no runs. Of the base, dictionaries, sets and
 * counts are read from its mapped files, checksum by checksum; of these about `memory` bytes are mapped
 * at a time. Held are what the largest set needs, and 4 bytes a domain of the scan (index_known.h).
 * Without a base: the scan's alone. One thread; from begin to release another one reads the sorter
 * of the lake's pairs.
 */
#ifndef DX_BUILDER_INDEX_INDEX_MERGE_H
#define DX_BUILDER_INDEX_INDEX_MERGE_H

#include "base/buf.h"
#include "builder/index/index_known.h"
#include "builder/scan/index_pair.h"
#include "loader/version_walk.h"

struct dx_index_lake;
struct dx_spill_ahead;

enum dx_index_origin {
    DX_INDEX_SCANNED,
    DX_INDEX_KEPT,   /* as the base has it */
    DX_INDEX_DROPPED /* the base has it, the new version does not */
};

struct dx_index_merge {
    struct dx_index_lake *lake;
    bool heads; /* set before begin: pairs of the scan come without facts, sketch and runs */
    bool begun;
    bool given_scanned, given_known; /* by the last next, from which stream; both: the same pair */
    /* of the scan: the next one, if there is one */
    struct dx_spill_ahead *ahead;
    bool has_scanned;
    struct dx_index_pair scanned;
    /* of the base: */
    struct dx_version_walk base;         /* over the parts that are merged */
    int walked;                          /* 1: it is at a domain, 0: at the end */
    struct dx_index_known known_domains; /* of the scan: found before the first pass */
    uint64_t scanned_domains;            /* so many of them came, with the one at hand */
    struct dx_domain_pairs looked_up;
    uint64_t lookups, drop_every;
    /* the domain at hand */
    bool has_domain;
    bool is_walked;  /* its pairs are those of the walk */
    bool is_scanned; /* the next one of the scan is of it */
    uint8_t key[DX_SURT_MAX];
    size_t key_size;
    bool is_known;     /* the base has it: */
    uint64_t domains;  /* so many came, with the one at hand */
    size_t known_part; /* which part, */
    uint64_t known_ordinal;
    const struct dx_domain_pairs *pairs; /* and these */
    size_t at;
    struct dx_index_pair known; /* the one that was given last */
};

#define DX_INDEX_MERGE_INIT \
    {                       \
        .lake = NULL        \
    }

int dx_index_merge_begin(struct dx_index_merge *m, struct dx_index_lake *lake, size_t memory,
                         struct dx_error *err);
int dx_index_merge_next(struct dx_index_merge *m, const struct dx_index_pair **pair,
                        enum dx_index_origin *origin, struct dx_error *err);
void dx_index_merge_release(struct dx_index_merge *m);

#endif
