/* SPDX-License-Identifier: Apache-2.0
 * test_mphf.c - each name has a number of its own, strangers are mostly not found; sizes, damage.
 */
#include "format/core/mphf.h"

#include "tests/support/damage.h"
#include "tests/support/fail.h"
#include "tests/support/sample.h"
#include "tests/support/small_index.h"

#include <stdio.h>
#include <stdlib.h>

#define STRANGERS dx_sample(1000000, 60000)
#define MANY dx_sample(100000, 66000) /* slots of 4 bytes */

/* Damage is read by one thread and takes minutes under TSan: other builds do it. */
#ifdef __SANITIZE_THREAD__
static const bool under_tsan = true;
#else
static const bool under_tsan = false;
#endif

static int failures;

static int open_both(struct dx_mphf *m, struct dx_dictionary *d, struct dx_span mphf,
                     struct dx_span dict, unsigned flags, struct dx_error *err)
{
    int rc = dx_mphf_open(m, mphf, flags, "domains.mphf", err);

    memset(d, 0, sizeof *d);
    if (rc == DX_OK)
        rc = dx_dictionary_open(d, dict, flags, "domains.dict", err);
    if (rc == DX_OK)
        rc = dx_mphf_match(m, d, err);
    return rc;
}

static struct dx_span bytes_of(const struct dx_buf *b)
{
    return dx_span_of(b->data, b->size);
}

static void check_batch(const struct dx_mphf *m, const struct dx_dictionary *d,
                        const struct dx_span *domains, size_t count)
{
    struct dx_mphf_hit hits[100];

    if (count > 100)
        count = 100;
    memset(hits, 0xee, sizeof hits);
    dx_mphf_find_batch(m, d, domains, NULL, count, hits);
    for (size_t i = 0; i < count; i++) {
        uint64_t ordinal = 0;
        uint64_t id = 0;
        int rc = dx_mphf_find(m, d, domains[i], &ordinal, &id, NULL);

        CHECK(hits[i].rc == rc &&
                  (rc != 1 || (hits[i].ordinal == ordinal && hits[i].domain_id == id)),
              "batch differs at %zu: %d, not %d", i, hits[i].rc, rc);
    }
}

static void check_strangers(const struct dx_test_index *x, const struct dx_mphf *m,
                            const struct dx_dictionary *d, size_t count)
{
    struct dx_span some[100];
    char names[100][256];
    uint64_t ordinal;
    uint64_t id;

    for (size_t i = 0; i < count; i++) {
        char *name = names[i % 100];
        size_t size = dx_test_name(x->n + i, name);

        some[i % 100] = dx_span_of(name, size);
        CHECK(dx_mphf_find(m, d, some[i % 100], &ordinal, &id, NULL) == 0, "%.*s is found",
              (int)size, name);
    }
    if (count >= 100) {
        if (x->n > 50)
            memcpy(some, x->domains, 50 * sizeof *some);
        check_batch(m, d, some, 100);
        check_batch(m, d, some, 33);
    }
}

/* The same file as version 1 had it: slots with the number of a bucket. Of so many domains that slots are as large. */
static void make_old(const struct dx_test_index *x, uint8_t *file)
{
    const uint32_t full = (uint32_t)(x->n + 15) / 16;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_mphf m;
    uint8_t *slots;
    unsigned bits = 16;

    CHECK(dx_mphf_open(&m, bytes_of(&x->mphf), 0, "domains.mphf", &err) == DX_OK &&
              m.slot_size == 4 && m.has_ordinals,
          "%s", err.text);
    while (full >> (32 - bits) != 0)
        bits--;
    slots = file + (m.slots.data - x->mphf.data);
    for (size_t i = 0; i < m.slots.size; i += 4) {
        uint32_t ordinal = dx_load_u32(slots + i) >> m.fingerprint_bits;
        uint32_t value = full << bits;

        if (ordinal < x->n)
            value = ordinal / 16 << bits | ((uint32_t)x->ids[ordinal] & ((1u << bits) - 1));
        dx_store_u32(slots + i, value);
    }
    dx_store_u32(file + 4, 1);
    dx_store_u32(file + 36, bits);
    dx_store_u32(file + x->mphf.size - DX_ENVELOPE_TRAILER_SIZE + 20, 1);
    CHECK(dx_test_reseal(file, x->mphf.size), "old file");
    dx_mphf_close(&m);
}

