/* SPDX-License-Identifier: Apache-2.0
 * Sketches of distinct URLs: exact while few, in any order; bytes there and back; what is refused;
 * the error of the estimate over many sets.
 */
#include "format/version/url_sketch.h"

#include "base/bits.h"
#include "format/version/cold.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <math.h>

#define HASH_MASK ((UINT64_C(1) << 40) - 1)

static int failures;
static uint64_t seed = 7;

static void add_random(struct dx_url_sketch *s, uint64_t from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t state = from + i;

        EXPECT(dx_url_sketch_add(s, random_next(&state) & HASH_MASK, NULL) >= 0, "add");
    }
}

static struct dx_url_sketch sketch_of(uint64_t from, uint64_t count)
{
    struct dx_url_sketch s;

    dx_url_sketch_init(&s);
    add_random(&s, from, count);
    return s;
}

/* ---- bytes ---- */

static bool same_sketch(struct dx_url_sketch *a, struct dx_url_sketch *b)
{
    if (dx_url_sketch_count(a) != dx_url_sketch_count(b) || a->dense != b->dense)
        return false;
    return a->dense ? memcmp(a->registers, b->registers, 1 << DX_SKETCH_BITS) == 0
                    : dx_span_equal(dx_span_of(a->hashes.data, a->hashes.size),
                                    dx_span_of(b->hashes.data, b->hashes.size));
}

