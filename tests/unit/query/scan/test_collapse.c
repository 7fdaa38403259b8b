/* SPDX-License-Identifier: Apache-2.0
 * Words of collapse=, and values of rows. */
#include "query/scan/collapse.h"

#include "tests/support/damage.h"

static unsigned failures;

static void check_words(void)
{
    static const struct {
        const char *text;
        enum dx_collapse kind;
        unsigned digits;
    } words[] = { { "url", DX_COLLAPSE_URL, 0 },       { "host", DX_COLLAPSE_HOST, 0 },
                  { "digest", DX_COLLAPSE_DIGEST, 0 }, { "time:4", DX_COLLAPSE_TIME, 4 },
                  { "time:14", DX_COLLAPSE_TIME, 14 }, { "", DX_COLLAPSE_NONE, 0 },
                  { "time", DX_COLLAPSE_NONE, 0 },     { "time:", DX_COLLAPSE_NONE, 0 },
                  { "time:3", DX_COLLAPSE_NONE, 0 },   { "time:15", DX_COLLAPSE_NONE, 0 },
                  { "time:08", DX_COLLAPSE_NONE, 0 },  { "time:x", DX_COLLAPSE_NONE, 0 },
                  { "time:5/", DX_COLLAPSE_NONE, 0 },  { "time:5:", DX_COLLAPSE_NONE, 0 },
                  { "time:104", DX_COLLAPSE_NONE, 0 }, { "URL", DX_COLLAPSE_NONE, 0 },
                  { "urls", DX_COLLAPSE_NONE, 0 } };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        enum dx_collapse kind;
        unsigned digits;
        bool ok = dx_collapse_parse(dx_span_str(words[i].text), &kind, &digits);

        EXPECT(ok == (words[i].kind != DX_COLLAPSE_NONE) && kind == words[i].kind, "%s",
               words[i].text);
        EXPECT(!ok || digits == words[i].digits, "%s: %u", words[i].text, digits);
    }
}

static void check_values(void)
{
    const int64_t ts_us = INT64_C(1718352930) * 1000000 + 5; /* 2024-06-14T08:15:30.000005Z */
    const struct dx_collapse_of row = { dx_span_str("h.com:81"), dx_span_str("/p?q"), &ts_us,
                                        dx_span_str("ABC") };
    const struct dx_collapse_of bare = { row.host, row.path_query, NULL, { NULL, 0 } };
    static const struct {
        enum dx_collapse kind;
        unsigned digits;
        const char *want;
        bool of_bare;
    } values[] = { { DX_COLLAPSE_URL, 0, "h.com:81/p?q", true },
                   { DX_COLLAPSE_HOST, 0, "h.com:81", true },
                   { DX_COLLAPSE_DIGEST, 0, "ABC", false },
                   { DX_COLLAPSE_TIME, 4, "2024", false },
                   { DX_COLLAPSE_TIME, 9, "202406140", false },
                   { DX_COLLAPSE_TIME, 14, "20240614081530", false } };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct dx_buf b = DX_BUF_INIT(100);

        EXPECT(dx_collapse_value(values[i].kind, values[i].digits, &row, &b) &&
                   dx_span_equal(dx_span_of(b.data, b.size), dx_span_str(values[i].want)),
               "%s", values[i].want);
        dx_buf_clear(&b);
        EXPECT(dx_collapse_value(values[i].kind, values[i].digits, &bare, &b) == values[i].of_bare,
               "%s", values[i].want);
        dx_buf_release(&b);
    }
}

static const struct dx_span none = { NULL, 0 };

/* The row that was taken last: by its value, or by the digest of it that a cursor holds. */
static void check_last(void)
{
    struct dx_cursor_position first = { .given = true }, again = { .given = true };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_collapse_last l;
    const struct dx_span a = dx_span_str("a.com/"), b = dx_span_str("b.com/");

    dx_collapse_last_init(&l, 100);
    EXPECT(dx_collapse_last_like(&l, true, a, &err) == 0, "there is none yet");
    EXPECT(dx_collapse_last_put(&l, &first, &err) == DX_OK && !first.has_value, "no value");
    EXPECT(dx_collapse_last_take(&l, true, a, &err) == DX_OK &&
               dx_collapse_last_like(&l, true, a, &err) == 1 &&
               dx_collapse_last_like(&l, true, b, &err) == 0 &&
               dx_collapse_last_like(&l, false, none, &err) == 0,
           "by its value");
    EXPECT(dx_collapse_last_put(&l, &first, &err) == DX_OK && first.has_value, "into a cursor");
    dx_collapse_last_go_on(&l, first.value);
    EXPECT(dx_collapse_last_like(&l, true, a, &err) == 1 &&
               dx_collapse_last_like(&l, true, b, &err) == 0 &&
               dx_collapse_last_like(&l, true, dx_span_of(first.value, sizeof first.value), &err) ==
                   0,
           "by its digest");
    EXPECT(dx_collapse_last_put(&l, &again, &err) == DX_OK && again.has_value &&
               memcmp(again.value, first.value, sizeof first.value) == 0,
           "the same cursor where no row was taken between");
    EXPECT(dx_collapse_last_take(&l, true, none, &err) == DX_OK &&
               dx_collapse_last_like(&l, true, none, &err) == 1,
           "an empty value is one");
    EXPECT(dx_collapse_last_take(&l, false, none, &err) == DX_OK &&
               dx_collapse_last_like(&l, true, none, &err) == 0,
           "a row without a value is like no other");
    dx_collapse_last_release(&l);
}

static void check_long(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_collapse_last l;
    const struct dx_span a = dx_span_str("a.com/");

    dx_collapse_last_init(&l, 3);
    EXPECT(dx_collapse_last_take(&l, true, a, &err) < 0 &&
               dx_collapse_last_like(&l, true, a, &err) < 0,
           "longer than there is room: %s", err.text);
    dx_collapse_last_release(&l);
}

int main(void)
{
    check_last();
    check_long();
    check_words();
    check_values();
    return failures == 0 ? 0 : 1;
}
