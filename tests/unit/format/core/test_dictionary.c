/* SPDX-License-Identifier: Apache-2.0
 * test_dictionary.c - made-up names there and back, by number and in order; each damaged bit and cut refused.
 */
#include "format/core/dictionary.h"

#include "format/core/zseek.h"
#include "tests/support/fail.h"
#include "tests/support/sample.h"
#include "tests/support/small_index.h"

#include <stdio.h>
#include <stdlib.h>

static int failures;

static int open_bytes(struct dx_dictionary *d, const uint8_t *bytes, size_t size, unsigned flags,
                      struct dx_error *err)
{
    return dx_dictionary_open(d, dx_span_of(bytes, size), flags, "domains.dict", err);
}

static struct dx_span key_of(struct dx_span domain, uint8_t room[DX_SURT_MAX])
{
    return dx_span_of(room, dx_surt_key(domain, room));
}

/* The first ordinal whose key is not below `key`, by looking at all. */
static uint64_t naive_lower_bound(const struct dx_test_index *x, struct dx_span key)
{
    uint64_t i = 0;

    for (; i < x->n; i++) {
        uint8_t room[DX_SURT_MAX];

        if (dx_span_compare(key_of(x->domains[i], room), key) >= 0)
            break;
    }
    return i;
}

static void check_strangers(const struct dx_test_index *x, const struct dx_dictionary *d)
{
    static const char *const keys[] = { "",     " ",         "com",        "com a", "com\x7f",
                                        "zzzz", "\xff\xff",  "1",          "[",     "com example0",
                                        "de ",  "de shop\1", "uk co shop", "uk co", "uk co!" };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t ordinal;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct dx_span key = dx_span_str(keys[i]);
        uint8_t turned[DX_SURT_MAX];
        struct dx_span name = dx_span_of(turned, dx_surt_domain(key, turned)); /* or empty */

        CHECK(dx_dictionary_lower_bound(d, key, &ordinal, &err) == DX_OK &&
                  ordinal == naive_lower_bound(x, key),
              "n %zu: lower bound of '%s' is %llu: %s", x->n, keys[i], (unsigned long long)ordinal,
              err.text);
        CHECK(dx_dictionary_find(d, key, &ordinal, &err) == 0, "'%s' is found", keys[i]);
        for (uint64_t b = 0; b < d->bucket_count; b++)
            CHECK(dx_dictionary_find_in_bucket(d, b, name, &ordinal, &err) == 0, "'%s' is found",
                  keys[i]);
    }
    for (uint64_t i = 0; i < x->n; i += 7) { /* one byte more, one less, one changed */
        uint8_t room[DX_SURT_MAX] = { 0 };
        uint8_t turned[DX_SURT_MAX];
        struct dx_span key = key_of(x->domains[i], room);
        struct dx_span domain = dx_span_of(turned, 0); /* empty, if no domain has the key */
        size_t size = key.size;

        for (int how = 0; how < 3; how++) {
            key.size = how == 0 ? size - 1 : how == 1 ? size + 1 : size;
            room[how == 2 ? size / 2 : size] ^= how == 0 ? 0 : 1;
            domain.size = dx_surt_domain(key, turned);
            CHECK(dx_dictionary_find_in_bucket(d, i / 16, domain, &ordinal, &err) <= 0 ||
                      dx_span_equal(domain, x->domains[ordinal]),
                  "a domain like %llu is found", (unsigned long long)i);
            CHECK(dx_dictionary_is(d, i, domain, &err) == 0, "a domain like %llu is it",
                  (unsigned long long)i);
            if (x->n <= 1000)
                CHECK(dx_dictionary_lower_bound(d, key, &ordinal, &err) == DX_OK &&
                          ordinal == naive_lower_bound(x, key),
                      "lower bound near %llu", (unsigned long long)i);
            room[how == 2 ? size / 2 : size] ^= how == 0 ? 0 : 1;
        }
    }
}

