/* SPDX-License-Identifier: Apache-2.0
 * test_row_writer.c - texts of rows in each line format, what is refused, and where an answer goes on.
 */
#include "query/formats/row_writer.h"

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(true_, ...)                            \
    do {                                             \
        if (!(true_)) {                              \
            failures++;                              \
            (void)fprintf(stderr, "%s: ", __func__); \
            (void)fprintf(stderr, __VA_ARGS__);      \
            (void)fprintf(stderr, "\n");             \
        }                                            \
    } while (0)

static const struct dx_row_column columns[] = {
    { "url", DX_COLUMN_TEXT }, { "ts", DX_COLUMN_TIME },           { "extras", DX_COLUMN_JSON },
    { "n", DX_COLUMN_U64 },    { "content_type", DX_COLUMN_TEXT }, { "locator", DX_COLUMN_TEXT },
};

#define ONE(row) "{\"total\":1,\"items\":[" row "],\"next_offset\":null,\"complete\":true}"
#define HEAD "url,ts,extras,n,content_type,locator\r\n"

/* want NULL: it is refused. */
static const struct {
    enum dx_row_format format;
    const char *body, *want;
} rows[] = {
    { DX_ROWS_NDJSON, ONE(""), "" },
    { DX_ROWS_NDJSON, ONE("{\"a\":\"}\\\"{\"},{\"b\":[{}]}"),
      "{\"a\":\"}\\\"{\"}\n{\"b\":[{}]}\n" },
    { DX_ROWS_NDJSON, "{\"items\":[{\"a\":1}", NULL },
    { DX_ROWS_NDJSON, "{\"items\":[{\"a\":1},]}", NULL },
    { DX_ROWS_NDJSON, "{\"items\":[1]}", NULL },
    { DX_ROWS_NDJSON, "{\"items\":{}}", NULL },
    { DX_ROWS_NDJSON, "{\"others\":[]}", NULL },
    { DX_ROWS_NDJSON, "", NULL },
    { DX_ROWS_CSV, ONE(""), HEAD },
    { DX_ROWS_CSV, ONE("{\"url\":\"a,\\\"b\\u00e9\\n\",\"ts\":null,\"extras\":{\"x\":1},\"n\":7}"),
      HEAD "\"a,\"\"b\xc3\xa9\n\",,\"{\"\"x\"\":1}\",7,,\r\n" },
    { DX_ROWS_CSV, ONE("{\"n\":1,\"url\":\"\\ud83d\\ude00\\/\"}"),
      HEAD "\xf0\x9f\x98\x80/,,,1,,\r\n" },
    { DX_ROWS_CSV, ONE("{\"url\":\"\\ud83d\"}"), NULL },
    { DX_ROWS_CSV, ONE("{\"url\":\"\\x\"}"), NULL },
    { DX_ROWS_CSV, ONE("{\"other\":1}"), NULL },
    { DX_ROWS_URLS, ONE("{\"url\":\"http://a.com/\"}"), "http://a.com/\n" },
    { DX_ROWS_CDX, ONE(""), " CDX N b a m s k r M S V g\n" },
    { DX_ROWS_CDX,
      ONE("{\"url\":\"https://www.a.com:8080/"
          "B?c\",\"ts\":\"2024-06-14T08:15:30.5Z\",\"extras\":{\"status\":\"200\","
          "\"digest\":\"x y\"},\"content_type\":\"text/html; "
          "a\",\"locator\":\"d/e#f.gz#warc=12+34\"}"),
      " CDX N b a m s k r M S V g\ncom,a:8080)/b?c 20240614081530 https://www.a.com:8080/B?c "
      "text/html 200 x%20y - - 34 12 d/e#f.gz\n" },
    { DX_ROWS_CDX, ONE("{\"url\":\"https://a.com/\",\"ts\":null,\"locator\":\"a#line=1\"}"),
      " CDX N b a m s k r M S V g\ncom,a)/ - https://a.com/ - - - - - - - -\n" },
    { DX_ROWS_CDX, ONE("{\"url\":\"a\"}"), NULL },
    { DX_ROWS_CDXJ,
      ONE("{\"url\":\"https://a.com/"
          "\",\"ts\":\"2024-06-14T08:15:30Z\",\"locator\":\"e\\\"#warc=12\"}"),
      "com,a)/ 20240614081530 {\"url\": \"https://a.com/\", \"offset\": \"12\", \"filename\": "
      "\"e\\\"\"}\n" },
    { DX_ROWS_ARROW, ONE("{\"n\":-1}"), NULL },
    { DX_ROWS_ARROW, ONE("{\"n\":18446744073709551616}"), NULL },
    { DX_ROWS_ARROW, ONE("{\"ts\":\"yesterday\"}"), NULL },
    { DX_ROWS_PARQUET, ONE("{\"url\":1}"), NULL },
};

