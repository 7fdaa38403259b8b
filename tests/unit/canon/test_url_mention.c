/* SPDX-License-Identifier: Apache-2.0
 * test_url_mention.c - texts that are of a URL: as it stands, in other forms of it, within JSON, lines and paths; and those that are of a longer one.
 */
#include "canon/url.h"
#include "canon/url_mention.h"
#include "tests/support/canon_rules.h"
#include "tests/support/damage.h"

static unsigned failures;

enum { IS = 1, ROW = 2, LINE = 4 }; /* by what it is found */

static const struct {
    const char *text;
    int found;
} rows[] = {
    { "https://a.com/x?y=1", IS | ROW | LINE },
    { "HTTPS://A.com:443/x?y=1#z", IS | ROW | LINE },
    { " https://user@a.com/./x?y=1", IS | ROW | LINE },
    { "see https://a.com/x?y=1 there", LINE },
    { "https://a.com/x?y=1,https://b.com/", LINE },
    { "2020\tHTTPS://A.com/x?y=1\t7", LINE },
    { "2020,\"HTTPS://A.com/x?y=1\",7", LINE },
    { "{\"url\":\"https://a.com/x?y=1\"}", ROW | LINE },
    { " \n[\"https:\\/\\/a.com\\/x?y=1\"]", ROW | LINE },
    { "{\"url\": \"HTTPS:\\/\\/A.com\\/x?y=1\", \"n\": 1}", ROW | LINE },
    { "[\"https://b.com/\",\"https://a.com/x?y\\u003d1\"]", ROW | LINE },
    { "com,a)/x 2020 {\"url\": \"https://a.com/x?y=1\"}", LINE },
    { "{\"u\": \"HTTPS://D.com/\\u4E2D\\ud83d\\ude00, a \\\"b\\\"\"}", ROW | LINE },
    { "2020,\"HTTPS://D.com/\xe4\xb8\xad\xf0\x9f\x98\x80, a \"\"b\"\"\"", LINE },
    { "HTTPS://D.com/\xe4\xb8\xad\xf0\x9f\x98\x80, a \"b\"\t7", LINE },
    { "{\"u\": \"https://a.com/x?y=1\\ud83d\"}", 0 },
    { "{\"u\": \"\\\"https://a.com/x?y=1\"}", 0 },
    { "{\"text\": \"see https://a.com/x?y=1\"}", 0 },
    { "{\"u\": \"https://a.com/x?y=1", 0 },
    { "{\"u\": \"https://a.com/x?y=1\\", 0 },
    { "{\"u\": \"https://a.com/x?y=1\\u00", 0 },
    { "https://a.com/x?y=12", 0 },
    { "https://a.com/x", 0 },
    { "{\"url\":\"https:\\/\\/a.com\\/x?y=1\\u0031\"}", 0 },
    { "{\"url\":\"HTTPS:\\/\\/A.com\\/x?y=12\"}", 0 },
    { "{", 0 },
    { "", 0 },
};

static const struct {
    const char *path;
    bool found;
} paths[] = {
    { "lake/site=a.com%2Fx%3fy=1/part.parquet", false }, /* https is not the default */
    { "lake/url=https:%2F%2FA.com%2Fx%3Fy=1/n=2/part.parquet", true },
    { "host=c.com/part.parquet", true },
    { "host=c.com", false },
    { "c.com/part=c.com.parquet", false },
    { "", false },
};

int main(void)
{
    static const char *const wanted[] = { "http://c.com/", "https://a.com/x?y=1",
                                          "https://d.com/%E4%B8%AD%F0%9F%98%80,%20a%20%22b%22" };
    struct dx_span urls[3];
    struct dx_psl *psl = dx_test_psl("com\n");
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_mention m = { .url = urls, .count = 3 };

    if (dx_canon_new(&m.canon, psl, &err) < 0)
        return 1;
    for (size_t i = 0; i < m.count; i++)
        urls[i] = dx_span_str(wanted[i]);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged text = damaged_copy(
            dx_span_str(rows[i].text)); /* a read behind it ends the test */
        struct dx_span s = dx_span_of(text.bytes, text.size);

        EXPECT(dx_url_mention_is(&m, s) == ((rows[i].found & IS) != 0), "'%s'", rows[i].text);
        EXPECT(dx_url_mention_row(&m, s) == ((rows[i].found & ROW) != 0), "'%s'", rows[i].text);
        EXPECT(dx_url_mention_line(&m, s) == ((rows[i].found & LINE) != 0), "'%s'", rows[i].text);
        damaged_free(&text);
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        EXPECT(dx_url_mention_path(&m, dx_span_str(paths[i].path)) == paths[i].found, "'%s'",
               paths[i].path);
    m.count = 0;
    EXPECT(!dx_url_mention_line(&m, dx_span_str(rows[0].text)), "none is wanted");
    dx_canon_free(&m.canon);
    dx_psl_free(&psl);
    return failures > 0;
}