static void check_ids_there(const struct dx_test_index *x, const struct dx_mphf *m,
                            const struct dx_dictionary *d)
{
    struct dx_error err = DX_ERROR_INIT;
    size_t there = 0;

    for (size_t i = 0; i < x->n; i += 1 + x->n / 1000) {
        struct dx_span other = dx_span_str("other"), own;
        uint8_t text[DX_SURT_MAX];
        size_t size;

        CHECK(dx_dictionary_get(d, i, text, &size, &err) == 1, "name %zu: %s", i, err.text);
        own = dx_span_of(text, size);
        CHECK(dx_mphf_other_has_id(m, d, other, x->ids[i], &err) == 1, "id %zu: %s", i, err.text);
        CHECK(dx_mphf_other_has_id(m, d, own, x->ids[i], &err) == 0, "its own %zu: %s", i,
              err.text);
        there += dx_mphf_other_has_id(m, d, other, x->ids[i] ^ 1, &err) == 1;
    }
    CHECK(there == 0, "%zu ids that no domain has", there);
}

static void check_round_trip(size_t n, bool old)
{
    struct dx_test_index x;
    struct dx_mphf m;
    struct dx_dictionary d;
    struct dx_error err = DX_ERROR_INIT;
    uint8_t *mphf;
    uint8_t *dict;

    dx_test_index_build(&x, n);
    mphf = dx_test_guarded(bytes_of(&x.mphf));
    dict = dx_test_guarded(bytes_of(&x.dict));
    if (old)
        make_old(&x, mphf);
    CHECK(open_both(&m, &d, dx_span_of(mphf, x.mphf.size), dx_span_of(dict, x.dict.size), 0,
                    &err) == DX_OK,
          "n %zu: %s", n, err.text);
    CHECK(n == 0 || m.has_ordinals == !old, "n %zu: slots", n);
    CHECK(n == 0 || m.slot_size == (n < 65536 ? 3 : 4), "n %zu: slots of %u bytes", n, m.slot_size);
    check_ids_there(&x, &m, &d);
    for (size_t i = 0; i < n; i++) {
        uint64_t ordinal = UINT64_MAX;
        uint64_t id = 0;

        CHECK(dx_mphf_find(&m, &d, x.domains[i], &ordinal, &id, &err) == 1 && ordinal == i &&
                  id == x.ids[i],
              "n %zu: domain %zu is %llu: %s", n, i, (unsigned long long)ordinal, err.text);
    }
    check_batch(&m, &d, x.domains, n);
    /* With one domain most slots are empty, and strangers with fingerprint 0 meet them. */
    check_strangers(&x, &m, &d, (n == MANY || n == 1) && !under_tsan ? STRANGERS : 1000);
    CHECK(dx_mphf_find(&m, &d, dx_span_of("", 0), &(uint64_t){ 0 }, &(uint64_t){ 0 }, &err) == 0,
          "n %zu: the empty name", n);
    CHECK(dx_mphf_verify(&m, &d, 1, &err) == DX_OK, "n %zu: %s", n, err.text);
    CHECK(dx_mphf_verify(&m, &d, 3, &err) == DX_OK, "n %zu: three threads: %s", n, err.text);
    CHECK(dx_mphf_verify(&m, &d, 0, &err) == DX_OK, "n %zu: no thread more: %s", n, err.text);
    dx_mphf_close(&m);
    dx_dictionary_close(&d);
    dx_test_unguard(mphf, x.mphf.size);
    dx_test_unguard(dict, x.dict.size);
    dx_test_index_release(&x);
}

