/* SPDX-License-Identifier: Apache-2.0
 * The bounded cursor and the capped buffer: round trips, ends, caps.
 */
#include "base/buf.h"
#include "base/bytes.h"
#include "tests/support/damage.h"

static unsigned failures;

static void check_round_trip(void)
{
    static const uint64_t values[] = { 0,     1,          127,        128,        16383,
                                       16384, UINT32_MAX, 1ull << 35, 1ull << 62, UINT64_MAX };
    struct dx_buf b = DX_BUF_INIT(1000);
    struct dx_bytes r;

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        dx_buf_varint(&b, values[i]);
        dx_buf_u64(&b, values[i]);
        dx_buf_u32(&b, (uint32_t)values[i]);
        dx_buf_u16(&b, (uint16_t)values[i]);
        dx_buf_u8(&b, (uint8_t)values[i]);
    }
    r = dx_bytes_of(dx_span_of(b.data, b.size));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        EXPECT(dx_bytes_varint(&r) == values[i], "varint %zu", i);
        EXPECT(dx_bytes_u64(&r) == values[i], "u64 %zu", i);
        EXPECT(dx_bytes_u32(&r) == (uint32_t)values[i], "u32 %zu", i);
        EXPECT(dx_bytes_u16(&r) == (uint16_t)values[i], "u16 %zu", i);
        EXPECT(dx_bytes_u8(&r) == (uint8_t)values[i], "u8 %zu", i);
    }
    EXPECT(!r.failed && dx_bytes_left(&r) == 0, "all read");
    (void)dx_bytes_u8(&r);
    EXPECT(r.failed, "past the end");
    dx_buf_release(&b);
}

static const struct {
    const char *bytes;
    size_t size;
    bool ok;
} varints[] = {
    { "\x80", 1, false },                                          /* cut */
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true },      /* 2^64-1 */
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false },     /* over 64 bits */
    { "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, false }, /* eleven bytes */
    { "", 0, false },
    { "\x00", 1, true },
};

static void check_varints(void)
{
    for (size_t i = 0; i < sizeof varints / sizeof varints[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(varints[i].bytes, varints[i].size));
        struct dx_bytes r = dx_bytes_of(dx_span_of(d.bytes, d.size));

        (void)dx_bytes_varint(&r);
        EXPECT(r.failed == !varints[i].ok, "row %zu", i);
        EXPECT(varints[i].ok || dx_bytes_at(&r) == 0, "row %zu: the cursor stays", i);
        damaged_free(&d);
    }
}

static void check_slices(void)
{
    static const struct {
        uint64_t offset, size;
        bool ok;
    } rows[] = { { 0, 10, true },         { 10, 0, true },  { 3, 7, true },
                 { 3, 8, false },         { 11, 0, false }, { UINT64_MAX, 2, false },
                 { 2, UINT64_MAX, false } };
    static const uint8_t bytes[10];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_span out;

        EXPECT(dx_span_slice(dx_span_of(bytes, 10), rows[i].offset, rows[i].size, &out) ==
                   rows[i].ok,
               "row %zu", i);
    }
    EXPECT(dx_span_compare(dx_span_str("ab"), dx_span_str("abc")) < 0, "prefix first");
    EXPECT(dx_span_compare(dx_span_str("\xff"), dx_span_str("a")) > 0, "unsigned bytes");
}

/* A buffer never passes its cap, and says so once at the end. */
static void check_cap(void)
{
    for (size_t cap = 0; cap < 200; cap += 7) {
        struct dx_buf b = DX_BUF_INIT(cap);
        struct dx_error err = DX_ERROR_INIT;
        size_t put = 0;

        while (!b.failed) {
            dx_buf_u8(&b, 1);
            put++;
        }
        EXPECT(put == cap + 1 && b.size == cap, "cap %zu: %zu", cap, b.size);
        dx_buf_append(&b, "x", 1);
        EXPECT(b.size == cap, "nothing after it failed");
        EXPECT(dx_buf_fail(&b, &err, "test") < 0 && err.text[0] != '\0', "words");
        dx_buf_clear(&b);
        EXPECT(!b.failed && b.size == 0, "clear");
        dx_buf_release(&b);
    }
    struct dx_buf b = DX_BUF_INIT(10000);
    dx_buf_fmt(&b, "%0500d", 7); /* longer than any storage of its own */
    EXPECT(b.size == 500 && b.data[499] == '7', "%zu", b.size);
    dx_buf_align(&b, 64);
    EXPECT(b.size == 512 && b.data[511] == 0, "%zu", b.size);
    dx_buf_release(&b);
}

int main(void)
{
    check_round_trip();
    check_varints();
    check_slices();
    check_cap();
    return failures > 0;
}
