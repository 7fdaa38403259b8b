/* SPDX-License-Identifier: Apache-2.0
 * bench_lookup - domain -> ordinal on synthetic names: size, build time, ns a lookup.
 *
 *   bench_lookup [count [threads]]        count: names, default 1000000
 *
 * Names are made of words, digits and the usual suffixes; strangers are made the same way
 * and are not in the set. "loop": lookups that the CPU may overlap; "dependent": each
 * begins when the one before is done; "batch": dx_mphf_find_batch. All times are CPU times.
 */
#include "base/buf.h"
#include "format/mphf.h"
#include "format/zseek.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOKUPS (1u << 21)
#define BATCH 512
#define PASSES 5

static const char *const words[] = {
    "shop",   "online", "web",    "world", "my",     "the",    "best",  "home",   "car",   "tech",
    "media",  "group",  "design", "news",  "travel", "health", "food",  "house",  "city",  "hotel",
    "studio", "photo",  "music",  "game",  "sport",  "art",    "book",  "life",   "green", "blue",
    "market", "store",  "center", "club",  "net",    "info",   "data",  "cloud",  "soft",  "lab",
    "garten", "haus",   "reise",  "arzt",  "markt",  "casa",   "viaje", "tienda", "salud", "libro",
    "maison", "voyage", "jardin", "mode",  "kids",   "baby",   "pet",   "dog",    "cat",   "bike",
    "wine",   "beer",   "coffee", "pizza", "sushi",  "yoga",   "dance", "film",   "video", "radio",
};
static const char *const suffixes[] = { "com", "com", "com", "com", "com", "com",   "de",
                                        "net", "org", "ru",  "nl",  "fr",  "co.uk", "info",
                                        "br",  "it",  "cn",  "pl",  "eu",  "com.au" };

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/*
 * The i-th name: one word or two, then up to 5 letters or 4 digits of chance, and a suffix. Not
 * all are distinct; a stranger has a 'q' before the suffix that no other name has there.
 */
static size_t make_name(uint64_t i, bool stranger, char out[64])
{
    static const char letters[] = "eariotnslcudpmhgbfywkvxzjeario"; /* no q */
    uint64_t r = mix(i);
    char tail[8];
    int n = (int)(r % 6);
    bool digits = r / 6 % 8 == 0;

    r /= 48;
    for (int k = 0; k < n; k++, r /= 30)
        tail[k] = digits ? (char)('0' + r % 10) : letters[r % 30];
    tail[n] = '\0';
    r = mix(i + UINT64_C(0x1234567890));
    n = snprintf(out, 64, "%s%s%s%s.%s", words[r % 70], r >> 58 < 40 ? words[r / 70 % 70] : "",
                 tail, stranger ? "q" : "", suffixes[r / 4900 % 20]);
    return (size_t)n;
}

/* CPU time, of all threads together: other programs on the machine do not show. */
static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, const struct dx_error *err)
{
    fprintf(stderr, "bench_lookup: %s: %s\n", what, err->text);
    exit(1);
}

struct index {
    struct dx_buf dict_bytes;
    struct dx_buf mphf_bytes;
    struct dx_dictionary dict;
    struct dx_mphf mphf;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted distinct keys, NUL-terminated, in one block of memory. */
static char **make_keys(size_t *count, char **memory)
{
    char *text = malloc(*count * 34);
    char **keys = malloc((*count + 1) * sizeof *keys);
    size_t used = 0;
    size_t n = 0;

    if (text == NULL || keys == NULL)
        die("no memory", &(struct dx_error)DX_ERROR_INIT);
    for (size_t i = 0; i < *count; i++) {
        char name[64];
        size_t size = make_name(i, false, name);
        uint8_t key[DX_SURT_MAX];

        size = dx_surt_key(dx_span_of(name, size), key);
        memcpy(text + used, key, size);
        text[used + size] = '\0';
        keys[i] = text + used;
        used += size + 1;
    }
    qsort(keys, *count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < *count; i++) {
        if (n == 0 || strcmp(keys[n - 1], keys[i]) != 0)
            keys[n++] = keys[i];
    }
    *count = n;
    *memory = text;
    return keys;
}

static double mean_size(char **keys, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += strlen(keys[i]);
    return (double)sum / (double)n;
}

static struct dx_dictionary_info survey(char **keys, size_t n, uint64_t *hashes)
{
    struct dx_dictionary_info info = { .n = n };
    struct dx_hash_state *hashing = dx_hash_state_new();