static int convert(enum dx_row_format format, const char *body, uint64_t most, struct dx_buf *out,
                   struct dx_row_page *page)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_writer *w;
    int rc = dx_row_writer_new(&w, format, columns, sizeof columns / sizeof *columns, &err);

    if (rc == DX_OK)
        rc = dx_row_writer_page(w, dx_span_str(body), "items", most, out, page, &err);
    if (rc == DX_OK)
        rc = dx_row_writer_end(w, out, &err);
    dx_row_writer_free(&w);
    return rc;
}

static void check_texts(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf out = DX_BUF_INIT(4096);
        struct dx_row_page page;
        int rc = convert(rows[i].format, rows[i].body, UINT64_MAX, &out, &page);
        bool good = rows[i].want == NULL
                        ? rc < 0
                        : rc == DX_OK && dx_span_equal(dx_span_of(out.data, out.size),
                                                       dx_span_str(rows[i].want));

        CHECK(good, "row %zu, %s: %d, '%.*s'", i, rows[i].body, rc, (int)out.size,
              (const char *)out.data);
        dx_buf_release(&out);
    }
}

static void check_next(void)
{
    static const char body[] =
        "{\"next_cursor\":\"no\",\"items\":[{\"n\":1},{\"n\":2},{\"n\":3}],"
        "\"next_offset\":18,\"next_cursor\":\"abc\",\"x\":{\"next_cursor\":\"y\"}}";
    struct dx_buf out = DX_BUF_INIT(4096);
    struct dx_row_page page = { .row_count = 0 };
    int rc = convert(DX_ROWS_NDJSON, body, 2, &out, &page);

    CHECK(rc == DX_OK && page.row_count == 2 && out.size == 16, "%d, %zu bytes", rc, out.size);
    CHECK(page.next.has_offset && page.next.offset == 18, "offset");
    CHECK(dx_span_equal(page.next.cursor, dx_span_str("abc")), "cursor");
    dx_buf_release(&out);
}

/* Lines of a page take the room of its JSON, and not twice that: a block of a megabyte would be memory from the system for each page. */
static void check_room(void)
{
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_buf out = DX_BUF_INIT(1 << 26);
    struct dx_row_page page;

    dx_buf_str(&body, "{\"items\":[{\"n\":0}");
    for (unsigned i = 1; i < 60000; i++)
        dx_buf_fmt(&body, ",{\"n\":%u}", 100000 + i);
    dx_buf_str(&body, "],\"next_offset\":null}");
    dx_buf_u8(&body, '\0');
    CHECK(convert(DX_ROWS_NDJSON, (const char *)body.data, UINT64_MAX, &out, &page) == 0 &&
              out.size > 512 << 10 && out.capacity <= body.size,
          "%zu bytes in %zu, of %zu", out.size, out.capacity, body.size);
    dx_buf_release(&body);
    dx_buf_release(&out);
}

int main(void)
{
    check_texts();
    check_next();
    check_room();
    return failures > 0;
}
