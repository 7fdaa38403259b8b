/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/small_index.h"

#include "format/core/dictionary.h"
#include "format/core/mphf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const struct dx_build_id dx_test_build_id = { { 0xB1, 0x1D, 1, 2, 3, 4, 5, 6 } };

static void must(bool ok, const char *what, const struct dx_error *err)
{
    if (ok)
        return;
    fprintf(stderr, "small_index: %s: %s\n", what, err == NULL ? "" : err->text);
    exit(1);
}

size_t dx_test_name(uint64_t i, char out[256])
{
    static const char *const suffixes[] = { "com", "de", "co.uk", "org", "github.io", "xn--p1ai" };
    static const char *const words[] = { "shop", "a", "example", "blog", "xn--mnchen-3ya" };
    int n;

    if (i % 37 == 5)
        n = snprintf(out, 256, "%u.%u.%u.%u", (unsigned)(10 + i % 90), (unsigned)(i >> 16 & 255),
                     (unsigned)(i >> 8 & 255), (unsigned)(i & 255));
    else if (i % 41 == 6)
        n = snprintf(out, 256, "[2001:db8::%llx]", (unsigned long long)i);
    else if (i % 101 == 7)
        n = snprintf(out, 256, "host%llu", (unsigned long long)i);
    else if (i % 67 == 8)
        n = snprintf(out, 256, "%0250llu.nu", (unsigned long long)i);
    else
        n = snprintf(out, 256, "%s%llx.%s", words[i * 7 % 5], (unsigned long long)(i * 0x9E3779B1u),
                     suffixes[i % 6]);
    return (size_t)n;
}

struct keyed {
    struct dx_span name, key;
};

static int compare_by_key(const void *a, const void *b)
{
    return dx_span_compare(((const struct keyed *)a)->key, ((const struct keyed *)b)->key);
}

/* The domains by ordinal, in the memory of x->text. */
static void make_domains(struct dx_test_index *x)
{
    struct keyed *unsorted = malloc((x->n + 1) * sizeof *unsorted);
    char *names = malloc((x->n + 1) * 256);
    struct dx_buf keys = DX_BUF_INIT(SIZE_MAX / 2);

    x->domains = malloc((x->n + 1) * sizeof *x->domains);
    x->ids = malloc((x->n + 1) * sizeof *x->ids);
    must(unsorted != NULL && names != NULL && x->domains != NULL && x->ids != NULL, "memory", NULL);
    for (size_t i = 0; i < x->n; i++) {
        uint8_t key[DX_SURT_MAX];

        unsorted[i].name = dx_span_of(names + 256 * i, dx_test_name(i, names + 256 * i));
        unsorted[i].key.size = dx_surt_key(unsorted[i].name, key);
        dx_buf_append(&keys, key, unsorted[i].key.size);
    }
    must(!keys.failed, "memory", NULL);
    for (size_t i = 0, at = 0; i < x->n; at += unsorted[i++].key.size)
        unsorted[i].key.data = keys.data + at;
    qsort(unsorted, x->n, sizeof *unsorted, compare_by_key);
    for (size_t i = 0; i < x->n; i++) {
        dx_buf_append(&x->text, unsorted[i].name.data, unsorted[i].name.size);
        dx_buf_u8(&x->text, '\n');
    }
    must(!x->text.failed, "memory", NULL);
    for (size_t i = 0, at = 0; i < x->n; at += unsorted[i].name.size + 1, i++) {
        x->domains[i] = dx_span_of(x->text.data + at, unsorted[i].name.size);
        x->ids[i] = dx_hash64(x->domains[i]);
    }
    free(unsorted);
    free(names);
    dx_buf_release(&keys);
}

