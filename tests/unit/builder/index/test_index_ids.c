/* SPDX-License-Identifier: Apache-2.0
 * domain_ids where hashes collide, against the rule of docs/FORMAT.md section 1 written down
 * naively; with 64 bits and no collision nothing is listed. */
#include "builder/index/index_ids.h"

#include <stdio.h>
#include <stdlib.h>

#define N 600

static char names[N][32];
static uint64_t hashes[N]; /* by ordinal; ordinals are the indexes */

static int by_text(const void *a, const void *b)
{
    return strcmp(names[*(const uint32_t *)a], names[*(const uint32_t *)b]);
}

/* In byte order of the domains: the first with a hash keeps it, each later one takes the first
 * seeded hash that no domain has or took before. */
static void resolve_naively(uint64_t mask, uint64_t ids[N])
{
    uint32_t order[N];
    uint64_t used[2 * N];
    size_t count = 0;

    for (uint32_t i = 0; i < N; i++) {
        order[i] = i;
        used[count++] = hashes[i] & mask;
    }
    qsort(order, N, sizeof *order, by_text);
    for (size_t k = 0; k < N; k++) {
        uint32_t i = order[k];
        bool first = true;

        ids[i] = hashes[i] & mask;
        for (size_t j = 0; j < k && first; j++)
            first = (hashes[order[j]] & mask) != ids[i];
        for (uint64_t seed = 1; !first; seed++) {
            ids[i] = dx_hash64_seeded(dx_span_str(names[i]), seed) & mask;
            first = true;
            for (size_t j = 0; j < count && first; j++)
                first = used[j] != ids[i];
            if (first)
                used[count++] = ids[i];
        }
    }
}

static uint64_t id_of(const struct dx_index_ids *ids, uint64_t ordinal)
{
    const struct dx_collision *list = (const struct dx_collision *)(const void *)
                                          ids->collisions.data;

    for (size_t k = 0; k < ids->collisions.size / sizeof *list; k++)
        if (list[k].ordinal == ordinal)
            return list[k].domain_id;
    return hashes[ordinal];
}

static int try_bits(unsigned bits, bool expect_list)
{
    struct dx_index_ids ids;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t want[N];
    uint64_t mask = bits == 64 ? UINT64_MAX : ~(UINT64_MAX >> bits);
    int bad = 0;
    int rc = dx_index_ids_find(&ids, hashes, N, bits, &err);

    for (uint64_t i = 0; rc == DX_OK && ids.needs_names && i < N; i++)
        rc = dx_index_ids_name(&ids, dx_span_str(names[i]), i, &err);
    if (rc == DX_OK)
        rc = dx_index_ids_resolve(&ids, hashes, &err);
    resolve_naively(mask, want);
    for (uint64_t i = 0; rc == DX_OK && i < N; i++) {
        uint64_t got = id_of(&ids, i);

        if (got != want[i]) {
            fprintf(stderr, "%u bits: %s has %016llx, %016llx expected\n", bits, names[i],
                    (unsigned long long)got, (unsigned long long)want[i]);
            bad++;
        }
    }
    if (rc != DX_OK || (ids.collisions.size > 0) != expect_list) {
        fprintf(stderr, "%u bits: %d %s, %zu bytes of collisions\n", bits, rc, err.text,
                ids.collisions.size);
        bad++;
    }
    dx_index_ids_release(&ids);
    return bad;
}

int main(void)
{
    int bad = 0;

    for (uint32_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "d%u.example", (i * 7919u) % 10007u);
        hashes[i] = dx_hash64(dx_span_str(names[i]));
    }
    bad += try_bits(64, false);
    bad += try_bits(24, true);
    bad += try_bits(16, true);
    bad += try_bits(12, true);
    bad += try_bits(10, true);

    /* A true collision of all 64 bits, made by hand: two ordinals with one hash. */
    hashes[5] = hashes[9];
    struct dx_index_ids ids;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_index_ids_find(&ids, hashes, N, 64, &err) != DX_OK || !ids.needs_names ||
        ids.twice.size != 8 || dx_load_u64(ids.twice.data) != hashes[9]) {
        fprintf(stderr, "two equal hashes are not seen: %s\n", err.text);
        bad++;
    }
    dx_index_ids_release(&ids);
    return bad != 0;
}
