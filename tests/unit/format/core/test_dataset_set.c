/* SPDX-License-Identifier: Apache-2.0
 * Sets of datasets: our walk of the Roaring format against CRoaring and against the test files
 * of RoaringFormatSpec, both encodings round, every flip and cut of small sets.
 */
#include "base/file.h"
#include "format/core/dataset_set.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <roaring/roaring.h>

static int failures;

enum shape { SPARSE, DENSE, RUNS, MIXED, SHAPES };

/* Ascending ids; returns how many (at most cap). */
static size_t make_ids(uint64_t *seed, enum shape shape, size_t want, uint32_t *ids)
{
    uint64_t id = random_below(seed, shape == MIXED ? UINT32_MAX / 2 : 70000);
    size_t n = 0;

    while (n < want && id <= UINT32_MAX) {
        ids[n++] = (uint32_t)id;
        if (shape == SPARSE)
            id += 1 + random_below(seed, 50000);
        else if (shape == DENSE)
            id += 1 + random_below(seed, 3);
        else if (shape == RUNS)
            id += random_below(seed, 100) == 0 ? 2 + random_below(seed, 5000) : 1;
        else
            id += random_below(seed, 1000) == 0 ? random_below(seed, 1 << 20) + 1
                                                : 1 + random_below(seed, 1 + n % 7);
    }
    return n;
}

static void check_ranks(const struct dx_dataset_set *set, const uint32_t *ids, size_t n,
                        uint64_t *seed)
{
    roaring_bitmap_t *b = dx_dataset_set_bitmap(set);
    const size_t times = dx_sample(200, 60);

    EXPECT(b != NULL && roaring_bitmap_get_cardinality(b) == n, "%zu ids", n);
    for (size_t k = 0; k < times; k++) {
        size_t i = (size_t)random_below(seed, n);
        uint32_t id = k & 1 ? ids[i] : ids[i] + (uint32_t)random_below(seed, 4) - 2;
        uint32_t rank = 0;
        int found = dx_dataset_set_rank(set, id, &rank);

        EXPECT(b == NULL || found == (int)roaring_bitmap_contains(b, id), "id %u", id);
        EXPECT(!found || (rank < n && ids[rank] == id), "id %u rank %u", id, rank);
    }
    if (b != NULL)
        roaring_bitmap_free(b);
}

/* Pages from any id on: from members, from between them, from behind the last. */
static void check_from(const struct dx_dataset_set *set, const uint32_t *ids, size_t n,
                       uint32_t *back, uint64_t *seed)
{
    EXPECT(dx_dataset_set_last(set) == ids[n - 1], "%zu ids: last %u", n, dx_dataset_set_last(set));
    for (int i = 0; i < 40; i++) {
        uint32_t from = ids[random_below(seed, n)] + (uint32_t)random_below(seed, 3) - 1;
        size_t cap = (size_t)random_below(seed, 200);
        size_t at = 0;
        size_t want;

        if (i == 0)
            from = 0;
        else if (i == 1)
            from = UINT32_MAX;
        while (at < n && ids[at] < from)
            at++;
        want = n - at < cap ? n - at : cap;
        EXPECT(dx_dataset_set_ids_from(set, from, back, cap) == want &&
                   memcmp(back, ids + at, 4 * want) == 0,
               "%zu ids, %zu from %u on", n, cap, from);
    }
}

/* A set that is given as a bitmap has the same bytes. */
static void check_bitmap(const uint32_t *ids, size_t n, struct dx_span encoded)
{
    roaring_bitmap_t *r = roaring_bitmap_of_ptr(n, ids);
    struct dx_buf b = DX_BUF_INIT(64 << 20);

    EXPECT(dx_dataset_set_encode_bitmap(r, &b, NULL) == DX_OK &&
               dx_span_equal(dx_span_of(b.data, b.size), encoded),
           "%zu ids as a bitmap: other bytes", n);
    roaring_bitmap_clear(r);
    EXPECT(dx_dataset_set_encode_bitmap(r, &b, NULL) < 0, "an empty set");
    roaring_bitmap_free(r);
    dx_buf_release(&b);
}

