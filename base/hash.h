/* SPDX-License-Identifier: Apache-2.0
 * hash.h - XXH3 for ids and checksums.
 *
 *   uint64_t id = dx_hash64(s);                  ids: XXH3-64, no seed
 *   struct dx_hash128 h = dx_hash128_of(s);      content hashes of whole files
 *   dx_hash_state_new / update / digest          the same, streaming
 *   uint64_t sum = dx_checksum(&id, s);          block checksums with identity
 *
 * A block checksum is XXH3-64 of the bytes, seeded with XXH3-64 of 40 bytes:
 * build id (16), kind u32, zero u32, key u64, length u64, little-endian. A valid
 * block from another place, file or version therefore fails too.
 * XXH3 is not cryptographic: it finds damage, not forgery. Any thread; a state is for one at a time.
 */
#ifndef DX_BASE_HASH_H
#define DX_BASE_HASH_H

#include "base/bytes.h"

#define DX_HASH128_TEXT 33 /* 32 hex digits and NUL */

struct dx_hash128 {
    uint8_t bytes[16]; /* canonical (big-endian) form: hex reads as xxhsum prints it */
};

struct dx_build_id {
    uint8_t bytes[16];
};

struct dx_identity {
    struct dx_build_id build;
    uint32_t kind; /* four characters of the file kind, as DX_KIND('P','D','X','1') */
    uint64_t key;  /* block number, or what names the block within its file */
};

#define DX_KIND(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

uint64_t dx_hash64(struct dx_span s);
uint64_t dx_hash64_seeded(struct dx_span s, uint64_t seed);
struct dx_hash128 dx_hash128_of(struct dx_span s);
bool dx_hash128_equal(const struct dx_hash128 *a, const struct dx_hash128 *b);
void dx_hash128_text(const struct dx_hash128 *h, char out[DX_HASH128_TEXT]);
bool dx_hash128_parse(struct dx_span text,
                      struct dx_hash128 *out); /* exactly 32 lower-case hex digits */

uint64_t dx_checksum(const struct dx_identity *id, struct dx_span s);

struct dx_hash_state;                          /* streaming XXH3-128 */
struct dx_hash_state *dx_hash_state_new(void); /* NULL: out of memory */
void dx_hash_state_update(struct dx_hash_state *st, struct dx_span s);
struct dx_hash128 dx_hash_state_digest(const struct dx_hash_state *st);
void dx_hash_state_free(struct dx_hash_state **st);

#endif
