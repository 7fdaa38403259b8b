/* SPDX-License-Identifier: Apache-2.0
 * Rows of a lake against the canonical form: a table, and that the quick look agrees with the
 * canonicaliser on random rows.
 */
#include "canon/row_form.h"

#include "canon/path_query.h"
#include "canon/url.h"
#include "tests/support/damage.h"

static unsigned failures;

static const char list[] = "com\norg\nco.uk\nuk\nxn--p1ai\n";

#define E "example.com"

static const struct {
    const char *domain, *scheme, *host, *path_query;
    enum dx_row_fault want;
} rows[] = {
    { E, "http", "www.example.com", "/", DX_ROW_CANONICAL },
    { E, "https", "www.example.com:8080", "/a//b/", DX_ROW_PATH_QUERY },
    { E, "https", "www.example.com:8080", "/a/b/", DX_ROW_CANONICAL },
    { E, "https", "www.example.com:80", "/", DX_ROW_CANONICAL },
    { E, "http", "www.example.com:80", "/", DX_ROW_HOST },
    { E, "https", "www.example.com:443", "/", DX_ROW_HOST },
    { E, "http", "www.example.com:080", "/", DX_ROW_HOST },
    { E, "http", "www.example.com:", "/", DX_ROW_HOST },
    { E, "http", "WWW.example.com", "/", DX_ROW_HOST },
    { E, "http", "a@www.example.com", "/", DX_ROW_HOST },
    { E, "http", "www.example.com/private", "/", DX_ROW_HOST },
    { E, "http", "www.example.com#", "/", DX_ROW_HOST },
    { E, "http", "www.example.com\r\n", "/", DX_ROW_HOST },
    { E, "http", "\twww.example.com", "/", DX_ROW_HOST },
    { E, "http", "www.example%2ecom", "/", DX_ROW_HOST },
    { E, "http", "", "/", DX_ROW_HOST },
    { E, "http", "nytimes.com", "/", DX_ROW_DOMAIN },
    { E, "http", "badexample.com", "/", DX_ROW_DOMAIN },
    { "www.example.com", "http", "www.example.com", "/", DX_ROW_DOMAIN },
    { "com", "http", "com", "/", DX_ROW_DOMAIN },
    { "b.co.uk", "http", "a.b.co.uk", "/?q", DX_ROW_CANONICAL },
    { "192.0.2.7", "http", "192.0.2.7", "/", DX_ROW_CANONICAL },
    { "192.0.2.7", "http", "0xc0.0.2.7", "/", DX_ROW_HOST },
    { "[2001:db8::1]", "http", "[2001:db8::1]:81", "/", DX_ROW_CANONICAL },
    { "[2001:db8::1]", "http", "[2001:DB8::1]", "/", DX_ROW_HOST },
    { E, "javascript", "example.com", "/", DX_ROW_SCHEME },
    { E, "HTTP", "example.com", "/", DX_ROW_SCHEME },
    { E, "", "example.com", "/", DX_ROW_SCHEME },
    { E, "http", "example.com", "", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "?q", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "a", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/%70rivate/x", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a%2fb", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a%2Fb", DX_ROW_CANONICAL },
    { E, "http", "example.com", "/a%", DX_ROW_CANONICAL },
    { E, "http", "example.com", "/a\r\nb", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a\xc3\xa4", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a/../b", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a/.b", DX_ROW_CANONICAL },
    { E, "http", "example.com", "/a/.", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a\\b", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a#b", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a?", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a?b#c", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a?b&a", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a?a&b", DX_ROW_CANONICAL },
    { E, "http", "example.com", "/a?'", DX_ROW_PATH_QUERY },
    { E, "http", "example.com", "/a ", DX_ROW_PATH_QUERY },
};

static enum dx_row_fault fault_of(struct dx_row_form *form, size_t i)
{
    const struct dx_row_columns row = { dx_span_str(rows[i].domain), dx_span_str(rows[i].scheme),
                                        dx_span_str(rows[i].host),
                                        dx_span_str(rows[i].path_query) };

    return dx_row_form_check(form, &row);
}

static void check_table(struct dx_row_form *form)
{
    size_t n = sizeof rows / sizeof rows[0];

    for (size_t i = 0; i < n; i++)
        EXPECT(fault_of(form, i) == rows[i].want, "row %zu: %s://%s%s: %s", i, rows[i].scheme,
               rows[i].host, rows[i].path_query, dx_row_fault_text(fault_of(form, i)));
    for (size_t i = n; i-- > 0;) /* what is remembered of one row must not speak for another */
        EXPECT(fault_of(form, i) == rows[i].want, "row %zu, in the other direction", i);
}

static void check_bytes(struct dx_row_form *form)
{
    static const uint8_t nul_host[] = "www.example.com\0.evil.example.com";
    static const uint8_t nul_path[] = "/a\0b";
    static uint8_t long_path[2 * DX_URL_MAX];
    struct dx_row_columns row = { dx_span_str(E), dx_span_str("http"),
                                  dx_span_of(nul_host, sizeof nul_host - 1), dx_span_str("/") };

    EXPECT(dx_row_form_check(form, &row) == DX_ROW_HOST, "NUL in the host");
    row.host = dx_span_str(E);
    row.path_query = dx_span_of(nul_path, sizeof nul_path - 1);
    EXPECT(dx_row_form_check(form, &row) == DX_ROW_PATH_QUERY, "NUL in the path");
    memset(long_path, '/' + 1, sizeof long_path);
    long_path[0] = '/';
    for (size_t size = DX_URL_MAX - 32; size <= sizeof long_path; size++) {
        bool fits = size + strlen("http://" E) <= DX_URL_MAX;

        row.path_query = dx_span_of(long_path, size);
        EXPECT(dx_row_form_check(form, &row) == (fits ? DX_ROW_CANONICAL : DX_ROW_TOO_LONG),
               "a path of %zu bytes", size);
    }
}

/* Texts made of what the rules are about, so that they often are canonical and often nearly. */
static void check_random(struct dx_row_form *form, struct dx_canon *canon)
{
    static const char *const pieces[] = { "/",   "//",   ".", "..",  "a", "%41", "%2F",
                                          "%2f", "%",    "?", "&",   "=", "#",   " ",
                                          "\\",  "\xff", "'", "b=1", "~", "\t" };
    uint64_t state = 42;
    unsigned canonical = 0;

    for (unsigned i = 0; i < 200000; i++) {
        char path[256] = "/";
        char whole[512];
        enum dx_reject why;
        struct dx_url url;
        struct dx_row_columns row;
        bool want;

        for (unsigned k = 0; k < 1 + i % 7; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            (void)strcat(path, pieces[(state >> 33) % (sizeof pieces / sizeof pieces[0])]);
        }
        (void)snprintf(whole, sizeof whole, "http://www.example.com%s", path);
        want = dx_canon_url(canon, dx_span_str(whole), &url, &why) == 1 &&
               dx_span_equal(url.path_query, dx_span_str(path));
        row = (struct dx_row_columns){ dx_span_str(E), dx_span_str("http"), dx_span_str("www." E),
                                       dx_span_str(path) };
        canonical += want;
        EXPECT((dx_row_form_check(form, &row) == DX_ROW_CANONICAL) == want, "\"%s\": %d", path,
               want);
        EXPECT(!dx_path_query_is_plain(row.path_query) || want, "plain: \"%s\"", path);
    }
    EXPECT(canonical > 10000 && canonical < 190000, "%u of them are canonical", canonical);
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_form *form = NULL;
    struct dx_canon *canon = NULL;
    struct dx_psl *psl = NULL;

    if (dx_psl_new(&psl, dx_span_str(list), &err) < 0 || dx_canon_new(&canon, psl, &err) < 0 ||
        dx_row_form_new(&form, psl, &err) < 0)
        return 1;
    check_table(form);
    check_bytes(form);
    check_random(form, canon);
    dx_row_form_free(&form);
    dx_row_form_free(&form);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    return failures > 0;
}
