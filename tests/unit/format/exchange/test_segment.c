/* SPDX-License-Identifier: Apache-2.0
 * Segments: the bytes that the format's own program makes (run by node on these inputs), cut and
 * joined again, and what is said of segments that are not the expected one; the journal of what is
 * on disk; arrays as lines.
 */
#include "format/exchange/segment.h"
#include "format/exchange/segment_journal.h"
#include "format/text/json_lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/crypto/sha256.h"
#include "base/hash.h"

static int failures;

#define CHECK(what)                                        \
    do {                                                   \
        if (!(what)) {                                     \
            printf("FAIL line %d: %s\n", __LINE__, #what); \
            failures++;                                    \
        }                                                  \
    } while (0)

static const struct {
    const char *text;
    uint64_t mss;
    const char *want; /* segments in hex, with a blank between two */
} vectors[] = {
    { "", 4, "0000000001000000" },
    { "abc", 4, "0000000001000000616263" },
    { "abcd", 4, "000000000200000061626364 0100000002000000" },
    { "abcde", 4, "000000000200000061626364 010000000200000065" },
    { "abcdefgh", 4, "000000000300000061626364 010000000300000065666768 0200000003000000" },
    { "abcdefghi", 4, "000000000300000061626364 010000000300000065666768 020000000300000069" },
    { "ab", 1, "000000000300000061 010000000300000062 0200000003000000" },
    { "[{\"u\":\"\xC3\xA9\"}]", 5,
      "00000000030000005b7b227522 01000000030000003a22c3a922 02000000030000007d5d" },
};

/* All segments of text one behind the other: hex with blanks, and into the sum. */
static unsigned cut_all(struct dx_span text, uint64_t mss, struct dx_buf *hex,
                        struct dx_sha256_state *sum)
{
    struct dx_segment_cut cut;
    struct dx_segment_join join = DX_SEGMENT_JOIN_INIT;
    uint8_t header[DX_SEGMENT_HEADER];
    uint64_t at = 0;
    uint64_t size;
    unsigned n = 0;

    CHECK(dx_segment_cut_init(&cut, text.size, mss, NULL) == DX_OK);
    for (; dx_segment_cut_next(&cut, header, &size); n++) {
        struct dx_buf whole = DX_BUF_INIT(4096);
        struct dx_segment s;

        dx_buf_append(&whole, header, sizeof header);
        dx_buf_append(&whole, text.data + at, size);
        CHECK(dx_segment_read(&s, dx_span_of(whole.data, whole.size), NULL) == DX_OK);
        CHECK(dx_segment_join_judge(&join, &s) == DX_SEGMENT_NEXT);
        CHECK(dx_span_equal(s.payload, dx_span_of(text.data + at, size)));
        CHECK(!dx_segment_join_whole(&join));
        dx_segment_join_add(&join, &s);
        if (hex != NULL) {
            if (n > 0)
                dx_buf_u8(hex, ' ');
            for (size_t i = 0; i < whole.size; i++)
                dx_buf_fmt(hex, "%02x", whole.data[i]);
        }
        if (sum != NULL)
            (void)dx_sha256_update(sum, dx_span_of(whole.data, whole.size));
        dx_buf_release(&whole);
        at += size;
    }
    CHECK(at == text.size && join.size == text.size && dx_segment_join_whole(&join));
    return n;
}

static void check_vectors(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct dx_buf hex = DX_BUF_INIT(4096);

        (void)cut_all(dx_span_str(vectors[i].text), vectors[i].mss, &hex, NULL);
        if (!dx_span_equal(dx_span_of(hex.data, hex.size), dx_span_str(vectors[i].want))) {
            printf("FAIL '%s' by %llu: %.*s\n", vectors[i].text, (unsigned long long)vectors[i].mss,
                   (int)hex.size, (const char *)hex.data);
            failures++;
        }
        dx_buf_release(&hex);
    }
}

/* Every length below 200 by every size below 40: byte i of length n is 7 i + n. */
static void check_sum(void)
{
    struct dx_sha256_state *state = dx_sha256_new();
    uint8_t sum[DX_SHA256_SIZE];
    char hex[DX_SHA256_HEX];
    unsigned n = 0;

    for (size_t length = 0; length < 200; length++) {
        uint8_t bytes[200];

        for (size_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)(i * 7 + length);
        for (uint64_t mss = 1; mss < 40; mss++)
            n += cut_all(dx_span_of(bytes, length), mss, NULL, state);
    }
    CHECK(dx_sha256_end(&state, sum));
    dx_sha256_hex(sum, hex);
    CHECK(n == 89036);
    CHECK(strcmp(hex, "1eeecf38074e4db6221322cb43adc4a828fe4c5c70689279c69674e304d2e508") == 0);
}

static struct dx_segment segment(uint32_t sequence, uint32_t count)
{
    return (struct dx_segment){ sequence, count, { NULL, 0 } };
}

static void check_judge(void)
{
    static const struct {
        uint32_t sequence, count;
        enum dx_segment_verdict want;
    } rows[] = {
        { 2, 5, DX_SEGMENT_NEXT },  { 0, 5, DX_SEGMENT_BEHIND }, { 1, 5, DX_SEGMENT_BEHIND },
        { 3, 5, DX_SEGMENT_AHEAD }, { 4, 5, DX_SEGMENT_AHEAD },  { 2, 6, DX_SEGMENT_OTHER },
        { 0, 1, DX_SEGMENT_OTHER },
    };
    struct dx_segment_join join = DX_SEGMENT_JOIN_INIT;
    struct dx_segment s = segment(1, 5);

    CHECK(dx_segment_join_judge(&join, &s) == DX_SEGMENT_AHEAD);
    for (uint32_t i = 0; i < 2; i++) {
        s = segment(i, 5);
        dx_segment_join_add(&join, &s);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s = segment(rows[i].sequence, rows[i].count);
        if (dx_segment_join_judge(&join, &s) != rows[i].want) {
            printf("FAIL segment %u of %u\n", rows[i].sequence, rows[i].count);
            failures++;
        }
    }
}

