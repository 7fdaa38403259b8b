/* SPDX-License-Identifier: Apache-2.0
 * url_sketch.h - how many distinct URLs, also over several sets: exact hashes while few, HLL
 * beyond.
 *
 *   dx_url_sketch_init(&s);
 *   rc = dx_url_sketch_add(&s, dx_url_sketch_hash(scheme, host, path_query), &err);   any order, repeats welcome
 *   rc = dx_url_sketch_union(&s, &other, &err);
 *   n = dx_url_sketch_count(&s);             s.dense: an estimate, else exact
 *   n = dx_url_sketch_clip(n, largest, sum); of a union: between these
 *   rc = dx_url_sketch_encode(&s, &buf, &err);  rc = dx_url_sketch_decode(&s, bytes, &err);   replaces s
 *   rc = dx_url_sketch_decode_of(&s, version, bytes, &err);       of a part whose cold.dxp has this version: longer hashes are cut
 *   rc = dx_url_sketch_recode(version, &bytes, &buf, &err);       such bytes as encode has them: in buf, or as they are
 *   dx_url_sketch_release(&s);
 *
 * A set of one pair becomes dense beyond DX_SKETCH_PAIR_MAX hashes when it is encoded; a union only
 * when a member is dense or it has over DX_SKETCH_UNION_MAX. The result does not depend on the
 * order of adds and unions. Hashes are 40 bits, of XXH3 with a seed of its own, so they are
 * independent of url_id: of n URLs some n² / 2^41 are not counted, for two have the same. One thread at a time.
 */
#ifndef DX_FORMAT_VERSION_URL_SKETCH_H
#define DX_FORMAT_VERSION_URL_SKETCH_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "format/version/sketch_registers.h"

#define DX_SKETCH_PAIR_MAX 512
#define DX_SKETCH_UNION_MAX (1u << 20)
#define DX_SKETCH_ERROR 0.01625 /* relative standard error of a dense one: 1.04 / sqrt(4096) */

struct dx_url_sketch {
    bool dense;
    /* u64 each while not dense; sorted and distinct after count, encode, union */
    struct dx_buf hashes;
    uint8_t *registers; /* DX_SKETCH_REGISTERS when dense */
    bool sorted;
};

void dx_url_sketch_init(struct dx_url_sketch *s);
uint64_t dx_url_sketch_hash(struct dx_span scheme, struct dx_span host, struct dx_span path_query);
/* The same in two steps, for many URLs of one host: hash of (scheme, host), then of the URL. */
uint64_t dx_url_sketch_host(struct dx_span scheme, struct dx_span host);
uint64_t dx_url_sketch_hash_in(uint64_t host, struct dx_span path_query);
int dx_url_sketch_add(struct dx_url_sketch *s, uint64_t hash, struct dx_error *err);
int dx_url_sketch_union(struct dx_url_sketch *s, const struct dx_url_sketch *other,
                        struct dx_error *err);
/* Dense now if it has over DX_SKETCH_PAIR_MAX: for the set of one pair, so that it stays small. */
int dx_url_sketch_settle(struct dx_url_sketch *s, struct dx_error *err);
uint64_t dx_url_sketch_count(struct dx_url_sketch *s);
/* What the sets say for certain holds for an estimate of their union as well: it has no fewer URLs
 * than the largest of them, and no more than all of them together. */
uint64_t dx_url_sketch_clip(uint64_t count, uint64_t largest, uint64_t sum);
int dx_url_sketch_encode(struct dx_url_sketch *s, struct dx_buf *out, struct dx_error *err);
int dx_url_sketch_decode(struct dx_url_sketch *s, struct dx_span bytes, struct dx_error *err);
int dx_url_sketch_decode_of(struct dx_url_sketch *s, uint32_t version, struct dx_span bytes,
                            struct dx_error *err);
int dx_url_sketch_recode(uint32_t version, struct dx_span *bytes, struct dx_buf *buf,
                         struct dx_error *err);
void dx_url_sketch_clear(struct dx_url_sketch *s);
void dx_url_sketch_release(struct dx_url_sketch *s);

#endif
