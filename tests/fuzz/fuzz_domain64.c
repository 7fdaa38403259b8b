/* SPDX-License-Identifier: Apache-2.0
 * fuzz_domain64.c - any 8 bytes as a number: what unpacks packs to itself and lies in its ranges
 * only.
 */
#include "canon/domain64.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));
    uint64_t key = dx_bytes_u64(&r);

    for (unsigned l = 0; l < DX_DOMAIN64_LAYOUTS; l++) {
        enum dx_domain64_layout layout = (enum dx_domain64_layout)l;
        struct dx_domain64_range range;
        struct dx_domain64 d;

        if (dx_domain64_unpack(key, layout, &d, NULL) < 0)
            continue;
        if (dx_domain64_range(&d, DX_PART_PATH, layout, &range, NULL) < 0 || range.from != key)
            abort();
        for (unsigned part = 0; part < DX_DOMAIN64_PARTS; part++)
            if (dx_domain64_range(&d, (enum dx_domain64_part)part, layout, &range, NULL) < 0 ||
                !dx_domain64_in(&range, key) || dx_domain64_in(&range, range.from - 1) ||
                (range.to != 0 && dx_domain64_in(&range, range.to)))
                abort();
    }
    return 0;
}
