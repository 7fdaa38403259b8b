/* SPDX-License-Identifier: Apache-2.0
 * Values as text by their logical type: at the ends of what each type holds, and what has no text.
 */
#include "parquet/value_text.h"
#include "tests/support/damage.h"

static unsigned failures;

#define NODE(t, ...)                   \
    {                                  \
        .type = DX_PQ_##t, __VA_ARGS__ \
    }
#define DECIMAL(n) .logical = DX_PQ_LOGICAL_DECIMAL, .scale = (n)
#define LOGICAL(l) .logical = DX_PQ_LOGICAL_##l
#define BITS(n, u) .logical = DX_PQ_LOGICAL_INTEGER, .bit_width = (n), .is_unsigned = (u)
#define UNIT(l, u) .logical = DX_PQ_LOGICAL_##l, .time_unit = DX_PQ_TIME_##u

static const struct {
    struct dx_pq_node node;
    int64_t value;
    const char *want;
    bool is_number; /* in JSON without quotes */
} ints[] = {
    { NODE(BOOLEAN, LOGICAL(NONE)), 0, "false", true },
    { NODE(BOOLEAN, LOGICAL(NONE)), 1, "true", true },
    { NODE(INT32, LOGICAL(NONE)), INT32_MIN, "-2147483648", true },
    { NODE(INT64, LOGICAL(NONE)), INT64_MAX, "9223372036854775807", true },
    { NODE(INT64, LOGICAL(INTEGER), .is_unsigned = true), -1, "18446744073709551615", true },
    { NODE(INT32, BITS(8, false)), 0x1ff, "-1", true },
    { NODE(INT32, BITS(8, true)), 0x1ff, "255", true },
    { NODE(INT32, BITS(16, false)), 0x18000, "-32768", true },
    { NODE(INT32, BITS(16, true)), 0x18000, "32768", true },
    { NODE(INT32, BITS(32, false)), 70000, "70000", true },
    { NODE(INT32, DECIMAL(0)), -7, "-7", false },
    { NODE(INT32, DECIMAL(2)), -7, "-0.07", false },
    { NODE(INT64, DECIMAL(2)), INT64_MIN, "-92233720368547758.08", false },
    { NODE(INT64, DECIMAL(18)), 1, "0.000000000000000001", false },
    { NODE(FLOAT, LOGICAL(NONE)), 0x3dcccccd, "0.1", true },
    { NODE(FLOAT, LOGICAL(NONE)), 0x7fc00000, "nan", false },
    { NODE(FLOAT, LOGICAL(NONE)), 0x7f800000, "inf", false },
    { NODE(DOUBLE, LOGICAL(NONE)), 0x3fb999999999999a, "0.1", true },
    { NODE(DOUBLE, LOGICAL(NONE)), (int64_t)0xfff0000000000000, "-inf", false },
    { NODE(INT32, LOGICAL(DATE)), 0, "1970-01-01", false },
    { NODE(INT32, LOGICAL(DATE)), 2932896, "9999-12-31", false },
    { NODE(INT32, LOGICAL(DATE)), 2932897, "2932897 out of range", false },
    { NODE(INT32, LOGICAL(DATE)), -719528, "0000-01-01", false },
    { NODE(INT32, LOGICAL(DATE)), -719529, "-719529 out of range", false },
    { NODE(INT64, LOGICAL(DATE)), INT64_MAX, "9223372036854775807 out of range", false },
    { NODE(INT64, UNIT(TIMESTAMP, MILLIS)), 1, "1970-01-01T00:00:00.001Z", false },
    { NODE(INT64, UNIT(TIMESTAMP, MILLIS)), INT64_MAX, "9223372036854775807 out of range", false },
    { NODE(INT64, UNIT(TIMESTAMP, MICROS)), -1, "1969-12-31T23:59:59.999999Z", false },
    { NODE(INT64, UNIT(TIMESTAMP, MICROS)), INT64_MIN, "-9223372036854775808 out of range", false },
    { NODE(INT64, UNIT(TIMESTAMP, NONE)), 5, "5 out of range", false },
    { NODE(INT32, UNIT(TIME, MILLIS)), 86399999, "23:59:59.999000", false },
    { NODE(INT32, UNIT(TIME, MILLIS)), 86400000, "86400000 out of range", false },
    { NODE(INT32, UNIT(TIME, MILLIS)), -1, "-1 out of range", false },
    { NODE(INT64, UNIT(TIME, NANOS)), 1000, "00:00:00.000001", false },
    { NODE(INT64, UNIT(TIME, NONE)), 1, "1 out of range", false },
};

