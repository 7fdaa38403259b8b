/* SPDX-License-Identifier: Apache-2.0
 * store_bench - builds one store and asks it; linked with one store_NAME.c.
 *
 *   bench_store_NAME build FOLDER KIND DATA     from DATA/records, into FOLDER
 *   bench_store_NAME ask FOLDER KIND DATA       DATA/hits and DATA/misses, in their order
 *
 * Prints JSON. build: CPU seconds without the sorting of the records, which each store that wants
 * an order is given done. ask: CPU ns a question, each of which ends with the datasets, counts and
 * times in an array; a pass before the one that counts fetches in what the first one touches. sum:
 * over all that was read, the same for all stores.
 */
#include "bench/peers/store.h"
#include "format/core/surt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BY_SURT_ROOM 64 /* on average; names are shorter */

/* CPU time: other programs on the machine do not show. */
static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct key {
    const uint8_t *data;
    uint32_t size;
    uint32_t record;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    int c = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);

    return c != 0 ? c : (x->size > y->size) - (x->size < y->size);
}

static uint32_t *sorted(const struct records *r, enum store_order by)
{
    struct key *keys = malloc(r->head.count * sizeof *keys);
    uint8_t *room = malloc(by == STORE_BY_SURT ? r->head.count * BY_SURT_ROOM + DX_SURT_MAX : 1);
    uint32_t *order = malloc(r->head.count * sizeof *order);
    size_t used = 0;

    if (keys == NULL || room == NULL || order == NULL)
        stop("store_bench", "out of memory");
    for (uint64_t i = 0; i < r->head.count; i++) {
        struct dx_span key;
        struct dx_span value;

        record_at(r, i, &key, &value);
        if (by == STORE_BY_SURT) {
            if (used > r->head.count * BY_SURT_ROOM)
                stop("store_bench", "names are longer than expected");
            key = dx_span_of(room + used, dx_surt_key(key, room + used));
            used += key.size;
        }
        keys[i] = (struct key){ key.data, (uint32_t)key.size, (uint32_t)i };
    }
    if (by != STORE_ANY)
        qsort(keys, r->head.count, sizeof *keys, compare_keys);
    for (uint64_t i = 0; i < r->head.count; i++)
        order[i] = keys[i].record;
    free(keys);
    free(room);
    return order;
}

static void build(const char *folder, const char *kind, const char *data)
{
    struct records r;
    uint32_t *order;
    char path[4096];
    double begin;

    (void)snprintf(path, sizeof path, "%s/records", data);
    records_open(&r, path, true);
    order = sorted(&r, store_order());
    begin = now_s();
    store_build(folder, kind, &r, order);
    (void)printf("{\"version\": \"%s\", \"count\": %llu, \"pairs\": %llu, \"seconds\": %.3f}\n",
                 store_version(), (unsigned long long)r.head.count,
                 (unsigned long long)r.head.pairs, now_s() - begin);
    free(order);
    records_close(&r);
}

static uint64_t sum_of(const struct pairs *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->count; i++) {
        const struct dx_pair_count *c = &p->counts[i];

        sum += p->ids[i] * 31u + c->url_count * 7 + c->row_count * 3 + (uint64_t)c->first_us +
               (uint64_t)c->last_us;
    }
    return sum;
}

static double ask_all(struct store *s, const struct names *n, uint64_t *found, uint64_t *sum)
{
    static struct pairs p;
    double begin = now_s();

    *found = *sum = 0;
    for (size_t i = 0; i < n->count; i++) {
        if (store_get(s, n->name[i], &p)) {
            ++*found;
            *sum += sum_of(&p);
        }
    }
    return (now_s() - begin) * 1e9 / (double)n->count;
}

static void ask(const char *folder, const char *kind, const char *data)
{
    static const char *const files[] = { "hits", "misses" };
    struct store *s;
    struct records r;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/records", data);
    records_open(&r, path, false);
    s = store_open(folder, kind, &r.head);
    for (int k = 0; k < 2; k++) {
        struct names n;
        uint64_t found;
        uint64_t sum;
        double ns;

        (void)snprintf(path, sizeof path, "%s/%s", data, files[k]);
        names_open(&n, path);
        (void)ask_all(s, &n, &found, &sum);
        ns = ask_all(s, &n, &found, &sum);
        (void)printf("%s\"%s\": {\"ns\": %.1f, \"asked\": %zu, \"found\": %llu, \"sum\": %llu}%s",
                     k == 0 ? "{" : ", ", files[k], ns, n.count, (unsigned long long)found,
                     (unsigned long long)sum, k == 1 ? "}\n" : "");
        names_close(&n);
    }
    store_close(s);
    records_close(&r);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "build") == 0) {
        build(argv[2], argv[3], argv[4]);
    } else if (argc == 5 && strcmp(argv[1], "ask") == 0) {
        ask(argv[2], argv[3], argv[4]);
    } else {
        (void)fprintf(stderr, "usage: %s build|ask FOLDER KIND DATA\n", argv[0]);
        return 2;
    }
    return 0;
}