/* A slot anywhere that leads its domain astray is found, whichever thread comes to it. */
static void check_shares(void)
{
    const size_t n = MANY;
    struct dx_test_index x;
    struct dx_error err = DX_ERROR_INIT;

    dx_test_index_build(&x, n);
    for (size_t share = 0; share < 8; share += dx_sample(1, 3)) {
        struct dx_mphf m;
        struct dx_dictionary d;
        uint8_t *copy = dx_test_guarded(bytes_of(&x.mphf));
        uint32_t ordinal = (uint32_t)(n * share / 8 + 17);
        uint8_t *slot;

        CHECK(dx_mphf_open(&m, bytes_of(&x.mphf), 0, "domains.mphf", &err) == DX_OK, "%s",
              err.text);
        slot = copy + (m.slots.data - x.mphf.data);
        while (dx_load_u32(slot) >> m.fingerprint_bits != ordinal)
            slot += m.slot_size;
        slot[0] ^= 1;
        dx_mphf_close(&m);
        CHECK(dx_test_reseal(copy, x.mphf.size), "share %zu", share);
        CHECK(open_both(&m, &d, dx_span_of(copy, x.mphf.size), bytes_of(&x.dict), 0, &err) == DX_OK,
              "%s", err.text);
        CHECK(dx_mphf_verify(&m, &d, 4, &err) < 0 && strstr(err.text, "is not found") != NULL,
              "share %zu: %s", share, err.text);
        dx_mphf_close(&m);
        dx_dictionary_close(&d);
        dx_test_unguard(copy, x.mphf.size);
    }
    dx_test_index_release(&x);
}

/* All compilers and machines write these bytes: the layout changed if this hash does. */
static void check_golden(void)
{
    struct dx_test_index x;
    struct dx_hash128 hash;
    char text[DX_HASH128_TEXT];

    dx_test_index_build(&x, 1000);
    hash = dx_hash128_of(bytes_of(&x.mphf));
    dx_hash128_text(&hash, text);
    CHECK(strcmp(text, "560b4261bee416a9760d82a17910b9a0") == 0, "domains.mphf of 1000: %s", text);
    dx_test_index_release(&x);
}

static uint64_t *many_hashes(size_t n)
{
    uint64_t *hashes = malloc(n * sizeof *hashes);

    for (size_t i = 0; i < n; i++)
        hashes[i] = dx_hash64(dx_span_of(&i, sizeof i));
    return hashes;
}

static void write_many(struct dx_buf *out, const uint64_t *hashes, size_t n, size_t memory,
                       unsigned threads)
{
    struct dx_mphf_built b;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_hash128 text_hash = { { 1 } };

    CHECK(dx_mphf_build(&b, hashes, n, 0, memory, threads, &err) == DX_OK, "%s", err.text);
    CHECK(dx_mphf_write(&b, hashes, &text_hash, NULL, 0, &dx_test_build_id, dx_envelope_sink_buf,
                        out, &err) == DX_OK,
          "%s", err.text);
    dx_mphf_built_release(&b);
}

/* Several parts: neither memory nor threads show in the bytes. */
static void check_parts(void)
{
    static const struct {
        size_t memory;
        unsigned threads;
    } runs[] = { { 0, 1 }, { 0, 4 }, { 1, 1 }, { 1, 3 }, { 5u << 20, 2 } };
    const size_t n = dx_sample(900000, 300000); /* 4 parts, or 2 */
    uint64_t *hashes = many_hashes(n);
    struct dx_buf first = DX_BUF_INIT(1 << 24);

    for (size_t i = under_tsan; i < sizeof runs / sizeof *runs;
         i += under_tsan ? 3 : dx_sample(1, 2)) {
        struct dx_buf out = DX_BUF_INIT(1 << 24);
        bool again = first.size > 0;

        write_many(again ? &out : &first, hashes, n, runs[i].memory, runs[i].threads);
        CHECK(!again || dx_span_equal(bytes_of(&first), bytes_of(&out)),
              "run %zu gives other bytes", i);
        dx_buf_release(&out);
    }
    CHECK(first.size < n * 435 / 100, "%zu bytes for %zu keys", first.size, n);
    dx_buf_release(&first);
    free(hashes);
}