    for (size_t i = 0; i < n; i++) {
        uint8_t domain[DX_SURT_MAX];
        size_t size = dx_surt_domain(dx_span_str(keys[i]), domain);

        hashes[i] = dx_mphf_hash(dx_span_of(domain, size), 0);
        domain[size] = '\n';
        dx_hash_state_update(hashing, dx_span_of(domain, size + 1));
        info.longest_key = size > info.longest_key ? (uint32_t)size : info.longest_key;
    }
    info.text_hash = dx_hash_state_digest(hashing);
    dx_hash_state_free(&hashing);
    return info;
}

static void build_dictionary(struct index *x, char **keys, const struct dx_dictionary_info *info)
{
    static const struct dx_build_id build = { "bench" };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dictionary_writer *w = malloc(sizeof *w);
    double begin = now_s();
    int rc;

    if (w == NULL)
        die("no memory", &err);
    rc = dx_dictionary_writer_init(w, info, &build, dx_envelope_sink_buf, &x->dict_bytes, &err);
    for (size_t i = 0; rc == DX_OK && i < info->n; i++)
        rc = dx_dictionary_writer_add(w, dx_span_str(keys[i]), &err);
    if (rc == DX_OK)
        rc = dx_dictionary_writer_finish(w, &err);
    dx_dictionary_writer_release(w);
    free(w);
    if (rc < 0)
        die("dictionary", &err);
    printf("dictionary   %.2f s, %.2f B/domain\n", now_s() - begin,
           (double)x->dict_bytes.size / (double)info->n);
}

static void build_mphf(struct index *x, const uint64_t *hashes,
                       const struct dx_dictionary_info *info, unsigned threads)
{
    static const struct dx_build_id build = { "bench" };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_mphf_built built;
    double begin = now_s();
    double middle;

    if (dx_mphf_build(&built, hashes, info->n, 0, 0, threads, &err) != 0)
        die("mphf: seed 0", &err);
    middle = now_s();
    if (dx_mphf_write(&built, hashes, &info->text_hash, NULL, 0, &build, dx_envelope_sink_buf,
                      &x->mphf_bytes, &err) < 0)
        die("mphf", &err);
    printf("mphf         %.2f s pilots (%.1f ns/key), %.2f s slots; pilots %.3f bits/key, with "
           "empty slots %.3f; file %.3f B/domain\n",
           middle - begin, (middle - begin) * 1e9 / (double)info->n, now_s() - middle,
           8.0 * (double)built.parts * built.part_buckets / (double)info->n,
           8.0 *
               ((double)built.parts * built.part_buckets +
                4 * ((double)built.parts * built.part_slots - (double)info->n)) /
               (double)info->n,
           (double)x->mphf_bytes.size / (double)info->n);
    dx_mphf_built_release(&built);
}

/* Names in random order, with their texts in one block. */
static struct dx_span *make_questions(size_t n, bool strangers, char **memory)
{
    struct dx_span *q = malloc(LOOKUPS * sizeof *q);
    char *text = malloc((size_t)LOOKUPS * 64);

