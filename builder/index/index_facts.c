/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_facts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/few_bytes.h"
#include "builder/index/index_cold.h"
#include "builder/index/index_state.h"
#include "builder/lake/lake_files.h"
#include "format/version/facts.h"
#include "format/version/pair_pages.h"
#include "format/version/url_sketch.h"
#include "loader/cold_walk.h"
#include "loader/version.h"

#define FACTS_LEVEL 3    /* of zstd; docs/notes/aggregates.md has the figures */
#define SKETCHES_LEVEL 1 /* hashes do not become smaller */

/* One of the two files of a part of the base, a page at a time. */
struct known {
    struct dx_cold_walk walk;
    struct dx_pair_page page;
    bool begun;
    bool there; /* an entry is at hand */
    uint64_t ordinal;
    uint32_t rank;
    struct dx_span bytes;
};

struct dx_index_facts {
    struct dx_index_state *b;
    struct dx_pair_pages facts;
    struct dx_pair_pages sketches;
    struct known known_facts[DX_PARTS_MAX]; /* of the parts of the base */
    struct known known_sketches[DX_PARTS_MAX];
    struct dx_buf aside; /* facts of the pair at hand that the scan put aside */

    /* of the domain at hand */
    size_t pairs;        /* in datasets of URLs */
    size_t counts_pairs; /* in datasets of counts, whose sketches say nothing */
    struct dx_buf first; /* the sketch of its first pair: most domains have no second one */
    struct dx_url_sketch all;
    struct dx_url_sketch one;
};

int dx_index_facts_new(struct dx_index_facts **out, struct dx_index_state *b, struct dx_error *err)
{
    struct dx_index_facts *f = calloc(1, sizeof *f);
    struct dx_cold_writer *writer;
    int rc;

    *out = f;
    if (f == NULL)
        return dx_no_memory(err, "facts");
    f->b = b;
    dx_buf_init(&f->aside, DX_FACTS_BYTES_MAX);
    dx_buf_init(&f->first, SIZE_MAX / 2);
    dx_url_sketch_init(&f->all);
    dx_url_sketch_init(&f->one);
    rc = dx_index_cold_begin(&b->cold, DX_COLD_FACTS, FACTS_LEVEL, &writer, err);
    dx_pair_pages_begin(&f->facts, writer);
    if (rc == DX_OK)
        rc = dx_index_cold_begin(&b->cold, DX_COLD_SKETCHES, SKETCHES_LEVEL, &writer, err);
    dx_pair_pages_begin(&f->sketches, writer);
    return rc;
}

void dx_index_facts_free(struct dx_index_facts **out)
{
    struct dx_index_facts *f = *out;

    if (f == NULL)
        return;
    dx_pair_pages_release(&f->facts);
    dx_pair_pages_release(&f->sketches);
    for (size_t i = 0; i < DX_PARTS_MAX; i++) {
        dx_cold_walk_close(&f->known_facts[i].walk);
        dx_cold_walk_close(&f->known_sketches[i].walk);
    }
    dx_buf_release(&f->aside);
    dx_buf_release(&f->first);
    dx_url_sketch_release(&f->all);
    dx_url_sketch_release(&f->one);
    free(f);
    *out = NULL;
}

int dx_index_facts_end(struct dx_index_facts *f, struct dx_error *err)
{
    int rc = dx_pair_pages_end(&f->facts, err);

    if (rc == DX_OK)
        rc = dx_pair_pages_end(&f->sketches, err);
    if (rc == DX_OK)
        rc = dx_index_cold_end(&f->b->cold, DX_COLD_FACTS, err);
    return rc == DX_OK ? dx_index_cold_end(&f->b->cold, DX_COLD_SKETCHES, err) : rc;
}

/* ---- what the base has ---- */

/* The next entry of the file that is not before the pair; none behind the last. */
static int next_known(struct known *k, uint64_t ordinal, uint32_t rank, struct dx_error *err)
{
    int rc = 0;

    k->there = false;
    if (k->walk.plain.size > 0)
        rc = dx_pair_page_seek(&k->page, ordinal, rank, &k->ordinal, &k->rank, &k->bytes, err);
    while (rc == 0) {
        rc = dx_cold_walk_next(&k->walk, err);
        if (rc <= 0)
            return rc;
        k->page = dx_pair_page_of(&k->walk.page, DX_COLD_VERSION, k->walk.plain);
        rc = dx_pair_page_seek(&k->page, ordinal, rank, &k->ordinal, &k->rank, &k->bytes, err);
    }
    k->there = rc == 1;
    return rc < 0 ? rc : DX_OK;
}

static int compare(const struct known *k, uint64_t ordinal, uint32_t rank)
{
    if (k->ordinal != ordinal)
        return k->ordinal < ordinal ? -1 : 1;
    return k->rank < rank ? -1 : k->rank > rank;
}

/* Whether the entry may be on the page at hand. */
static bool on_page(const struct known *k, uint64_t ordinal, uint32_t rank)
{
    struct dx_cold_page next;

    return k->walk.plain.size > 0 &&
           (dx_cold_page(&k->walk.part->cold, k->walk.file, k->walk.page.number + 1, &next, NULL) !=
                1 ||
            next.key > ordinal || (next.key == ordinal && next.sub > rank));
}