/* What cannot be built asks for another seed; what does not belong together is refused. */
static void check_build_refusals(void)
{
    const size_t n = 3000;
    uint64_t *hashes = many_hashes(n);
    struct dx_mphf_built b;
    struct dx_buf out = DX_BUF_INIT(1 << 24);
    struct dx_hash128 text_hash = { { 1 } };
    struct dx_error err = DX_ERROR_INIT;

    CHECK(dx_mphf_build(&b, hashes, n, 0, 0, 1, &err) == DX_OK, "%s", err.text);
    hashes[17] = hashes[18];
    CHECK(dx_mphf_write(&b, hashes, &text_hash, NULL, 0, &dx_test_build_id, dx_envelope_sink_buf,
                        &out, &err) == DX_E_INVALID,
          "other hashes in write");
    dx_mphf_built_release(&b);
    CHECK(dx_mphf_build(&b, hashes, n, 0, 0, 1, &err) == DX_MPHF_RESEED, "two equal hashes");
    for (size_t i = 0; i < n; i++)
        hashes[i] = i;
    CHECK(dx_mphf_build(&b, hashes, n, 0, 0, 1, &err) == DX_MPHF_RESEED, "all in one bucket");
    CHECK(dx_mphf_build(&b, hashes, UINT64_MAX, 0, 0, 1, &err) == DX_E_LIMIT, "too many");
    dx_buf_release(&out);
    free(hashes);
}