static void check_round_trip(size_t n)
{
    struct dx_test_index x;
    struct dx_dictionary d;
    struct dx_dictionary_cursor c;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span key;
    uint8_t *bytes;
    uint64_t ordinal;
    uint8_t domain[DX_SURT_MAX];
    size_t size;

    dx_test_index_build(&x, n);
    bytes = dx_test_guarded(dx_span_of(x.dict.data, x.dict.size));
    CHECK(open_bytes(&d, bytes, x.dict.size, 0, &err) == DX_OK, "n %zu: %s", n, err.text);
    CHECK(d.info.n == n && dx_hash128_equal(&d.info.text_hash, &x.text_hash), "info");
    dx_dictionary_seek(&c, &d, 0);
    for (size_t i = 0; i < n; i++) {
        uint8_t room[DX_SURT_MAX];
        struct dx_span want = key_of(x.domains[i], room);

        CHECK(dx_dictionary_get(&d, i, domain, &size, &err) == 1 &&
                  dx_span_equal(dx_span_of(domain, size), x.domains[i]),
              "n %zu: domain %zu: %s", n, i, err.text);
        CHECK(dx_dictionary_find_in_bucket(&d, i / 16, x.domains[i], &ordinal, &err) == 1 &&
                  ordinal == i,
              "n %zu: domain %zu in its bucket: %s", n, i, err.text);
        CHECK(dx_dictionary_is(&d, i, x.domains[i], &err) == 1,
              "n %zu: domain %zu is not itself: %s", n, i, err.text);
        CHECK(dx_dictionary_is(&d, i ^ 1, x.domains[i], &err) <= 0 &&
                  dx_dictionary_is(&d, n - 1 - i, x.domains[i], &err) == (n - 1 - i == i),
              "n %zu: domain %zu is another", n, i);
        CHECK(dx_dictionary_find(&d, want, &ordinal, &err) == 1 && ordinal == i,
              "n %zu: domain %zu: %s", n, i, err.text);
        CHECK(dx_dictionary_next(&c, &key, &err) == 1 && dx_span_equal(key, want),
              "n %zu: cursor at %zu: %s", n, i, err.text);
    }
    CHECK(dx_dictionary_next(&c, &key, &err) == 0, "n %zu: cursor behind the end", n);
    for (size_t i = 0; i < n; i += 1 + n / 50) {
        dx_dictionary_seek(&c, &d, i);
        for (size_t k = i; k < n && k < i + 40; k++)
            CHECK(dx_dictionary_next(&c, &key, &err) == 1 &&
                      dx_span_equal(key, key_of(x.domains[k], domain)),
                  "n %zu: cursor from %zu at %zu: %s", n, i, k, err.text);
    }
    CHECK(dx_dictionary_get(&d, n, domain, &size, &err) == 0, "n %zu: one too many", n);
    CHECK(dx_dictionary_get(&d, UINT64_MAX, domain, &size, &err) == 0, "n %zu: far too many", n);
    CHECK(dx_dictionary_find_in_bucket(&d, d.bucket_count, dx_span_str("a"), &ordinal, &err) < 0,
          "n %zu: a bucket too many", n);
    CHECK(dx_dictionary_verify(&d, &err) == DX_OK, "n %zu: %s", n, err.text);
    check_strangers(&x, &d);
    dx_dictionary_close(&d);
    dx_test_unguard(bytes, x.dict.size);
    dx_test_index_release(&x);
}

/* All compilers and machines write these bytes: the layout changed if this hash does. */
static void check_golden(void)
{
    struct dx_test_index x;
    struct dx_hash128 hash;
    char text[DX_HASH128_TEXT];

    dx_test_index_build(&x, 1000);
    hash = dx_hash128_of(dx_span_of(x.dict.data, x.dict.size));
    dx_hash128_text(&hash, text);
    CHECK(strcmp(text, "d0b1771535e0692790bc759558535acd") == 0, "domains.dict of 1000: %s", text);
    dx_test_index_release(&x);
}

/* Asks for domain i in all ways: each answer is right or an error. */
static void ask_all(const struct dx_test_index *x, const struct dx_dictionary *d, size_t i,
                    bool may_lie, size_t bit)
{
    uint8_t room[DX_SURT_MAX];
    struct dx_span key = key_of(x->domains[i], room);
    uint8_t domain[DX_SURT_MAX];
    uint64_t ordinal = 0;
    size_t size = 0;
    int rc = dx_dictionary_get(d, i, domain, &size, NULL);

    CHECK(may_lie || rc < 0 || (rc == 1 && dx_span_equal(dx_span_of(domain, size), x->domains[i])),
          "bit %zu: domain %zu is another", bit, i);
    rc = dx_dictionary_find_in_bucket(d, i / 16, x->domains[i], &ordinal, NULL);
    CHECK(may_lie || rc < 0 || (rc == 1 && ordinal == i), "bit %zu: domain %zu in bucket", bit, i);
    rc = dx_dictionary_find(d, key, &ordinal, NULL);
    CHECK(may_lie || rc < 0 || (rc == 1 && ordinal == i), "bit %zu: domain %zu", bit, i);
}