#define SPAN(s)                             \
    {                                       \
        (const uint8_t *)(s), sizeof(s) - 1 \
    }

static const struct {
    struct dx_pq_node node;
    struct dx_span value;
    const char *want;
} spans[] = {
    { NODE(BYTE_ARRAY, LOGICAL(STRING)), SPAN("a b"), "a b" },
    { NODE(BYTE_ARRAY, LOGICAL(NONE)), SPAN(""), "" },
    { NODE(BYTE_ARRAY, DECIMAL(0)), SPAN(""), "0" },
    { NODE(BYTE_ARRAY, DECIMAL(1)), SPAN("\xff"), "-0.1" },
    { NODE(BYTE_ARRAY, DECIMAL(0)), SPAN("\x01\x00"), "256" },
    { NODE(FIXED, DECIMAL(3)), SPAN("\x80\x00"), "-32.768" },
    /* 33 bytes; 32 of them are as many digits as Arrow's largest */
    { NODE(BYTE_ARRAY, DECIMAL(0)),
      SPAN("\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
           "\1\1\1\1\1"),
      "a decimal of more than 32 bytes" },
    { NODE(FIXED, DECIMAL(79)), SPAN("\x01"),
      "0.0000000000000000000000000000000000000000000000000000000000000000000000000000001" },
    { NODE(FIXED, LOGICAL(INTERVAL)), SPAN("\1\0\0\0\2\0\0\0\xbc\x0b\0\0"), "P1M2DT3.004S" },
    { NODE(FIXED, LOGICAL(INTERVAL)), SPAN("\1\2"), "0102" }, /* not of 12 bytes */
    { NODE(FIXED, LOGICAL(FLOAT16)), SPAN("\x00\x3c"), "1" },
    { NODE(FIXED, LOGICAL(FLOAT16)), SPAN("\x01\x00"), "5.9604645e-08" },
    { NODE(FIXED, LOGICAL(FLOAT16)), SPAN("\x00\xfc"), "-inf" },
    { NODE(FIXED, LOGICAL(FLOAT16)), SPAN("\x01\x7e"), "nan" },
    { NODE(FIXED, LOGICAL(FLOAT16)), SPAN("\x01\x7e\x00"), "017e00" },
    { NODE(FIXED, LOGICAL(UUID)), SPAN("0123456789abcdef"),
      "30313233-3435-3637-3839-616263646566" },
    { NODE(FIXED, LOGICAL(UUID)), SPAN("0123"), "30313233" },
    { NODE(FIXED, LOGICAL(STRING)), SPAN("abc"), "abc" },
    { NODE(FIXED, LOGICAL(ENUM)), SPAN("abc"), "abc" },
    { NODE(FIXED, LOGICAL(JSON)), SPAN("[1]"), "[1]" },
    { NODE(FIXED, LOGICAL(NONE)), SPAN("\xde\xad"), "dead" },
    { NODE(INT96, UNIT(TIMESTAMP, INT96)), SPAN("\0\0\0\0\0\0\0\0\x8c\x3d\x25\0"),
      "1970-01-01T00:00:00Z" },
    { NODE(INT96, UNIT(TIMESTAMP, INT96)), SPAN("\0\0\0\0\0\0\0\0\xff\xff\xff\xff"),
      "a time out of range" },
};

