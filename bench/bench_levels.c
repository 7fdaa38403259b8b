/* SPDX-License-Identifier: Apache-2.0
 * bench_levels - domain -> part and ordinal, of the current version of a root: ns a lookup.
 *
 *   bench_levels ROOT NAMES [PASSES]     NAMES: domains that are there, a line each; a line of JSON a pass
 *
 * "loop": lookups that the CPU may overlap; "batch": dx_version_find_batch. Questions are in random order; strangers are
 * the same names with a letter in front, as far as the version does not have them. The first pass touches pages for the first time.
 * Times are CPU times of the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/map.h"
#include "loader/version_parts.h"

#define BATCH 512

static void must(int rc, const struct dx_error *err)
{
    if (rc < 0) {
        (void)fprintf(stderr, "bench_levels: %s\n", err->text);
        exit(1);
    }
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool has(const struct dx_version *v, struct dx_span name)
{
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_part *part;
    uint64_t ordinal, id;
    int rc = dx_version_find(v, name, &part, &ordinal, &id, &err);

    must(rc, &err);
    return rc == 1;
}

static double loop_ns(const struct dx_version *v, const struct dx_span *names, size_t count,
                      bool there)
{
    double begin = now_s();

    for (size_t i = 0; i < count; i++)
        if (has(v, names[i]) != there)
            abort();
    return (now_s() - begin) / (double)count * 1e9;
}

static double batch_ns(const struct dx_version *v, const struct dx_span *names, size_t count,
                       bool there)
{
    static struct dx_version_hit hits[BATCH];
    double begin = now_s();

    for (size_t i = 0; i < count; i += BATCH) {
        size_t n = count - i < BATCH ? count - i : BATCH;

        dx_version_find_batch(v, names + i, n, hits);
        for (size_t k = 0; k < n; k++)
            if (hits[k].rc != there)
                abort();
    }
    return (now_s() - begin) / (double)count * 1e9;
}

static void shuffle(struct dx_span *names, size_t count)
{
    uint64_t state = 1;

    for (size_t i = count; i > 1; i--) {
        size_t at = (size_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) %
                    i;
        struct dx_span name = names[i - 1];

        names[i - 1] = names[at];
        names[at] = name;
    }
}

int main(int argc, char **argv)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_map text = DX_MAP_INIT;
    struct dx_buf other = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    struct dx_span *there, *strangers;
    size_t count = 0, absent = 0;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: bench_levels ROOT NAMES [PASSES]\n");
        return 2;
    }
    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1u << 20;
    must(dx_version_manifest(argv[1], &manifest, &err), &err);
    must(dx_caches_new(&caches, &options, &err), &err);
    must(dx_version_open(&v, argv[1], &manifest, dx_manifest_current(&manifest), caches, &options,
                         &err),
         &err);
    must(dx_map_open(&text, argv[2], DX_MAP_SEQUENTIAL, &err), &err);
    there = calloc(text.bytes.size + 1, sizeof *there);
    strangers = calloc(text.bytes.size + 1, sizeof *strangers);
    if (there == NULL || strangers == NULL)
        return 1;
    for (size_t at = 0; at < text.bytes.size;) {
        const uint8_t *end = memchr(text.bytes.data + at, '\n', text.bytes.size - at);
        size_t size = (end == NULL ? text.bytes.size : (size_t)(end - text.bytes.data)) - at;

        there[count++] = dx_span_of(text.bytes.data + at, size);
        dx_buf_u8(&other, 'q');
        dx_buf_append(&other, text.bytes.data + at, size);
        at += size + 1;
    }
    for (size_t i = 0, at = 0; i < count; at += there[i++].size + 1) {
        strangers[absent] = dx_span_of(other.data + at, there[i].size + 1);
        absent += !has(v, strangers[absent]);
    }
    shuffle(there, count);
    shuffle(strangers, absent);
    for (long pass = argc > 3 ? strtol(argv[3], NULL, 10) : 5; pass-- > 0;) {
        double hit = loop_ns(v, there, count, true), miss = loop_ns(v, strangers, absent, false);

        (void)printf("{\"parts\":%zu,\"names\":%zu,\"hit\":%.1f,\"miss\":%.1f,\"hit, "
                     "batch\":%.1f,\"miss, batch\":%.1f}\n",
                     v->part_count, count, hit, miss, batch_ns(v, there, count, true),
                     batch_ns(v, strangers, absent, false));
        (void)fflush(stdout);
    }
    free(there);
    free(strangers);
    dx_buf_release(&other);
    dx_map_close(&text);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    dx_manifest_release(&manifest);
    return 0;
}
