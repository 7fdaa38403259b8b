/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index_state.h"

#include "base/id_hash.h"
#include "builder/index_domains.h"
#include "builder/index_identity.h"
#include "builder/index_out.h"
#include "builder/index_pass.h"
#include "builder/index_postings.h"
#include "builder/index_scan.h"
#include "builder/spill_sort.h"
#include "format/manifest.h"

#define POSTING_LANES 2   /* halves of the shards, sorted by a thread each */
#define DOMAINS_MEMORY 16 /* the part of the memory that pairs by dataset have */

struct second {
    struct dx_dictionary_writer dictionary;
    struct dx_counts_writer counts;
    struct dx_index_domains *domains;
};

static int counts_domain(struct dx_index_pass *p, uint64_t ordinal, struct dx_error *err)
{
    struct second *s = p->ctx;
    size_t count;
    const struct dx_pair_count *counts = dx_index_pass_counts(p->b, &count);
    const uint32_t *ids = dx_index_pass_ids(p->b, &count);
    int rc = dx_dictionary_writer_add(&s->dictionary, dx_index_pass_key(p->b), err);

    if (rc == DX_OK)
        rc = dx_counts_writer_add(&s->counts, counts, count, err);
    return rc == DX_OK ? dx_index_domains_add(s->domains, ordinal, ids, counts, count, err) : rc;
}

static int posting_pair(struct dx_index_pass *p, const struct dx_index_pair *pair,
                        enum dx_index_origin origin, struct dx_error *err)
{
    struct dx_index_state *b = p->b;
    uint8_t key[DX_INDEX_POSTINGS_KEY];
    uint64_t id;

    if (origin == DX_INDEX_DROPPED) {
        b->touched[dx_postings_shard_of(dx_id64(dx_index_pair_domain(pair)))] = true;
        return DX_OK;
    }
    id = dx_index_ids_next(&b->domain_ids, dx_index_pair_domain(pair), p->ordinal);
    b->shard_pairs[dx_postings_shard_of(id)]++;
    if (origin == DX_INDEX_KEPT)
        return DX_OK;
    b->touched[dx_postings_shard_of(id)] = true;
    dx_index_postings_key(id, pair->dataset_id, key);
    return dx_spill_sort_add(b->postings, (unsigned)key[0] * POSTING_LANES >> 8,
                             dx_span_of(key, sizeof key), pair->runs, err);
}

static int write_domains(struct dx_index_state *b, struct dx_index_domains *domains,
                         struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_DATASET_DOMAINS, b->options->sync,
                               err);

    if (rc == DX_OK)
        rc = dx_index_domains_write(domains, b->n, &b->id->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int write_counts(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_index_out dictionary = DX_INDEX_OUT_INIT;
    struct dx_index_out counts = DX_INDEX_OUT_INIT;
    struct second s = { 0 };
    struct dx_index_pass p = { .b = b, .pair = posting_pair, .domain = counts_domain, .ctx = &s };
    int rc = dx_index_out_open(&dictionary, b->options->dir, DX_FILE_DOMAINS_DICT, b->options->sync,
                               err);

    if (rc == DX_OK)
        rc = dx_index_out_open(&counts, b->options->dir, DX_FILE_COUNTS, b->options->sync, err);
    if (rc == DX_OK)
        rc = dx_dictionary_writer_init(&s.dictionary, &b->info, &b->id->build, dx_index_out_sink,
                                       &dictionary, err);
    if (rc == DX_OK)
        rc = dx_counts_writer_begin(&s.counts, &b->totals, &b->id->build, dx_index_out_sink,
                                    &counts, err);
    if (rc == DX_OK)
        rc = dx_index_domains_new(&s.domains, b->lake, b->options->tmp_dir,
                                  b->options->memory / DOMAINS_MEMORY, err);
    if (rc == DX_OK)
        rc = dx_index_pass_run(&p, err);
    if (rc == DX_OK)
        rc = dx_dictionary_writer_finish(&s.dictionary, err);
    if (rc == DX_OK)
        rc = dx_counts_writer_end(&s.counts, err);
    dx_dictionary_writer_release(&s.dictionary);
    dx_counts_writer_release(&s.counts);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&dictionary, b->entry, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&counts, b->entry, err);
    if (rc == DX_OK)
        rc = write_domains(b, s.domains, err);
    dx_index_domains_free(&s.domains);
    dx_index_out_abort(&dictionary);
    dx_index_out_abort(&counts);
    return rc;
}

int dx_index_counts_phase(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_spill_sort_options sort = { .dir = b->options->tmp_dir,
                                          .memory_bytes = b->options->memory / 8 * 3,
                                          .lanes = POSTING_LANES,
                                          .unique = true };
    int rc = dx_spill_sort_new(&b->postings, &sort, err);

    if (rc == DX_OK)
        rc = write_counts(b, err);
    dx_index_state_count_spilled(b, b->lake->pairs);
    dx_index_merge_release(&b->merge); /* its thread reads them */
    dx_spill_sort_free(&b->lake->pairs);
    return rc;
}
