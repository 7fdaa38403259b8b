/* SPDX-License-Identifier: Apache-2.0
 * domain_counts.dxc with all sums believed.
 */
#include "format/core/counts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_pair_count pairs[24];
    struct dx_pair_count one;
    struct dx_counts c;
    uint64_t less;
    bool dense;

    if (dx_counts_open(&c, dx_span_of(data, size), DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return 0;
    for (uint64_t i = 0; i < c.totals.domains && i < 200; i++) {
        for (uint32_t n = 1; n <= 24; n++)
            if (dx_counts_get(&c, i, n, pairs, NULL) == 1) {
                if (dx_counts_one(&c, i, n - 1, &one, NULL) != 1 ||
                    one.row_count != pairs[n - 1].row_count || one.url_count > one.row_count ||
                    one.last_us < one.first_us)
                    abort();
                break;
            }
        (void)dx_counts_one(&c, i, 100, &one, NULL);
        if (dx_counts_distinct(&c, i, &less, &dense, NULL) == 1 && (less != 0 || dense) &&
            dx_counts_one(&c, i, 0, &one, NULL) == 1 && dx_counts_get(&c, i, 1, pairs, NULL) == 1)
            abort(); /* in one dataset nothing is twice */
    }
    dx_counts_close(&c);
    return 0;
}
