/* SPDX-License-Identifier: Apache-2.0
 * bench_lookup - domain -> ordinal: bytes a domain, build time, ns a lookup.
 *
 *   bench_lookup build FOLDER COUNT [THREADS]     makes domains.dict and domains.mphf of made-up names
 *   bench_lookup build FOLDER FILE [THREADS]      of the lines of a text file (plain, one domain a line)
 *   bench_lookup ask FOLDER [PASSES]              one line of JSON a pass, the parts' bytes first
 *
 * The files are mapped and read into memory as the server does it (base/map.h); "large" is the share of
 * them that the page cache has in pages of 2 MiB. "loop": lookups that the CPU may overlap;
 * "dependent": each begins when the one before is done; "batch": dx_mphf_find_batch. Questions are
 * in random order; strangers are names of the same kind that the index does not have. What is
 * touched for the first time (checksums of blocks) is in "first", which is not part of the passes. Times are CPU times of the process. Memory to build: 44 B a made-up name.
 */
#include "base/file.h"
#include "base/map.h"
#include "bench/names.h"
#include "format/core/mphf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOKUPS (1u << 20)
#define BATCH 512
#define PREFIX 20 /* bytes of a key that are sorted without looking at the name again */

struct key {
    uint8_t prefix[PREFIX];
    uint32_t index;
};

/* Names by index: made up, or lines of a text. */
struct names {
    size_t count;
    const char **lines; /* NULL: made up */
};

static struct names names; /* qsort tells its compare nothing */

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)fputs("bench_lookup: ", stderr);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static void *must_malloc(size_t size)
{
    void *p = malloc(size);

    if (p == NULL)
        die("no memory for %zu bytes", size);
    return p;
}

/* ---- build ---- */

static struct dx_span name_at(size_t i, char room[DX_SURT_MAX])
{
    if (names.lines == NULL)
        return dx_span_of(room, make_name(i, room));
    return dx_span_of(names.lines[i], strcspn(names.lines[i], "\n"));
}

static size_t key_at(size_t i, uint8_t key[DX_SURT_MAX])
{
    char room[DX_SURT_MAX];

    return dx_surt_key(name_at(i, room), key);
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    int order = memcmp(x->prefix, y->prefix, PREFIX);
    uint8_t one[DX_SURT_MAX] = { 0 };
    uint8_t other[DX_SURT_MAX] = { 0 };

    if (order != 0)
        return order;
    (void)key_at(x->index, one);
    (void)key_at(y->index, other);
    return strcmp((const char *)one, (const char *)other);
}

static struct key *sorted_keys(void)
{
    struct key *keys = must_malloc(names.count * sizeof *keys);

    for (size_t i = 0; i < names.count; i++) {
        uint8_t key[DX_SURT_MAX];
        size_t size = key_at(i, key);

        if (size == 0)
            die("name %zu is of no domain", i);
        memset(keys[i].prefix, 0, PREFIX);
        memcpy(keys[i].prefix, key, size < PREFIX ? size : PREFIX);
        keys[i].index = (uint32_t)i;
    }
    qsort(keys, names.count, sizeof *keys, compare_keys);
    return keys;
}

/* What the dictionary's header says, and the hash of each name in order of ordinals. */
static struct dx_dictionary_info survey(const struct key *keys, uint64_t *hashes)
{
    struct dx_dictionary_info info = { .n = names.count };
    struct dx_hash_state *hashing = dx_hash_state_new();

    for (size_t i = 0; i < names.count; i++) {
        char line[DX_SURT_MAX + 1];
        char room[DX_SURT_MAX];
        struct dx_span name = name_at(keys[i].index, room);

        hashes[i] = dx_mphf_hash(name, 0);
        memcpy(line, name.data, name.size);
        line[name.size] = '\n';
        dx_hash_state_update(hashing, dx_span_of(line, name.size + 1));
        if (name.size > info.longest_key)
            info.longest_key = (uint32_t)name.size;
    }
    info.text_hash = dx_hash_state_digest(hashing);
    dx_hash_state_free(&hashing);
    return info;
}

static int to_file(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    return dx_file_out_write(ctx, bytes, err);
}

/* As publish writes index files. */
static struct dx_file_out create(const char *folder, const char *name)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_file_out out;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (dx_file_out_open(&out, path, &err) < 0 || dx_file_out_mapped(&out, &err) < 0)
        die("%s", err.text);
    return out;
}

static void finish(struct dx_file_out *out)
{
    struct dx_error err = DX_ERROR_INIT;

    if (dx_file_out_close(out, DX_SYNC_NOW, &err) < 0)
        die("%s", err.text);
}

static const struct dx_build_id build_id = { "bench" };

static void write_dictionary(const char *folder, const struct key *keys,
                             const struct dx_dictionary_info *info)
{
    struct dx_dictionary_writer *w = must_malloc(sizeof *w);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_file_out f = create(folder, "domains.dict");
    int rc = dx_dictionary_writer_init(w, info, &build_id, to_file, &f, &err);

    for (size_t i = 0; rc == DX_OK && i < names.count; i++) {
        uint8_t key[DX_SURT_MAX];
        size_t size = key_at(keys[i].index, key);

        rc = dx_dictionary_writer_add(w, dx_span_of(key, size), &err);
    }
    if (rc == DX_OK)
        rc = dx_dictionary_writer_finish(w, &err);
    if (rc < 0)
        die("dictionary: %s", err.text);
    dx_dictionary_writer_release(w);
    free(w);
    finish(&f);
}