static void check_bounds(void)
{
    static const uint8_t bytes[] = { 1, 0, 0, 0, 1, 0, 0, 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_segment_cut cut;
    struct dx_segment s;

    for (size_t n = 0; n < sizeof bytes; n++)
        CHECK(dx_segment_read(&s, dx_span_of(bytes, n), NULL) == DX_E_TRUNCATED);
    CHECK(dx_segment_read(&s, dx_span_of(bytes, 8), &err) == DX_E_CORRUPT);
    CHECK(strstr(err.text, "sequence 1 of 1") != NULL);
    CHECK(dx_segment_cut_init(&cut, 10, 0, NULL) == DX_E_INVALID);
    CHECK(dx_segment_cut_init(&cut, DX_SEGMENT_COUNT_MAX, 1, NULL) == DX_E_LIMIT);
    CHECK(dx_segment_cut_init(&cut, DX_SEGMENT_COUNT_MAX - 1, 1, NULL) == DX_OK);
    CHECK(dx_segment_cut_init(&cut, UINT64_MAX, UINT64_MAX, NULL) == DX_OK && cut.count == 2);
}

static void check_journal(void)
{
    struct dx_segment_journal_head head = { .count = 7, .has_sum = true, .dataset = "a b" };
    struct dx_segment_journal_head back;
    struct dx_segment_journal_record record = { .end = 99 };
    struct dx_segment_journal_record again;
    struct dx_buf buf = DX_BUF_INIT(4096);
    uint8_t bytes[DX_SEGMENT_JOURNAL_RECORD];
    size_t size;

    memset(head.sum, 5, sizeof head.sum);
    CHECK(dx_segment_journal_head_write(&head, &buf, NULL) == DX_OK);
    CHECK(dx_segment_journal_head_read(&back, &size, dx_span_of(buf.data, buf.size), NULL) == 0);
    CHECK(size == buf.size && back.count == 7 && back.has_sum && strcmp(back.dataset, "a b") == 0 &&
          memcmp(back.sum, head.sum, 32) == 0);
    for (size_t i = 0; i < buf.size; i++) {
        buf.data[i] ^= 1;
        CHECK(dx_segment_journal_head_read(&back, &size, dx_span_of(buf.data, buf.size), NULL) < 0);
        buf.data[i] ^= 1;
        CHECK(dx_segment_journal_head_read(&back, &size, dx_span_of(buf.data, i), NULL) < 0);
    }
    dx_segment_journal_record_write(&record, 3, bytes);
    CHECK(dx_segment_journal_record_read(&again, 3, bytes) && again.end == 99);
    CHECK(!dx_segment_journal_record_read(&again, 4, bytes));
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 1;
        CHECK(!dx_segment_journal_record_read(&again, 3, bytes));
        bytes[i] ^= 1;
    }
    dx_buf_release(&buf);
}

static const struct {
    const char *array;
    const char *lines; /* NULL: refused */
} arrays[] = {
    { "[]", "" },
    { " [ ] \n", "" },
    { "[{\"a\":1},{\"b\":[1,2]}]", "{\"a\":1}\n{\"b\":[1,2]}\n" },
    { "[\n {\"a\":\n1}\r\n,\n{\"b\":\"],\\\"}\"} ]", "{\"a\": 1}  \n{\"b\":\"],\\\"}\"} \n" },
    { "[\"\\\\\",1]", "\"\\\\\"\n1\n" },
    { "[[],[[]]]", "[]\n[[]]\n" },
    { "[1,]", NULL },
    { "[,1]", NULL },
    { "[1", NULL },
    { "[\"]", NULL },
    { "[{]", NULL },
    { "[1]x", NULL },
    { "[1][2]", NULL },
    { "{}", NULL },
    { "", NULL },
    { "[", NULL },
    { "[}]", NULL },
};

/* Pushed in pieces of `piece` bytes. */
static bool lines_of(const char *array, size_t piece, struct dx_buf *out)
{
    struct dx_json_lines f = DX_JSON_LINES_INIT;
    size_t n = strlen(array);

    for (size_t at = 0; at < n; at += piece) {
        uint8_t bytes[100];
        size_t size = n - at < piece ? n - at : piece;

        memcpy(bytes, array + at, size);
        if (dx_json_lines_push(&f, bytes, &size, NULL) < 0)
            return false;
        dx_buf_append(out, bytes, size);
    }
    return dx_json_lines_end(&f, NULL) == DX_OK;
}

static void check_arrays(void)
{
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        for (size_t piece = 1; piece < 40; piece++) {
            struct dx_buf out = DX_BUF_INIT(4096);
            bool ok = lines_of(arrays[i].array, piece, &out);

            if (ok != (arrays[i].lines != NULL) ||
                (ok &&
                 !dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(arrays[i].lines)))) {
                printf("FAIL %s by %zu: %d '%.*s'\n", arrays[i].array, piece, ok, (int)out.size,
                       (const char *)out.data);
                failures++;
            }
            dx_buf_release(&out);
        }
}

int main(void)
{
    check_vectors();
    check_sum();
    check_judge();
    check_bounds();
    check_journal();
    check_arrays();
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
