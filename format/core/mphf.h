/* SPDX-License-Identifier: Apache-2.0
 * mphf.h - domains.mphf: domain -> ordinal, exactly, together with the dictionary.
 * docs/FORMAT.md section 5.
 *
 *   rc = dx_mphf_open(&m, file, flags, path, &err);
 *   rc = dx_mphf_match(&m, &dict, &err);               once: same build, same domains
 *   rc = dx_mphf_find(&m, &dict, domain, &ordinal, &domain_id, &err);    1 found, 0 absent
 *   dx_mphf_find_batch(&m, &dict, domains, hashes, count, hits);         many at once: 3x faster
 *   struct dx_mphf_probe p = dx_mphf_probe(&m, domain, hash);            the same in steps, for one name in many files:
 *   dx_mphf_probe_next(&p, &m);                                          each asks the caches for what the next one reads
 *   rc = dx_mphf_probe_end(&p, &m, &dict, domain, &ordinal, &domain_id, &err);
 *   id_rc = dx_mphf_domain_id(&m, ordinal, domain, &domain_id, &err);    of a known domain
 *   rc = dx_mphf_other_has_id(&m, &dict, domain, domain_id, &err);   1 another domain than this one has the id, or may have; 0 none
 *   rc = dx_mphf_verify(&m, &dict, threads, &err);     every domain is found where it is
 *   dx_mphf_close(&m);
 *
 * `domain` is canonical (canon/). Any bytes are safe; what no domain can be is absent.
 * The file must outlive m. After open m is read-only; threads may share it.
 *
 * Building, from the hash of each domain in order of ordinals (dx_mphf_hash with the
 * seed; with seed 0 that is the domain_id, so try 0 first):
 *
 *   for (seed = 0; ; seed++) {
 *       ... hashes[i] = dx_mphf_hash(domain_i, seed) ...
 *       rc = dx_mphf_build(&built, hashes, n, seed, memory_bytes, threads, &err);
 *       if (rc != DX_MPHF_RESEED)        0 built, DX_MPHF_RESEED try the next seed, <0 error
 *           break;
 *   }
 *   rc = dx_mphf_write(&built, hashes, &text_hash, collisions, count, &build, sink, ctx, &err);
 *   dx_mphf_built_release(&built);
 *
 * The bytes depend on hashes, n and seed only, not on memory or threads. Memory: 0.29 B a
 * key, and within memory_bytes (0: no cap) 8 B a key of the parts built at one time (fewer
 * parts at a time mean more passes over `hashes`, which may be a mapped file) and about
 * 5 MiB a thread. hashes are the caller's and only read.
 */
#ifndef DX_FORMAT_CORE_MPHF_H
#define DX_FORMAT_CORE_MPHF_H

#include "base/id_hash.h"
#include "format/core/dictionary.h"
#include "format/core/envelope.h"

#define DX_MPHF_VERSION 2
#define DX_MPHF_VERSION_OLD 1 /* slots of four bytes, with buckets of the dictionary */

#define DX_MPHF_RESEED 1

/* A domain whose domain_id is not its XXH3 because another one has that. */
struct dx_collision {
    uint64_t ordinal;
    uint64_t domain_id;
};

struct dx_mphf {
    struct dx_envelope envelope;
    uint32_t version;
    uint64_t n;
    uint64_t seed;
    uint32_t parts;
    uint32_t part_buckets;
    uint32_t part_slots;
    unsigned fingerprint_bits;
    uint32_t fingerprint_mask;
    unsigned slot_size; /* bytes */
    bool has_ordinals;  /* slots: of domains, else of buckets of the dictionary */
    uint64_t empty;     /* what a slot has that no domain has */
    struct dx_hash128 text_hash;
    struct dx_span pilots;
    struct dx_span slots;
    struct dx_span collisions;
    size_t collision_count;
};

struct dx_mphf_hit {
    int rc; /* 1 found, 0 absent, <0 enum dx_code: ask dx_mphf_find for the words */
    uint64_t ordinal;
    uint64_t domain_id;
};