/* Seeds other than 0 and collisions: the id is the hash, except where the list has another. */
static void check_ids(void)
{
    struct dx_test_index x;
    struct dx_mphf_built b;
    struct dx_mphf m;
    struct dx_dictionary d;
    struct dx_buf out = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_collision listed[3] = { { 0, 0 }, { 20, 0 }, { 99, 0 } };
    uint64_t hashes[100];
    uint64_t seed = 6;
    int rc = DX_MPHF_RESEED;

    dx_test_index_build(&x, 100);
    for (size_t i = 0; i < 3; i++)
        listed[i].domain_id = dx_hash64_seeded(x.domains[listed[i].ordinal], i + 1);
    while (rc == DX_MPHF_RESEED) {
        seed++;
        for (size_t i = 0; i < 100; i++)
            hashes[i] = dx_mphf_hash(x.domains[i], seed);
        rc = dx_mphf_build(&b, hashes, 100, seed, 0, 1, &err);
    }
    CHECK(rc == DX_OK && dx_mphf_write(&b, hashes, &x.text_hash, listed, 3, &dx_test_build_id,
                                       dx_envelope_sink_buf, &out, &err) == DX_OK,
          "%s", err.text);
    CHECK(open_both(&m, &d, bytes_of(&out), bytes_of(&x.dict), 0, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0, k = 0; i < 100; i++) {
        bool is_listed = k < 3 && listed[k].ordinal == i;
        uint64_t want = is_listed ? listed[k++].domain_id : x.ids[i];
        uint64_t ordinal = 0;
        uint64_t id = 0;

        CHECK(dx_mphf_find(&m, &d, x.domains[i], &ordinal, &id, &err) == 1 && ordinal == i &&
                  id == want,
              "domain %zu: %s", i, err.text);
        CHECK(dx_mphf_domain_id(&m, i, x.domains[i], &id, &err) == DX_OK && id == want, "id %zu",
              i);
    }
    CHECK(dx_mphf_verify(&m, &d, 1, &err) == DX_OK, "%s", err.text);
    dx_mphf_close(&m);
    dx_dictionary_close(&d);
    dx_mphf_built_release(&b);
    dx_buf_release(&out);
    dx_test_index_release(&x);
}

static void ask(const struct dx_test_index *x, const struct dx_mphf *m,
                const struct dx_dictionary *d, size_t number, bool may_lie, size_t bit)
{
    char name[256];
    struct dx_span domain = number < x->n ? x->domains[number]
                                          : dx_span_of(name, dx_test_name(number, name));
    uint64_t ordinal = 0;
    uint64_t id = 0;
    int rc = dx_mphf_find(m, d, domain, &ordinal, &id, NULL);
    bool right = number < x->n ? rc == 1 && ordinal == number && id == x->ids[number] : rc == 0;

    CHECK(may_lie || rc < 0 || right, "bit %zu: domain %zu: %d, %llu", bit, number, rc,
          (unsigned long long)ordinal);
}

static void check_flip(const struct dx_test_index *x, struct dx_span mphf, struct dx_span dict,
                       size_t bit)
{
    struct dx_mphf m;
    struct dx_dictionary d;
    struct dx_error err = DX_ERROR_INIT;

    if (open_both(&m, &d, mphf, dict, 0, &err) >= 0) {
        for (size_t k = 0; k < 10; k++)
            ask(x, &m, &d, (bit * 13 + k * 161) % (x->n + 100), false, bit);
        CHECK(dx_mphf_verify(&m, &d, 1, &err) < 0, "bit %zu: verify passes", bit);
    }
    CHECK(strstr(err.text, "domains.") == err.text, "bit %zu: %s", bit, err.text);
    dx_mphf_close(&m);
    dx_dictionary_close(&d);
    if (open_both(&m, &d, mphf, dict, DX_OPEN_UNCHECKED, NULL) >= 0) {
        for (size_t k = 0; k < 10; k++)
            ask(x, &m, &d, (bit * 13 + k * 161) % (x->n + 100), true, bit);
        if (bit % 64 == 0)
            (void)dx_mphf_verify(&m, &d, 1, NULL);
    }
    dx_mphf_close(&m);
    dx_dictionary_close(&d);
}

static void check_damage(void)
{
    struct dx_test_index x;
    uint8_t *mphf;
    uint8_t *dict;

    dx_test_index_build(&x, 1500);
    mphf = dx_test_guarded(bytes_of(&x.mphf));
    dict = dx_test_guarded(bytes_of(&x.dict));
    for (size_t bit = 0; bit < 8 * (x.mphf.size + x.dict.size);
         bit += damaged_step() * dx_sample(1, 5)) {
        uint8_t *byte = bit / 8 < x.mphf.size ? mphf + bit / 8 : dict + (bit / 8 - x.mphf.size);

        if (bit / 8 >= x.mphf.size && bit % 3 != 0) /* test_dictionary turns every bit of it */
            continue;
        *byte ^= (uint8_t)(1 << bit % 8);
        check_flip(&x, dx_span_of(mphf, x.mphf.size), dx_span_of(dict, x.dict.size), bit);
        *byte ^= (uint8_t)(1 << bit % 8);
    }
    dx_test_unguard(mphf, x.mphf.size);
    dx_test_unguard(dict, x.dict.size);
    for (size_t size = 0; size < x.mphf.size; size += damaged_step()) {
        struct dx_mphf m;

        mphf = dx_test_guarded(dx_span_of(x.mphf.data, size));
        CHECK(dx_mphf_open(&m, dx_span_of(mphf, size), 0, "x", NULL) < 0, "%zu bytes pass", size);
        dx_test_unguard(mphf, size);
    }
    dx_test_index_release(&x);
}

/*
 * Fields of the file of 100 domains with 3 collisions, changed and sealed again: found at open,
 * by match, or else by verify. (at: 0 the header, 1 PILO, 2 SLOT, 3 COLL.)
 */
static const struct {
    int at;
    size_t offset;
    unsigned size;
    uint64_t value;
    const char *words;
} rows[] = {
    { 0, 8, 8, 0xffffffff, "header: 4294967295 keys, at most 4294967294" },
    { 0, 8, 8, 101, "101 keys, but domains.dict has 100 domains" },
    { 0, 8, 8, 100000, "header: 1 parts of" },
    { 0, 16, 8, 12345, "is not found" },
    { 0, 24, 4, 0, "header: 0 parts of" },
    { 0, 24, 4, 2, "section PILO" },
    { 0, 28, 4, 0, "header: 1 parts of 0 buckets" },
    { 0, 28, 4, 0xffffffff, "section PILO" },
    { 0, 32, 4, 0, "and 0 slots for 100 keys" },
    { 0, 32, 4, 10000, "section SLOT" },
    { 0, 36, 4, 12, "header: fingerprints of 12 bits, expected 16" },
    { 0, 40, 8, 2, "section COLL: 48 bytes, expected 2 of 16 bytes" },
    { 0, 40, 8, UINT64_MAX / 16 + 4, "section COLL: 48 bytes" },
    { 0, 48, 8, 77, "its hash of the domains is not that of domains.dict" },
    { 1, 0, 8, 0x0101010101010101, "is not found" },
    { 2, 2, 1, 0xfe, "domains.dict: bucket 15 of 7" },
    { 3, 0, 8, 100, "COLL at 512: ordinal 100 is not ascending below 100" },
    { 3, 16, 8, 0, "ordinal 0 is not ascending below 100" },
    { 3, 8, 8, 7, "0000000000000007 is not a seeded hash of its domain" },
};

static size_t section_at(const struct dx_mphf *m, int which)
{
    const uint8_t *base = m->envelope.body.data;

    return which == 0   ? 0
           : which == 1 ? (size_t)(m->pilots.data - base)
           : which == 2 ? (size_t)(m->slots.data - base)
                        : (size_t)(m->collisions.data - base);
}

static void check_rows(void)
{
    struct dx_test_index x;
    struct dx_mphf sound;
    struct dx_mphf_built b;
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_collision listed[3] = { { 0, 0 }, { 20, 0 }, { 99, 0 } };

    dx_test_index_build(&x, 100);
    for (size_t i = 0; i < 3; i++)
        listed[i].domain_id = dx_hash64_seeded(x.domains[listed[i].ordinal], 1);
    CHECK(dx_mphf_build(&b, x.ids, 100, 0, 0, 1, &err) == DX_OK &&
              dx_mphf_write(&b, x.ids, &x.text_hash, listed, 3, &dx_test_build_id,
                            dx_envelope_sink_buf, &file, &err) == DX_OK &&
              dx_mphf_open(&sound, bytes_of(&file), 0, "x", &err) == DX_OK,
          "%s", err.text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = dx_test_guarded(bytes_of(&file));
        size_t at = section_at(&sound, rows[i].at) + rows[i].offset;
        struct dx_mphf m;
        struct dx_dictionary d;
        int rc;

        err = (struct dx_error)DX_ERROR_INIT;
        for (unsigned k = 0; k < rows[i].size; k++)
            copy[at + k] = (uint8_t)(rows[i].value >> (8 * k));
        for (size_t k = 3; rows[i].at == 2 && k < sound.slots.size; k += 3) /* so that all ask it */
            memcpy(copy + at + k, copy + at, rows[i].size);
        CHECK(dx_test_reseal(copy, file.size), "row %zu", i);
        rc = open_both(&m, &d, dx_span_of(copy, file.size), bytes_of(&x.dict), 0, &err);
        if (rc >= 0)
            rc = dx_mphf_verify(&m, &d, 1, &err);
        CHECK(rc < 0 && strstr(err.text, rows[i].words) != NULL &&
                  strstr(err.text, "domains.") == err.text,
              "row %zu (%s): %s", i, rows[i].words, rc < 0 ? err.text : "passes");
        dx_mphf_close(&m);
        dx_dictionary_close(&d);
        dx_test_unguard(copy, file.size);
    }
    dx_mphf_close(&sound);
    dx_mphf_built_release(&b);
    dx_buf_release(&file);
    dx_test_index_release(&x);
}

/* A dictionary of another build does not go with it. */
static void check_match(void)
{
    struct dx_test_index x;
    struct dx_test_index y;
    struct dx_mphf m;
    struct dx_dictionary d;
    struct dx_error err = DX_ERROR_INIT;

    dx_test_index_build(&x, 100);
    dx_test_index_build(&y, 101);
    CHECK(open_both(&m, &d, bytes_of(&x.mphf), bytes_of(&y.dict), 0, &err) == DX_E_CORRUPT,
          "match");
    d.envelope.build.bytes[3] ^= 1;
    CHECK(dx_mphf_match(&m, &d, &err) == DX_E_CORRUPT && strstr(err.text, "build id") != NULL, "%s",
          err.text);
    dx_mphf_close(&m);
    dx_dictionary_close(&d);
    dx_test_index_release(&x);
    dx_test_index_release(&y);
}

int main(void)
{
    const size_t counts[] = { 0, 1, 2, 15, 16, 17, 1000, MANY };

    for (size_t i = 0; i < sizeof counts / sizeof *counts - under_tsan; i++)
        check_round_trip(counts[i], false);
    if (!under_tsan) {
        check_round_trip(MANY, true);
        check_shares();
    }
    check_golden();
    check_parts();
    check_build_refusals();
    check_ids();
    if (!under_tsan) {
        check_damage();
        check_rows();
        check_match();
    }
    return failures > 0;
}
