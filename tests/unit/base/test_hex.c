/* SPDX-License-Identifier: Apache-2.0
 * Digits, numbers and escapes: every byte as a digit, escapes cut at each place, and nothing behind the end is read.
 */
#include "base/hex.h"
#include "tests/support/damage.h"

static int failures;

static void test_digits(void)
{
    static const char digits[] = "0123456789abcdef";

    for (unsigned c = 0; c < 256; c++) {
        const char *lower = c == 0 || (c >= 'A' && c <= 'F') ? NULL : strchr(digits, (int)c);
        int want = c >= 'A' && c <= 'F' ? (int)c - 'A' + 10
                   : lower == NULL      ? -1
                                        : (int)(lower - digits);

        EXPECT(dx_hex_digit((uint8_t)c) == want, "digit %02x", c);
    }
}

static void test_numbers(void)
{
    uint64_t v;

    EXPECT(dx_hex_number((const uint8_t *)"fFfffffffffffff0", 16, &v) && v == UINT64_MAX - 15,
           "sixteen digits of either case");
    EXPECT(dx_hex_number((const uint8_t *)"2f", 2, &v) && v == 0x2f, "two digits");
    EXPECT(!dx_hex_number((const uint8_t *)"2g", 2, &v), "no digit");
    EXPECT(dx_hex_number((const uint8_t *)"", 0, &v) && v == 0, "none");
}

/* Of a text that ends with its memory. */
static int escape_of(const char *text)
{
    size_t n = strlen(text);
    char *at = malloc(n == 0 ? 1 : n);
    int c;

    if (at == NULL)
        abort();
    memcpy(at, text, n);
    c = dx_hex_escape(at, at + n);
    free(at);
    return c;
}

static void test_escapes(void)
{
    EXPECT(escape_of("%2f") == '/' && escape_of("%2Fx") == '/', "of either case");
    EXPECT(escape_of("%00") == 0 && escape_of("%ff") == 0xff, "every byte");
    EXPECT(escape_of("") == -1 && escape_of("%") == -1 && escape_of("%2") == -1, "cut");
    EXPECT(escape_of("%2g") == -1 && escape_of("%g2") == -1 && escape_of("2f%") == -1, "no digits");
}

static void test_unescape(void)
{
    static const struct {
        const char *text, *want;
        bool ok;
    } rows[] = {
        { "", "", true },         { "a", "a", true },        { "a%2Fb%2f", "a/b/", true },
        { "%2525", "%25", true }, { "%ff+", "\xff+", true }, { "%00a%41", "%00aA", false },
        { "%4", "%4", false },    { "%41%", "A%", false },   { "%zz%41", "%zzA", false },
        { "%%41", "%A", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = strdup(rows[i].text);

        if (text == NULL)
            abort();
        EXPECT(dx_hex_unescape(text) == rows[i].ok && strcmp(text, rows[i].want) == 0, "%s: %s",
               rows[i].text, text);
        free(text);
    }
}

int main(void)
{
    test_digits();
    test_numbers();
    test_escapes();
    test_unescape();
    return failures > 0;
}