static void make_dictionary(struct dx_test_index *x)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dictionary_census census;
    struct dx_dictionary_writer w;
    uint8_t key[DX_SURT_MAX];
    int rc = dx_dictionary_census_init(&census, &err);

    for (size_t i = 0; i < x->n && rc == DX_OK; i++)
        rc = dx_dictionary_census_add(&census, x->domains[i], &err);
    must(rc == DX_OK, "census", &err);
    dx_dictionary_census_end(&census);
    x->text_hash = census.info.text_hash;
    rc = dx_dictionary_writer_init(&w, &census.info, &dx_test_build_id, dx_envelope_sink_buf,
                                   &x->dict, &err);
    for (size_t i = 0; i < x->n && rc == DX_OK; i++)
        rc = dx_dictionary_writer_add(&w, dx_span_of(key, dx_surt_key(x->domains[i], key)), &err);
    if (rc == DX_OK)
        rc = dx_dictionary_writer_finish(&w, &err);
    must(rc == DX_OK, "dictionary", &err);
    dx_dictionary_writer_release(&w);
    dx_dictionary_census_release(&census);
}

static void make_files(struct dx_test_index *x)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_mphf_built built;
    uint64_t *hashes;
    uint64_t seed = 0;
    int rc;

    make_dictionary(x);
    hashes = malloc((x->n + 1) * sizeof *hashes);
    must(hashes != NULL, "memory", NULL);
    do {
        for (size_t i = 0; i < x->n; i++)
            hashes[i] = dx_mphf_hash(x->domains[i], seed);
        rc = dx_mphf_build(&built, hashes, x->n, seed, 0, 1, &err);
    } while (rc == DX_MPHF_RESEED && ++seed < 16);
    must(rc == DX_OK, "mphf", &err);
    must(dx_mphf_write(&built, hashes, &x->text_hash, NULL, 0, &dx_test_build_id,
                       dx_envelope_sink_buf, &x->mphf, &err) == DX_OK,
         "mphf", &err);
    free(hashes);
    dx_mphf_built_release(&built);
}

void dx_test_index_build(struct dx_test_index *x, size_t n)
{
    memset(x, 0, sizeof *x);
    x->n = n;
    dx_buf_init(&x->text, SIZE_MAX / 2);
    dx_buf_init(&x->dict, SIZE_MAX / 2);
    dx_buf_init(&x->mphf, SIZE_MAX / 2);
    make_domains(x);
    make_files(x);
}

void dx_test_index_release(struct dx_test_index *x)
{
    free(x->domains);
    free(x->ids);
    dx_buf_release(&x->text);
    dx_buf_release(&x->dict);
    dx_buf_release(&x->mphf);
    memset(x, 0, sizeof *x);
}

#define PAGE 4096

static size_t pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

uint8_t *dx_test_guarded(struct dx_span bytes)
{
    size_t room = pages(bytes.size);
    uint8_t *base = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0);
    uint8_t *copy;

    must(base != MAP_FAILED && mprotect(base + room, PAGE, PROT_NONE) == 0, "guard page", NULL);
    copy = base + (room - bytes.size);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    return copy;
}

void dx_test_unguard(uint8_t *copy, size_t size)
{
    (void)munmap(copy - (pages(size) - size), pages(size) + PAGE);
}

static uint64_t sum(const uint8_t *trailer, uint64_t key, const uint8_t *data, size_t size)
{
    struct dx_identity id = { .kind = dx_load_u32(trailer + 16), .key = key };

    memcpy(id.build.bytes, trailer, 16);
    return dx_checksum(&id, dx_span_of(data, size));
}

bool dx_test_reseal(uint8_t *file, size_t size)
{
    uint8_t *trailer = file + (size - 72);
    uint64_t body;
    uint64_t blocks;

    if (size < 72)
        return false;
    body = dx_load_u64(trailer + 32);
    if (body > size - 72)
        return false;
    blocks = (body + 4095) / 4096;
    if (8 * blocks > size - 72 - body)
        return false;
    for (uint64_t i = 0; i < blocks; i++) {
        size_t left = (size_t)(body - 4096 * i);

        dx_store_u64(file + body + 8 * i,
                     sum(trailer, i, file + 4096 * i, left < 4096 ? left : 4096));
    }
    dx_store_u64(trailer + 48,
                 sum(trailer, UINT64_MAX - 1, file + body, (size_t)(size - 72 - body)));
    dx_store_u64(trailer + 56, sum(trailer, UINT64_MAX, trailer, 56));
    return true;
}