int dx_mphf_open(struct dx_mphf *m, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err);
void dx_mphf_close(struct dx_mphf *m);
int dx_mphf_match(const struct dx_mphf *m, const struct dx_dictionary *d, struct dx_error *err);

/* hashes: dx_id64 of each domain; or NULL. */
void dx_mphf_find_batch(const struct dx_mphf *m, const struct dx_dictionary *d,
                        const struct dx_span *domains, const uint64_t *hashes, size_t count,
                        struct dx_mphf_hit *hits);

/* hash: dx_id64 of the domain. Files without domains have no probes. */
struct dx_mphf_probe {
    uint64_t hash;
    const uint8_t *at; /* what the next step reads */
    int rc;
};

struct dx_mphf_probe dx_mphf_probe(const struct dx_mphf *m, struct dx_span domain, uint64_t hash);
void dx_mphf_probe_next(struct dx_mphf_probe *p, const struct dx_mphf *m);
int dx_mphf_probe_end(const struct dx_mphf_probe *p, const struct dx_mphf *m,
                      const struct dx_dictionary *d, struct dx_span domain, uint64_t *ordinal,
                      uint64_t *domain_id, struct dx_error *err);

/* The domain_id of the domain with this ordinal (its text is the caller's knowledge). */
int dx_mphf_domain_id(const struct dx_mphf *m, uint64_t ordinal, struct dx_span domain,
                      uint64_t *domain_id, struct dx_error *err);

/* 0 is sure. Where ids are not the hashes that the function was built from, it is 1. */
int dx_mphf_other_has_id(const struct dx_mphf *m, const struct dx_dictionary *d,
                         struct dx_span domain, uint64_t domain_id, struct dx_error *err);

int dx_mphf_verify(const struct dx_mphf *m, const struct dx_dictionary *d, unsigned threads,
                   struct dx_error *err);

static inline uint64_t dx_mphf_hash(struct dx_span domain, uint64_t seed)
{
    return seed == 0 ? dx_id64(domain) : dx_hash64_seeded(domain, seed);
}

/* A lookup in two steps; most strangers need the first alone. hash: dx_mphf_hash of the domain with the seed of m. */
#define DX_MPHF_ABSENT UINT64_MAX
#define DX_MPHF_UNKNOWN (UINT64_MAX - 1) /* blocks that dx_mphf_find_number hashes first */

uint64_t dx_mphf_number(const struct dx_mphf *m, uint64_t hash);
int dx_mphf_find_number(const struct dx_mphf *m, const struct dx_dictionary *d,
                        struct dx_span domain, uint64_t hash, uint64_t number, uint64_t *ordinal,
                        uint64_t *domain_id, struct dx_error *err);

static inline int dx_mphf_find(const struct dx_mphf *m, const struct dx_dictionary *d,
                               struct dx_span domain, uint64_t *ordinal, uint64_t *domain_id,
                               struct dx_error *err)
{
    uint64_t hash = dx_mphf_hash(domain, m->seed);
    uint64_t number = dx_mphf_number(m, hash);

    return number == DX_MPHF_ABSENT
               ? 0
               : dx_mphf_find_number(m, d, domain, hash, number, ordinal, domain_id, err);
}

struct dx_mphf_built {
    uint64_t n;
    uint64_t seed;
    uint32_t parts;
    uint32_t part_buckets;
    uint32_t part_slots;
    size_t memory_bytes;
    uint8_t *pilots;
};

int dx_mphf_build(struct dx_mphf_built *b, const uint64_t *hashes, uint64_t n, uint64_t seed,
                  size_t memory_bytes, unsigned threads, struct dx_error *err);

/* collisions: ascending by ordinal. */
int dx_mphf_write(const struct dx_mphf_built *b, const uint64_t *hashes,
                  const struct dx_hash128 *text_hash, const struct dx_collision *collisions,
                  size_t collision_count, const struct dx_build_id *build,
                  int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                  void *sink_ctx, struct dx_error *err);
void dx_mphf_built_release(struct dx_mphf_built *b);

#endif
