/* SPDX-License-Identifier: Apache-2.0
 * test_list_line.c - which lines of a list are one URL, and which have columns.
 */
#include "builder/input/records/list_line.h"
#include "tests/support/damage.h"

#include <stdio.h>
#include <string.h>

static unsigned failures;

static const struct {
    const char *line;
    int by; /* DX_LIST_LINE_WHOLE: one URL */
} lines[] = {
    { "", DX_LIST_LINE_WHOLE },
    { "  \t ", DX_LIST_LINE_WHOLE },
    { "http://a.com/", DX_LIST_LINE_WHOLE },
    { "  http://a.com/\t\r", DX_LIST_LINE_WHOLE },
    { "b1.example.net\t17", '\t' },
    { "http://a.com/x\x01y", 1 },
    { "http://a.com/x\x7fy", 0x7f },
    { "http://a.com/x\rhttp://b.com/", '\r' },
    /* Blanks of real lists. */
    { "http://a.com/x.htm#Swiss Goats", DX_LIST_LINE_WHOLE },
    { "http://a.com/Windows 95", DX_LIST_LINE_WHOLE },
    { "http://a.com/a - b.html", DX_LIST_LINE_WHOLE },
    { "http://a.com/x #top", DX_LIST_LINE_WHOLE },
    { "http://a.com/minutes of 2024-01-31.pdf", DX_LIST_LINE_WHOLE },
    { "http://a.com/x # note", ' ' },
    { "http://a.com/x   #", ' ' },
    { "http://a.com/x 2024-01-31", ' ' },
    { "http://a.com/x 2024-01-31T01:02:03Z title", ' ' },
    { "http://a.com/x 2024/01/31 01:02", ' ' },
    { "http://a.com/x 1706659200", ' ' },
    { "http://a.com/x 20240131010203 200", ' ' },
    { "http://a.com/x  HTTPS://b.com/", ' ' },
    { "http://a.com/x, http://b.com/", ' ' },
    /* Commas and the like. */
    { "http://a.com/0,1518,druck-123,00.html", DX_LIST_LINE_WHOLE },
    { "https://maps.example/@48.85837,2.2944813,17z", DX_LIST_LINE_WHOLE },
    { "http://a.com/?u=1,http://b.com/", DX_LIST_LINE_WHOLE },
    { "http://a.com/x;jsessionid=1", DX_LIST_LINE_WHOLE },
    { "http://a.com/?q=a|b", DX_LIST_LINE_WHOLE },
    { "http://a.com/a,2024-01-31/b", DX_LIST_LINE_WHOLE },
    { "http://a.com/x,2024-01-31", ',' },
    { "http://a.com/x,2024-01-31T00:00:00Z,title", ',' },
    { "http://a.com/x,title,2024-01-31", ',' },
    { "http://a.com/x;2024-01-31;title", ';' },
    { "http://a.com/x|2024-01-31 01:02|title", '|' },
    { "http://a,b@c.com/", DX_LIST_LINE_WHOLE },
    { "example.com,17", ',' },
    { "17,example.com/x", ',' },
    { "http://example.com;17", ';' },
    { "http://example.com/;17", DX_LIST_LINE_WHOLE },
    { "https://,", ',' },
    { "/a,b", DX_LIST_LINE_WHOLE },
};

int main(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct damaged d = damaged_copy(dx_span_str(lines[i].line));
        int by = dx_list_line_split(dx_span_of(d.bytes, d.size));

        if (by != lines[i].by) {
            (void)fprintf(stderr, "row %zu '%s': %d, want %d\n", i, lines[i].line, by, lines[i].by);
            failures++;
        }
        damaged_free(&d);
    }
    if (!dx_list_line_has_blank(dx_span_str(" a b ")) ||
        dx_list_line_has_blank(dx_span_str(" ab ")) || dx_list_line_has_blank(dx_span_str("  ")) ||
        dx_span_has_control(dx_span_str("\ta b\r")) || !dx_span_has_control(dx_span_str("a\nb"))) {
        (void)fprintf(stderr, "blanks and control characters\n");
        failures++;
    }
    return failures != 0;
}
