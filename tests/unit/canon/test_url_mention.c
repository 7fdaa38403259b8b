/* SPDX-License-Identifier: Apache-2.0
 * test_url_mention.c - texts that are of a URL: as it stands, in other forms of it, within JSON; and those that are of a longer one.
 */
#include "canon/url.h"
#include "canon/url_mention.h"
#include "tests/support/canon_rules.h"
#include "tests/support/damage.h"

static unsigned failures;

enum { NO, LINE, IN, IS }; /* by what it is found, and by all before */

static const struct {
    const char *text;
    int found;
} rows[] = {
    { "https://a.com/x?y=1", IS },
    { "HTTPS://A.com:443/x?y=1#z", IS },
    { " https://user@a.com/./x?y=1", IS },
    { "see https://a.com/x?y=1 there", IN },
    { "https://a.com/x?y=1,https://b.com/", IN },
    { "see HTTPS://A.com/x?y=1 there", LINE },
    { "{\"url\":\"https://a.com/x?y=1\"}", IN },
    { "{\"url\":\"https:\\/\\/a.com\\/x?y=1\"}", LINE },
    { "{\"url\": \"HTTPS:\\/\\/A.com\\/x?y=1\", \"n\": 1}", LINE },
    { "[\"https://b.com/\",\"https://a.com/x?y\\u003d1\"]", LINE },
    { "https://a.com/x?y=12", NO },
    { "https://a.com/x", NO },
    { "{\"url\":\"https:\\/\\/a.com\\/x?y=1\\u0031\"}", NO },
    { "{\"url\":\"HTTPS:\\/\\/A.com\\/x?y=12\"}", NO },
    { "", NO },
};

int main(void)
{
    static const struct dx_span urls[] = { { (const uint8_t *)"https://c.com/", 14 },
                                           { (const uint8_t *)"https://a.com/x?y=1", 19 } };
    struct dx_psl *psl = dx_test_psl("com\n");
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_mention m = { .url = urls, .count = 2 };

    if (dx_canon_new(&m.canon, psl, &err) < 0)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_span text = dx_span_str(rows[i].text);

        EXPECT(dx_url_mention_is(&m, text) == (rows[i].found >= IS), "'%s'", rows[i].text);
        EXPECT(dx_url_mention_in(&m, text) == (rows[i].found >= IN), "'%s'", rows[i].text);
        EXPECT(dx_url_mention_line(&m, text, &err) == (rows[i].found >= LINE), "'%s'",
               rows[i].text);
    }
    m.count = 0;
    EXPECT(dx_url_mention_line(&m, dx_span_str(rows[0].text), &err) == 0, "none is wanted");
    dx_canon_free(&m.canon);
    dx_psl_free(&psl);
    return failures > 0;
}
