/* SPDX-License-Identifier: Apache-2.0
 * Filters of rows: what may be asked, which rows are taken, and that a packed one is the same
 * again, and nothing else is one.
 */
#include "query/rows/row_filter.h"

#include "query/answers/answer.h"
#include "query/rows/listing.h"
#include "query/view/problem.h"
#include "tests/support/damage.h"

static unsigned failures;

static struct dx_span span(const char *text)
{
    return text == NULL ? dx_span_of(NULL, 0) : dx_span_str(text);
}

static const struct {
    const char *tag, *mime, *prefix;
    bool good;
} asked[] = {
    { "news", NULL, NULL, true },
    { "a \"b\" / \\", "text/*", "/", true },
    { NULL, "application/vnd.x+json", NULL, true },
    { "", NULL, NULL, false },
    { "\xff", NULL, NULL, false },
    { "a\nb", NULL, NULL, false },
    { NULL, "", NULL, false },
    { NULL, "text", NULL, false },
    { NULL, "text/", NULL, false },
    { NULL, "/html", NULL, false },
    { NULL, "*/*", NULL, false },
    { NULL, "text/html; q=1", NULL, false },
    { NULL, "text/a/b", NULL, false },
    { NULL, NULL, "", false },
    { NULL, NULL, "a/", false },
};

static void check_asked(void)
{
    struct dx_problem problem;
    char longest[DX_ROW_FILTER_MAX];

    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct dx_row_filter f = { .tag = span(asked[i].tag),
                                   .mime = span(asked[i].mime),
                                   .prefix = span(asked[i].prefix) };

        EXPECT(dx_row_filter_any(&f), "row %zu", i);
        EXPECT(dx_row_filter_check(&f, &problem) == asked[i].good, "row %zu", i);
    }
    memset(longest, '/', sizeof longest);
    for (size_t n = DX_ROW_FILTER_TEXT - 5; n <= DX_ROW_FILTER_MAX; n++) {
        struct dx_row_filter f = { .prefix = dx_span_of((const uint8_t *)longest, n) };

        EXPECT(dx_row_filter_check(&f, &problem) == (n <= DX_ROW_FILTER_TEXT), "%zu bytes", n);
    }
}

static const struct {
    const char *tag, *mime, *prefix; /* of the filter */
    const char *tags, *type, *path;  /* of the row */
    bool takes;
} rows[] = {
    { "news", NULL, NULL, "[\"a\",\"news\"]", NULL, "/", true },
    { "news", NULL, NULL, " [ \"a\" ,\n\"news\" ] ", NULL, "/", true },
    { "news", NULL, NULL, "[\"ne\\u0077s\"]", NULL, "/", true },
    { "news", NULL, NULL, "[\"News\", \"new\", \"news \"]", NULL, "/", false },
    { "news", NULL, NULL, "[\"news\", 1]", NULL, "/", false },
    { "news", NULL, NULL, "[\"news\"", NULL, "/", false },
    { "news", NULL, NULL, ",\"news\"]", NULL, "/", false },
    { "news", NULL, NULL, "news", NULL, "/", false },
    { "news", NULL, NULL, "[]", NULL, "/", false },
    { "news", NULL, NULL, NULL, NULL, "/", false },
    { "\xc3\xa9\"", NULL, NULL, "[\"\\u00e9\\\"\"]", NULL, "/", true },
    { NULL, "text/html", NULL, NULL, "text/html", "/", true },
    { NULL, "Text/HTML", NULL, NULL, " tEXT/html ; charset=x", "/", true },
    { NULL, "text/*", NULL, NULL, "text/plain;q", "/", true },
    { NULL, "text/*", NULL, NULL, "text/", "/", false },
    { NULL, "text/*", NULL, NULL, "text", "/", false },
    { NULL, "text/*", NULL, NULL, "textual/x", "/", false },
    { NULL, "text/html", NULL, NULL, "text/htmlx", "/", false },
    { NULL, "text/html", NULL, NULL, "next/html", "/", false },
    { NULL, "text/html", NULL, NULL, "", "/", false },
    { NULL, "text/html", NULL, NULL, NULL, "/", false },
    { NULL, NULL, "/a", NULL, NULL, "/a", true },
    { NULL, NULL, "/a", NULL, NULL, "/ab?c", true },
    { NULL, NULL, "/a", NULL, NULL, "/A", false },
    { NULL, NULL, "/a", NULL, NULL, "/", false },
    { "t", "a/b", "/x", "[\"t\"]", "a/b", "/x/y", true },
    { "t", "a/b", "/x", "[\"u\"]", "a/b", "/x/y", false },
    { "t", "a/b", "/x", "[\"t\"]", "a/c", "/x/y", false },
    { "t", "a/b", "/x", "[\"t\"]", "a/b", "/y", false },
    { NULL, NULL, NULL, NULL, NULL, "/", true },
};