/* Returns the seconds that the pilots took. */
static double write_mphf(const char *folder, const uint64_t *hashes,
                         const struct dx_dictionary_info *info, unsigned threads)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_mphf_built built;
    struct dx_file_out f = create(folder, "domains.mphf");
    double begin = now_s();
    double pilots;

    if (dx_mphf_build(&built, hashes, info->n, 0, (size_t)1 << 30, threads, &err) != 0)
        die("mphf: seed 0");
    pilots = now_s() - begin;
    if (dx_mphf_write(&built, hashes, &info->text_hash, NULL, 0, &build_id, to_file, &f, &err) < 0)
        die("mphf: %s", err.text);
    dx_mphf_built_release(&built);
    finish(&f);
    return pilots;
}

/* The lines of a text that stays in memory. */
static void read_lines(const char *path)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    size_t room = 0;

    if (dx_map_open(&map, path, DX_MAP_SEQUENTIAL, &err) < 0)
        die("%s", err.text);
    for (size_t i = 0; i < map.bytes.size; i++)
        room += map.bytes.data[i] == '\n';
    names.lines = must_malloc((room + 1) * sizeof *names.lines);
    for (size_t at = 0; names.count < room; names.count++) {
        const char *line = (const char *)map.bytes.data + at;

        names.lines[names.count] = line;
        at += strcspn(line, "\n") + 1;
    }
}

static int build(const char *folder, const char *what, unsigned threads)
{
    struct dx_dictionary_info info;
    uint64_t *hashes;
    struct key *keys;
    char *end;
    double begin = now_s();
    double sorted, surveyed, dictionary, pilots;

    names.count = strtoul(what, &end, 10);
    if (*end != '\0') {
        names.count = 0;
        read_lines(what);
    }
    keys = sorted_keys();
    sorted = now_s();
    hashes = must_malloc((names.count + 1) * sizeof *hashes);
    info = survey(keys, hashes);
    surveyed = now_s();
    write_dictionary(folder, keys, &info);
    dictionary = now_s();
    free(keys);
    pilots = write_mphf(folder, hashes, &info, threads);
    free(hashes);
    (void)printf("{\"n\": %zu, \"sort_s\": %.2f, \"survey_s\": %.2f, \"dictionary_ns\": %.1f, "
                 "\"pilots_ns\": %.1f, \"slots_ns\": %.1f}\n",
                 names.count, sorted - begin, surveyed - sorted,
                 (dictionary - surveyed) * 1e9 / (double)info.n, pilots * 1e9 / (double)info.n,
                 (now_s() - dictionary - pilots) * 1e9 / (double)info.n);
    return 0;
}

/* ---- ask ---- */

struct index {
    struct dx_map dict_map;
    struct dx_map mphf_map;
    struct dx_dictionary dict;
    struct dx_mphf mphf;
};

struct questions {
    struct dx_span *span;
    char *text;
    size_t answer; /* how many are there */
};

static void open_index(struct index *x, const char *folder)
{
    struct dx_error err = DX_ERROR_INIT;
    char dict[4096];
    char mphf[4096];

    (void)snprintf(dict, sizeof dict, "%s/domains.dict", folder);
    (void)snprintf(mphf, sizeof mphf, "%s/domains.mphf", folder);
    if (dx_map_open(&x->dict_map, dict, DX_MAP_RANDOM, &err) < 0 ||
        dx_map_open(&x->mphf_map, mphf, DX_MAP_RANDOM, &err) < 0 ||
        dx_map_fill(dx_map_pages(x->dict_map.bytes)) != 0 ||
        dx_map_fill(dx_map_pages(x->mphf_map.bytes)) != 0 ||
        dx_dictionary_open(&x->dict, x->dict_map.bytes, 0, dict, &err) < 0 ||
        dx_mphf_open(&x->mphf, x->mphf_map.bytes, 0, mphf, &err) < 0 ||
        dx_mphf_match(&x->mphf, &x->dict, &err) < 0)
        die("%s", err.text);
}

/* Domains of the index by random ordinals, or names of the first 2^28 from the last one down. */
static struct questions make_questions(const struct index *x, bool strangers)
{
    struct questions q = { must_malloc(LOOKUPS * sizeof *q.span), NULL, strangers ? 0 : LOOKUPS };
    char *to = q.text = must_malloc((size_t)LOOKUPS * DX_SURT_MAX);

    for (size_t i = 0; i < LOOKUPS; i++) {
        struct dx_error err = DX_ERROR_INIT;
        uint8_t domain[DX_SURT_MAX];
        size_t size;

        if (strangers)
            size = make_name((UINT64_C(1) << 28) - 1 - i, to);
        else if (dx_dictionary_get(&x->dict, mix(i) % x->dict.info.n, domain, &size, &err) == 1)
            memcpy(to, domain, size);
        else
            die("dictionary: %s", err.text);
        q.span[i] = dx_span_of(to, size);
        to += size;
    }
    return q;
}