static void check_values(void)
{
    struct dx_buf out = DX_BUF_INIT(1024);

    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) {
        int64_t value = ints[i].value;
        const struct dx_pq_values v = { .row_count = 1, .ints = &value };

        dx_buf_clear(&out);
        dx_pq_value_text(&ints[i].node, &v, 0, &out);
        EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(ints[i].want)),
               "%s: '%.*s'", ints[i].want, (int)out.size, (const char *)out.data);
        EXPECT(dx_pq_text_is_number(&ints[i].node, dx_span_of(out.data, out.size)) ==
                   ints[i].is_number,
               "%s: a number", ints[i].want);
        EXPECT(!dx_pq_text_is_plain(&ints[i].node), "%s: plain", ints[i].want);
    }
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        struct dx_span value = spans[i].value;
        const struct dx_pq_values v = { .row_count = 1, .spans = &value };

        dx_buf_clear(&out);
        dx_pq_value_text(&spans[i].node, &v, 0, &out);
        EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(spans[i].want)),
               "%s: '%.*s'", spans[i].want, (int)out.size, (const char *)out.data);
        EXPECT(!dx_pq_text_is_number(&spans[i].node, dx_span_of(out.data, out.size)),
               "%s: a number", spans[i].want);
    }
    dx_buf_release(&out);
}

static void check_nulls_and_bytes(void)
{
    static const struct dx_pq_node null = NODE(INT32, LOGICAL(NULL));
    static const struct dx_pq_node plain = NODE(BYTE_ARRAY, LOGICAL(NONE));
    static const struct dx_pq_node string = NODE(BYTE_ARRAY, LOGICAL(STRING));
    uint8_t valid[2] = { 1, 0 };
    struct dx_pq_values v = { .row_count = 2, .valid = valid };
    struct dx_buf out = DX_BUF_INIT(16);

    EXPECT(dx_pq_text_is_null(&null, &v, 0) && dx_pq_text_is_null(&plain, &v, 1) &&
               !dx_pq_text_is_null(&plain, &v, 0),
           "nulls");
    EXPECT(dx_pq_text_is_hex(&plain, dx_span_str("\xff")) &&
               !dx_pq_text_is_hex(&plain, dx_span_str("a")) &&
               !dx_pq_text_is_hex(&string, dx_span_str("\xff")) &&
               !dx_pq_text_is_hex(&null, dx_span_str("\xff")),
           "hexadecimal");
    dx_pq_text_hex(dx_span_str("\xff\x01"), &out);
    EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str("ff01")), "%.*s",
           (int)out.size, (const char *)out.data);
    dx_buf_release(&out);
}

static const struct {
    struct dx_pq_node node;
    bool ok;
} checked[] = {
    { NODE(INT64, DECIMAL(79)), true },
    { NODE(INT64, DECIMAL(80)), false }, /* the buffer would lack room for the 0 before the point */
    { NODE(FIXED, DECIMAL(2), .type_length = 32), true },
    { NODE(FIXED, DECIMAL(2), .type_length = 33), false },
    { NODE(FIXED, LOGICAL(NONE), .type_length = 33), true },
    { NODE(BYTE_ARRAY, DECIMAL(2)), true },
};

static void check_columns(void)
{
    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; i++) {
        struct dx_pq_node node[2] = { { .child_count = 1, .type = -1 }, checked[i].node };
        uint32_t leaf = 1;
        const struct dx_pq_footer f = {
            .node = node, .node_count = 2, .leaf = &leaf, .leaf_count = 1
        };
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        node[1].name = dx_span_str("price");
        rc = dx_pq_text_check(&f, 0, &err);
        EXPECT(rc == (checked[i].ok ? DX_OK : DX_E_UNSUPPORTED), "row %zu: %d", i, rc);
        EXPECT(rc == DX_OK || strstr(err.text, "column price") != NULL, "%s", err.text);
    }
}

int main(void)
{
    check_values();
    check_nulls_and_bytes();
    check_columns();
    return failures != 0;
}
