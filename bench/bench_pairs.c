/* SPDX-License-Identifier: Apache-2.0
 * bench_pairs - which datasets contain a domain, and how often: ns a read, from an index that is
 * there.
 *
 *   bench_pairs FOLDER [rounds]       FOLDER: of a version, index/000001-…; rounds: 5 of them
 *
 * "small": domains in at most 4 datasets; "all": any; "large": the 64 in the most datasets. "set"
 * is ordinal -> ids; "set, counts" also reads counts and times of each. Ordinals come in random
 * order, and each read begins when the one before is done. CPU times, pages of the files warm.
 * Below 20 s.
 */
#include "base/map.h"
#include "format/core/counts.h"
#include "format/core/membership.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define READS (1u << 20)
#define SMALL 4
#define LARGE 64

struct index {
    struct dx_map maps[2];
    struct dx_membership sets;
    struct dx_counts counts;
    uint32_t *sizes; /* of the sets, by ordinal */
    uint32_t *ids;   /* room for the largest */
    struct dx_pair_count *pairs;
};

static void die(const char *what, const struct dx_error *err)
{
    fprintf(stderr, "bench_pairs: %s: %s\n", what, err->text);
    exit(1);
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void open_index(struct index *x, const char *folder)
{
    static const char *const names[] = { "domain_to_datasets.roar", "domain_counts.dxc" };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_set set;
    uint32_t largest = 0;

    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        struct dx_span file;
        int rc;

        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        x->maps[i] = (struct dx_map)DX_MAP_INIT;
        if (dx_map_open(&x->maps[i], path, DX_MAP_RANDOM, &err) < 0)
            die(path, &err);
        file = x->maps[i].bytes;
        rc = i == 0 ? dx_membership_open(&x->sets, file, DX_OPEN_VERIFY_ALL, path, &err)
                    : dx_counts_open(&x->counts, file, DX_OPEN_VERIFY_ALL, path, &err);
        if (rc < 0)
            die(path, &err);
    }
    x->sizes = calloc(x->sets.domains + 1, sizeof *x->sizes);
    if (x->sizes == NULL)
        die("out of memory", &err);
    for (uint64_t i = 0; i < x->sets.domains; i++) {
        if (dx_membership_get(&x->sets, i, &set, &err) < 0)
            die("a set", &err);
        x->sizes[i] = dx_dataset_set_count(&set);
        largest = x->sizes[i] > largest ? x->sizes[i] : largest;
    }
    x->ids = calloc(largest + 1u, sizeof *x->ids);
    x->pairs = calloc(largest + 1u, sizeof *x->pairs);
    if (x->ids == NULL || x->pairs == NULL)
        die("out of memory", &err);
}

/* Ordinals of domains with at least `least` and at most `most` datasets. */
static uint64_t *choose(const struct index *x, uint32_t least, uint32_t most, size_t *count)
{
    uint64_t *chosen = calloc(x->sets.domains + 1, sizeof *chosen);

    *count = 0;
    for (uint64_t i = 0; chosen != NULL && i < x->sets.domains; i++)
        if (x->sizes[i] >= least && x->sizes[i] <= most)
            chosen[(*count)++] = i;
    return chosen;
}

/* The size that LARGE domains have, or more. */
static uint32_t large_size(const struct index *x)
{
    uint32_t least = UINT32_MAX;
    size_t more = 0;

    while (more < LARGE && more < x->sets.domains && least > 1) {
        more = 0;
        least = least / 2 + 1 < 2 ? 1 : least / 2;
        for (uint64_t i = 0; i < x->sets.domains; i++)
            more += x->sizes[i] >= least;
    }
    return least;
}

/* Seconds a read; *sum depends on all that was read. */
static double measure(struct index *x, const uint64_t *chosen, size_t count, size_t reads,
                      bool counts, uint64_t *sum)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t random = 1;
    double begin = now_s();

    for (size_t i = 0; i < reads; i++) {
        struct dx_dataset_set set;
        uint64_t ordinal;
        uint32_t n;

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407) + *sum % 2;
        ordinal = chosen[(random >> 32) % count];
        if (dx_membership_get(&x->sets, ordinal, &set, &err) < 0)
            die("a set", &err);
        n = (uint32_t)dx_dataset_set_ids(&set, x->ids, x->sizes[ordinal]);
        *sum += x->ids[n - 1];
        if (!counts)
            continue;
        if (dx_counts_get(&x->counts, ordinal, n, x->pairs, &err) < 0)
            die("counts", &err);
        *sum += x->pairs[n - 1].row_count + (uint64_t)x->pairs[0].last_us;
    }
    return (now_s() - begin) / (double)reads;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "small", "all", "large" };
    struct index x = { .sizes = NULL };
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    uint64_t sum = 0;

    if (argc < 2 || rounds < 1) {
        fprintf(stderr, "usage: bench_pairs FOLDER-OF-A-VERSION [rounds]\n");
        return 2;
    }
    open_index(&x, argv[1]);
    printf("%llu domains, %llu pairs; ns a read, round by round\n",
           (unsigned long long)x.sets.domains, (unsigned long long)x.sets.pairs);
    for (int which = 0; which < 3; which++) {
        size_t count;
        uint64_t *chosen = choose(&x, which < 2 ? 1 : large_size(&x),
                                  which == 0 ? SMALL : UINT32_MAX, &count);

        for (int counts = 0; counts < 2 && count > 0; counts++) {
            printf("%-6s %-12s", names[which], counts ? "set, counts" : "set");
            for (int round = 0; round < rounds; round++)
                printf(" %7.1f", 1e9 * measure(&x, chosen, count, which < 2 ? READS : READS / 64,
                                               counts != 0, &sum));
            printf("   (%zu domains)\n", count);
        }
        free(chosen);
    }
    printf("checksum %llx\n", (unsigned long long)sum);
    dx_counts_close(&x.counts);
    dx_membership_close(&x.sets);
    for (int i = 0; i < 2; i++)
        dx_map_close(&x.maps[i]);
    free(x.sizes);
    free(x.ids);
    free(x.pairs);
    return 0;
}
