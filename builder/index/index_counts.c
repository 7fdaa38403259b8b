/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_state.h"

#include <stdlib.h>

#include "builder/index/index_dead.h"
#include "builder/index/index_domains.h"
#include "builder/index/index_facts.h"
#include "builder/index/index_identity.h"
#include "builder/index/index_out.h"
#include "builder/index/index_pass.h"
#include "builder/index/index_postings.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_tags.h"
#include "format/version/manifest.h"
#include "loader/version.h"

#define DOMAINS_MEMORY 16 /* the part of the memory that pairs by dataset have */

/* All that is made of the pairs in the second pass. */
struct second {
    struct dx_index_out dictionary_out;
    struct dx_index_out counts_out;
    struct dx_dictionary_writer dictionary;
    struct dx_counts_writer counts;
    struct dx_index_facts *facts;
    struct dx_index_domains *domains;
    struct dx_index_postings_job postings_job;
    struct dx_index_postings *postings;
};

static int second_domain(struct dx_index_pass *p, uint64_t ordinal, struct dx_error *err)
{
    struct second *s = p->ctx;
    size_t count;
    const struct dx_pair_count *counts = dx_index_pass_counts(p->b, &count);
    const uint32_t *ids = dx_index_pass_ids(p->b, &count);
    uint64_t less = 0;
    bool dense = false;
    int rc = dx_dictionary_writer_add(&s->dictionary, dx_index_pass_key(p->b), err);

    if (rc == DX_OK)
        rc = dx_index_facts_distinct(s->facts, ids, counts, count, &less, &dense, err);
    dx_counts_writer_distinct(&s->counts, less, dense);
    if (rc == DX_OK)
        rc = dx_counts_writer_add(&s->counts, counts, count, err);
    return rc == DX_OK ? dx_index_domains_add(s->domains, ordinal, ids, counts, count, err) : rc;
}

/* The pair is the last one of those at hand. */
static int take_posting(struct dx_index_pass *p, const struct dx_index_pair *pair,
                        enum dx_index_origin origin, struct dx_error *err)
{
    struct second *s = p->ctx;
    const struct dx_index_merge *m = &p->b->merge;
    const struct dx_pair_place known = { m->known_ordinal, (uint32_t)m->at };
    size_t count;

    (void)dx_index_pass_ids(p->b, &count);
    return origin == DX_INDEX_KEPT
               ? dx_index_postings_keep(s->postings,
                                        (struct dx_pair_place){ p->ordinal, (uint32_t)count - 1 },
                                        pair->dataset_id, m->known_part, &known, err)
               : dx_index_postings_add(s->postings,
                                       (struct dx_pair_place){ p->ordinal, (uint32_t)count - 1 },
                                       pair->dataset_id, pair->runs, err);
}

/* Two domains of different parts with one domain_id: those who know domains by it could not tell them apart. The same domain may be
 * there, if it has left: it comes back. */
static int check_new(const struct dx_index_state *b, const struct dx_index_pair *pair,
                     struct dx_error *err)
{
    DX_UNINITIALIZED uint8_t text[DX_SURT_MAX];
    struct dx_span domain;
    uint64_t id;
    int rc = 0;

    if (b->lake->kept_parts == 0)
        return DX_OK;
    domain = dx_index_pair_domain(pair, text);
    id = dx_id64(domain);

    for (size_t i = 0; rc == 0 && i < b->lake->kept_parts; i++) {
        const struct dx_part *part = b->lake->base->parts[i].part;

        rc = dx_mphf_other_has_id(&part->mphf, &part->dictionary, domain, id, err);
    }
    return rc == 1 ? DX_INDEX_FULL : rc;
}

/* At the first pair of a domain, also of one that goes: what the base has of it. */
static int note_known(struct dx_index_state *b, struct dx_error *err)
{
    const struct dx_index_merge *m = &b->merge;

    if (!m->is_known || b->noted == m->domains)
        return DX_OK;
    b->noted = m->domains;
    b->known.domains++;
    b->known.pairs += m->pairs->count;
    for (size_t i = 0; i < m->pairs->count; i++) {
        b->known.rows += m->pairs->counts[i].row_count;
        b->known.urls += m->pairs->counts[i].url_count;
    }
    return m->known_part < b->lake->kept_parts
               ? dx_index_dead_add(b->dead, m->known_part, m->known_ordinal, m->pairs, err)
               : DX_OK;
}

/* At the first pair of a domain that the new part has. */
static int place_domain(struct dx_index_pass *p, const struct dx_index_pair *pair,
                        struct dx_error *err)
{
    struct dx_index_state *b = p->b;
    const struct dx_index_merge *m = &b->merge;

