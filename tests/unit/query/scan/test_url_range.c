/* SPDX-License-Identifier: Apache-2.0
 * Where rows stand to ranges of URLs. */
#include "query/scan/url_range.h"

#include "tests/support/damage.h"

static unsigned failures;

int main(void)
{
    static const struct {
        enum dx_url_range_kind kind;
        const char *host, *path; /* of the range */
        const char *row_host, *row_path;
        int side;
    } rows[] = {
        { DX_URL_RANGE_DOMAIN, "", "", "z.com", "/", 0 },
        { DX_URL_RANGE_HOST, "b.com", "", "a.com", "/z", -1 },
        { DX_URL_RANGE_HOST, "b.com", "", "b.com", "/z", 0 },
        { DX_URL_RANGE_HOST, "b.com", "", "b.com:81", "/", 1 },
        { DX_URL_RANGE_HOST, "b.com", "", "b.co", "/", -1 },
        { DX_URL_RANGE_SUBDOMAINS, "b.com", "", "b.com", "/", 0 },
        { DX_URL_RANGE_SUBDOMAINS, "b.com", "", "b.com:81", "/", 0 },
        { DX_URL_RANGE_SUBDOMAINS, "b.com", "", "x.b.com:1", "/", 0 },
        { DX_URL_RANGE_SUBDOMAINS, "b.com", "", "xb.com", "/", 1 },
        { DX_URL_RANGE_SUBDOMAINS, "b.com", "", "com", "/", 1 },
        { DX_URL_RANGE_SUBDOMAINS, "[::1]", "", "[::1]:80", "/", 0 },
        { DX_URL_RANGE_SUBDOMAINS, "[::1]", "", "[::1]", "/", 0 },
        { DX_URL_RANGE_PREFIX, "b.com", "/p", "b.com", "/o", -1 },
        { DX_URL_RANGE_PREFIX, "b.com", "/p", "b.com", "/p", 0 },
        { DX_URL_RANGE_PREFIX, "b.com", "/p", "b.com", "/p/q", 0 },
        { DX_URL_RANGE_PREFIX, "b.com", "/p", "b.com", "/", -1 },
        { DX_URL_RANGE_PREFIX, "b.com", "/p", "b.com", "/q", 1 },
        { DX_URL_RANGE_PREFIX, "b.com", "/p", "a.com", "/q", -1 },
        { DX_URL_RANGE_URL, "b.com", "/p", "b.com", "/p", 0 },
        { DX_URL_RANGE_URL, "b.com", "/p", "b.com", "/p/", 1 },
        { DX_URL_RANGE_URL, "b.com", "/p", "b.com", "/o", -1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_url_range r = { rows[i].kind, dx_span_str(rows[i].host),
                                        dx_span_str(rows[i].path) };
        int side = dx_url_range_side(&r, dx_span_str(rows[i].row_host),
                                     dx_span_str(rows[i].row_path));

        EXPECT(side == rows[i].side, "%zu: %s%s: %d", i, rows[i].row_host, rows[i].row_path, side);
    }
    return failures == 0 ? 0 : 1;
}
