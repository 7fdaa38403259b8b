/* SPDX-License-Identifier: Apache-2.0
 * Keys as text: what is taken, what it is, and that nothing else is taken. */
#include "canon/key_number.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *text;
    bool key_ok;
    bool end_ok;
    uint64_t value;
} rows[] = {
    { "0", true, true, 0 },
    { "1", true, true, 1 },
    { "0x0", true, true, 0 },
    { "0x1", true, true, 1 },
    { "0X00fF", true, true, 255 },
    { "0x0100000100000000", true, true, 0x0100000100000000 },
    { "72057598332895232", true, true, 72057598332895232 },
    { "000000000000000000000000000000000000007", true, true, 7 },
    { "18446744073709551615", true, true, UINT64_MAX },
    { "0xffffffffffffffff", true, true, UINT64_MAX },
    { "18446744073709551616", false, true, 0 },
    { "0x10000000000000000", false, true, 0 },
    { "18446744073709551617", false, false, 0 },
    { "0x10000000000000001", false, false, 0 },
    { "0x20000000000000000", false, false, 0 },
    { "36893488147419103232", false, false, 0 },
    { "340282366920938463463374607431768211456", false, false, 0 },
    { "99999999999999999999999999999999999999999999", false, false, 0 },
    { "-1", true, true, UINT64_MAX },
    { "-0", true, true, 0 },
    { "-9223372036854775808", true, true, UINT64_C(1) << 63 },
    { "-9223372036854775809", false, false, 0 },
    { "-72057594037927936", true, true, 0xff00000000000000 },
    { "MAXVALUE", false, true, UINT64_C(1) << 63 },
    { "maxvalue", false, false, 0 },
    { "MINVALUE", false, false, 0 },
    { "", false, false, 0 },
    { "-", false, false, 0 },
    { "0x", false, false, 0 },
    { "x1", false, false, 0 },
    { "+1", false, false, 0 },
    { " 1", false, false, 0 },
    { "1 ", false, false, 0 },
    { "1.0", false, false, 0 },
    { "1e3", false, false, 0 },
    { "0x1g", false, false, 0 },
    { "--1", false, false, 0 },
    { "-0x1", false, false, 0 },
    { "0x-1", false, false, 0 },
    { "00000000000000000000000000000000000000000000000000000000000000001", false, false, 0 },
};

int main(void)
{
    int failures = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t key = rows[i].value;
        uint64_t end = rows[i].value;
        bool key_ok = dx_key_number(dx_span_str(rows[i].text), &key);
        bool end_ok = dx_key_number_end(dx_span_str(rows[i].text), &end);

        if (key_ok != rows[i].key_ok || end_ok != rows[i].end_ok || key != rows[i].value ||
            end != rows[i].value) {
            printf("'%s': key %d %" PRIu64 ", end %d %" PRIu64 "\n", rows[i].text, key_ok, key,
                   end_ok, end);
            failures++;
        }
    }
    return failures > 0;
}