static uint64_t ask(const struct index *x, struct dx_span domain)
{
    uint64_t ordinal = 0;
    uint64_t id = 0;
    int rc = dx_mphf_find(&x->mphf, &x->dict, domain, &ordinal, &id, NULL);

    if (rc < 0)
        die("lookup failed");
    return (uint64_t)rc;
}

static void expect(size_t found, const struct questions *q)
{
    if (found > q->answer + LOOKUPS / 1000 || found < q->answer) /* real lists have some of ours */
        die("%zu of %u found, expected %zu", found, LOOKUPS, q->answer);
}

static double loop_ns(const struct index *x, const struct questions *q)
{
    double begin = now_s();
    double ns;
    size_t found = 0;

    for (size_t i = 0; i < LOOKUPS; i++)
        found += ask(x, q->span[i]);
    ns = (now_s() - begin) * 1e9 / LOOKUPS;
    expect(found, q);
    return ns;
}

static double dependent_ns(const struct index *x, const struct questions *q)
{
    double begin = now_s();
    uint64_t zero = 0; /* always 0, but the CPU must wait to know */

    for (size_t i = 0; i < LOOKUPS; i++)
        zero = ask(x, q->span[i + zero]) >> 1;
    return (now_s() - begin) * 1e9 / LOOKUPS + (double)zero;
}

static double batch_ns(const struct index *x, const struct questions *q)
{
    struct dx_mphf_hit hits[BATCH];
    double begin = now_s();
    double ns;
    size_t found = 0;

    for (size_t i = 0; i < LOOKUPS; i += BATCH) {
        dx_mphf_find_batch(&x->mphf, &x->dict, q->span + i, NULL, BATCH, hits);
        for (size_t k = 0; k < BATCH; k++)
            found += hits[k].rc == 1;
    }
    ns = (now_s() - begin) * 1e9 / LOOKUPS;
    expect(found, q);
    return ns;
}

static void say_sizes(const struct index *x)
{
    double n = (double)x->dict.info.n;

    (void)printf("{\"n\": %llu, \"dict\": %.4f, \"data\": %.4f, \"places\": %.4f, \"mphf\": %.4f, "
                 "\"pilots\": %.4f, \"slots\": %.4f}\n",
                 (unsigned long long)x->dict.info.n, (double)x->dict_map.bytes.size / n,
                 (double)x->dict.data.size / n,
                 (double)(x->dict.anchors.size + x->dict.offsets.size) / n,
                 (double)x->mphf_map.bytes.size / n, (double)x->mphf.pilots.size / n,
                 (double)x->mphf.slots.size / n);
}

/* Of all maps of files: the others are a library or two. */
static double large_share(const struct index *x)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double kb = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "FilePmdMapped:", 14) == 0)
            kb += strtod(line + 14, NULL);
    if (f != NULL)
        (void)fclose(f);
    return 1024 * kb / (double)(x->dict_map.bytes.size + x->mphf_map.bytes.size);
}

static int ask_all(const char *folder, unsigned passes)
{
    struct index x = { .dict_map = DX_MAP_INIT, .mphf_map = DX_MAP_INIT };
    struct questions hits, strangers;

    open_index(&x, folder);
    say_sizes(&x);
    hits = make_questions(&x, false);
    strangers = make_questions(&x, true);
    (void)printf("{\"first\": %.1f, \"large\": %.3f}\n", loop_ns(&x, &hits), large_share(&x));
    for (unsigned i = 0; i < passes; i++) {
        (void)printf("{\"hit loop\": %.1f, \"hit dependent\": %.1f, \"hit batch\": %.1f, ",
                     loop_ns(&x, &hits), dependent_ns(&x, &hits), batch_ns(&x, &hits));
        (void)printf("\"miss loop\": %.1f, \"miss dependent\": %.1f, \"miss batch\": %.1f}\n",
                     loop_ns(&x, &strangers), dependent_ns(&x, &strangers),
                     batch_ns(&x, &strangers));
        (void)fflush(stdout);
    }
    dx_mphf_close(&x.mphf);
    dx_dictionary_close(&x.dict);
    dx_map_close(&x.mphf_map);
    dx_map_close(&x.dict_map);
    free(hits.span);
    free(hits.text);
    free(strangers.span);
    free(strangers.text);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned last = argc > 2 ? (unsigned)strtoul(argv[argc - 1], NULL, 10) : 0;

    if ((argc == 4 || argc == 5) && strcmp(argv[1], "build") == 0)
        return build(argv[2], argv[3], argc == 5 ? last : 1);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "ask") == 0)
        return ask_all(argv[2], argc == 4 ? last : 1);
    (void)fprintf(stderr, "usage: bench_lookup build FOLDER COUNT|FILE [THREADS]\n"
                          "       bench_lookup ask FOLDER [PASSES]\n");
    return 2;
}