static void check_rows(void)
{
    struct dx_buf scratch = DX_BUF_INIT(64 << 10);
    struct dx_listing_row row = { .extra_count = 3 };

    row.extra[0].name = dx_span_str("title");
    row.extra[0].value = dx_span_str("[\"news\"]");
    row.extra[1].name = dx_span_str("tags");
    row.extra[2].name = dx_span_str("content_type");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_row_filter f = { .tag = span(rows[i].tag),
                                         .mime = span(rows[i].mime),
                                         .prefix = span(rows[i].prefix) };

        row.extra[1].value = span(rows[i].tags);
        row.extra[2].value = span(rows[i].type);
        row.path_query = span(rows[i].path);
        EXPECT(dx_row_filter_takes(&f, &row, &scratch, NULL) == rows[i].takes, "row %zu", i);
    }
    dx_buf_release(&scratch);
}

/* Times, status, languages, extras. */
static void check_rest(void)
{
    static const struct {
        const char *from, *to, *status, *lang, *extra;
        bool good, takes; /* 2019-07-04T10:20:30Z, 200, de, digest "A:B", no languages */
    } more[] = {
        { "2019", NULL, NULL, NULL, NULL, true, true },
        { "2020", NULL, NULL, NULL, NULL, true, false },
        { NULL, "2019", NULL, NULL, NULL, true, true },
        { NULL, "2019-07-03", NULL, NULL, NULL, true, false },
        { "2019-07-04T10:20:30", "20190704102030", NULL, NULL, NULL, true, true },
        { "20190704102031", NULL, NULL, NULL, NULL, true, false },
        { "2020", "2019", NULL, NULL, NULL, false, false },
        { "", NULL, NULL, NULL, NULL, false, false },
        { NULL, "soon", NULL, NULL, NULL, false, false },
        { NULL, NULL, "200", NULL, NULL, true, true },
        { NULL, NULL, "20", NULL, NULL, true, false },
        { NULL, NULL, "", NULL, NULL, false, false },
        { NULL, NULL, NULL, "DE", NULL, true, true },
        { NULL, NULL, NULL, "d", NULL, true, false },
        { NULL, NULL, NULL, "", NULL, false, false },
        { NULL, NULL, NULL, NULL, "digest:A:B", true, true },
        { NULL, NULL, NULL, NULL, "digest:A", true, false },
        { NULL, NULL, NULL, NULL, "!digest:A:B", true, false },
        { NULL, NULL, NULL, NULL, "!none:x", true, true },
        { NULL, NULL, NULL, NULL, "none:", true, false },
        { NULL, NULL, NULL, NULL, "=digest:A:B", true, true },
        { NULL, NULL, NULL, NULL, "!=digest:A:B", true, false },
        { NULL, NULL, NULL, NULL, "=lang:de", true, true },
        { NULL, NULL, NULL, NULL, "=ts:2019-07-04T10:20:30Z", true, true },
        { NULL, NULL, NULL, NULL, "~ts:^2019-0[67]", true, true },
        { NULL, NULL, NULL, NULL, "~ts:^2019-0[67]$", true, false },
        { NULL, NULL, NULL, NULL, "~digest:a", true, false },
        { NULL, NULL, NULL, NULL, "!~digest:a", true, true },
        { NULL, NULL, NULL, NULL, "~none:", true, false },
        { NULL, NULL, NULL, NULL, "!~none:", true, true },
        { NULL, NULL, NULL, NULL, "~url:^https://www[.]h[.]com/p[?]q$", true, true },
        { NULL, NULL, NULL, NULL, "=url:https://www.h.com/p?q", true, true },
        { NULL, NULL, NULL, NULL, "=host:www.h.com", true, true },
        { NULL, NULL, NULL, NULL, "host:www.h.com", true, false },
        { NULL, NULL, NULL, NULL, "~path:^/p", true, true },
        { NULL, NULL, NULL, NULL, "=path:/p", true, false },
        { NULL, NULL, NULL, NULL, "~url:(", false, false },
        { NULL, NULL, NULL, NULL, "~url:(a)\\1", false, false },
        { NULL, NULL, NULL, NULL, "~url", false, false },
        { NULL, NULL, NULL, NULL, "!=:x", false, false },
        { NULL, NULL, NULL, NULL, "~locator:x", false, false },
        { NULL, NULL, NULL, NULL, "digest", false, false },
        { NULL, NULL, NULL, NULL, "!:x", false, false },
        { NULL, NULL, NULL, NULL, "", false, false },
        { NULL, NULL, NULL, NULL, "locator:x", false, false },
        { NULL, NULL, NULL, NULL, "!requested_url:x", false, false },
        { "2019", "2019", "200", "de", "digest:A:B", true, true },
        { "2019", "2019", "200", "fr", "digest:A:B", true, false },
    };
    struct dx_listing_row row = { .scheme = dx_span_str("https"),
                                  .host = dx_span_str("www.h.com"),
                                  .path_query = dx_span_str("/p?q"),
                                  .has_ts = true,
                                  .ts_us = 1562235630000000,
                                  .extra_count = 3 };
    struct dx_buf scratch = DX_BUF_INIT(100);

    row.extra[0].name = dx_span_str("status");
    row.extra[0].value = dx_span_str("200");
    row.extra[1].name = dx_span_str("language");
    row.extra[1].value = dx_span_str("de");
    row.extra[2].name = dx_span_str("digest");
    row.extra[2].value = dx_span_str("A:B");
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        struct dx_row_filter f = { .from = span(more[i].from),
                                   .to = span(more[i].to),
                                   .status = span(more[i].status),
                                   .lang = span(more[i].lang),
                                   .terms = { span(more[i].extra) } };
        uint8_t packed[DX_ROW_FILTER_MAX];
        struct dx_row_regexes regexes;
        struct dx_row_filter back;
        struct dx_problem problem;

        EXPECT(dx_row_filter_check(&f, &problem) == more[i].good, "row %zu", i);
        if (!more[i].good)
            continue;
        EXPECT(dx_row_filter_compile(&f, &regexes, &problem) == 1, "row %zu", i);
        EXPECT(dx_row_filter_takes(&f, &row, &scratch, NULL) == more[i].takes, "row %zu", i);
        EXPECT(dx_row_filter_unpack(dx_span_of(packed, dx_row_filter_pack(&f, packed)), &back),
               "row %zu", i);
        back.regexes = &regexes;
        EXPECT(dx_row_filter_takes(&back, &row, &scratch, NULL) == more[i].takes, "row %zu", i);
        dx_row_regexes_release(&regexes);
        EXPECT(!more[i].takes || dx_row_filter_may_take(&f, true, row.ts_us, row.ts_us), "row %zu",
               i);
    }
    row.extra[1].name = dx_span_str("languages");
    for (const char *const *list =
             (const char *const[]){ "eng, DEU", "[\"eng\",\"DEU\"]", "[\"eng\", \"DEU\"]", NULL };
         *list != NULL; list++) {
        row.extra[1].value = dx_span_str(*list);
        for (const char *const *lang = (const char *const[]){ "deu", "eng", "en", NULL };
             *lang != NULL; lang++) {
            const struct dx_row_filter f = { .lang = dx_span_str(*lang) };

            EXPECT(dx_row_filter_takes(&f, &row, &scratch, NULL) == (strlen(*lang) == 3), "%s",
                   *lang);
        }
    }
    row.has_ts = false;
    EXPECT(!dx_row_filter_takes(&(struct dx_row_filter){ .from = dx_span_str("0000"),
                                                         .from_us = INT64_MIN,
                                                         .to_us = INT64_MAX },
                                &row, &scratch, NULL),
           "a row without a time");
    dx_buf_release(&scratch);
}

