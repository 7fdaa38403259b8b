/* SPDX-License-Identifier: Apache-2.0
 * test_xml_out.c - text in XML: what is escaped, and what cannot stand in a document at all.
 */
#include "base/buf.h"
#include "base/xml_out.h"
#include "tests/support/damage.h"

static unsigned failures;

#define FFFD "\xEF\xBF\xBD"

static const struct {
    const char *text, *want;
} rows[] = {
    { "", "" },
    { "example.com", "example.com" },
    { "a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c'" },
    { "\xC3\xBC \xF0\x9F\x98\x80\t\n", "\xC3\xBC \xF0\x9F\x98\x80\t\n" },
    { "\x01\r\x1f", FFFD FFFD FFFD },
    { "\xC3z\xFF", FFFD "z" FFFD },
    { "\xEF\xBF\xBE\xEF\xBF\xBF", FFFD FFFD }, /* noncharacters */
};

int main(void)
{
    struct dx_buf b = DX_BUF_INIT(1000);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dx_buf_clear(&b);
        dx_xml_text(&b, dx_span_str(rows[i].text));
        EXPECT(dx_span_equal(dx_span_of(b.data, b.size), dx_span_str(rows[i].want)), "row %zu", i);
    }
    dx_buf_release(&b);
    return failures > 0;
}
