/* SPDX-License-Identifier: Apache-2.0
 * Pages: what the encoders write, the decoders read; damage is refused or changes nothing.
 */
#include "parquet/delta.h"
#include "parquet/hybrid.h"
#include "parquet/page.h"
#include "parquet/page_index.h"
#include "parquet/page_write.h"
#include "parquet/thrift.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fail.h"
#include "tests/support/sample.h"

static unsigned failures;

static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- values ---- */

#define ROWS_MAX 5000

struct sample {
    struct dx_pq_values v;
    struct dx_span spans[ROWS_MAX];
    int64_t ints[ROWS_MAX];
    uint8_t valid[ROWS_MAX];
    uint8_t text[1 << 21];
};

static int64_t random_int(uint64_t *seed, unsigned kind)
{
    uint64_t r = next_random(seed);

    switch (kind) {
    case 0:
        return (int64_t)r;
    case 1:
        return (int64_t)(r % 10);
    case 2:
        return r % 2 == 0 ? INT64_MIN : INT64_MAX;
    default:
        return 7;
    }
}

static struct dx_span random_text(struct sample *s, size_t *used, uint64_t *seed, unsigned kind)
{
    size_t size = kind == 0 ? 0 : kind == 1 ? next_random(seed) % 40 : next_random(seed) % 300;
    uint8_t *to = s->text + *used;

    if (kind == 2 && next_random(seed) % 500 == 0)
        size = 8192;
    if (size > sizeof(s->text) - *used)
        size = 0;
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t drawn = next_random(seed); /* kind 1: bytes 'a' and 'b' */

        if (kind == 1)
            drawn = (drawn & UINT64_C(0x0101010101010101)) + UINT64_C(0x6161616161616161);
        memcpy(to + i, &drawn, size - i < sizeof drawn ? size - i : sizeof drawn);
    }
    *used += size;
    return dx_span_of(to, size);
}

static void fill(struct sample *s, const struct dx_pq_column *c, uint32_t rows, unsigned kind,
                 unsigned nulls, uint64_t *seed)
{
    size_t used = 0;

    s->v = (struct dx_pq_values)DX_PQ_VALUES_INIT;
    s->v.row_count = rows;
    s->v.ints = s->ints;
    s->v.spans = s->spans;
    for (uint32_t i = 0; i < rows; i++) {
        s->valid[i] = nulls == 0 || (nulls == 1 && next_random(seed) % 4 != 0) ||
                      (nulls == 3 && i % 100 < 50);
        s->v.null_count += s->valid[i] == 0;
        s->ints[i] = random_int(seed, kind);
        if (c->type == DX_PQ_INT32)
            s->ints[i] = c->is_unsigned ? (int64_t)(uint32_t)s->ints[i] : (int32_t)s->ints[i];
        if (c->type == DX_PQ_FLOAT)
            s->ints[i] = (uint32_t)s->ints[i];
        s->spans[i] = random_text(s, &used, seed, kind);
        if (c->type == DX_PQ_FIXED)
            s->spans[i] = dx_span_of(s->text + i, c->type_length);
    }
    if (c->max_def > 0 && s->v.null_count > 0)
        s->v.valid = s->valid;
    else
        s->v.null_count = 0;
}

static bool same(const struct dx_pq_column *c, const struct dx_pq_values *a,
                 const struct dx_pq_values *b)
{
    if (a->row_count != b->row_count || a->null_count != b->null_count)
        return false;
    for (uint32_t i = 0; i < a->row_count; i++) {
        if (dx_pq_is_null(a, i) != dx_pq_is_null(b, i))
            return false;
        if (dx_pq_is_null(a, i))
            continue;
        if (c->type >= DX_PQ_BYTE_ARRAY
                ? b->spans[i].data == NULL || !dx_span_equal(a->spans[i], b->spans[i])
                : a->ints[i] != b->ints[i])
            return false;
    }
    return true;
}