static void check_round(const uint32_t *ids, size_t n, uint32_t *back, uint64_t *seed)
{
    struct dx_buf b = DX_BUF_INIT(64 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_set set;
    struct damaged d;

    EXPECT(dx_dataset_set_encode(ids, n, &b, &err) == DX_OK, "%zu ids: %s", n, err.text);
    d = damaged_copy(dx_span_of(b.data, b.size));
    EXPECT(dx_dataset_set_open(&set, dx_span_of(d.bytes, d.size), "set", &err) == DX_OK,
           "%zu ids: %s", n, err.text);
    EXPECT(dx_dataset_set_count(&set) == n && set.first == ids[0], "%zu ids: %u", n, set.count);
    EXPECT(n > DX_DATASET_SET_SMALL || set.kind == DX_DATASET_SET_DELTAS, "%zu ids", n);
    EXPECT(dx_dataset_set_ids(&set, back, n + 1) == n && memcmp(back, ids, 4 * n) == 0,
           "%zu ids: others came back", n);
    EXPECT(dx_dataset_set_ids(&set, back, n / 2) == n / 2, "%zu ids: cap", n);
    check_ranks(&set, ids, n, seed);
    check_from(&set, ids, n, back, seed);
    damaged_free(&d);
    check_bitmap(ids, n, dx_span_of(b.data, b.size));
    dx_buf_release(&b);
}

/* In front of a Roaring bitmap of so many bytes; how many bytes that takes. */
static size_t put_head(uint8_t *to, size_t size)
{
    struct dx_buf b = DX_BUF_INIT(DX_DATASET_SET_HEAD);
    size_t head;

    dx_buf_varint(&b, 2 * (uint64_t)size + 1);
    head = b.size;
    memcpy(to, b.data, head);
    dx_buf_release(&b);
    return head;
}

/* The same ids as a Roaring bitmap whatever is shorter, with and without runs. */
static void check_roaring(const uint32_t *ids, size_t n, uint32_t *back, uint64_t *seed)
{
    roaring_bitmap_t *b = roaring_bitmap_of_ptr(n, ids);

    for (int optimised = 0; optimised < 2; optimised++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_set set;
        size_t head;
        size_t size;
        uint8_t *stored;

        if (optimised)
            (void)roaring_bitmap_run_optimize(b);
        size = roaring_bitmap_portable_size_in_bytes(b);
        stored = malloc(DX_DATASET_SET_HEAD + size);
        head = put_head(stored, size);
        (void)roaring_bitmap_portable_serialize(b, (char *)stored + head);
        EXPECT(dx_dataset_set_size(dx_span_of(stored, head + size)) == head + size &&
                   dx_dataset_set_size(dx_span_of(stored, head + size - 1)) == 0,
               "%zu ids: size", n);
        EXPECT(dx_dataset_set_open(&set, dx_span_of(stored, head + size), "set", &err) == DX_OK,
               "%zu ids: %s", n, err.text);
        EXPECT(set.count == n && dx_dataset_set_ids(&set, back, n) == n &&
                   memcmp(back, ids, 4 * n) == 0,
               "%zu ids", n);
        check_ranks(&set, ids, n, seed);
        free(stored);
    }
    roaring_bitmap_free(b);
}

static void test_rounds(void)
{
    static const size_t sizes[] = { 1, 2, 31, 32, 33, 100, 1000, 4096, 4097, 5000, 70000, 200000 };
    uint32_t *ids = malloc(4 * 200001);
    uint32_t *back = malloc(4 * 200001);
    uint64_t seed = 1;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (enum shape shape = 0; shape < SHAPES; shape++) {
            size_t n = make_ids(&seed, shape, sizes[i], ids);

            check_round(ids, n, back, &seed);
            check_roaring(ids, n, back, &seed);
        }
    ids[0] = 0;
    ids[1] = UINT32_MAX;
    check_round(ids, 2, back, &seed);
    check_round(ids + 1, 1, back, &seed);
    check_roaring(ids, 2, back, &seed);
    free(ids);
    free(back);
}

static void test_refused(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *say;
    } rows[] = {
        { "", 0, "set of 0 bytes in 0" },
        { "\0\1", 2, "set of 0 bytes in 2" },
        { "\6\1\1", 3, "set of 3 bytes in 3" },
        { "\2\1\1", 3, "set of 1 bytes in 3" },
        { "\2\x80", 2, "ends in its first id" },
        { "\4\0\x80", 3, "ends in id 1" },
        { "\x0a\x80\x80\x80\x80\x10", 6, "over 32 bits" },
        { "\x0c\xff\xff\xff\xff\x0f\0", 7, "over 32 bits" },
        { "\x05"
          "\x3a\x30",
          3, "shorter than its cookie" },
        { "\x09"
          "zzzz",
          5, "unknown cookie" },
        { "\x11"
          "\x3a\x30\0\0\0\0\0\0",
          9, "number of containers" },
        { "\x15"
          "\x3a\x30\0\0\1\0\0\0\0\0",
          11, "inside its headers" },
        { "\x27"
          "\x3a\x30\0\0\1\0\0\0\0\0\1\0\x10\0\0\0\1\0\1",
          20, "inside a container" },
        { "\x29"
          "\x3a\x30\0\0\1\0\0\0\0\0\1\0\x10\0\0\0\1\0\1\0",
          21, "do not ascend" },
        { "\x29"
          "\x3a\x30\0\0\1\0\0\0\0\0\1\0\x11\0\0\0\1\0\2\0",
          21, "offset header" },
        { "\x2b"
          "\x3a\x30\0\0\1\0\0\0\0\0\1\0\x10\0\0\0\1\0\2\0\0",
          22, "behind the last" },
        { "\x1f"
          "\x3b\x30\0\0\3\0\0\1\0\1\0\1\0\1\0",
          16, "run flags beyond" },
        { "\x1f"
          "\x3b\x30\0\0\1\0\0\2\0\1\0\1\0\1\0",
          16, "cardinality of runs" },
        { "\x1f"
          "\x3b\x30\0\0\1\0\0\1\0\1\0\xff\xff\1\0",
          16, "leaves its container" },
        { "\x27"
          "\x3b\x30\0\0\1\0\0\3\0\2\0\1\0\1\0\3\0\1\0",
          20, "overlap, touch" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(rows[i].bytes, rows[i].size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_set set;
        int rc = dx_dataset_set_open(&set, dx_span_of(d.bytes, d.size), "set", &err);

        EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL, "row %zu (%s): rc %d, '%s'", i,
               rows[i].say, rc, err.text);
        damaged_free(&d);
    }
}

/* A flipped bit of a bitset always contradicts its cardinality. */
static void test_bitset(void)
{
    static uint8_t stored[8300];
    static uint32_t ids[5000];
    roaring_bitmap_t *b;
    size_t head;
    size_t size;

    for (uint32_t i = 0; i < 5000; i++)
        ids[i] = 2 * i;
    b = roaring_bitmap_of_ptr(5000, ids);
    head = put_head(stored, 16 + 8192);
    size = head + roaring_bitmap_portable_serialize(b, (char *)stored + head);
    roaring_bitmap_free(b);
    EXPECT(size == head + 16 + 8192, "%zu bytes", size);
    for (size_t bit = (head + 16) * 8; bit < size * 8; bit += 61) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_set set;

        stored[bit / 8] ^= (uint8_t)(1u << (bit & 7));
        EXPECT(dx_dataset_set_open(&set, dx_span_of(stored, size), "set", &err) < 0 &&
                   strstr(err.text, "cardinality of a bitset") != NULL,
               "bit %zu: '%s'", bit, err.text);
        stored[bit / 8] ^= (uint8_t)(1u << (bit & 7));
    }
}

