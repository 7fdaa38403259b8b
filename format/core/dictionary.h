/* SPDX-License-Identifier: Apache-2.0
 * dictionary.h - domains.dict: ordinal -> domain, and the exact compare.
 * docs/FORMAT.md section 4.
 *
 *   rc = dx_dictionary_open(&d, file, flags, path, &err);
 *   rc = dx_dictionary_get(&d, ordinal, domain, &size, &err);           1, or 0 past the end
 *   rc = dx_dictionary_find(&d, key, &ordinal, &err);                   1 found, 0 absent
 *   rc = dx_dictionary_find_in_bucket(&d, bucket, domain, &ordinal, &err);    1 found, 0 absent
 *   rc = dx_dictionary_is(&d, ordinal, domain, &err);                   1 if it is the domain there, else 0
 *   rc = dx_dictionary_lower_bound(&d, key, &ordinal, &err);            first key not below
 *   rc = dx_dictionary_below(&d, name, &first, &end, &err);             a domain and all below it
 *   rc = dx_dictionary_verify(&d, &err);                                reads everything
 *   dx_dictionary_close(&d);
 *
 * `key` is what dx_surt_key makes; for lower_bound any bytes (the range of a prefix "com
 * example" is from its lower bound to that of the prefix with a last byte one higher).
 * The file must outlive d. After open d is read-only; threads may share it.
 *
 * Writing in one pass over the keys in order, with 0.16 bytes of memory a key. The header
 * stands in front, so what it says must be known before: a census of the domains in the same order.
 *
 *   rc = dx_dictionary_census_init(&c, &err);
 *   rc = dx_dictionary_census_add(&c, domain, &err);   all of them, or c.info is not of all
 *   dx_dictionary_census_end(&c);                      c.info holds then
 *   dx_dictionary_census_release(&c);                  also after errors
 *
 *   rc = dx_dictionary_writer_init(&w, &info, &build, sink, sink_ctx, &err);
 *   rc = dx_dictionary_writer_add(&w, key, &err);      strictly ascending
 *   rc = dx_dictionary_writer_finish(&w, &err);        DX_E_INVALID if info was not true
 *   dx_dictionary_writer_release(&w);
 */
#ifndef DX_FORMAT_CORE_DICTIONARY_H
#define DX_FORMAT_CORE_DICTIONARY_H

#include "format/core/envelope.h"
#include "format/core/surt.h"

#define DX_DICTIONARY_BUCKET 16 /* domains a bucket: 8 is 25 ns faster a fetch and 0.9 B larger */

struct dx_dictionary_info {
    uint64_t n;                  /* at most DX_DICTIONARY_N_MAX */
    uint32_t longest_key;        /* bytes; a key is as long as its domain */
    struct dx_hash128 text_hash; /* XXH3-128 of all domains in order, a line each */
};

#define DX_DICTIONARY_N_MAX 0xfffffffeu

struct dx_dictionary {
    struct dx_envelope envelope;
    struct dx_dictionary_info info;
    uint64_t bucket_count;
    struct dx_span anchors;
    struct dx_span offsets;
    struct dx_span data;
};

int dx_dictionary_open(struct dx_dictionary *d, struct dx_span file, unsigned flags,
                       const char *name, struct dx_error *err);
void dx_dictionary_close(struct dx_dictionary *d);

int dx_dictionary_get(const struct dx_dictionary *d, uint64_t ordinal, uint8_t domain[DX_SURT_MAX],
                      size_t *size, struct dx_error *err);
int dx_dictionary_find(const struct dx_dictionary *d, struct dx_span key, uint64_t *ordinal,
                       struct dx_error *err);
int dx_dictionary_find_in_bucket(const struct dx_dictionary *d, uint64_t bucket,
                                 struct dx_span domain, uint64_t *ordinal, struct dx_error *err);
/* Which branch is taken next does not depend on the bytes of the bucket, but for entries that are longer than most: so lookups one
 * behind the other overlap. An ordinal that no domain has is DX_E_CORRUPT. */
int dx_dictionary_is(const struct dx_dictionary *d, uint64_t ordinal, struct dx_span domain,
                     struct dx_error *err);
/* Ordinals [first, end) of a domain and of all below it, which follow each other; of an IP literal it alone. */
int dx_dictionary_below(const struct dx_dictionary *d, struct dx_span name, uint64_t *first,
                        uint64_t *end, struct dx_error *err);
int dx_dictionary_lower_bound(const struct dx_dictionary *d, struct dx_span key, uint64_t *ordinal,
                              struct dx_error *err);

/* For lookups in batches: asks the caches for what bucket_bounds reads; where a bucket's
 * entries lie in DATA (their blocks are not hashed). */
void dx_dictionary_prefetch(const struct dx_dictionary *d, uint64_t bucket);
int dx_dictionary_bucket_bounds(const struct dx_dictionary *d, uint64_t bucket,
                                struct dx_span *entries, struct dx_error *err);

/* The domains from `ordinal` on, one after the other, at a few ns each:
 *   struct dx_dictionary_cursor c;
 *   dx_dictionary_seek(&c, &d, ordinal);
 *   while ((rc = dx_dictionary_next(&c, &key, &err)) == 1) ...      key: borrowed from c
 */
struct dx_dictionary_cursor {
    const struct dx_dictionary *dictionary;
    uint64_t ordinal; /* of the next key */
    struct dx_bytes entries;
    size_t key_size;
    uint8_t key[DX_SURT_MAX];
};

void dx_dictionary_seek(struct dx_dictionary_cursor *c, const struct dx_dictionary *d,
                        uint64_t ordinal);
int dx_dictionary_next(struct dx_dictionary_cursor *c, struct dx_span *key, struct dx_error *err);

/* Every block; every key in order and in the one form that a writer gives it; the text hash. */
int dx_dictionary_verify(const struct dx_dictionary *d, struct dx_error *err);

struct dx_dictionary_census {
    struct dx_dictionary_info info; /* the hash: from end on */
    struct dx_buf text;             /* waits for the hash */
    struct dx_hash_state *hashing;
};

int dx_dictionary_census_init(struct dx_dictionary_census *c, struct dx_error *err);
int dx_dictionary_census_add(struct dx_dictionary_census *c, struct dx_span domain,
                             struct dx_error *err);
void dx_dictionary_census_end(struct dx_dictionary_census *c);
void dx_dictionary_census_release(struct dx_dictionary_census *c);

struct dx_dictionary_writer {
    struct dx_envelope_writer envelope;
    struct dx_dictionary_info info; /* as promised */
    struct dx_dictionary_census census;
    uint64_t data_size;
    uint64_t anchor;
    struct dx_buf anchors;
    struct dx_buf offsets;
    size_t last_size;
    uint8_t last[DX_SURT_MAX];
};

int dx_dictionary_writer_init(struct dx_dictionary_writer *w, const struct dx_dictionary_info *info,
                              const struct dx_build_id *build,
                              int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                              void *sink_ctx, struct dx_error *err);
int dx_dictionary_writer_add(struct dx_dictionary_writer *w, struct dx_span key,
                             struct dx_error *err);
int dx_dictionary_writer_finish(struct dx_dictionary_writer *w, struct dx_error *err);
void dx_dictionary_writer_release(struct dx_dictionary_writer *w);

#endif
