/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as domains.mphf (the first size bytes, by a u32 at the front) and domains.dict
 * (the rest), with checksums not compared, so that the bounds are reached. Answers may be
 * wrong, but must lie in the dictionary; one at a time and in batches they are the same.
 */
#include "format/core/mphf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct dx_mphf *m, const struct dx_dictionary *d, struct dx_span domain)
{
    struct dx_mphf_hit hit;
    uint64_t ordinal = 0;
    uint64_t id = 0;
    int rc = dx_mphf_find(m, d, domain, &ordinal, &id, NULL);

    if (rc == 1 && ordinal >= d->info.n)
        abort();
    dx_mphf_find_batch(m, d, &domain, NULL, 1, &hit);
    if (hit.rc != rc || (rc == 1 && (hit.ordinal != ordinal || hit.domain_id != id)))
        abort();
}

static void ask_all(const struct dx_mphf *m, const struct dx_dictionary *d)
{
    for (uint64_t i = 0; i < d->info.n && i < 256; i++) {
        uint8_t domain[DX_SURT_MAX];
        size_t size;

        if (dx_dictionary_get(d, i, domain, &size, NULL) == 1)
            ask(m, d, dx_span_of(domain, size));
    }
    for (uint32_t i = 0; i < 64; i++)
        ask(m, d, dx_span_of(&i, sizeof i));
    (void)dx_mphf_verify(m, d, 1, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_mphf m;
    struct dx_dictionary d;
    struct dx_span first;
    struct dx_span rest;

    if (size < 4 || dx_load_u32(data) > size - 4)
        return 0;
    first = dx_span_of(data + 4, dx_load_u32(data));
    rest = dx_span_of(first.data + first.size, size - 4 - first.size);
    if (dx_mphf_open(&m, first, DX_OPEN_UNCHECKED, "mphf", NULL) < 0)
        return 0;
    if (dx_dictionary_open(&d, rest, DX_OPEN_UNCHECKED, "dict", NULL) >= 0) {
        /* A pair that does not match is asked too: nothing may break. */
        ask_all(&m, &d);
        dx_dictionary_close(&d);
    }
    dx_mphf_close(&m);
    return 0;
}
