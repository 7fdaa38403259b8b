/* SPDX-License-Identifier: Apache-2.0
 * JSON text: what comes out parses, whatever bytes went in.
 */
#include "base/json_out.h"
#include "tests/support/damage.h"

#include <jansson.h>

static unsigned failures;

static const struct {
    const char *in;
    size_t size;
    const char *want;
} rows[] = {
    { "plain", 5, "plain" },
    { "a\"b\\c", 5, "a\\\"b\\\\c" },
    { "\n\r\t\b\0", 5, "\\n\\r\\t\\u0008\\u0000" },
    { "\x7f", 1, "\\u007f" },
    { "\xc2\x80\xc2\x9f\xc2\xa0", 6, "\\u0080\\u009f\xc2\xa0" }, /* C1 */
    { "m\xc3\xbcnchen", 8, "m\xc3\xbcnchen" },
    { "\xe2\x80\xa8\xe2\x80\xa9", 6, "\\u2028\\u2029" },
    { "\xc3", 1, "\xef\xbf\xbd" },                                 /* cut short */
    { "\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd" },                 /* overlong */
    { "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
    { "\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    { "\xf0\x9f\x98\x80!", 5, "\xf0\x9f\x98\x80!" },
    { "\xe2\x80z", 3, "\xef\xbf\xbd\xef\xbf\xbdz" },
};

static void check_escapes(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf b = DX_BUF_INIT(1000);

        dx_json_escape(&b, dx_span_of(rows[i].in, rows[i].size));
        EXPECT(b.size == strlen(rows[i].want) && memcmp(b.data, rows[i].want, b.size) == 0,
               "row %zu: %.*s", i, (int)b.size, (const char *)b.data);
        dx_buf_release(&b);
    }
}

/* Random bytes as keys and values of nested objects; jansson is strict about UTF-8. */
static void check_random(void)
{
    uint64_t seed = 11;

    for (int round = 0; round < 20000; round++) {
        struct dx_buf b = DX_BUF_INIT(1 << 20);
        uint8_t bytes[40];
        size_t n = (size_t)random_below(&seed, sizeof bytes);
        struct dx_json j;
        json_error_t why;
        json_t *parsed;

        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(1 + random_below(&seed, 255)); /* jansson takes no NUL in keys */
        dx_json_open(&j, &b);
        dx_json_array(&j);
        dx_json_text(&j, dx_span_of(bytes, n));
        dx_json_object(&j);
        dx_json_key_span(&j, dx_span_of(bytes, n));
        dx_json_i64(&j, (int64_t)random_next(&seed));
        dx_json_key(&j, "t");
        dx_json_time_us(&j, (int64_t)random_next(&seed));
        dx_json_key(&j, "h");
        dx_json_hex64(&j, random_next(&seed));
        dx_json_key(&j, "e");
        dx_json_array(&j);
        dx_json_end(&j);
        dx_json_end(&j);
        dx_json_null(&j);
        dx_json_bool(&j, round & 1);
        dx_json_end(&j);
        parsed = json_loadb((const char *)b.data, b.size, JSON_ALLOW_NUL, &why);
        EXPECT(parsed != NULL && json_array_size(parsed) == 4, "%s: %.*s", why.text, (int)b.size,
               (const char *)b.data);
        json_decref(parsed);
        dx_buf_release(&b);
        if (failures > 10)
            return;
    }
}

static void check_numbers(void)
{
    struct dx_buf b = DX_BUF_INIT(1000);
    struct dx_json j;
    static const char want[] = "[0,18446744073709551615,-9223372036854775808,-1,"
                               "\"0x00000000000000ff\",0.25]";

    dx_json_open(&j, &b);
    dx_json_array(&j);
    dx_json_u64(&j, 0);
    dx_json_u64(&j, UINT64_MAX);
    dx_json_i64(&j, INT64_MIN);
    dx_json_i64(&j, -1);
    dx_json_hex64(&j, 255);
    dx_json_double(&j, 0.25);
    dx_json_end(&j);
    EXPECT(b.size == strlen(want) && memcmp(b.data, want, b.size) == 0, "%.*s", (int)b.size,
           (const char *)b.data);
    dx_buf_release(&b);
}

int main(void)
{
    check_escapes();
    check_random();
    check_numbers();
    return failures > 0;
}
