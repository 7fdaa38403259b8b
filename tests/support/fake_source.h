/* SPDX-License-Identifier: Apache-2.0
 * fake_source.h - a store of one object in memory, which can fail, change and hang.
 *
 *   struct dx_fake_source *f = dx_fake_source_new(size);   bytes that depend on their place
 *   f->fail_from = 2; f->fail_count = 3; f->fail_code = DX_E_BUSY;    batches 2, 3 and 4
 *   rc = dx_mirror_fetch(m, &f->source, &want, path, &err);
 *   dx_fake_source_free(&f);
 *
 * It lies in memory that is shared with children of a fork, so that what they read is counted.
 */
#ifndef DX_TESTS_SUPPORT_FAKE_SOURCE_H
#define DX_TESTS_SUPPORT_FAKE_SOURCE_H

#include "base/hash.h"
#include "fetch/source.h"

#include <stdatomic.h>

struct dx_fake_source {
    struct dx_source source;
    size_t mapped;
    uint64_t size;
    char etag[DX_SOURCE_ETAG];   /* "": the store gives none */
    _Atomic unsigned batches;    /* that were asked for */
    _Atomic uint64_t bytes_read; /* that were given */
    unsigned fail_from;          /* number of a batch, from 1; 0: none fails */
    unsigned fail_count;
    int fail_code;
    unsigned change_from; /* from this batch on another object with another ETag */
    unsigned wrong_from;  /* in these batches wrong bytes under the right ETag */
    unsigned wrong_count;
    unsigned hang_from; /* this batch never ends */
    uint8_t bytes[];
};

struct dx_fake_source *dx_fake_source_new(uint64_t size);
void dx_fake_source_free(struct dx_fake_source **f);
struct dx_hash128 dx_fake_source_hash(const struct dx_fake_source *f);

#endif