/* Pairs are asked for in their order. Those in between went, or the scan found them again. */
static int find_known(struct known *k, enum dx_cold_file file, struct dx_index_state *b,
                      uint32_t dataset_id, struct dx_error *err)
{
    const struct dx_part *part = b->lake->base->parts[b->merge.known_part].part;
    uint64_t ordinal = b->merge.known_ordinal;
    uint32_t rank = (uint32_t)b->merge.at;
    int rc = k->begun ? DX_OK : dx_cold_walk_begin(&k->walk, part, file, err);

    assert(b->merge.given_known); /* the pair at hand is the base's */
    k->begun = true;
    if (rc == DX_OK && !on_page(k, ordinal, rank)) {
        rc = dx_cold_walk_seek(&k->walk, ordinal, rank, err);
        k->walk.plain = dx_span_of(NULL, 0);
        k->there = false;
    }
    if (rc == DX_OK && (!k->there || compare(k, ordinal, rank) < 0))
        rc = next_known(k, ordinal, rank, err);
    if (rc == DX_OK && (!k->there || compare(k, ordinal, rank) != 0))
        rc = dx_fail(err, DX_E_CORRUPT, "%s: %s has nothing of domain %llu in dataset %lu",
                     part->directory, dx_cold_file_name(file), (unsigned long long)ordinal,
                     (unsigned long)dataset_id);
    return rc;
}

/* ---- distinct URLs ---- */

static int join(struct dx_index_facts *f, struct dx_span sketch, struct dx_error *err)
{
    int rc = dx_url_sketch_decode(&f->one, sketch, err);

    return rc == DX_OK ? dx_url_sketch_union(&f->all, &f->one, err) : rc;
}

static int add_sketch(struct dx_index_facts *f, struct dx_span sketch, struct dx_error *err)
{
    int rc = DX_OK;

    if (f->pairs++ == 0) {
        dx_buf_clear(&f->first);
        dx_few_append(&f->first, sketch);
        return f->first.failed ? dx_buf_fail(&f->first, err, "sketch") : DX_OK;
    }
    if (f->pairs == 2)
        rc = join(f, dx_span_of(f->first.data, f->first.size), err);
    return rc == DX_OK ? join(f, sketch, err) : rc;
}

static bool of_counts(const struct dx_index_facts *f, uint32_t dataset_id)
{
    return dx_registry_of_counts(f->b->lake->registry, dataset_id);
}

/* Of the datasets of URLs. */
static uint64_t clip(const struct dx_index_facts *f, uint64_t distinct, const uint32_t *ids,
                     const struct dx_pair_count *counts, size_t n, uint64_t *sum)
{
    uint64_t largest = 0;

    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (of_counts(f, ids[i]))
            continue;
        *sum += counts[i].url_count;
        if (counts[i].url_count > largest)
            largest = counts[i].url_count;
    }
    return dx_url_sketch_clip(distinct, largest, *sum);
}

int dx_index_facts_distinct(struct dx_index_facts *f, const uint32_t *ids,
                            const struct dx_pair_count *counts, size_t n, uint64_t *less,
                            bool *dense, struct dx_error *err)
{
    size_t with_urls = f->pairs;
    uint64_t sum;

    if (f->pairs + f->counts_pairs != n)
        return dx_fail(err, DX_E_INVALID, "facts: %zu sketches of a domain in %zu datasets",
                       f->pairs + f->counts_pairs, n);
    *less = 0;
    *dense = false;
    f->pairs = f->counts_pairs = 0;
    if (with_urls <= 1)
        return DX_OK;
    *less = clip(f, dx_url_sketch_count(&f->all), ids, counts, n, &sum);
    *less = sum - *less;
    *dense = f->all.dense;
    f->b->stats->distinct_domains++;
    f->b->stats->distinct_estimates += f->all.dense;
    dx_url_sketch_clear(&f->all);
    return DX_OK;
}

/* ---- a pair ---- */

static int scanned(struct dx_index_facts *f, const struct dx_index_pair *pair,
                   struct dx_span *facts, struct dx_error *err)
{
    int rc = DX_OK;

    *facts = pair->facts;
    if (facts->size > 0)
        return DX_OK;
    rc = dx_blob_spill_get(f->b->lake->facts, &pair->aside, &f->aside, err);
    *facts = dx_span_of(f->aside.data, f->aside.size);
    return rc;
}

static int kept(struct dx_index_facts *f, const struct dx_index_pair *pair, struct dx_span *facts,
                struct dx_span *sketch, struct dx_error *err)
{
    struct known *known_facts = &f->known_facts[f->b->merge.known_part];
    struct known *known_sketches = &f->known_sketches[f->b->merge.known_part];
    int rc = find_known(known_facts, DX_COLD_FACTS, f->b, pair->dataset_id, err);

    if (rc == DX_OK)
        rc = find_known(known_sketches, DX_COLD_SKETCHES, f->b, pair->dataset_id, err);
    *facts = known_facts->bytes;
    *sketch = known_sketches->bytes;
    return rc;
}

int dx_index_facts_pair(struct dx_index_facts *f, const struct dx_index_pair *pair,
                        enum dx_index_origin origin, uint64_t ordinal, struct dx_error *err)
{
    struct dx_span facts;
    struct dx_span sketch = pair->sketch;
    int rc = origin == DX_INDEX_KEPT ? kept(f, pair, &facts, &sketch, err)
                                     : scanned(f, pair, &facts, err);

    f->b->stats->facts_bytes += facts.size;
    f->b->stats->sketches_bytes += sketch.size;
    if (rc == DX_OK)
        rc = dx_pair_pages_add(&f->facts, ordinal, pair->dataset_id, facts, err);
    if (rc == DX_OK)
        rc = dx_pair_pages_add(&f->sketches, ordinal, pair->dataset_id, sketch, err);
    if (rc != DX_OK || !of_counts(f, pair->dataset_id))
        return rc == DX_OK ? add_sketch(f, sketch, err) : rc;
    f->counts_pairs++;
    return DX_OK;
}
