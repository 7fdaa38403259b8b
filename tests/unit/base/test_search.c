/* SPDX-License-Identifier: Apache-2.0
 * Every number in and between the members of rows of every size up to 20. */
#include "base/search.h"

#include <stdio.h>

static int compare_to(const void *ctx, size_t i)
{
    const size_t sought = *(const size_t *)ctx;
    const size_t here = 2 * i + 1;

    return (here > sought) - (here < sought);
}

int main(void)
{
    unsigned failures = 0;

    for (size_t count = 0; count <= 20; count++)
        for (size_t sought = 0; sought <= 2 * count + 1; sought++) {
            size_t at = 99;
            bool found = dx_search(count, compare_to, &sought, &at);

            if (found != (sought % 2 == 1 && sought < 2 * count) || at != sought / 2) {
                printf("%zu in %zu: %d at %zu\n", sought, count, found, at);
                failures++;
            }
        }
    return failures > 0;
}
