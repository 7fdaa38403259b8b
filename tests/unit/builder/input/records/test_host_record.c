/* SPDX-License-Identifier: Apache-2.0
 * test_host_record.c - hosts and counts as host indexes write them, and as lake files do.
 */
#include "builder/input/records/host_record.h"
#include "builder/input/records/rejects.h"
#include "format/text/host_pages.h"
#include "tests/support/damage.h"

#include <stdio.h>

static unsigned failures;

static const struct {
    const char *host, *url;
} hosts[] = {
    { "www.example.com", "http://www.example.com/" },
    { "com,example,www", "http://www.example.com/" },
    { "com,example,www,", "http://www.example.com/" },
    { "com,example:8080", "http://example.com:8080/" },
    { "com,example,www)/a/b?c,d", "http://www.example.com/" },
    { "example.com:8080", "http://example.com:8080/" },
    { "192.0.2.7", "http://192.0.2.7/" },
    { "https://www.example.com/a,b", "https://www.example.com/a,b" },
    { "com,", "http://com/" },
    { ",", "http:///" },
    { ",,com", "http://com../" },
    { "", "" },
};

static const struct {
    const char *text;
    int why;
    uint64_t count;
} counts[] = {
    { "1", 0, 1 },
    { "17", 0, 17 },
    { "007", 0, 7 },
    { "2.0", 0, 2 },
    { "1099511627776", 0, DX_HOST_PAGES_MAX },
    { "1099511627777", DX_ROW_COUNT_INVALID, 0 },
    { "99999999999999999999999999", DX_ROW_COUNT_INVALID, 0 },
    { "0", DX_ROW_NO_PAGES, 0 },
    { "0.0", DX_ROW_NO_PAGES, 0 },
    { "", DX_ROW_NO_PAGES, 0 },
    { "-1", DX_ROW_COUNT_INVALID, 0 },
    { "1.5", DX_ROW_COUNT_INVALID, 0 },
    { "1.", DX_ROW_COUNT_INVALID, 0 },
    { ".0", DX_ROW_COUNT_INVALID, 0 },
    { "1e3", DX_ROW_COUNT_INVALID, 0 },
    { " 1", DX_ROW_COUNT_INVALID, 0 },
};

static const struct {
    const char *path;
    uint64_t pages; /* 0: none */
} stored[] = {
    { "/?pages=1", 1 },
    { "/?pages=1099511627776", DX_HOST_PAGES_MAX },
    { "/?pages=1099511627777", 0 },
    { "/?pages=9999999999999", 0 },
    { "/?pages=10995116277760", 0 },
    { "/?pages=0", 0 },
    { "/?pages=01", 0 },
    { "/?pages=", 0 },
    { "/?pages=1x", 0 },
    { "/?pages=1&", 0 },
    { "/?page=1", 0 },
    { "/", 0 },
    { "", 0 },
};

int main(void)
{
    struct dx_buf buf = DX_BUF_INIT(1024);

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct dx_span url = dx_host_record_url(dx_span_str(hosts[i].host), &buf);

        EXPECT(dx_span_equal(url, dx_span_str(hosts[i].url)), "%s: %.*s", hosts[i].host,
               (int)url.size, (const char *)url.data);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t count = 0;
        int why = dx_host_record_count(dx_span_str(counts[i].text), &count);

        EXPECT(why == counts[i].why && (why != 0 || count == counts[i].count), "'%s': %d, %llu",
               counts[i].text, why, (unsigned long long)count);
    }
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        char text[DX_HOST_PAGES_TEXT];
        uint64_t pages = 0;
        bool ok = dx_host_pages_parse(dx_span_str(stored[i].path), &pages);

        EXPECT(ok == (stored[i].pages > 0) && (!ok || pages == stored[i].pages), "%s",
               stored[i].path);
        if (ok)
            EXPECT(dx_span_equal(dx_span_of(text, dx_host_pages_put(pages, text)),
                                 dx_span_str(stored[i].path)),
                   "%s: not its own text", stored[i].path);
    }
    dx_buf_release(&buf);
    return failures > 0;
}
