/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as domains.dict, with checksums not compared, so that the bounds are reached.
 * Answers may be wrong, but must lie in the dictionary; what verify accepts (with the
 * checksums believed) must answer rightly.
 */
#include "format/core/dictionary.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct dx_dictionary *d, struct dx_span key)
{
    uint8_t room[DX_SURT_MAX];
    struct dx_span domain = dx_span_of(room, dx_surt_domain(key, room)); /* or empty */
    uint64_t ordinal = 0;

    if (dx_dictionary_find(d, key, &ordinal, NULL) == 1 && ordinal >= d->info.n)
        abort();
    if (dx_dictionary_lower_bound(d, key, &ordinal, NULL) == DX_OK && ordinal > d->info.n)
        abort();
    for (uint64_t b = 0; b < d->bucket_count && b < 64; b++) {
        if (dx_dictionary_find_in_bucket(d, b, domain, &ordinal, NULL) == 1 && ordinal / 16 != b)
            abort();
        if (dx_dictionary_is(d, 16 * b, key, NULL) == 1 && 16 * b >= d->info.n)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_dictionary d;
    bool sound;

    if (dx_dictionary_open(&d, dx_span_of(data, size), DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return 0;
    sound = dx_dictionary_verify(&d, NULL) == DX_OK;
    ask(&d, dx_span_str("com example"));
    ask(&d, dx_span_str("uk co "));
    ask(&d, dx_span_of(data, size < 300 ? size : 300));
    for (uint64_t i = 0; i < d.info.n && i < 256; i++) {
        uint8_t domain[DX_SURT_MAX];
        uint8_t key[DX_SURT_MAX];
        uint64_t ordinal = 0;
        size_t domain_size;
        size_t key_size;
        int rc = dx_dictionary_get(&d, i, domain, &domain_size, NULL);

        if (rc != 1 && sound)
            abort();
        if (rc != 1)
            continue;
        key_size = dx_surt_key(dx_span_of(domain, domain_size), key);
        if (key_size == 0)
            abort(); /* get gives domains only */
        if (dx_dictionary_is(&d, i, dx_span_of(domain, domain_size), NULL) != 1)
            abort(); /* it reads as get does */
        rc = dx_dictionary_find(&d, dx_span_of(key, key_size), &ordinal, NULL);
        if (sound && (rc != 1 || ordinal != i))
            abort();
    }
    dx_dictionary_close(&d);
    return 0;
}
