/* SPDX-License-Identifier: Apache-2.0
 * index_options.h - what a build of an index version is given, its phases, and what it counts
 * (index_build.h).
 */
#ifndef DX_BUILDER_INDEX_INDEX_OPTIONS_H
#define DX_BUILDER_INDEX_INDEX_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/file.h"
#include "builder/scan/index_tags.h"

#define DX_INDEX_FULL 1 /* of a phase and dx_index_build: see builder/scan/index_base.h */

enum dx_index_phase {
    DX_INDEX_NAMES,  /* domains, membership, totals */
    DX_INDEX_COUNTS, /* dictionary, counts, postings, facts; beside it perfect hash, ids of URLs */
    DX_INDEX_TAGS,
    DX_INDEX_PAGES, /* pages, files, datasets */
    DX_INDEX_PHASES
};

struct dx_index_options {
    const char *dir;
    const char *tmp_dir;
    struct dx_span psl_text;
    size_t memory;
    unsigned threads;
    enum dx_sync sync;
    unsigned hash_bits;    /* 0; tests: bits of a domain_id, so that collisions are everywhere */
    bool (*stopped)(void); /* true: DX_E_BUSY soon; may be NULL */
};

struct dx_index_stats {
    double seconds[DX_INDEX_PHASES];
    double cpu_s[DX_INDEX_PHASES]; /* of all threads */
    uint64_t collisions;
    uint64_t spilled_bytes;
    uint64_t postings_written;
    uint64_t postings_kept; /* of them: as the base has them */
    uint64_t facts_bytes;   /* of all pairs, before compression */
    uint64_t sketches_bytes;
    uint64_t distinct_bytes;     /* of domain_counts.dxc: the column of distinct URLs */
    uint64_t distinct_domains;   /* in several datasets */
    uint64_t distinct_estimates; /* of them by an estimate */
    uint64_t url_places;
    struct dx_tags_counts tags; /* zeros without tags.dxt */
};

#endif