static void check_flip(const struct dx_test_index *x, const uint8_t *copy, size_t bit)
{
    struct dx_dictionary d;
    struct dx_error err = DX_ERROR_INIT;

    if (open_bytes(&d, copy, x->dict.size, 0, &err) >= 0) {
        for (size_t k = 0; k < 8; k++)
            ask_all(x, &d, (bit * 13 + k * 61) % x->n, false, bit);
        CHECK(dx_dictionary_verify(&d, &err) < 0, "bit %zu: verify passes", bit);
        dx_dictionary_close(&d);
    }
    CHECK(strstr(err.text, "domains.dict: ") == err.text, "bit %zu: %s", bit, err.text);
    if (open_bytes(&d, copy, x->dict.size, DX_OPEN_UNCHECKED, NULL) >= 0) {
        for (size_t k = 0; k < 8; k++)
            ask_all(x, &d, (bit * 13 + k * 61) % x->n, true, bit);
        if (bit % 32 == 0)
            (void)dx_dictionary_verify(&d, NULL);
        dx_dictionary_close(&d);
    }
}

static void check_damage(void)
{
    struct dx_test_index x;
    uint8_t *copy;

    dx_test_index_build(&x, 500);
    copy = dx_test_guarded(dx_span_of(x.dict.data, x.dict.size));
    for (size_t bit = 0; bit < 8 * x.dict.size; bit += dx_sample(1, 11)) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        check_flip(&x, copy, bit);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    dx_test_unguard(copy, x.dict.size);
    for (size_t size = 0; size < x.dict.size; size++) {
        struct dx_dictionary d;

        copy = dx_test_guarded(dx_span_of(x.dict.data, size));
        CHECK(open_bytes(&d, copy, size, 0, NULL) < 0, "%zu bytes pass", size);
        dx_test_unguard(copy, size);
    }
    dx_test_index_release(&x);
}

/*
 * A dictionary of the keys "com aa", "com ab", "com b", sealed again after a change; found at
 * open, or else by verify. DATA: 06 "com aa", 51 'b', 41 'b'; from 64 on; ANCH at 128 (0, 11),
 * OFFS at 192.
 */
static const struct {
    size_t offset;
    unsigned size;
    uint64_t value;
    const char *words;
} rows[] = {
    { 8, 8, 0xffffffff, "header: 4294967295 domains, at most 4294967294" },
    { 8, 8, 0, "header: longest key of 0 has 6 bytes" },
    { 8, 8, 17, "section OFFS: 2 bytes, expected 2 of 2 bytes" },
    { 8, 8, 257, "section ANCH: 16 bytes, expected 3 of 8 bytes" },
    { 8, 8, 2, "entry: bytes behind the last of its bucket" },
    { 8, 8, 4, "entry: runs out of its bucket" },
    { 16, 4, 8, "header: buckets of 8, this program reads 16" },
    { 20, 4, 254, "header: longest key of 3 has 254 bytes" },
    { 20, 4, 5, "entry: is longer than the longest key" },
    { 20, 4, 7, "header: longest key has 7 bytes, found 6" },
    { 24, 1, 0, "header: hash of the list is not that of the keys" },
    { 63, 1, 1, "header: reserved byte 63 is not zero" },
    { 64, 1, 0x16, "entry: shares more than the key before has" },
    { 71, 1, 0x71, "entry: shares more than the key before has" },
    { 71, 1, 0x50, "entry: has no bytes of its own" },
    { 71, 1, 0x5f, "entry: runs out of its bucket" },
    { 72, 1, 'a', "entry: shares less than it could" },
    { 74, 1, 'A', "entry: not above the key before" },
    { 74, 1, '.', "entry: no key of any domain" },
    { 128, 8, 12, "ANCH at 128: 12, DATA has 11 bytes" },
    { 128, 8, 1, "entry" },
    { 136, 8, 10, "ANCH at 136: the last one is 10, DATA has 11 bytes" },
    { 192, 2, 11, "OFFS at 192: bucket 0 from 11 to 11, DATA has 11 bytes" },
};

