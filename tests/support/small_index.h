/* SPDX-License-Identifier: Apache-2.0
 * small_index.h - made-up domains and their index files in memory, to read and to damage.
 *
 *   struct dx_test_index x;
 *   dx_test_index_build(&x, 1000);      domains[], ids[] by ordinal; the two files
 *   ... x.dict.data ...
 *   dx_test_index_release(&x);
 *
 *   uint8_t *copy = dx_test_guarded(bytes);     ends at a page that must not be touched
 *   ok = dx_test_reseal(copy, size);            makes all checksums of an envelope fit again
 *   dx_test_unguard(copy, size);
 *
 * An error ends the program with a message.
 */
#ifndef DX_TESTS_SUPPORT_SMALL_INDEX_H
#define DX_TESTS_SUPPORT_SMALL_INDEX_H

#include "base/buf.h"
#include "base/hash.h"

extern const struct dx_build_id dx_test_build_id;

struct dx_test_index {
    size_t n;
    struct dx_span *domains;
    uint64_t *ids; /* XXH3, which is the domain_id: none of these collide */
    struct dx_buf text;
    struct dx_buf dict;
    struct dx_buf mphf;
    struct dx_hash128 text_hash;
};

/* Name i of endless many: words, IP literals, one label, the longest possible. */
size_t dx_test_name(uint64_t i, char out[256]);

void dx_test_index_build(struct dx_test_index *x, size_t n);
void dx_test_index_release(struct dx_test_index *x);

uint8_t *dx_test_guarded(struct dx_span bytes);
void dx_test_unguard(uint8_t *copy, size_t size);

/* False: the trailer's sizes do not fit, nothing to seal. */
bool dx_test_reseal(uint8_t *file, size_t size);

#endif
