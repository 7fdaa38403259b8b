/* SPDX-License-Identifier: Apache-2.0
 * Strings of JSON are looked at eight bytes at a time: each byte at each place of the eight, and behind them, ends, stops
 * or passes the string as RFC 8259 says. Times of archives are read as their digits say.
 */
#include "builder/input/records/input_json.h"

#include "builder/input/records/input_time.h"
#include "tests/support/fail.h"

static int failures;

/* A string of `before` letters, the byte, and `behind` letters; 1 it is right, and the value is these. */
static int pick_with(unsigned byte, size_t before, size_t behind)
{
    struct dx_buf line = DX_BUF_INIT(1 << 10), want = DX_BUF_INIT(1 << 10),
                  scratch = DX_BUF_INIT(1 << 10);
    struct dx_json_path path;
    struct dx_json_value value;
    bool ok, as_written;

    if (dx_json_path_parse(&path, "u", NULL) < 0)
        return -2;
    for (size_t i = 0; i < before; i++)
        dx_buf_u8(&want, 'a');
    dx_buf_u8(&want, (uint8_t)byte);
    for (size_t i = 0; i < behind; i++)
        dx_buf_u8(&want, 'z');
    dx_buf_str(&line, "{\"u\":\"");
    dx_buf_append(&line, want.data, want.size);
    dx_buf_str(&line, "\"}");
    ok = dx_json_pick(dx_span_of(line.data, line.size), &path, 1, &value, &scratch);
    as_written = ok && value.kind == DX_JSON_STRING && value.text.size == want.size &&
                 memcmp(value.text.data, want.data, want.size) == 0;
    dx_buf_release(&line);
    dx_buf_release(&want);
    dx_buf_release(&scratch);
    return ok ? (as_written ? 1 : -1) : 0;
}

static void test_bytes_of_strings(void)
{
    for (unsigned byte = 0; byte < 256; byte++)
        for (size_t before = 0; before < 18; before++)
            for (size_t behind = 1; behind < 18; behind += 4) {
                /* of a backslash and 'z' nothing can be made; a quote ends the string too early */
                int want = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
                int got = pick_with(byte, before, behind);

                if (got != want)
                    FAIL("byte %02x behind %zu, before %zu: %d", byte, before, behind, got);
            }
}

/* Keys of every length beside each other, as they are, in capitals and with an escape. */
static void test_lengths_of_keys(void)
{
    static char name[40][48], line[4096];
    struct dx_json_path path[40];
    struct dx_json_value value[40];
    struct dx_buf scratch = DX_BUF_INIT(1 << 16);

    for (int form = 0; form < 3; form++) {
        size_t at = (size_t)sprintf(line, "{");

        for (int i = 0; i < 40; i++) {
            memset(name[i], form == 1 ? 'K' : 'k', (size_t)i + 1);
            at += (size_t)sprintf(line + at, "%s\"%s%.*s\":\"%d\"", i > 0 ? "," : "",
                                  form == 2 ? "\\u006b" : name[i] + i, i, name[i], i);
            memset(name[i], 'k', (size_t)i + 1);
            if (dx_json_path_parse(&path[i], name[i], NULL) < 0)
                FAIL("path %s", name[i]);
            path[i].any_case = form == 1;
        }
        (void)sprintf(line + at, "}");
        if (!dx_json_pick(dx_span_str(line), path, 40, value, &scratch))
            FAIL("%s", line);
        for (int i = 0; i < 40; i++) {
            char want[8];

            (void)sprintf(want, "%d", i);
            if (value[i].kind != DX_JSON_STRING || !dx_span_equal(value[i].text, dx_span_str(want)))
                FAIL("form %d: key of %d bytes: a text of %zu bytes", form, i + 1,
                     value[i].text.size);
        }
    }
    dx_buf_release(&scratch);
}

