/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_state.h"

#include <assert.h>

#include "builder/index/index_identity.h"
#include "builder/index/index_out.h"
#include "builder/index/index_pass.h"
#include "builder/lake/lake_files.h"
#include "format/core/mphf.h"
#include "format/version/manifest.h"

#define MPHF_SEEDS 16
#define MPHF_MEMORY_MIN (16u << 20)

static int collect_name(struct dx_index_pass *p, uint64_t ordinal, struct dx_error *err)
{
    return dx_index_ids_name(&p->b->domain_ids, dx_index_pass_domain(p->b), ordinal, err);
}

static int find_ids(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_index_pass p = { .b = b, .domain = collect_name, .texts = true };
    int rc = dx_index_ids_find(&b->domain_ids, b->hashes, b->n, b->options->hash_bits, err);

    /* Which domain has which id depends on all that share the hash: that of pairs that did not change might. */
    if (rc == DX_OK && b->domain_ids.needs_names && b->lake->base != NULL)
        return DX_INDEX_FULL;
    if (rc == DX_OK && b->domain_ids.needs_names) {
        rc = dx_index_pass_run(&p, err);
        if (rc == DX_OK)
            rc = dx_index_ids_resolve(&b->domain_ids, b->hashes, err);
    }
    b->stats->collisions = b->domain_ids.collisions.size / sizeof(struct dx_collision);
    return rc;
}

static int hash_domain(struct dx_index_pass *p, uint64_t ordinal, struct dx_error *err)
{
    const uint64_t *seed = p->ctx;

    (void)err;
    p->b->hashes[ordinal] = dx_mphf_hash(dx_index_pass_domain(p->b), *seed);
    return DX_OK;
}

static int try_seeds(struct dx_index_state *b, struct dx_mphf_built *built, size_t memory,
                     uint64_t seed, struct dx_error *err)
{
    struct dx_index_pass p = { .b = b, .domain = hash_domain, .ctx = &seed, .texts = true };
    int rc = DX_MPHF_RESEED;

    for (; rc == DX_MPHF_RESEED && seed < MPHF_SEEDS; seed++) {
        rc = seed == 0 ? DX_OK : dx_index_pass_run(&p, err);
        if (rc == DX_OK)
            rc = dx_mphf_build(built, b->hashes, b->n, seed, memory, b->options->threads, err);
    }
    return rc == DX_MPHF_RESEED
               ? dx_fail(err, DX_E_LIMIT, "no perfect hash found with %d seeds", MPHF_SEEDS)
               : rc;
}

/* What a build may use beside the hashes. */
static size_t build_memory(const struct dx_index_state *b, size_t share)
{
    size_t used = (size_t)b->n * 8;

    return share > used + MPHF_MEMORY_MIN ? share - used : MPHF_MEMORY_MIN;
}

/* Equal hashes have no perfect hash, so where there is one for seed 0, no two domains have one id,
 * and no search for them is needed. */
static int first_seed(struct dx_index_state *b, struct dx_mphf_built *built, size_t memory,
                      struct dx_error *err)
{
    dx_index_ids_distinct(&b->domain_ids, b->n);
    return b->options->hash_bits == 0
               ? dx_mphf_build(built, b->hashes, b->n, 0, memory, b->options->threads, err)
               : DX_MPHF_RESEED;
}

static int any_seed(struct dx_index_state *b, struct dx_mphf_built *built, size_t memory,
                    struct dx_error *err)
{
    int rc = first_seed(b, built, memory, err);

    if (rc != DX_MPHF_RESEED)
        return rc;
    rc = find_ids(b, err);
    return rc == DX_OK ? try_seeds(b, built, memory, b->options->hash_bits == 0, err) : rc;
}

static int write_mphf(struct dx_index_state *b,
                      int (*find)(struct dx_index_state *b, struct dx_mphf_built *built,
                                  size_t memory, struct dx_error *err),
                      size_t memory, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_mphf_built built = { 0 };
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_DOMAINS_MPHF, b->options->sync, err);

    assert(b->hashes != NULL); /* dropped once there is a perfect hash */
    if (rc != DX_OK)
        return rc;
    rc = find(b, &built, memory, err);
    if (rc == DX_OK)
        rc = dx_mphf_write(&built, b->hashes, &b->info.text_hash,
                           (const struct dx_collision *)(const void *)b->domain_ids.collisions.data,
                           b->domain_ids.collisions.size / sizeof(struct dx_collision),
                           &b->id->build, dx_index_out_sink, &out, err);
    dx_mphf_built_release(&built);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    if (rc == DX_OK)
        dx_index_state_drop_hashes(b);
    return rc;
}

/* Hashes and pilots. */
static uint64_t memory_needed(const struct dx_index_state *b)
{
    return b->n * 8 + b->n / 2;
}

int dx_index_mphf_try(struct dx_index_state *b, struct dx_error *err)
{
    size_t share = b->options->memory / 4;

    return memory_needed(b) > share || b->options->hash_bits != 0
               ? DX_MPHF_RESEED
               : write_mphf(b, first_seed, build_memory(b, share), err);
}

int dx_index_mphf_step(struct dx_index_state *b, struct dx_error *err)
{
    uint64_t need = memory_needed(b);

    if (need > b->options->memory / 2)
        return dx_fail(err, DX_E_LIMIT,
                       "%llu domains: the perfect hash needs %llu MiB, which is "
                       "over half of --memory: give at least --memory %lluM",
                       (unsigned long long)b->n, (unsigned long long)(need >> 20),
                       (unsigned long long)((need * 2 >> 20) + 1));
    return write_mphf(b, any_seed, build_memory(b, b->options->memory / 2), err);
}
