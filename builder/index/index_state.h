/* SPDX-License-Identifier: Apache-2.0
 * index_state.h - what the phases of a build share: index_build.c's own.
 *
 * A phase is a function of the state that returns DX_OK or an error; the next finds what it left:
 *
 *   dx_index_names_phase, dx_index_counts_phase, dx_index_tags_phase, dx_index_lake_phase
 *
 * The pairs come by domain, then dataset (index_pass.h). They are gone over twice: what stands in
 * front of a file (numbers of domains, smallest time) is known only after the last pair.
 *
 * Steps are functions of the same form, of which some may run beside others:
 *
 *   dx_index_pairs_step     needs names; all that is made of the pairs in the second pass
 *   dx_index_mphf_step      needs names, and the pairs if the first seed does not do
 *   dx_index_urls_step      needs the scan only
 *
 * Of the state the last two use hashes and domain_ids, and the places of URLs, which the first one
 * leaves alone; stats and entry are shared: stats by member, the entry under a lock (index_out.h).
 * Phases run one after the other, on the thread of the build.
 */
#ifndef DX_BUILDER_INDEX_INDEX_STATE_H
#define DX_BUILDER_INDEX_INDEX_STATE_H

#include "builder/index/index_cold.h"
#include "builder/index/index_ids.h"
#include "builder/index/index_merge.h"
#include "builder/index/index_options.h"
#include "format/core/dictionary.h"
#include "format/core/membership.h"

struct dx_index_dead;
struct dx_spill_file;
struct dx_spill_sort;

struct dx_index_known_totals {
    uint64_t domains, pairs, rows, urls;
};

struct dx_index_state {
    struct dx_index_lake *lake;
    const struct dx_index_identity *id;
    const struct dx_index_options *options;
    struct dx_manifest_version *entry;
    struct dx_index_stats *stats;
    struct dx_index_merge merge;

    /* the domain at hand */
    uint8_t surt_text[DX_SURT_MAX];
    size_t surt_size;
    uint8_t domain_text[DX_SURT_MAX];
    size_t domain_size;
    struct dx_buf ids;    /* u32 dataset_ids */
    struct dx_buf counts; /* struct dx_pair_count */

    /* what the first pass finds */
    uint64_t *hashes;
    size_t hashes_size; /* bytes of the mapping */
    uint64_t n;
    struct dx_dictionary_info info;
    struct dx_counts_totals totals;
    struct dx_set_store sets;
    bool sets_live;
    struct dx_spill_file *set_entries;
    struct dx_index_ids domain_ids;

    struct dx_index_cold cold;

    /* what the second pass finds of the base */
    struct dx_index_dead *dead;         /* NULL: no part of it stays */
    struct dx_index_known_totals known; /* of domains that the new part has, as the base has them */
    uint64_t noted;                     /* domains that these know of, by merge.domains */
    uint64_t placed;                    /* domains of the new part that were looked at */
};

int dx_index_names_phase(struct dx_index_state *b, struct dx_error *err);
int dx_index_counts_phase(struct dx_index_state *b, struct dx_error *err);
int dx_index_tags_phase(struct dx_index_state *b, struct dx_error *err);
int dx_index_lake_phase(struct dx_index_state *b, struct dx_error *err);

int dx_index_pairs_step(struct dx_index_state *b, struct dx_error *err);
int dx_index_mphf_step(struct dx_index_state *b, struct dx_error *err);
int dx_index_urls_step(struct dx_index_state *b, struct dx_error *err);

/* The perfect hash of the first seed, beside a pass over the pairs and within a quarter of the
 * memory: DX_MPHF_RESEED, or DX_E_LIMIT, and dx_index_mphf_step has to do it after the pass. */
int dx_index_mphf_try(struct dx_index_state *b, struct dx_error *err);

/* Whether the build was asked to end. */
static inline bool dx_index_state_stopped(const struct dx_index_state *b)
{
    return b->options->stopped != NULL && b->options->stopped();
}

/* When no perfect hash is made any more. */
void dx_index_state_drop_hashes(struct dx_index_state *b);

/* For the statistics, before the sort is freed. */
void dx_index_state_count_spilled(struct dx_index_state *b, const struct dx_spill_sort *sort);

#endif