static void check_sides(void)
{
    const struct dx_row_filter f = { .prefix = dx_span_str("/b/") };
    const struct dx_row_filter none = { .prefix = { NULL, 0 } };
    static const struct {
        const char *path;
        enum dx_row_side side;
    } paths[] = { { "/", DX_ROW_BEFORE },     { "/a", DX_ROW_BEFORE },
                  { "/b", DX_ROW_BEFORE },    { "/b.", DX_ROW_BEFORE },
                  { "/b/", DX_ROW_WITHIN },   { "/b/z", DX_ROW_WITHIN },
                  { "/b0", DX_ROW_BEHIND },   { "/c", DX_ROW_BEHIND },
                  { "", DX_ROW_BEFORE },      { "/b/\xff", DX_ROW_WITHIN },
                  { "/b\xff", DX_ROW_BEHIND } };

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        EXPECT(dx_row_filter_side(&f, dx_span_str("h.com"), dx_span_str(paths[i].path)) ==
                   paths[i].side,
               "%s", paths[i].path);
        EXPECT(dx_row_filter_side(&none, dx_span_str("h.com"), dx_span_str(paths[i].path)) ==
                   DX_ROW_WITHIN,
               "%s", paths[i].path);
    }
}

static bool same(struct dx_span a, struct dx_span b)
{
    return (a.data == NULL) == (b.data == NULL) && dx_span_equal(a, b);
}