static const struct {
    struct dx_pq_column column;
    unsigned encoding;
} kinds[] = {
    { { .type = DX_PQ_INT32 }, DX_PQ_PLAIN },
    { { .type = DX_PQ_INT32, .is_unsigned = true }, DX_PQ_PLAIN },
    { { .type = DX_PQ_INT64 }, DX_PQ_PLAIN },
    { { .type = DX_PQ_FLOAT }, DX_PQ_PLAIN },
    { { .type = DX_PQ_DOUBLE }, DX_PQ_PLAIN },
    { { .type = DX_PQ_BYTE_ARRAY }, DX_PQ_PLAIN },
    { { .type = DX_PQ_FIXED, .type_length = 5 }, DX_PQ_PLAIN },
    { { .type = DX_PQ_INT32 }, DX_PQ_DELTA_BINARY_PACKED },
    { { .type = DX_PQ_INT32, .is_unsigned = true }, DX_PQ_DELTA_BINARY_PACKED },
    { { .type = DX_PQ_INT64 }, DX_PQ_DELTA_BINARY_PACKED },
    { { .type = DX_PQ_BYTE_ARRAY }, DX_PQ_DELTA_LENGTH_BYTE_ARRAY },
    { { .type = DX_PQ_BYTE_ARRAY }, DX_PQ_DELTA_BYTE_ARRAY },
};

static void test_round_trips(void)
{
    static const uint32_t rows[] = { 0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 130, 1000, 4096 };
    static struct sample s;
    struct dx_pq_page_writer w = DX_PQ_PAGE_WRITER_INIT(3);
    struct dx_pq_values back = DX_PQ_VALUES_INIT;
    struct dx_buf page = DX_BUF_INIT(1 << 26);
    uint64_t seed = 1;
    unsigned count = 0;

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
        for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++)
            for (unsigned variant = 0; variant < 32;
                 variant += rows[r] < 1000 ? 1 : (unsigned)dx_sample(1, 3)) {
                struct dx_pq_column c = kinds[k].column;
                struct dx_error err = DX_ERROR_INIT;
                struct dx_pq_page_info info;
                int rc;

                c.codec = variant % 2 == 0 ? DX_PQ_ZSTD : DX_PQ_UNCOMPRESSED;
                c.max_def = variant / 8 != 0;
                fill(&s, &c, rows[r], variant / 2 % 4, variant / 8, &seed);
                dx_buf_clear(&page);
                rc = dx_pq_page_write(&w, &c, kinds[k].encoding, &s.v, &page, &info, &err);
                if (rc == DX_OK)
                    rc = dx_pq_page_decode(&c, dx_span_of(page.data, page.size), NULL, &limits,
                                           &back, &err);
                CHECK(rc == DX_OK && info.size == page.size && same(&c, &s.v, &back),
                      "kind %zu, %u rows, variant %u: %s", k, rows[r], variant, err.text);
                count++;
            }
    printf("%u round trips\n", count);
    dx_pq_page_writer_release(&w);
    dx_pq_values_release(&back);
    dx_buf_release(&page);
}

/* Every truncation and every flipped bit of a page with CRC: refused, or nothing changed
 * (a bit of an unused header field). */
static void test_damage(void)
{
    static struct sample s;
    struct dx_pq_page_writer w = DX_PQ_PAGE_WRITER_INIT(3);
    struct dx_pq_values back = DX_PQ_VALUES_INIT;
    uint64_t seed = 5;
    unsigned refused = 0, same_count = 0;

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        struct dx_pq_column c = kinds[k].column;
        struct dx_buf page = DX_BUF_INIT(1 << 20);
        struct dx_pq_page_info info;
        uint8_t *copy;

        c.codec = k % 2 == 0 ? DX_PQ_ZSTD : DX_PQ_UNCOMPRESSED;
        c.max_def = k % 3 != 0;
        fill(&s, &c, 40, 1, c.max_def, &seed);
        if (dx_pq_page_write(&w, &c, kinds[k].encoding, &s.v, &page, &info, NULL) < 0)
            abort();
        for (size_t n = 0; n < page.size; n++) {
            /* memory that ends where the page does: a sanitizer sees a read too far */
            copy = malloc(n == 0 ? 1 : n);
            memcpy(copy, page.data, n);
            CHECK(dx_pq_page_decode(&c, dx_span_of(copy, n), NULL, &limits, &back, NULL) < 0,
                  "kind %zu cut at %zu", k, n);
            free(copy);
        }
        copy = malloc(page.size);
        for (size_t bit = 0; bit < page.size * 8; bit++) {
            int rc;

            memcpy(copy, page.data, page.size);
            copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            rc = dx_pq_page_decode(&c, dx_span_of(copy, page.size), NULL, &limits, &back, NULL);
            refused += rc < 0;
            same_count += rc == DX_OK && same(&c, &s.v, &back);
            if (rc == DX_OK && bit >= (size_t)8 * 20)
                CHECK(same(&c, &s.v, &back), "kind %zu bit %zu gives other values", k, bit);
        }
        free(copy);
        dx_buf_release(&page);
    }
    printf("bits: %u refused, %u without effect\n", refused, same_count);
    dx_pq_page_writer_release(&w);
    dx_pq_values_release(&back);
}