static void write_three(struct dx_buf *out)
{
    static const char *const keys[] = { "com aa", "com ab", "com b" };
    struct dx_dictionary_info info = { 3, 6,
                                       dx_hash128_of(dx_span_str("aa.com\nab.com\nb.com\n")) };
    struct dx_dictionary_writer *w = malloc(sizeof *w);
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_dictionary_writer_init(w, &info, &dx_test_build_id, dx_envelope_sink_buf, out,
                                       &err);

    for (size_t i = 0; i < 3 && rc == DX_OK; i++)
        rc = dx_dictionary_writer_add(w, dx_span_str(keys[i]), &err);
    CHECK(rc == DX_OK && dx_dictionary_writer_finish(w, &err) == DX_OK, "%s", err.text);
    dx_dictionary_writer_release(w);
    free(w);
}

static void check_rows(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 20);

    write_three(&file);
    CHECK(memcmp(file.data + 64,
                 "\6com aa\x51"
                 "b\x41"
                 "b",
                 11) == 0,
          "entries");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = dx_test_guarded(dx_span_of(file.data, file.size));
        struct dx_dictionary d;
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        for (unsigned k = 0; k < rows[i].size; k++)
            copy[rows[i].offset + k] = (uint8_t)(rows[i].value >> (8 * k));
        CHECK(dx_test_reseal(copy, file.size), "row %zu", i);
        rc = open_bytes(&d, copy, file.size, 0, &err);
        if (rc >= 0) {
            rc = dx_dictionary_verify(&d, &err);
            dx_dictionary_close(&d);
        }
        CHECK(rc < 0 && strstr(err.text, rows[i].words) != NULL &&
                  strstr(err.text, "domains.dict: ") == err.text,
              "row %zu (%s): %s", i, rows[i].words, rc < 0 ? err.text : "passes");
        dx_test_unguard(copy, file.size);
    }
    dx_buf_release(&file);
}

/* What the writer refuses: keys, then n and longest key as promised. */
static const struct {
    const char *keys[4];
    uint64_t n;
    uint32_t longest;
    const char *words;
} refusals[] = {
    { { "com b", "com a" }, 2, 5, "dictionary: key 1 (a.com) is not above the one before" },
    { { "com b", "com b" }, 2, 5, "dictionary: key 1 (b.com) is not above the one before" },
    { { "com b", "com" }, 2, 5, "dictionary: key 1 (com) is not above the one before" },
    { { "a.com" }, 1, 5, "dictionary: key 0 (5 bytes) is of no domain" },
    { { "com a", "com b" }, 1, 5, "dictionary: more than the 1 keys promised" },
    { { "com a", "com b" }, 3, 5, "dictionary: 2 keys of at most 5 bytes, promised 3 of 5" },
    { { "com a", "com b" }, 2, 6, "dictionary: 2 keys of at most 5 bytes, promised 2 of 6" },
    { { "com a", "com b" }, 2, 5, "dictionary: the keys are not those of the census" },
    { { NULL }, UINT64_MAX, 5, "dictionary: 18446744073709551615 domains, at most" },
};

static void check_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct dx_dictionary_info info = { refusals[i].n, refusals[i].longest, { { 0 } } };
        struct dx_dictionary_writer *w = malloc(sizeof *w);
        struct dx_buf out = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_dictionary_writer_init(w, &info, &dx_test_build_id, dx_envelope_sink_buf, &out,
                                           &err);

        for (size_t k = 0; rc == DX_OK && refusals[i].keys[k] != NULL; k++)
            rc = dx_dictionary_writer_add(w, dx_span_str(refusals[i].keys[k]), &err);
        if (rc == DX_OK)
            rc = dx_dictionary_writer_finish(w, &err);
        CHECK(rc < 0 && strstr(err.text, refusals[i].words) == err.text, "row %zu (%s): %s", i,
              refusals[i].words, err.text);
        dx_dictionary_writer_release(w);
        dx_buf_release(&out);
        free(w);
    }
}

int main(void)
{
    const size_t counts[] = { 0, 1, 2, 15, 16, 17, 255, 256, 257, 1000, dx_sample(100000, 20000) };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        check_round_trip(counts[i]);
    check_golden();
    check_damage();
    check_rows();
    check_refusals();
    return failures > 0;
}