/* Sets of one container of each kind, with gaps before and behind: their first, last and rank. */
static void test_ends(void)
{
    static uint32_t ids[70000];
    static const uint32_t begins[] = { 0, 65536 + 64 * 7, 3 * 65536 };

    for (size_t k = 0; k < 3 * sizeof begins / sizeof *begins; k++) {
        struct dx_buf out = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_set set;
        uint32_t begin = begins[k / 3], back[3], rank = 7;
        size_t n = k % 3 == 0 ? 100 : k % 3 == 1 ? 5000 : 20000; /* array, bitset, runs */

        for (size_t i = 0; i < n; i++)
            ids[i] = begin + (uint32_t)(k % 3 == 0 ? i * i : k % 3 == 1 ? 2 * i : i);
        EXPECT(dx_dataset_set_encode(ids, n, &out, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_dataset_set_open(&set, dx_span_of(out.data, out.size), "set", &err) == DX_OK,
               "%s", err.text);
        EXPECT(set.first == ids[0] && dx_dataset_set_last(&set) == ids[n - 1] && set.count == n,
               "set %zu: %u to %u", k, set.first, dx_dataset_set_last(&set));
        EXPECT(dx_dataset_set_rank(&set, ids[n - 1], &rank) == 1 && rank == n - 1, "the last");
        EXPECT(dx_dataset_set_rank(&set, ids[n - 1] + 1, &rank) == 0, "behind it");
        EXPECT(dx_dataset_set_rank(&set, 2 * 65536 + 5, &rank) == 0, "in no container");
        EXPECT(dx_dataset_set_rank(&set, UINT32_MAX, &rank) == 0, "far behind it");
        EXPECT(begin == 0 || dx_dataset_set_rank(&set, begin - 1, &rank) == 0, "before it");
        EXPECT(dx_dataset_set_ids(&set, back, 3) == 3 && memcmp(back, ids, sizeof back) == 0,
               "the first three");
        EXPECT(dx_dataset_set_ids(&set, back, 0) == 0, "none of them");
        EXPECT(dx_dataset_set_ids_from(&set, ids[n - 1], back, 3) == 1 && back[0] == ids[n - 1],
               "from the last on");
        EXPECT(dx_dataset_set_ids_from(&set, UINT32_MAX, back, 3) == 0, "behind all");
        dx_buf_release(&out);
    }
}

/* What cannot be stored, and where there is no room. */
static void test_not_encoded(void)
{
    static uint32_t ids[1000];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf small = DX_BUF_INIT(16);
    roaring_bitmap_t *b = roaring_bitmap_create();

    for (uint32_t i = 0; i < 1000; i++)
        ids[i] = i * i;
    EXPECT(dx_dataset_set_encode(ids, 0, &small, &err) == DX_E_INVALID, "an empty set");
    EXPECT(dx_dataset_set_encode_bitmap(b, &small, &err) == DX_E_INVALID, "an empty bitmap");
    EXPECT(dx_dataset_set_encode(ids, (size_t)UINT32_MAX + 1, &small, &err) == DX_E_INVALID,
           "2^32 ids");
    roaring_bitmap_add_range(b, 0, UINT64_C(1) << 32);
    EXPECT(dx_dataset_set_encode_bitmap(b, &small, &err) == DX_E_INVALID &&
               strstr(err.text, "4294967296 members") != NULL && small.size == 0,
           "a bitmap of all: %s", err.text);
    roaring_bitmap_free(b);
    EXPECT(dx_dataset_set_encode(ids, 30, &small, &err) < 0, "deltas without room");
    dx_buf_release(&small);
    small = (struct dx_buf)DX_BUF_INIT(16);
    EXPECT(dx_dataset_set_encode(ids, 1000, &small, &err) < 0, "a bitmap without room");
    dx_buf_release(&small);
    small = (struct dx_buf)DX_BUF_INIT(16);
    b = roaring_bitmap_of_ptr(1000, ids);
    EXPECT(dx_dataset_set_encode_bitmap(b, &small, &err) < 0, "a bitmap without room");
    roaring_bitmap_free(b);
    dx_buf_release(&small);
}

/* What we accept CRoaring reads as the same set; the sums above are what tells damage. */
static enum verdict try_set(void *ctx, struct dx_span s)
{
    uint32_t *ids = ctx;
    struct dx_dataset_set set;
    roaring_bitmap_t *b;
    enum verdict v;
    size_t n;

    if (dx_dataset_set_open(&set, s, "set", NULL) < 0)
        return REFUSED;
    n = dx_dataset_set_ids(&set, ids, 70000);
    if (n != set.count)
        return WRONG_ANSWER;
    b = dx_dataset_set_bitmap(&set);
    v = b != NULL && roaring_bitmap_get_cardinality(b) == set.count ? SAME_ANSWERS : WRONG_ANSWER;
    for (size_t i = 0; i < n && i < 3000; i++) {
        uint32_t rank;

        if (!roaring_bitmap_contains(b, ids[i]) || dx_dataset_set_rank(&set, ids[i], &rank) != 1 ||
            rank != i)
            v = WRONG_ANSWER;
    }
    roaring_bitmap_free(b);
    return v;
}

static void test_damage(void)
{
    uint32_t *ids = malloc(4 * 70000);
    uint64_t seed = 7;

    for (enum shape shape = 0; shape < SHAPES; shape++) {
        size_t n = make_ids(&seed, shape, shape == DENSE ? 5000 : 300, ids);
        roaring_bitmap_t *b = roaring_bitmap_of_ptr(n, ids);
        uint8_t stored[20000];
        struct damaged d;
        struct verdicts v;
        size_t head;

        (void)roaring_bitmap_run_optimize(b);
        head = put_head(stored, roaring_bitmap_portable_size_in_bytes(b));
        d = damaged_copy(
            dx_span_of(stored, head + roaring_bitmap_portable_serialize(b, (char *)stored + head)));
        v = damaged_flips(&d, 0, d.size, shape == DENSE ? 41 : 1, try_set, ids);
        EXPECT(v.count[WRONG_ANSWER] == 0, "shape %d", (int)shape);
        printf("shape %d, %zu bytes: %zu flips refused, %zu other valid sets\n", (int)shape, d.size,
               v.count[REFUSED], v.count[SAME_ANSWERS]);
        if (shape != DENSE) {
            v = damaged_cuts(&d, try_set, ids);
            EXPECT(v.count[REFUSED] == d.size, "shape %d", (int)shape);
        }
        damaged_free(&d);
        roaring_bitmap_free(b);
    }
    free(ids);
}

/* Known content: README of RoaringFormatSpec's testdata. */
static size_t spec_ids(uint32_t *ids)
{
    size_t n = 0;

    for (uint32_t k = 0; k < 100000; k += 1000)
        ids[n++] = k;
    for (uint32_t k = 100000; k < 200000; k++)
        ids[n++] = 3 * k;
    for (uint32_t k = 700000; k < 800000; k++)
        ids[n++] = k;
    return n;
}

static bool test_spec(void)
{
    static const char *const names[] = { "bitmapwithoutruns.bin", "bitmapwithruns.bin" };
    const char *root = getenv("DX_SHARED_DATA");
    uint32_t *want = malloc(4 * 300000);
    uint32_t *got = malloc(4 * 300000);
    size_t n = spec_ids(want);
    bool found = true;

    for (size_t i = 0; i < 2 && found; i++) {
        struct dx_buf b = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_set set;
        char path[1024];

        (void)snprintf(path, sizeof path, "%s/conformance/roaring-spec/testdata/%s",
                       root != NULL ? root : "../shared/data", names[i]);
        struct dx_buf file = DX_BUF_INIT(1 << 20);
        if (dx_file_read(path, 1 << 20, &file, &err) < 0) {
            printf("SKIPPED: RoaringFormatSpec test files: %s\n", err.text);
            found = false;
        } else {
            dx_buf_varint(&b, 2 * (uint64_t)file.size + 1);
            dx_buf_append(&b, file.data, file.size);
            EXPECT(dx_dataset_set_open(&set, dx_span_of(b.data, b.size), names[i], &err) == DX_OK,
                   "%s", err.text);
            EXPECT(set.count == n && dx_dataset_set_ids(&set, got, 300000) == n &&
                       memcmp(want, got, 4 * n) == 0,
                   "%s: %u ids, expected %zu", names[i], set.count, n);
        }
        dx_buf_release(&file);
        dx_buf_release(&b);
    }
    free(want);
    free(got);
    return found;
}

int main(void)
{
    bool whole;

    test_rounds();
    test_refused();
    test_bitset();
    test_ends();
    test_not_encoded();
    test_damage();
    whole = test_spec();
    if (failures > 0)
        return 1;
    return whole ? 0 : 77;
}
