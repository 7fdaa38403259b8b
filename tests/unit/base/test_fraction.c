/* SPDX-License-Identifier: Apache-2.0
 * Fractions: known texts, borders of rounding, and random ones against long division by hand.
 */
#include "base/fraction.h"
#include "base/json_out.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    uint64_t part, whole;
    const char *text;
} rows[] = {
    { 0, 0, "0" },
    { 0, 7, "0" },
    { 7, 7, "1" },
    { 1, 2, "0.5" },
    { 1, 3, "0.333333333" },
    { 2, 3, "0.666666667" },
    { 1, 4, "0.25" },
    { 1, 8, "0.125" },
    { 1, 1000000000, "0.000000001" },
    { 1, 2000000000, "0.000000001" }, /* half a unit: up */
    { 1, 2000000001, "0" },
    { 3, 2000000000, "0.000000002" },
    { 100000000, 1000000000, "0.1" },
    { 999999999, 1000000000, "0.999999999" },
    { 1999999999, 2000000000, "1" }, /* rounded */
    { 1999999998, 2000000000, "0.999999999" },
    { UINT32_MAX, (UINT64_C(1) << 62) - 1, "0.000000001" },
    { UINT32_MAX, UINT64_C(1) << 62, "0.000000001" },
    { UINT64_C(1) << 32, (UINT64_C(1) << 62) - 1, "0.000000001" },
    { UINT64_C(1) << 32, UINT64_C(1) << 33, "0.5" },
    { UINT64_MAX, UINT64_MAX, "1" },
    { UINT64_MAX - 1, UINT64_MAX, "1" },
    { UINT64_MAX / 2, UINT64_MAX, "0.5" },
    { 0, UINT64_MAX, "0" },
    { 1, UINT64_MAX, "0" },
    { UINT64_C(18446744073), UINT64_C(18446744073709551615), "0.000000001" },
};

static void check(uint64_t part, uint64_t whole, const char *want)
{
    uint8_t got[DX_FRACTION_MAX + 1];
    size_t n;

    memset(got, '#', sizeof got);
    n = (size_t)(dx_put_fraction(got, part, whole) - got);
    EXPECT(n == strlen(want) && memcmp(got, want, n) == 0, "%llu / %llu: '%.*s', not '%s'",
           (unsigned long long)part, (unsigned long long)whole, (int)n, (const char *)got, want);
    EXPECT(got[DX_FRACTION_MAX] == '#', "%llu / %llu: a byte too many", (unsigned long long)part,
           (unsigned long long)whole);
}

/* 0 <= part < whole < 2^60, so that ten times the rest fits: digit by digit, then rounded as
 * text. */
static void divide(uint64_t part, uint64_t whole, char text[32])
{
    size_t n = 2;

    (void)strcpy(text, "0.");
    for (unsigned i = 0; i < 9; i++) {
        text[n++] = (char)('0' + part * 10 / whole);
        part = part * 10 % whole;
    }
    if (part * 2 >= whole)
        for (size_t i = n - 1;; i--) {
            if (i == 1) {
                text[0] = '1'; /* all of them were 9 */
                break;
            }
            if (text[i] != '9') {
                text[i]++;
                break;
            }
            text[i] = '0';
        }
    while (text[n - 1] == '0')
        n--;
    text[text[n - 1] == '.' ? n - 1 : n] = '\0';
}

int main(void)
{
    uint64_t random = 88172645463325252u;
    struct dx_buf b = DX_BUF_INIT(64);
    struct dx_json j;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(rows[i].part, rows[i].whole, rows[i].text);
    for (unsigned i = 0; i < 300000; i++) {
        char want[32];
        uint64_t whole;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        whole = (random >> (4 + random % 59)) + 1;
        divide(random % whole, whole, want);
        check(random % whole, whole, want);
    }
    dx_json_open(&j, &b);
    dx_json_array(&j);
    dx_json_fraction(&j, 1, 8);
    dx_json_fraction(&j, 1, 1);
    dx_json_end(&j);
    EXPECT(dx_span_equal(dx_span_of(b.data, b.size), dx_span_str("[0.125,1]")), "%.*s", (int)b.size,
           (const char *)b.data);
    dx_buf_release(&b);
    return failures > 0;
}
