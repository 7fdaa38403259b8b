/* SPDX-License-Identifier: Apache-2.0
 * Records of plain text that locators lead to: the bytes asked for and no others, of the URL that is wanted, however JSON or CSV
 * writes it; any other text means that the file has changed.
 */
#include "builder/input/located/located_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/fail.h"

static int failures;
static char folder[] = "/tmp/dx-record-XXXXXX";

#define URL "http://a.com/x?y=1&z=2"

static const struct {
    const char *line;
    bool is_there;
} lines[] = {
    { URL, true },
    { URL " 200", true },
    { "200\t" URL "\tok", true },
    { "{\"url\":\"" URL "\"}", true },
    { "{\"url\":\"http:\\/\\/a.com\\/x?y=1&z=2\"}", true },
    { "{\"url\":\"http://a.com/x?y=1\\u0026z=2\"}", true },
    { "{\"url\":\"http://a.com/x?y=1\\u0026z\\u003d2\"}", true },
    { "{\"url\":\"\\u0068ttp://a.com/x?y=1&z=2\"}", true },
    { "{\"url\":\"http://a.com/x?y=1&z=\\u0032\"}", true },
    { "\"" URL "\",\"say \"\"hello\"\"\"", true },
    { "<a href='" URL "'>", true },
    { "<" URL ">", true },
    { "", false },
    { "http://a.com/x?y=1&z=", false },
    { "{\"url\":\"http://a.com/x?y=1\\u0027z=2\"}", false },
    { "{\"url\":\"http://a.com/x?y=1\\u0126z=2\"}", false }, /* not below U+0100 */
    /* another URL that begins so */
    { URL "3", false },
    { "{\"url\":\"" URL "/more\"}", false },
    { "{\"url\":\"http:\\/\\/a.com\\/x?y=1&z=2\\u0033\"}", false },
    { URL "3 " URL, true },
};

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        exit(1);
}

/* DX_OK and the text, or what is wrong. */
static int read_record(enum dx_locator_kind kind, uint64_t first, uint64_t second, size_t max_bytes,
                       const char *url, char text[256])
{
    struct dx_locator locator = { .kind = kind,
                                  .name = dx_span_str("file"),
                                  .place = { first, second } };
    struct dx_located_ask ask = { .locator = &locator, .base = folder, .max_bytes = max_bytes };
    struct dx_buf out = DX_BUF_INIT(4096);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (url != NULL)
        ask.url[ask.url_count++] = dx_span_str(url);
    rc = dx_located_record_read(&ask, &out, &err);
    (void)snprintf(text, 256, "%.*s", rc == DX_OK ? (int)out.size : 0, (const char *)out.data);
    dx_buf_release(&out);
    return rc;
}

static void check_wanted(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t size = strlen(lines[i].line);
        char content[256], got[256], want[256];
        int rc;

        (void)snprintf(content, sizeof content, "other\n%s\nother\n", lines[i].line);
        (void)snprintf(want, sizeof want, "%s\n", lines[i].line);
        write_file("file", content);
        if (size > 0) {
            rc = read_record(DX_LOCATOR_TEXT, strlen("other\n"), size, 4096, URL, got);
            CHECK(rc == (lines[i].is_there ? DX_OK : DX_E_CORRUPT), "row %zu: %d", i, rc);
            CHECK(rc != DX_OK || strcmp(got, want) == 0, "row %zu: '%s'", i, got);
        }
        rc = read_record(DX_LOCATOR_LINE, 2, 0, 4096, URL, got);
        CHECK(rc == (lines[i].is_there ? DX_OK : DX_E_CORRUPT), "row %zu, by number: %d", i, rc);
        CHECK(rc != DX_OK || strcmp(got, want) == 0, "row %zu, by number: '%s'", i, got);
    }
}

/* Lines by their numbers. */
static void check_numbers(void)
{
    static const struct {
        const char *content;
        uint64_t number;
        const char *want; /* NULL: there is none */
    } rows[] = {
        { "a\nb\nc\n", 1, "a\n" }, { "a\nb\nc\n", 3, "c\n" }, { "a\nb\nc\n", 4, NULL },
        { "a\nb\nc", 3, "c\n" },   { "a\nb\nc", 4, NULL },    { "a\r\nb\r\n", 2, "b\n" },
        { "a\n\nc\n", 2, "\n" },   { "", 1, NULL },           { "a", 1, "a\n" },
        { "a", 2, NULL },          { "a\n", 2, NULL },        { "\n\n\nd", 4, "d\n" },
        { "a\rb\n", 1, "a\rb\n" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char got[256];
        int rc;

        write_file("file", rows[i].content);
        rc = read_record(DX_LOCATOR_LINE, rows[i].number, 0, 4096, NULL, got);
        CHECK(rc == (rows[i].want != NULL ? DX_OK : DX_E_CORRUPT), "row %zu: %d", i, rc);
        CHECK(rows[i].want == NULL || strcmp(got, rows[i].want) == 0, "row %zu: '%s'", i, got);
    }
}

/* Exactly what --max-bytes allows, and bytes that the file does not have. */
static void check_bounds(void)
{
    char got[256];

    write_file("file", "0123456789");
    CHECK(read_record(DX_LOCATOR_TEXT, 2, 4, 4, NULL, got) == DX_OK && strcmp(got, "2345\n") == 0,
          "as many as may be: '%s'", got);
    CHECK(read_record(DX_LOCATOR_TEXT, 2, 5, 4, NULL, got) == DX_E_LIMIT, "one more");
    CHECK(read_record(DX_LOCATOR_TEXT, 6, 4, 64, NULL, got) == DX_OK && strcmp(got, "6789\n") == 0,
          "up to the end: '%s'", got);
    CHECK(read_record(DX_LOCATOR_TEXT, 6, 5, 64, NULL, got) < 0, "behind the end");
    CHECK(read_record(DX_LOCATOR_WARC, 0, 0, 64, NULL, got) == DX_E_CORRUPT, "not WARC");
    CHECK(read_record(DX_LOCATOR_WARC, 10, 0, 64, NULL, got) == DX_E_CORRUPT, "WARC at the end");
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(folder) == NULL)
        return 1;
    check_wanted();
    check_numbers();
    check_bounds();
    CHECK(dx_dir_remove(folder, &err) == DX_OK, "%s", err.text);
    return failures > 0;
}
