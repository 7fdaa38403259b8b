/* SPDX-License-Identifier: Apache-2.0
 * test_decimal.c - whole numbers in decimal, by a table of texts and bounds.
 */
#include "base/decimal.h"

#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *text;
    uint64_t max;
    bool is_decimal, is_plain;
    uint64_t v;
} rows[] = {
    { "0", 0, true, true, 0 },
    { "1", 0, false, false, 0 },
    { "7", 7, true, true, 7 },
    { "8", 7, false, false, 0 },
    { "10", 7, false, false, 0 },
    { "007", 7, true, false, 7 },
    { "00", 7, true, false, 0 },
    { "", 7, false, false, 0 },
    { "-1", 7, false, false, 0 },
    { "+1", 7, false, false, 0 },
    { " 1", 7, false, false, 0 },
    { "1 ", 7, false, false, 0 },
    { "1a", 255, false, false, 0 },
    { "255", 255, true, true, 255 },
    { "256", 255, false, false, 0 },
    { "9223372036854775807", INT64_MAX, true, true, INT64_MAX },
    { "9223372036854775808", INT64_MAX, false, false, 0 },
    { "18446744073709551615", UINT64_MAX, true, true, UINT64_MAX },
    { "18446744073709551616", UINT64_MAX, false, false, 0 },
    { "99999999999999999999999", UINT64_MAX, false, false, 0 },
    { "00000000000000000000000000001", UINT64_MAX, true, false, 1 },
};

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_span text = dx_span_str(rows[i].text);
        uint64_t v = 0;
        bool is_decimal = dx_decimal(text, rows[i].max, &v);

        EXPECT(is_decimal == rows[i].is_decimal && (!is_decimal || v == rows[i].v), "row %zu", i);
        EXPECT(dx_decimal_plain(text, rows[i].max, &v) == rows[i].is_plain, "row %zu, plain", i);
    }
    return failures != 0;
}