static void check_packed(void)
{
    static const char *const parts[] = { NULL, "a", "/b" };
    uint8_t packed[27][DX_ROW_FILTER_MAX];
    size_t size[27];

    for (size_t i = 0; i < 27; i++) {
        const struct dx_row_filter f = { .tag = span(parts[i % 3]),
                                         .mime = span(parts[i / 3 % 3]),
                                         .prefix = span(parts[i / 9]) };
        struct dx_row_filter back;

        size[i] = dx_row_filter_pack(&f, packed[i]);
        EXPECT((size[i] > 0) == dx_row_filter_any(&f), "%zu", i);
        EXPECT(dx_row_filter_unpack(dx_span_of(packed[i], size[i]), &back) &&
                   same(f.tag, back.tag) && same(f.mime, back.mime) && same(f.prefix, back.prefix),
               "%zu", i);
        for (size_t j = 0; j < i; j++)
            EXPECT(size[i] != size[j] || memcmp(packed[i], packed[j], size[i]) != 0, "%zu and %zu",
                   i, j);
        for (size_t n = 1; n < size[i]; n++)
            EXPECT(!dx_row_filter_unpack(dx_span_of(packed[i], n), &back), "%zu cut at %zu", i, n);
        packed[i][size[i]] = 0;
        EXPECT(!dx_row_filter_unpack(dx_span_of(packed[i], size[i] + 1), &back), "%zu and more", i);
    }
}

int main(void)
{
    check_asked();
    check_rows();
    check_rest();
    check_sides();
    check_packed();
    return failures > 0;
}
