/* SPDX-License-Identifier: Apache-2.0
 * The next live domain of a part beside a walk over all: dead ones alone, in runs that cross containers of the bitmap, and at both ends.
 */
#include "loader/version_parts.h"

#include "tests/support/fail.h"
#include "tests/support/sample.h"

#include <roaring/roaring.h>
#include <stdio.h>
#include <stdlib.h>

#define DOMAINS_MAX 200000

static uint64_t domains = DOMAINS_MAX;
static bool is_dead[DOMAINS_MAX + 1];

static void make(roaring_bitmap_t *dead, unsigned kind)
{
    for (uint64_t at = 0; at < domains;) {
        uint64_t run = kind == 0   ? 1
                       : kind == 1 ? (uint64_t)rand() % 40
                       : kind == 2 ? (uint64_t)rand() % 90000
                                   : domains;

        for (uint64_t i = 0; i < run && at < domains; i++)
            is_dead[at++] = true;
        for (uint64_t i = (uint64_t)rand() % 3 + 1; i > 0 && at < domains; i--)
            is_dead[at++] = false;
    }
    for (uint64_t at = 0; at < domains; at++)
        if (is_dead[at])
            roaring_bitmap_add(dead, (uint32_t)at);
}

int main(void)
{
    const uint64_t every = dx_sample(7, 31);
    unsigned failures = 0;

    domains = dx_sample(DOMAINS_MAX, 140000); /* more than two containers of a set */
    for (unsigned kind = 0; kind < 8; kind++) {
        roaring_bitmap_t *dead = roaring_bitmap_create();
        struct dx_version v = { .part_count = 1 };
        uint64_t want = domains;

        make(dead, kind % 4);
        if (kind >= 4)
            (void)roaring_bitmap_run_optimize(dead);
        v.parts[0].dead = dead;
        for (uint64_t at = domains + 1; at-- > 0;) {
            want = is_dead[at] ? want : at;
            if (at % every == 0)
                CHECK(dx_version_next_live(&v, 0, at) == want, "kind %u, %llu: not %llu", kind,
                      (unsigned long long)at, (unsigned long long)want);
        }
        v.parts[0].dead = NULL;
        CHECK(dx_version_next_live(&v, 0, 5) == 5, "kind %u: without dead ones", kind);
        roaring_bitmap_free(dead);
    }
    return failures != 0;
}