static void check_round_trip(uint64_t count, size_t most)
{
    struct dx_url_sketch s = sketch_of(count * 1000, count);
    struct dx_buf bytes = DX_BUF_INIT(4096);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_sketch back;

    dx_url_sketch_init(&back);
    add_random(&s, count * 1000, count / 2); /* once more: they are there already */
    EXPECT(dx_url_sketch_encode(&s, &bytes, &err) >= 0, "%s", err.text);
    EXPECT(bytes.size <= most, "%llu hashes: %zu bytes", (unsigned long long)count, bytes.size);
    EXPECT(dx_url_sketch_decode(&back, dx_span_of(bytes.data, bytes.size), &err) >= 0, "%s",
           err.text);
    EXPECT(s.dense == (count > DX_SKETCH_PAIR_MAX) && same_sketch(&s, &back), "%llu hashes",
           (unsigned long long)count);
    if (count <= DX_SKETCH_PAIR_MAX)
        EXPECT(dx_url_sketch_count(&back) == count, "exact");
    dx_url_sketch_release(&s);
    dx_url_sketch_release(&back);
    dx_buf_release(&bytes);
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

#define OLD_BITS 48 /* of a hash in DX_COLD_VERSION_OLD */

static void encode_old(struct dx_buf *out, const uint64_t *hashes, size_t n)
{
    static uint8_t registers[4096];
    struct dx_bits_out bits = { .to = out };
    unsigned k = OLD_BITS - dx_bits_of_number(n);
    unsigned rest = OLD_BITS - 12;

    memset(registers, 0, sizeof registers);
    for (size_t i = 0; i < n; i++) {
        unsigned rank = rest + 1 - dx_bits_of_number(hashes[i] & ((UINT64_C(1) << rest) - 1));

        if (rank > registers[hashes[i] >> rest])
            registers[hashes[i] >> rest] = (uint8_t)rank;
    }
    dx_buf_varint(out, n > 512 ? 0 : n);
    for (size_t i = 0; n > 512 && i < sizeof registers; i++)
        dx_bits_put(&bits, registers[i], 6);
    for (size_t i = 0; n <= 512 && i < n; i++)
        if (n <= 3)
            dx_bits_put(&bits, hashes[i], OLD_BITS);
        else
            dx_bits_put_rice(&bits, hashes[i] - (i == 0 ? 0 : hashes[i - 1] + 1), k);
    dx_bits_flush(&bits);
}

/* What it says of them now is what their upper 40 bits say: two that differ below are one, a register of 37 is one of 29.
 * Recoded it has the bytes that are written now. */
static void check_old(size_t n)
{
    const uint32_t version = DX_COLD_VERSION_OLD;
    static uint64_t hashes[5000];
    uint64_t random = n;
    struct dx_buf bytes = DX_BUF_INIT(4096);
    struct dx_buf now = DX_BUF_INIT(4096);
    struct dx_buf buf = DX_BUF_INIT(4096);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_sketch want;
    struct dx_url_sketch got;
    struct dx_span old;

    dx_url_sketch_init(&want);
    dx_url_sketch_init(&got);
    for (size_t i = 0; i < n; i++)
        hashes[i] = random_next(&random) >> (64 - OLD_BITS);
    hashes[0] &= ~dx_bits_mask(OLD_BITS - 12);
    if (n > 1 && n <= 512)
        hashes[1] = hashes[0] | 5;
    qsort(hashes, n, sizeof *hashes, by_hash);
    for (size_t i = 0; i < n; i++)
        EXPECT(dx_url_sketch_add(&want, hashes[i] >> (OLD_BITS - 40), &err) >= 0, "%s", err.text);
    encode_old(&bytes, hashes, n);
    old = dx_span_of(bytes.data, bytes.size);
    EXPECT(dx_url_sketch_decode_of(&got, version, old, &err) >= 0, "%s", err.text);
    EXPECT(dx_url_sketch_encode(&want, &now, &err) >= 0, "%s", err.text);
    EXPECT(same_sketch(&got, &want), "%zu old hashes", n);
    EXPECT(dx_url_sketch_decode_of(&got, version, dx_span_of(old.data, old.size - 1), NULL) ==
               DX_E_CORRUPT,
           "%zu old hashes, cut", n);
    EXPECT(dx_url_sketch_recode(version, &old, &buf, &err) >= 0 &&
               dx_span_equal(old, dx_span_of(now.data, now.size)),
           "%zu old hashes, recoded", n);
    old = dx_span_of(now.data, now.size);
    EXPECT(dx_url_sketch_recode(DX_COLD_VERSION, &old, &buf, &err) >= 0 && old.data == now.data,
           "what is of now stays where it is");
    dx_buf_release(&now);
    dx_buf_release(&buf);
    dx_url_sketch_release(&want);
    dx_url_sketch_release(&got);
    dx_buf_release(&bytes);
}

static enum verdict try_decode(void *ctx, struct dx_span bytes)
{
    struct dx_url_sketch s;
    struct dx_buf again = DX_BUF_INIT(4096);
    enum verdict v = REFUSED;

    (void)ctx;
    dx_url_sketch_init(&s);
    if (dx_url_sketch_decode(&s, bytes, NULL) >= 0) {
        /* No two rows of bytes mean the same: what is taken is written like this. */
        v = dx_url_sketch_encode(&s, &again, NULL) >= 0 &&
                    dx_span_equal(bytes, dx_span_of(again.data, again.size))
                ? SAME_ANSWERS
                : WRONG_ANSWER;
    }
    dx_url_sketch_release(&s);
    dx_buf_release(&again);
    return v;
}

static void check_damage(uint64_t count)
{
    struct dx_url_sketch s = sketch_of(count, count);
    struct dx_buf bytes = DX_BUF_INIT(4096);
    struct damaged d;
    struct verdicts v;

    EXPECT(dx_url_sketch_encode(&s, &bytes, NULL) >= 0, "encode");
    d = damaged_copy(dx_span_of(bytes.data, bytes.size));
    /* Any 5 bytes are a hash, and 10 or 15 may be hashes that ascend. */
    v = damaged_cuts(&d, try_decode, NULL);
    EXPECT(v.count[REFUSED] + 3 >= bytes.size && v.count[WRONG_ANSWER] == 0, "cuts of %llu hashes",
           (unsigned long long)count);
    v = damaged_flips(&d, 0, 40, 1, try_decode, NULL);
    EXPECT(v.count[WRONG_ANSWER] == 0, "flips of %llu hashes", (unsigned long long)count);
    damaged_free(&d);
    dx_url_sketch_release(&s);
    dx_buf_release(&bytes);
}

static void check_clip(void)
{
    EXPECT(dx_url_sketch_clip(1210, 700, 1200) == 1200, "more than all have");
    EXPECT(dx_url_sketch_clip(690, 700, 1200) == 700, "fewer than one has");
    EXPECT(dx_url_sketch_clip(900, 700, 1200) == 900, "between");
    EXPECT(dx_url_sketch_clip(0, 0, 0) == 0, "none");
}

static void check_refused(void)
{
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {
        { "", 0 },
        { "\x01", 1 },
        { "\1\2\3\4\5\6", 6 },                                          /* a byte too much */
        { "\1\1\2\3\4\5", 6 },                                          /* as version 2 had it */
        { "\1\0\0\0\0\1\0\0\0\0", 10 },                                 /* the same hash twice */
        { "\2\0\0\0\0\1\0\0\0\0", 10 },                                 /* descending */
        { "\x81\x04", 2 },                                              /* 513 of them */
        { "\0\0\0\0", 4 },                                              /* registers, cut */
        { "\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 13 }, /* over 40 bits */
    };
    struct dx_url_sketch s;

    dx_url_sketch_init(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        EXPECT(dx_url_sketch_decode(&s, dx_span_of(rows[i].bytes, rows[i].size), NULL) ==
                   DX_E_CORRUPT,
               "row %zu", i);
    EXPECT(dx_url_sketch_count(&s) == 0, "nothing is left of what was refused");
    dx_url_sketch_release(&s);
}

/* ---- unions ---- */

static void check_union(uint64_t pieces, uint64_t each, uint64_t step, uint64_t distinct)
{
    struct dx_url_sketch forth;
    struct dx_url_sketch back;

    dx_url_sketch_init(&forth);
    dx_url_sketch_init(&back);
    for (uint64_t i = 0; i < pieces; i++) {
        struct dx_url_sketch a = sketch_of(i * step, each);
        struct dx_url_sketch b = sketch_of((pieces - 1 - i) * step, each);

        EXPECT(dx_url_sketch_settle(&a, NULL) >= 0 && dx_url_sketch_settle(&b, NULL) >= 0,
               "settle");
        EXPECT(dx_url_sketch_union(&forth, &a, NULL) >= 0, "union");
        EXPECT(dx_url_sketch_union(&back, &b, NULL) >= 0, "union");
        if (i == pieces / 2) /* looked at in between: nothing changes */
            (void)dx_url_sketch_count(&back);
        dx_url_sketch_release(&a);
        dx_url_sketch_release(&b);
    }
    EXPECT(same_sketch(&forth, &back), "%llu times %llu: the order matters",
           (unsigned long long)pieces, (unsigned long long)each);
    if (!forth.dense)
        EXPECT(dx_url_sketch_count(&forth) == distinct, "%llu times %llu: %llu",
               (unsigned long long)pieces, (unsigned long long)each,
               (unsigned long long)dx_url_sketch_count(&forth));
    EXPECT(forth.dense == (each > DX_SKETCH_PAIR_MAX || distinct > DX_SKETCH_UNION_MAX), "dense");
    dx_url_sketch_release(&forth);
    dx_url_sketch_release(&back);
}

/* ---- the estimate ---- */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of `sets` random sets: no bias, the stated standard error, and 99 % within 2.576 of it and a
 * little. */
static void check_error(uint64_t count, unsigned sets)
{
    double *errors = calloc(sets, sizeof *errors);
    double sum = 0;
    double squares = 0;

    for (unsigned i = 0; errors != NULL && i < sets; i++) {
        struct dx_url_sketch s = sketch_of(random_next(&seed), count);

        EXPECT(dx_url_sketch_settle(&s, NULL) >= 0 && s.dense, "dense");
        errors[i] = (double)dx_url_sketch_count(&s) / (double)count - 1;
        sum += errors[i];
        squares += errors[i] * errors[i];
        errors[i] = fabs(errors[i]);
        dx_url_sketch_release(&s);
    }
    if (errors == NULL)
        abort();
    qsort(errors, sets, sizeof *errors, by_number);
    printf("%llu URLs, %u sets: mean error %+.3f %%, standard %.3f %%, 99th percentile %.3f %%\n",
           (unsigned long long)count, sets, 100 * sum / sets, 100 * sqrt(squares / sets),
           100 * errors[sets * 99 / 100]);
    EXPECT(fabs(sum / sets) < 4 * DX_SKETCH_ERROR / sqrt(sets), "biased at %llu",
           (unsigned long long)count);
    EXPECT(sqrt(squares / sets) < 1.1 * DX_SKETCH_ERROR, "standard error at %llu",
           (unsigned long long)count);
    EXPECT(errors[sets * 99 / 100] < 3 * DX_SKETCH_ERROR, "99 %% at %llu",
           (unsigned long long)count);
    free(errors);
}

/* The same numbers on every machine: these were computed with 60 digits. */
static void check_known(void)
{
    static const struct {
        uint8_t value;
        uint64_t estimate;
    } rows[] = {
        { 1, 5909 },
        { 2, 11819 },
        { 10, 3025551 },
        { 28, UINT64_C(793129986396) },
    };
    struct dx_url_sketch s = sketch_of(1, 600);

    EXPECT(dx_url_sketch_settle(&s, NULL) >= 0, "settle");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(s.registers, rows[i].value, 1 << DX_SKETCH_BITS);
        EXPECT(dx_url_sketch_count(&s) == rows[i].estimate, "all registers %d: %llu", rows[i].value,
               (unsigned long long)dx_url_sketch_count(&s));
    }
    dx_url_sketch_release(&s);
}

static void check_hash(void)
{
    struct dx_span http = dx_span_str("http");
    struct dx_span host = dx_span_str("example.com");
    struct dx_span path = dx_span_str("/a?b");
    uint64_t h = dx_url_sketch_hash(http, host, path);

    EXPECT(h == dx_url_sketch_hash_in(dx_url_sketch_host(http, host), path) && h <= HASH_MASK,
           "in two steps");
    EXPECT(h != dx_url_sketch_hash(dx_span_str("https"), host, path), "scheme");
    EXPECT(h != dx_url_sketch_hash(http, dx_span_str("example.co"), dx_span_str("m/a?b")), "cut");
}

int main(void)
{
    static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 17, 48, 49, 100, 511, 512, 513, 5000 };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        /* 40 bits less what an order is worth, a hash; and the two bytes in front. */
        check_round_trip(sizes[i], sizes[i] > 4096  ? 1430
                                   : sizes[i] > 512 ? 410
                                   : sizes[i] > 3   ? 2 + 1 + sizes[i] * 42 / 8
                                                    : sizes[i] * 5);
        check_old(sizes[i]);
        check_damage(sizes[i]);
    }
    check_clip();
    check_refused();
    check_hash();
    check_known();
    check_union(2, 100, 50, 150);
    check_union(40, 512, 256, 39 * 256 + 512);
    check_union(3, 700, 100, 900);
    check_union(4200, 512, 128, 4199 * 128 + 512); /* twice what a list may be, of half as many */
    check_union(2100, 512, 512, 2100 * 512);
    check_union(4200, 512, 256, 4199 * 256 + 512);
    check_error(600, 300);
    check_error(3000, 300);
    check_error(10000, 300);
    if (dx_sample(true,
                  false)) { /* fewer sets would need wider bounds; check_known has large numbers */
        check_error(40000, 200);
        check_error(300000, 60);
    }
    return failures == 0 ? 0 : 1;
}
