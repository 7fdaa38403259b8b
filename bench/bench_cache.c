/* SPDX-License-Identifier: Apache-2.0
 * bench_cache - cache/page_cache under LRU and under SIEVE: hit ratio and ns an operation.
 *
 *   bench_cache TRACE SHARE SCANS THREADS [WEIGHTS]     one line of JSON
 *
 * TRACE: "zipf:ALPHA" over a million objects, or "weights" with a file of lines "NAME<tab>WEIGHT"
 * (plain text). SHARE: how many of the objects fit, as 0.01. SCANS: "none"; "mixed": one of ten
 * requests walks through objects that no other request needs; "once": in the middle all objects are
 * read from the first to the last. An operation is get and put, after a miss also add; the time is
 * of the slowest thread, of two million operations each. Both policies see the same requests.
 */
#include "cache/page_cache.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OBJECTS 1000000u
#define REQUESTS 2000000u
#define OBJECT_SIZE 256
#define THREADS_MAX 16

struct trace {
    uint32_t objects;
    size_t size;
    uint32_t *object;
};

struct worker {
    struct dx_page_cache *cache;
    const struct trace *trace;
    size_t begin;
    size_t hits;
    double seconds;
};

static void die(const char *words)
{
    (void)fprintf(stderr, "bench_cache: %s\n", words);
    exit(1);
}

static void *must_malloc(size_t size)
{
    void *p = malloc(size);

    if (p == NULL)
        die("out of memory");
    return p;
}

static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* sum[i]: the weights of the objects up to the i-th. */
static double *zipf_sums(double alpha, uint32_t objects)
{
    double *sum = must_malloc(objects * sizeof *sum);
    double total = 0;

    for (uint32_t i = 0; i < objects; i++)
        sum[i] = total += pow(i + 1, -alpha);
    return sum;
}

static double *read_sums(const char *path, uint32_t *objects)
{
    double *sum = must_malloc(OBJECTS * sizeof *sum);
    double total = 0;
    char line[4096];
    FILE *f = fopen(path, "r");

    if (f == NULL)
        die("cannot open the weights");
    *objects = 0;
    while (*objects < OBJECTS && fgets(line, sizeof line, f) != NULL) {
        const char *tab = strchr(line, '\t');

        if (tab != NULL)
            sum[(*objects)++] = total += strtod(tab + 1, NULL);
    }
    (void)fclose(f);
    if (total <= 0)
        die("no weights");
    return sum;
}

static uint32_t draw(const double *sum, uint32_t objects, uint64_t *state)
{
    double at = (double)(next(state) >> 11) * 0x1p-53 * sum[objects - 1];
    uint32_t low = 0;
    uint32_t high = objects - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (sum[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct trace make_trace(const double *sum, uint32_t objects, const char *scans)
{
    bool mixed = strcmp(scans, "mixed") == 0;
    bool once = strcmp(scans, "once") == 0;
    struct trace t = { objects, 0, must_malloc((REQUESTS + (size_t)objects) * sizeof *t.object) };
    uint64_t state = 1;
    uint32_t scanned = 0;

    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (once && i == REQUESTS / 2)
            for (uint32_t k = 0; k < objects; k++)
                t.object[t.size++] = k;
        t.object[t.size++] = mixed && next(&state) % 10 == 0 ? objects + scanned++
                                                             : draw(sum, objects, &state);
    }
    return t;
}

/* Each thread goes through the trace from a place of its own. */
static void *work(void *arg)
{
    struct worker *w = arg;
    double begin = now_s();

    for (size_t i = 0; i < w->trace->size; i++) {
        struct dx_cache_key key = {
            { 0 }, w->trace->object[(w->begin + i) % w->trace->size], 0, 0
        };
        struct dx_cached *page = dx_page_cache_get(w->cache, &key);

        w->hits += page != NULL;
        if (page == NULL)
            page = dx_page_cache_add(w->cache, &key, must_malloc(OBJECT_SIZE), OBJECT_SIZE);
        dx_page_cache_put(w->cache, &page);
    }
    w->seconds = now_s() - begin;
    return NULL;
}

static uint64_t object_cost(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_page_cache_stats stats;
    struct dx_cache_key key = { { 0 }, 0, 0, 0 };
    struct dx_page_cache *cache;
    struct dx_cached *page;

    if (dx_page_cache_new(&cache, 1 << 20, DX_EVICT_LRU, &err) < 0)
        die(err.text);
    page = dx_page_cache_add(cache, &key, must_malloc(OBJECT_SIZE), OBJECT_SIZE);
    dx_page_cache_put(cache, &page);
    dx_page_cache_stats(cache, &stats);
    dx_page_cache_free(&cache);
    return stats.bytes;
}

static void run(const struct trace *t, double share, enum dx_evict evict, unsigned threads)
{
    struct worker workers[THREADS_MAX] = { { 0 } };
    pthread_t ids[THREADS_MAX];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_page_cache *cache;
    double slowest = 0;
    size_t hits = 0;

    if (dx_page_cache_new(&cache, (uint64_t)(share * t->objects) * object_cost(), evict, &err) < 0)
        die(err.text);
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){ cache, t, t->size / threads * i, 0, 0 };
        if (pthread_create(&ids[i], NULL, work, &workers[i]) != 0)
            die("cannot start a thread");
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(ids[i], NULL);
        hits += workers[i].hits;
        slowest = workers[i].seconds > slowest ? workers[i].seconds : slowest;
    }
    (void)printf("\"%s\": {\"hits\": %.4f, \"ns\": %.1f}", evict == DX_EVICT_LRU ? "LRU" : "SIEVE",
                 (double)hits / (double)(t->size * threads), slowest * 1e9 / (double)t->size);
    dx_page_cache_free(&cache);
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    uint32_t objects = OBJECTS;
    struct trace t;
    double *sum;

    if (argc < 5 || threads == 0 || threads > THREADS_MAX ||
        (strncmp(argv[1], "zipf:", 5) != 0 && argc != 6)) {
        (void)fprintf(stderr, "usage: bench_cache zipf:ALPHA|weights SHARE none|mixed|once THREADS "
                              "[WEIGHTS]\n");
        return 2;
    }
    if (argc == 6)
        sum = read_sums(argv[5], &objects);
    else
        sum = zipf_sums(strtod(argv[1] + 5, NULL), objects);
    t = make_trace(sum, objects, argv[3]);
    (void)printf("{\"objects\": %u, ", t.objects);
    run(&t, strtod(argv[2], NULL), DX_EVICT_LRU, threads);
    (void)printf(", ");
    run(&t, strtod(argv[2], NULL), DX_EVICT_SIEVE, threads);
    (void)printf("}\n");
    free(t.object);
    free(sum);
    return 0;
}