static void test_archive_times(void)
{
    static const struct {
        const char *text;
        int64_t us; /* -1: no time */
    } rows[] = {
        { "20240229235958", INT64_C(1709251198000000) },
        { "20240229", INT64_C(1709164800000000) },
        { "19700101000001", INT64_C(1000000) },
        { "20230229000000", -1 },
        { "20241301000000", -1 },
        { "20240101240000", -1 },
        { "20240101006000", -1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t us = 0;
        bool ok = dx_input_time(dx_span_str(rows[i].text), DX_TS_AUTO, &us);

        if (ok != (rows[i].us >= 0) || (ok && us != rows[i].us))
            FAIL("%s: %d, %lld", rows[i].text, ok, (long long)us);
    }
}

struct one {
    const char *line;
    const char *path;
    const char *want; /* NULL: malformed; "": absent or null */
};

static void check_one(const struct one *row)
{
    struct dx_buf scratch = DX_BUF_INIT(1 << 20);
    struct dx_json_path path;
    struct dx_json_value value;
    bool ok;

    if (dx_json_path_parse(&path, row->path, NULL) < 0)
        FAIL("path %s", row->path);
    ok = dx_json_pick(dx_span_str(row->line), &path, 1, &value, &scratch);
    CHECK(ok == (row->want != NULL), "%.100s: %d", row->line, ok);
    if (ok && row->want != NULL)
        CHECK(dx_span_equal(dx_json_has_text(&value) ? value.text : dx_span_str(""),
                            dx_span_str(row->want)),
              "%.100s, %s: %.*s", row->line, row->path, (int)value.text.size,
              (const char *)value.text.data);
    dx_buf_release(&scratch);
}

/* Blanks, escapes, and objects that are the text of a string. */
static void test_values(void)
{
    static const struct one rows[] = {
        { "\r\n\t {\r\"a\"\r:\r1\r}\r", "a", "1" },
        { "{\"a\":1}x", "a", NULL },
        { "", "a", NULL },
        { "{\"a\":\"\\ud83d\\ude00\"}", "a", "\xf0\x9f\x98\x80" },
        { "{\"a\":\"\\ud83d\\u0041\"}", "a", NULL },
        { "{\"a\":\"\\ud83d\\ue000\"}", "a", NULL },
        { "{\"a\":\"\\ud83d\"}", "a", NULL },
        { "{\"a\":\"\\ude00\"}", "a", NULL },
        { "{\"a\":\"{\\\"b\\\":7}\"}", "a.b", "7" },
        { "{\"a\":\"  {\\\"b\\\":7} \"}", "a.b", "7" },
        { "{\"a\":\"{\\\"b\\\":7\"}", "a.b", "" },
        { "{\"a\":\" \"}", "a.b", "" },
        { "{\"a\":\"[7]\"}", "a.b", "" },
        { "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"c\\\\\\\":7}\\\"}\"}", "a.b.c", "" }, /* once */
        { "{\"a\":1,\"a\":2}", "a", "2" },
        { "{\"a\":{\"b\":1},\"a\":3}", "a.b", "" },
        { "{\"a\":tru}", "b", NULL },
        { "{\"a\":01}", "b", NULL },
        { "{\"a\" 1}", "b", NULL },
        { "{\"a\":1,}", "b", NULL },
        { "[{\"a\":1}]", "a", NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_one(&rows[i]);
}

/* Arrays in each other: as many as are read, and one more. Objects deeper than any path goes. */
static void test_nesting(void)
{
    static char line[2 * DX_JSON_NESTING_MAX + 64];

    for (size_t depth = DX_JSON_NESTING_MAX - 2; depth <= DX_JSON_NESTING_MAX; depth++) {
        struct one row = { line, "b", depth < DX_JSON_NESTING_MAX ? "7" : NULL };
        size_t at = (size_t)sprintf(line, "{\"a\":");

        memset(line + at, '[', depth);
        memset(line + at + depth, ']', depth);
        (void)sprintf(line + at + 2 * depth, ",\"b\":7}");
        check_one(&row);
    }
    line[0] = '\0';
    for (int i = 0; i < 20; i++)
        strcat(line, "{\"a\":");
    strcat(line, "5");
    for (int i = 0; i < 20; i++)
        strcat(line, "}");
    check_one(&(struct one){ line, "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.b", "" });
}

/* One value by itself, as it is an element of an array. */
static void test_value_of(void)
{
    static const struct {
        const char *text;
        bool ok;
        enum dx_json_kind kind;
    } rows[] = {
        { "7", true, DX_JSON_NUMBER },         { "null", true, DX_JSON_NULL },
        { "true", true, DX_JSON_BOOL },        { "\"\\u0061\"", true, DX_JSON_STRING },
        { "{\"a\":1}", true, DX_JSON_NESTED }, { "[1]", true, DX_JSON_NESTED },
        { "", false, DX_JSON_ABSENT },         { "x", false, DX_JSON_ABSENT },
        { "\"a", false, DX_JSON_ABSENT },      { "\"a\"x", false, DX_JSON_ABSENT },
    };
    struct dx_buf scratch = DX_BUF_INIT(1 << 10);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_json_value value;
        bool ok = dx_json_value_of(dx_span_str(rows[i].text), &value, &scratch);

        CHECK(ok == rows[i].ok && (!ok || value.kind == rows[i].kind), "%s: %d, kind %d",
              rows[i].text, ok, (int)value.kind);
    }
    dx_buf_release(&scratch);
}

/* As many paths as are looked for at once, into two strings that hold objects. */
static void test_many_paths(void)
{
    static char text[DX_JSON_PATHS_MAX][16];
    struct dx_json_path path[DX_JSON_PATHS_MAX];
    struct dx_json_value value[DX_JSON_PATHS_MAX];
    struct dx_buf scratch = DX_BUF_INIT(1 << 16);

    for (int i = 0; i < DX_JSON_PATHS_MAX; i++) {
        (void)sprintf(text[i], "%s.k%d", i % 2 == 0 ? "a" : "b", i);
        if (dx_json_path_parse(&path[i], text[i], NULL) < 0)
            FAIL("path %s", text[i]);
    }
    if (!dx_json_pick(dx_span_str("{\"a\":\"{\\\"k0\\\":10,\\\"k126\\\":1126}\","
                                  "\"b\":\"{\\\"k1\\\":11,\\\"k127\\\":1127}\"}"),
                      path, DX_JSON_PATHS_MAX, value, &scratch))
        FAIL("it is well-formed");
    for (int i = 0; i < DX_JSON_PATHS_MAX; i++) {
        static const struct {
            int at;
            const char *want;
        } there[] = { { 0, "10" }, { 1, "11" }, { 126, "1126" }, { 127, "1127" } };
        const char *want = "";

        for (size_t k = 0; k < sizeof there / sizeof *there; k++)
            if (there[k].at == i)
                want = there[k].want;
        CHECK(dx_span_equal(dx_json_has_text(&value[i]) ? value[i].text : dx_span_str(""),
                            dx_span_str(want)),
              "%s: %.*s", text[i], (int)value[i].text.size, (const char *)value[i].text.data);
    }
    dx_buf_release(&scratch);
}

int main(void)
{
    test_values();
    test_nesting();
    test_value_of();
    test_many_paths();
    test_bytes_of_strings();
    test_lengths_of_keys();
    test_archive_times();
    return failures > 0;
}