/* ---- pages by hand ---- */

static void put_page_of(struct dx_buf *out, int type, unsigned encoding, unsigned levels,
                        uint32_t values, struct dx_span body)
{
    struct dx_thrift_out o = dx_thrift_out_to(out);

    dx_thrift_put_begin(&o, 0);
    dx_thrift_put_i32(&o, 1, type);
    dx_thrift_put_i32(&o, 2, (int32_t)body.size);
    dx_thrift_put_i32(&o, 3, (int32_t)body.size);
    dx_thrift_put_begin(&o, type == DX_PQ_PAGE_DICTIONARY ? 7 : 5);
    dx_thrift_put_i32(&o, 1, (int32_t)values);
    dx_thrift_put_i32(&o, 2, (int32_t)encoding);
    if (type == DX_PQ_PAGE_DATA) {
        dx_thrift_put_i32(&o, 3, (int32_t)levels);
        dx_thrift_put_i32(&o, 4, (int32_t)levels);
    }
    dx_thrift_put_end(&o);
    dx_thrift_put_end(&o);
    dx_buf_append(out, body.data, body.size);
}

static void put_page(struct dx_buf *out, int type, unsigned encoding, uint32_t values,
                     struct dx_span body)
{
    put_page_of(out, type, encoding, DX_PQ_RLE, values, body);
}

#define BYTES(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

