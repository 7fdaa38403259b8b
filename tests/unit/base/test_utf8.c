/* SPDX-License-Identifier: Apache-2.0
 * test_utf8.c - well-formed UTF-8, also where words of eight bytes begin and end.
 */
#include "base/utf8.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *text;
    bool want;
} rows[] = {
    { "", true },
    { "a", true },
    { "example.com/abcdefghij", true },
    { "\xC3\xBC", true },
    { "1234567\xC3\xBC", true },
    { "12345678\xC3\xBC", true },
    { "\xE2\x82\xAC", true },
    { "\xF0\x9F\x98\x80", true },
    { "\xF4\x8F\xBF\xBF", true },
    { "\xC3", false },
    { "1234567\xC3", false },
    { "12345678\xFF", false },
    { "\x80", false },
    { "\xC0\xAF", false },              /* overlong */
    { "\xE0\x80\xAF", false },          /* overlong */
    { "\xED\xA0\x80", false },          /* a surrogate */
    { "\xF0\x80\x80\xAF", false },      /* overlong */
    { "\xF4\x90\x80\x80", false },      /* over U+10FFFF */
    { "\xE2\x82\x41", false },          /* broken off */
    { "aaaaaaaa\xE2\x82z8888", false }, /* behind a whole word */
};

int main(void)
{
    char text[64];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        EXPECT(dx_utf8_is_valid(dx_span_str(rows[i].text)) == rows[i].want, "row %zu", i);
    /* A bad byte at each place of a longer text. */
    for (size_t at = 0; at < 40; at++) {
        memset(text, 'x', 40);
        EXPECT(dx_utf8_is_valid(dx_span_of(text, 40)), "plain");
        text[at] = (char)0xff;
        EXPECT(!dx_utf8_is_valid(dx_span_of(text, 40)), "bad byte at %zu", at);
        text[at] = 'x';
    }
    return failures != 0;
}