    if (b->placed > p->ordinal)
        return DX_OK;
    b->placed = p->ordinal + 1;
    if (!m->is_known)
        return check_new(b, pair, err);
    if (m->known_part >= b->lake->kept_parts)
        dx_index_tags_domain(b->lake->tags, m->known_part, m->known_ordinal, p->ordinal);
    return DX_OK;
}

static int second_pair(struct dx_index_pass *p, const struct dx_index_pair *pair,
                       enum dx_index_origin origin, struct dx_error *err)
{
    struct second *s = p->ctx;
    int rc = note_known(p->b, err);

    if (rc != DX_OK || origin == DX_INDEX_DROPPED)
        return rc;
    rc = take_posting(p, pair, origin, err);
    if (rc == DX_OK)
        rc = place_domain(p, pair, err);
    return rc == DX_OK ? dx_index_facts_pair(s->facts, pair, origin, p->ordinal, err) : rc;
}

static int open_writers(struct second *s, struct dx_index_state *b, struct dx_error *err)
{
    const struct dx_index_options *o = b->options;
    const struct dx_build_id *build = &b->id->build;
    int rc = dx_index_out_open(&s->dictionary_out, o->dir, DX_FILE_DOMAINS_DICT, o->sync, err);

    if (rc == DX_OK)
        rc = dx_index_out_open(&s->counts_out, o->dir, DX_FILE_COUNTS, o->sync, err);
    if (rc == DX_OK)
        rc = dx_dictionary_writer_init(&s->dictionary, &b->info, build, dx_index_out_sink,
                                       &s->dictionary_out, err);
    if (rc == DX_OK)
        rc = dx_counts_writer_begin(&s->counts, &b->totals, build, dx_index_out_sink,
                                    &s->counts_out, err);
    if (rc == DX_OK)
        rc = dx_index_facts_new(&s->facts, b, err);
    s->postings_job = (struct dx_index_postings_job){ .dir = o->dir,
                                                      .tmp_dir = o->tmp_dir,
                                                      .pairs = b->totals.pairs,
                                                      .build = *build,
                                                      .memory_bytes = o->memory / 8,
                                                      .threads = o->threads,
                                                      .sync = o->sync,
                                                      .entry = b->entry,
                                                      .lake = b->lake };
    if (rc == DX_OK)
        rc = dx_index_postings_new(&s->postings, &s->postings_job, err);
    return rc == DX_OK ? dx_index_domains_new(&s->domains, b->lake, o->tmp_dir,
                                              o->memory / DOMAINS_MEMORY, err)
                       : rc;
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

static int end_writers(struct second *s, struct dx_index_state *b, struct dx_error *err)
{
    int rc = dx_index_facts_end(s->facts, err);

    if (rc == DX_OK)
        rc = dx_dictionary_writer_finish(&s->dictionary, err);
    if (rc == DX_OK)
        rc = dx_counts_writer_end(&s->counts, err);
    if (rc == DX_OK)
        rc = dx_index_postings_end(s->postings, err);
    b->stats->postings_written = s->postings_job.written;
    b->stats->postings_kept = s->postings_job.kept;
    b->stats->distinct_bytes = s->counts.distinct_bytes;
    if (rc == DX_OK)
        rc = dx_index_out_commit(&s->dictionary_out, b->entry, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&s->counts_out, b->entry, err);
    return rc == DX_OK ? write_domains(b, s->domains, err) : rc;
}

static int write_counts(struct dx_index_state *b, struct dx_error *err)
{
    struct second *s = calloc(1, sizeof *s); /* too large for a small stack */
    struct dx_index_pass p = { .b = b, .pair = second_pair, .domain = second_domain, .ctx = s };
    int rc;

    if (s == NULL)
        return dx_no_memory(err, "counts");
    s->dictionary_out = s->counts_out = (struct dx_index_out)DX_INDEX_OUT_INIT;
    rc = open_writers(s, b, err);
    if (rc == DX_OK)
        rc = dx_index_pass_run(&p, err);
    if (rc == DX_OK)
        rc = end_writers(s, b, err);
    dx_dictionary_writer_release(&s->dictionary);
    dx_counts_writer_release(&s->counts);
    dx_index_facts_free(&s->facts);
    dx_index_domains_free(&s->domains);
    dx_index_postings_free(&s->postings);
    dx_index_out_abort(&s->dictionary_out);
    dx_index_out_abort(&s->counts_out);
    free(s);
    return rc;
}

int dx_index_pairs_step(struct dx_index_state *b, struct dx_error *err)
{
    int rc = DX_OK;

    if (b->lake->base != NULL)
        rc = dx_index_tags_base(b->lake->tags, b->lake->base, b->lake->kept_parts, err);
    if (rc == DX_OK && b->lake->kept_parts > 0)
        rc = dx_index_dead_new(&b->dead, b->lake, err);
    return rc == DX_OK ? write_counts(b, err) : rc;
}