static void test_by_hand(void)
{
    static const struct {
        const char *name;
        struct dx_pq_column column;
        unsigned encoding;
        uint32_t values;
        uint8_t body[24];
        size_t size;
        int rc;
        const char *text; /* of the error, or values joined by commas */
    } rows[] = {
        { "bit-packed booleans",
          { .type = DX_PQ_BOOLEAN },
          DX_PQ_PLAIN,
          3,
          BYTES(0x05),
          0,
          "1,0,1" },
        { "too few bits",
          { .type = DX_PQ_BOOLEAN },
          DX_PQ_PLAIN,
          9,
          BYTES(0x05),
          DX_E_CORRUPT,
          "fewer bits" },
        { "RLE booleans",
          { .type = DX_PQ_BOOLEAN },
          DX_PQ_RLE,
          3,
          BYTES(2, 0, 0, 0, 6, 1),
          0,
          "1,1,1" },
        { "RLE of an integer",
          { .type = DX_PQ_INT32 },
          DX_PQ_RLE,
          1,
          BYTES(2, 0, 0, 0, 6, 1),
          DX_E_UNSUPPORTED,
          "encoding RLE (3) of INT32" },
        { "unknown encoding",
          { .type = DX_PQ_INT32 },
          10,
          1,
          BYTES(0, 0, 0, 0),
          DX_E_UNSUPPORTED,
          "encoding ALP (10)" },
        { "indices without dictionary",
          { .type = DX_PQ_INT32 },
          DX_PQ_RLE_DICTIONARY,
          1,
          BYTES(1, 2, 0),
          DX_E_CORRUPT,
          "no dictionary" },
        { "a run of no values",
          { .type = DX_PQ_BOOLEAN },
          DX_PQ_RLE,
          3,
          BYTES(2, 0, 0, 0, 0, 1),
          DX_E_CORRUPT,
          "booleans end early" },
        { "string over the end",
          { .type = DX_PQ_BYTE_ARRAY },
          DX_PQ_PLAIN,
          1,
          BYTES(5, 0, 0, 0, 'a'),
          DX_E_CORRUPT,
          "over the end" },
        { "string of 4 GiB",
          { .type = DX_PQ_BYTE_ARRAY },
          DX_PQ_PLAIN,
          1,
          BYTES(255, 255, 255, 255),
          DX_E_CORRUPT,
          "over the end" },
        { "more strings than bytes",
          { .type = DX_PQ_BYTE_ARRAY },
          DX_PQ_PLAIN,
          3,
          BYTES(0, 0, 0, 0),
          DX_E_CORRUPT,
          "more strings" },
        { "first prefix not 0",
          { .type = DX_PQ_BYTE_ARRAY },
          DX_PQ_DELTA_BYTE_ARRAY,
          1,
          BYTES(128, 1, 4, 1, 2, 128, 1, 4, 1, 2, 'a'),
          DX_E_CORRUPT,
          "prefix longer" },
        { "negative length",
          { .type = DX_PQ_BYTE_ARRAY },
          DX_PQ_DELTA_LENGTH_BYTE_ARRAY,
          1,
          BYTES(128, 1, 4, 1, 1),
          DX_E_CORRUPT,
          "negative length" },
        { "delta width over the type",
          { .type = DX_PQ_INT32 },
          DX_PQ_DELTA_BINARY_PACKED,
          2,
          BYTES(128, 1, 4, 2, 0, 0, 33, 0, 0, 0),
          DX_E_CORRUPT,
          "bit width" },
        { "delta of another count",
          { .type = DX_PQ_INT32 },
          DX_PQ_DELTA_BINARY_PACKED,
          2,
          BYTES(128, 1, 4, 3, 0, 0, 0, 0, 0, 0),
          DX_E_CORRUPT,
          "3 values" },
        { "delta block of 0",
          { .type = DX_PQ_INT32 },
          DX_PQ_DELTA_BINARY_PACKED,
          2,
          BYTES(0, 4, 2, 0, 0, 0, 0, 0, 0),
          DX_E_CORRUPT,
          "block size" },
        { "unneeded widths may be anything",
          { .type = DX_PQ_INT32 },
          DX_PQ_DELTA_BINARY_PACKED,
          2,
          BYTES(128, 1, 4, 2, 10, 4, 0, 99, 200, 255),
          0,
          "5,7" },
        { "last miniblock cut behind its values",
          { .type = DX_PQ_INT32 },
          DX_PQ_DELTA_BINARY_PACKED,
          3,
          BYTES(128, 1, 4, 3, 0, 0, 4, 0, 0, 0, 0x21),
          0,
          "0,1,3" },
        { "levels end early",
          { .type = DX_PQ_INT32, .max_def = 1 },
          DX_PQ_PLAIN,
          9,
          BYTES(2, 0, 0, 0, 3, 255, 0, 0, 0, 0),
          DX_E_CORRUPT,
          "levels end early" },
        { "level over 1",
          { .type = DX_PQ_INT32, .max_def = 1 },
          DX_PQ_PLAIN,
          1,
          BYTES(2, 0, 0, 0, 2, 2, 0, 0, 0, 0),
          DX_E_CORRUPT,
          "over the maximum" },
        { "all null, no indices at all",
          { .type = DX_PQ_INT32, .max_def = 1 },
          DX_PQ_RLE_DICTIONARY,
          2,
          BYTES(2, 0, 0, 0, 4, 0),
          0,
          "null,null" },
        { "repeated",
          { .type = DX_PQ_INT32, .max_rep = 1 },
          DX_PQ_PLAIN,
          0,
          BYTES(0),
          DX_E_UNSUPPORTED,
          "repeated" },
        { "nested",
          { .type = DX_PQ_INT32, .max_def = 2 },
          DX_PQ_PLAIN,
          0,
          BYTES(0),
          DX_E_UNSUPPORTED,
          "nested" },
        { "LZO",
          { .type = DX_PQ_INT32, .codec = DX_PQ_LZO },
          DX_PQ_PLAIN,
          0,
          BYTES(0),
          DX_E_UNSUPPORTED,
          "codec LZO" },
        { "too many rows",
          { .type = DX_PQ_INT32, .max_def = 1 },
          DX_PQ_PLAIN,
          9u << 20,
          BYTES(0),
          DX_E_LIMIT,
          "values, limit" },
        { "split bytes",
          { .type = DX_PQ_INT32 },
          DX_PQ_BYTE_STREAM_SPLIT,
          2,
          BYTES(1, 2, 0, 0, 0, 0, 0, 1),
          0,
          "1,16777218" },
        { "split bytes of more values than the page has",
          { .type = DX_PQ_INT32 },
          DX_PQ_BYTE_STREAM_SPLIT,
          1,
          BYTES(1, 2, 0, 0, 0, 0, 0, 1),
          DX_E_CORRUPT,
          "bytes behind the last value" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dx_buf page = DX_BUF_INIT(4096);
        struct dx_pq_values v = DX_PQ_VALUES_INIT;
        struct dx_error err = DX_ERROR_INIT;
        char text[200] = "";
        int rc;

        put_page(&page, DX_PQ_PAGE_DATA, rows[i].encoding, rows[i].values,
                 dx_span_of(rows[i].body, rows[i].size));
        rc = dx_pq_page_decode(&rows[i].column, dx_span_of(page.data, page.size), NULL, &limits, &v,
                               &err);
        for (uint32_t k = 0; rc == 0 && k < v.row_count; k++) {
            size_t n = strlen(text);

            if (dx_pq_is_null(&v, k))
                (void)snprintf(text + n, sizeof(text) - n, "%snull", k == 0 ? "" : ",");
            else
                (void)snprintf(text + n, sizeof(text) - n, "%s%" PRId64, k == 0 ? "" : ",",
                               v.ints[k]);
        }
        CHECK(rc == rows[i].rc, "%s: %d, %s", rows[i].name, rc, err.text);
        if (rc < 0)
            CHECK(strstr(err.text, rows[i].text) != NULL, "%s: %s", rows[i].name, err.text);
        else
            CHECK(strcmp(text, rows[i].text) == 0, "%s: %s", rows[i].name, text);
        dx_pq_values_release(&v);
        dx_buf_release(&page);
    }
}

/* What writers say of a page, and what it holds all the same: the values of the page count. */
static void test_wrong_heads(void)
{
    static const struct {
        const char *name;
        int32_t v1_levels; /* the encoding of the levels of a v1 page; -1: a v2 page */
        bool low_bit_first;
        uint8_t body[24];
        size_t size;
        const char *valid; /* of 9 values */
    } rows[] = {
        { "Arrow without statistics: no nulls in the head of a v2 page", -1, false,
          BYTES(5, 0xfe, 0x00, 1, 2, 3, 4, 5, 6, 7), "011111110" },
        { "Parquet.jl: a CRC of 0", DX_PQ_RLE, false,
          BYTES(3, 0, 0, 0, 5, 0xfe, 0x00, 1, 2, 3, 4, 5, 6, 7), "011111110" },
        { "levels from the highest bit on", DX_PQ_BIT_PACKED, false,
          BYTES(0x7f, 0x00, 1, 2, 3, 4, 5, 6, 7), "011111110" },
        { "levels from the lowest bit on", DX_PQ_BIT_PACKED, true,
          BYTES(0xfe, 0x00, 1, 2, 3, 4, 5, 6, 7), "011111110" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dx_pq_column column = { .type = DX_PQ_FIXED,
                                       .type_length = 1,
                                       .max_def = 1,
                                       .is_low_bit_first = rows[i].low_bit_first };
        bool is_v2 = rows[i].v1_levels < 0;
        struct dx_buf page = DX_BUF_INIT(4096);
        struct dx_thrift_out o = dx_thrift_out_to(&page);
        struct dx_pq_values v = DX_PQ_VALUES_INIT;
        struct dx_error err = DX_ERROR_INIT;
        char valid[10] = "";
        int rc;

        dx_thrift_put_begin(&o, 0);
        dx_thrift_put_i32(&o, 1, is_v2 ? DX_PQ_PAGE_DATA_V2 : DX_PQ_PAGE_DATA);
        dx_thrift_put_i32(&o, 2, (int32_t)rows[i].size);
        dx_thrift_put_i32(&o, 3, (int32_t)rows[i].size);
        dx_thrift_put_i32(&o, 4, 0); /* the CRC */
        dx_thrift_put_begin(&o, is_v2 ? 8 : 5);
        dx_thrift_put_i32(&o, 1, 9);
        dx_thrift_put_i32(&o, 2, is_v2 ? 0 : DX_PQ_PLAIN);
        dx_thrift_put_i32(&o, 3, is_v2 ? 9 : rows[i].v1_levels);
        dx_thrift_put_i32(&o, 4, is_v2 ? DX_PQ_PLAIN : DX_PQ_RLE);
        if (is_v2) {
            dx_thrift_put_i32(&o, 5, 3);
            dx_thrift_put_i32(&o, 6, 0);
        }
        dx_thrift_put_end(&o);
        dx_thrift_put_end(&o);
        dx_buf_append(&page, rows[i].body, rows[i].size);
        rc = dx_pq_page_decode(&column, dx_span_of(page.data, page.size), NULL, &limits, &v, &err);
        CHECK(rc == DX_OK, "%s: %s", rows[i].name, err.text);
        for (uint32_t k = 0, value = 0; k < v.row_count && k < 9; k++) {
            valid[k] = dx_pq_is_null(&v, k) ? '0' : '1';
            if (valid[k] == '1')
                CHECK(v.spans[k].size == 1 && v.spans[k].data[0] == ++value, "%s: value %u",
                      rows[i].name, k);
        }
        CHECK(strcmp(valid, rows[i].valid) == 0, "%s: %s", rows[i].name, valid);
        dx_pq_values_release(&v);
        dx_buf_release(&page);
    }
}

static void test_dictionary(void)
{
    static const uint8_t words[] = { 1, 0, 0, 0, 'a', 2, 0, 0, 0, 'b', 'c' };
    static const uint8_t good[] = { 1, 3, 0x02 }, bad[] = { 2, 3, 0x03, 0 }, wide[] = { 33, 3, 0 };
    const struct dx_pq_column c = { .type = DX_PQ_BYTE_ARRAY };
    struct dx_pq_dictionary d = DX_PQ_DICTIONARY_INIT;
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    struct dx_buf page = DX_BUF_INIT(4096);
    struct dx_error err = DX_ERROR_INIT;

    put_page(&page, DX_PQ_PAGE_DICTIONARY, DX_PQ_PLAIN, 2, dx_span_of(words, sizeof(words)));
    CHECK(dx_pq_dictionary_decode(&c, dx_span_of(page.data, page.size), &limits, &d, &err) == 0,
          "%s", err.text);
    CHECK(dx_pq_page_decode(&c, dx_span_of(page.data, page.size), &d, &limits, &v, &err) < 0,
          "a dictionary taken for data");
    dx_buf_clear(&page);
    put_page(&page, DX_PQ_PAGE_DATA, DX_PQ_PLAIN_DICTIONARY, 2, dx_span_of(good, sizeof(good)));
    CHECK(dx_pq_page_decode(&c, dx_span_of(page.data, page.size), &d, &limits, &v, &err) == 0 &&
              dx_span_equal(v.spans[0], dx_span_str("a")) &&
              dx_span_equal(v.spans[1], dx_span_str("bc")),
          "%s", err.text);
    dx_buf_clear(&page);
    put_page(&page, DX_PQ_PAGE_DATA, DX_PQ_RLE_DICTIONARY, 2, dx_span_of(bad, sizeof(bad)));
    CHECK(dx_pq_page_decode(&c, dx_span_of(page.data, page.size), &d, &limits, &v, &err) < 0 &&
              strstr(err.text, "outside of the dictionary") != NULL,
          "%s", err.text);
    dx_buf_clear(&page);
    put_page(&page, DX_PQ_PAGE_DATA, DX_PQ_RLE_DICTIONARY, 2, dx_span_of(wide, sizeof(wide)));
    CHECK(dx_pq_page_decode(&c, dx_span_of(page.data, page.size), &d, &limits, &v, &err) < 0 &&
              strstr(err.text, "width over 32") != NULL,
          "%s", err.text);
    dx_buf_release(&page);
    dx_pq_values_release(&v);
    dx_pq_dictionary_release(&d);
}

/* ---- parts ---- */

static void test_times(void)
{
    static const struct {
        uint64_t nanos;
        uint32_t day;
        bool ok;
        int64_t us;
    } rows[] = {
        { 0, 2440588, true, 0 },
        { 1000, 2440588, true, 1 },
        { 999, 2440587, true, -86400000000 },
        { UINT64_MAX, 2440588, true, -1 }, /* one nanosecond before, floored */
        { UINT64_C(90000000000000), 2440588, true, 90000000000 },
        { 0, UINT32_MAX, false, 0 }, /* before the year 0 */
        { 0, 1721060, true, -62167219200000000 },
        { UINT64_MAX, 1721060, false, 0 },
        { 0, 5373484, true, 253402214400000000 },
        { 0, 5373485, false, 0 },
        { 0, INT32_MAX, false, 0 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint8_t bytes[12];
        int64_t us = 0;
        bool ok;

        dx_store_u64(bytes, rows[i].nanos);
        dx_store_u32(bytes + 8, rows[i].day);
        ok = dx_pq_int96_us(bytes, &us);
        CHECK(ok == rows[i].ok && (!ok || us == rows[i].us), "row %zu: %d %" PRId64, i, ok, us);
    }
    for (int i = 0; i < 3; i++) {
        int64_t us = 0;

        CHECK(dx_pq_time_us(DX_PQ_TIME_NANOS, -1 - i, &us) && us == -1, "%d", i);
    }
    CHECK(!dx_pq_time_us(DX_PQ_TIME_MILLIS, INT64_MAX, &(int64_t){ 0 }), "overflow");
}

static void test_levels(void)
{
    uint64_t seed = 11;

    for (unsigned n = 0; n < 400; n++) {
        uint8_t bits[400];
        uint32_t back[400];
        struct dx_buf out = DX_BUF_INIT(4096);
        struct dx_pq_hybrid h;

        for (unsigned i = 0; i < n; i++)
            bits[i] = (uint8_t)(next_random(&seed) % (n % 3 == 0 ? 2 : 30) == 0);
        dx_pq_hybrid_write_bits(&out, bits, n);
        h = dx_pq_hybrid_of(dx_span_of(out.data, out.size), 1);
        CHECK(dx_pq_hybrid_read(&h, back, n), "%u", n);
        for (unsigned i = 0; i < n; i++)
            CHECK(back[i] == bits[i], "%u: %u", n, i);
        dx_buf_release(&out);
    }
}

/* Levels without runs, as the oldest writers have them: the first one in the highest bits of a byte, or for Impala in the lowest. */
static void check_packed(uint8_t max, bool low_first, uint64_t *seed)
{
    enum { COUNT = 1003 };
    const struct dx_pq_column column = {
        .type = DX_PQ_INT32, .max_def = max, .with_levels = max > 1, .is_low_bit_first = low_first
    };
    unsigned width = max > 3 ? 3 : max > 1 ? 2 : 1;
    static uint8_t body[COUNT * 5];
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf page = DX_BUF_INIT(1 << 20);
    uint8_t level[COUNT];
    size_t size = (COUNT * width + 7) / 8, levels = size;
    uint32_t same = 0;

    memset(body, 0, sizeof body);
    for (unsigned i = 0; i < COUNT; i++) {
        level[i] = (uint8_t)(next_random(seed) % (max + 1u));
        for (unsigned b = 0; b < width; b++) {
            unsigned at = i * width + b;
            unsigned bit = level[i] >> (low_first ? b : width - 1 - b) & 1;

            body[at / 8] |= (uint8_t)(bit << (low_first ? at % 8 : 7 - at % 8));
        }
        if (level[i] == max) {
            body[size] = (uint8_t)i;
            body[size + 1] = (uint8_t)(i >> 8);
            size += 4;
        }
    }
    put_page_of(&page, DX_PQ_PAGE_DATA, DX_PQ_PLAIN, DX_PQ_BIT_PACKED, COUNT,
                dx_span_of(body, size));
    CHECK(dx_pq_page_decode(&column, dx_span_of(page.data, page.size), NULL, &limits, &v, &err) ==
                  0 &&
              v.row_count == COUNT,
          "levels up to %u: %s", max, err.text);
    while (same < v.row_count && dx_pq_is_null(&v, same) == (level[same] < max) &&
           (level[same] < max || v.ints[same] == (int64_t)same) &&
           (v.def == NULL || v.def[same] == level[same]))
        same++;
    CHECK(same == COUNT, "levels up to %u: %u", max, same);
    dx_buf_clear(&page);
    put_page_of(&page, DX_PQ_PAGE_DATA, DX_PQ_PLAIN, DX_PQ_BIT_PACKED, COUNT,
                dx_span_of(body, levels - 1));
    CHECK(dx_pq_page_decode(&column, dx_span_of(page.data, page.size), NULL, &limits, &v, &err) ==
              DX_E_CORRUPT,
          "levels up to %u that end early", max);
    dx_buf_release(&page);
    dx_pq_values_release(&v);
}

static void test_packed_levels(void)
{
    uint64_t seed = 12;

    for (uint8_t max = 1; max <= 7; max++) {
        check_packed(max, false, &seed);
        check_packed(max, true, &seed);
    }
}

static void test_thrift_limits(void)
{
    static const struct {
        const char *name;
        uint8_t bytes[12];
        size_t size;
    } rows[] = {
        { "list of 2^28 structs", BYTES(0x19, 0xfc, 0xff, 0xff, 0xff, 0x7f) },
        { "string of 2^28", BYTES(0x18, 0xff, 0xff, 0xff, 0x7f) },
        { "map of 2^28", BYTES(0x1b, 0xff, 0xff, 0xff, 0x7f, 0x55) },
        { "type 14", BYTES(0x1e, 0) },
        { "id over i16", BYTES(0x05, 0xfe, 0xff, 0x03, 0, 0x15, 0, 0) },
        { "no stop", BYTES(0x15, 2) },
        { "varint over 64 bits",
          BYTES(0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0) },
    };
    uint8_t deep[200] = { 0 };
    struct dx_thrift t = dx_thrift_of(dx_span_of(deep, sizeof(deep)));

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dx_thrift r = dx_thrift_of(dx_span_of(rows[i].bytes, rows[i].size));

        dx_thrift_skip(&r, DX_THRIFT_STRUCT);
        CHECK(r.bytes.failed, "%s", rows[i].name);
    }
    memset(deep, 0x1c, sizeof(deep)); /* field 1: a struct, field 1: a struct, … */
    dx_thrift_skip(&t, DX_THRIFT_STRUCT);
    CHECK(t.bytes.failed && dx_bytes_at(&t.bytes) < 64, "depth: %zu", dx_bytes_at(&t.bytes));
}

static void test_bounds(void)
{
    const struct dx_pq_column text = { .type = DX_PQ_BYTE_ARRAY };
    const struct dx_pq_column id = { .type = DX_PQ_INT64, .is_unsigned = true };
    uint8_t high[80], accent[80];
    char a[81];
    struct dx_span spans[2];
    int64_t ints[] = { -1, 5, 0 };
    struct dx_pq_values v = { .row_count = 1, .spans = spans };
    struct dx_pq_bounds b;

    memset(a, 'a', 80);
    memset(high, 0xff, 80);
    spans[0] = dx_span_of(a, 80);
    b = dx_pq_bounds_of(&text, &v);
    CHECK(b.has_min && b.min_size == 64 && !b.min_is_exact && b.has_max && b.max_size == 64 &&
              b.max[63] == 'b' && b.max[62] == 'a' && !b.max_is_exact,
          "a string of 80");
    spans[0] = dx_span_of(high, 80);
    b = dx_pq_bounds_of(&text, &v);
    CHECK(b.has_min && !b.has_max, "no maximum without a byte that can grow");
    memset(accent, 'x', 80);
    accent[63] = 0xc3; /* a character over the cut */
    accent[64] = 0xa9;
    spans[0] = dx_span_of(accent, 80);
    b = dx_pq_bounds_of(&text, &v);
    CHECK(b.min_size == 63 && b.max_size == 63 && b.max[62] == 'y', "%u %u", b.min_size,
          b.max_size);
    spans[0] = dx_span_of("", 0);
    b = dx_pq_bounds_of(&text, &v);
    CHECK(b.has_min && b.has_max && b.min_size == 0 && b.max_is_exact, "the empty string");
    v = (struct dx_pq_values){ .row_count = 3, .ints = ints };
    b = dx_pq_bounds_of(&id, &v);
    CHECK(dx_load_u64(b.min) == 0 && dx_load_u64(b.max) == UINT64_MAX, "unsigned order");
    CHECK(!dx_pq_bounds_of(&id, &(struct dx_pq_values){ 0 }).has_min, "no values");
}

int main(void)
{
    test_round_trips();
    test_damage();
    test_by_hand();
    test_wrong_heads();
    test_dictionary();
    test_times();
    test_levels();
    test_packed_levels();
    test_thrift_limits();
    test_bounds();
    if (failures > 0)
        printf("%u checks failed\n", failures);
    return failures > 0;
}