    if (q == NULL || text == NULL)
        die("no memory", &(struct dx_error)DX_ERROR_INIT);
    for (size_t i = 0; i < LOOKUPS; i++) {
        char *to = text + 64 * i;

        q[i] = dx_span_of(to, make_name(mix(i + 12345) % n, strangers, to));
    }
    *memory = text;
    return q;
}

static uint64_t ask(const struct index *x, struct dx_span domain)
{
    uint64_t ordinal = 0;
    uint64_t id = 0;
    int rc = dx_mphf_find(&x->mphf, &x->dict, domain, &ordinal, &id, NULL);

    if (rc < 0)
        die("lookup", &(struct dx_error)DX_ERROR_INIT);
    return (uint64_t)rc;
}

static double loop_ns(const struct index *x, const struct dx_span *q, size_t *found)
{
    double begin = now_s();

    *found = 0;
    for (size_t i = 0; i < LOOKUPS; i++)
        *found += ask(x, q[i]);
    return (now_s() - begin) * 1e9 / LOOKUPS;
}

static double dependent_ns(const struct index *x, const struct dx_span *q)
{
    double begin = now_s();
    uint64_t zero = 0; /* always 0, but the CPU must wait to know */

    for (size_t i = 0; i < LOOKUPS; i++)
        zero = ask(x, q[i + zero]);
    __asm__ volatile("" : "+r"(zero)); /* the compiler does not know that it is 0 or 1 */
    zero >>= 1;
    return (now_s() - begin) * 1e9 / LOOKUPS + (double)zero;
}

static double batch_ns(const struct index *x, const struct dx_span *q, size_t *found)
{
    struct dx_mphf_hit hits[BATCH];
    double begin = now_s();

    *found = 0;
    for (size_t i = 0; i < LOOKUPS; i += BATCH) {
        dx_mphf_find_batch(&x->mphf, &x->dict, q + i, BATCH, hits);
        for (size_t k = 0; k < BATCH; k++)
            *found += hits[k].rc == 1;
    }
    return (now_s() - begin) * 1e9 / LOOKUPS;
}

static void measure(const struct index *x, size_t n, bool strangers)
{
    char *text;
    struct dx_span *q = make_questions(n, strangers, &text);
    double loop = 1e9;
    double dependent = 1e9;
    double batch = 1e9;
    size_t found = 0;

    for (int pass = 0; pass < PASSES; pass++) {
        double ns = loop_ns(x, q, &found);

        loop = ns < loop ? ns : loop;
        ns = dependent_ns(x, q);
        dependent = ns < dependent ? ns : dependent;
        ns = batch_ns(x, q, &found);
        batch = ns < batch ? ns : batch;
    }
    printf("%-12s loop %.0f ns, dependent %.0f ns, batch %.0f ns (best of %d; %zu of %u found)\n",
           strangers ? "strangers" : "hits", loop, dependent, batch, PASSES, found, LOOKUPS);
    free(q);
    free(text);
}

int main(int argc, char **argv)
{
    struct index x = { .dict_bytes = DX_BUF_INIT(SIZE_MAX / 2),
                       .mphf_bytes = DX_BUF_INIT(SIZE_MAX / 2) };
    size_t asked = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    size_t n = asked;
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dictionary_info info;
    uint64_t *hashes;
    char *text;
    char **keys;

    if (asked == 0) {
        fprintf(stderr, "usage: bench_lookup [count [threads]]\n");
        return 2;
    }
    keys = make_keys(&n, &text);
    hashes = malloc(n * sizeof *hashes);
    if (hashes == NULL)
        die("no memory", &err);
    info = survey(keys, n, hashes);
    printf("names        %zu distinct, %.2f B on average\n", n, mean_size(keys, n));
    build_dictionary(&x, keys, &info);
    free(keys);
    free(text);
    build_mphf(&x, hashes, &info, threads);
    free(hashes);
    if (dx_dictionary_open(&x.dict, dx_span_of(x.dict_bytes.data, x.dict_bytes.size), 0,
                           "domains.dict", &err) < 0 ||
        dx_mphf_open(&x.mphf, dx_span_of(x.mphf_bytes.data, x.mphf_bytes.size), 0, "domains.mphf",
                     &err) < 0 ||
        dx_mphf_match(&x.mphf, &x.dict, &err) < 0)
        die("open", &err);
    measure(&x, asked, false);
    measure(&x, asked, true);
    dx_mphf_close(&x.mphf);
    dx_dictionary_close(&x.dict);
    dx_buf_release(&x.dict_bytes);
    dx_buf_release(&x.mphf_bytes);
    return 0;
}
