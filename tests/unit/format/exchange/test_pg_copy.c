/* SPDX-License-Identifier: Apache-2.0
 * Rows as COPY takes them: bytes against those of PostgreSQL's own text of the format, texts with
 * bytes that do not belong, times at their ends. And connection strings of which nothing may be
 * repeated.
 */
#include "format/exchange/pg_copy.h"

#include <stdio.h>

#include "builder/exchange/postgres/postgres_dsn.h"

static int failures;

#define CHECK(what)                                        \
    do {                                                   \
        if (!(what)) {                                     \
            printf("FAIL line %d: %s\n", __LINE__, #what); \
            failures++;                                    \
        }                                                  \
    } while (0)

static void expect(struct dx_buf *b, const char *bytes, size_t size, int line)
{
    if (b->failed || b->size != size || memcmp(b->data, bytes, size) != 0) {
        printf("FAIL line %d: %zu bytes, not the %zu expected\n", line, b->size, size);
        failures++;
    }
    dx_buf_clear(b);
}

#define EXPECT(b, literal) expect(b, literal, sizeof(literal) - 1, __LINE__)

static void whole(void)
{
    struct dx_buf b = DX_BUF_INIT(4096);

    dx_pg_copy_begin(&b);
    dx_pg_copy_row(&b, 4);
    dx_pg_copy_i64(&b, INT64_C(0x0102030405060708));
    dx_pg_copy_i32(&b, -2);
    CHECK(!dx_pg_copy_text(&b, dx_span_str("ab")));
    dx_pg_copy_null(&b);
    dx_pg_copy_end(&b);
    EXPECT(&b, "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0"
               "\0\4"
               "\0\0\0\x08\1\2\3\4\5\6\7\x08"
               "\0\0\0\4\377\377\377\376"
               "\0\0\0\2ab"
               "\377\377\377\377"
               "\377\377");
    dx_pg_copy_i64(&b, INT64_MIN);
    EXPECT(&b, "\0\0\0\x08\x80\0\0\0\0\0\0\0");
    dx_buf_release(&b);
}

static void texts(void)
{
    static const struct {
        const char *from;
        size_t size;
        const char *to;
    } rows[] = { { "", 0, "" },
                 { "\xE6\x97\xA5 \xF4\x8F\xBF\xBF", 8, "\xE6\x97\xA5 \xF4\x8F\xBF\xBF" },
                 { "a\0b", 3,
                   "a\xEF\xBF\xBD"
                   "b" },
                 { "\xFF", 1, "\xEF\xBF\xBD" },
                 { "\xE6\x97", 2, "\xEF\xBF\xBD\xEF\xBF\xBD" },
                 { "\xC3(", 2, "\xEF\xBF\xBD(" },
                 { "\xED\xA0\x80x", 4, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx" } };
    struct dx_buf b = DX_BUF_INIT(4096);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_span s = dx_span_of(rows[i].from, rows[i].size);
        size_t n = strlen(rows[i].to);
        bool same = n == s.size && memcmp(s.data, rows[i].to, n) == 0;

        CHECK(dx_pg_copy_is_text(s) == same);
        dx_buf_str(&b, "before");
        CHECK(dx_pg_copy_text(&b, s) == !same);
        if (b.size != 6 + 4 + n || b.data[9] != n || memcmp(b.data + 10, rows[i].to, n) != 0) {
            printf("FAIL text %zu\n", i);
            failures++;
        }
        dx_buf_clear(&b);
    }
    CHECK(!dx_pg_copy_text(&b, dx_span_of(NULL, 0)));
    EXPECT(&b, "\377\377\377\377");
    b.max = 8; /* no room for the mended text: it says so, and writes nowhere */
    CHECK(dx_pg_copy_text(&b, dx_span_of("a\0bcd", 5)));
    CHECK(b.failed);
    dx_buf_release(&b);
}

static void times(void)
{
    struct dx_buf b = DX_BUF_INIT(4096);

    CHECK(dx_pg_copy_time(&b, INT64_C(946684800000001)));
    EXPECT(&b, "\0\0\0\x08\0\0\0\0\0\0\0\1");
    CHECK(dx_pg_copy_time(&b, 0)); /* 1970 */
    EXPECT(&b, "\0\0\0\x08\xFF\xFC\xA2\xFE\xC4\xC8\x20\x00");
    CHECK(dx_pg_copy_time(&b, INT64_MAX));
    CHECK(dx_pg_copy_time(&b, INT64_C(-210866803200000000))); /* the first that the server takes */
    dx_buf_clear(&b);
    CHECK(!dx_pg_copy_time(&b, INT64_C(-210866803200000001)));
    EXPECT(&b, "\377\377\377\377");
    CHECK(!dx_pg_copy_time(&b, INT64_MIN));
    dx_buf_release(&b);
}

static const struct {
    const char *text;
    bool ok;
} strings[] = { { "", true },
                { "crawls", true },
                { "postgresql://", true },
                { "postgresql://u:Secret@h/db", true },
                { "postgres://u:Secret@h:5433/db?sslmode=require", true },
                { "postgresql://u:Sec%2Fret@[::1]:5433,h2:1/db", true },
                { "host=h port=1,2 password='Sec ret'", true },
                { "postgresql://u:Se/Secret@h/db", false },
                { "postgresql://u:1/Secret@h/db", false },
                { "postgresql://u:a@Secret@h/db", false },
                { "postgresql://u:%zzSecret@h/db", false },
                { "postgresql://u:Secret@h/db?Secret", false },
                { "postgresql://[Secret", false },
                { "postgres//u:Secret@h/db", false },
                { "mysql://u:Secret@h/db", false },
                { "password=a Secret", false },
                { "Secret=1", false },
                { "password='Secret", false },
                { "port=Secret", false },
                { "host=u:Secret@h", false } };

static void connection_strings(void)
{
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct dx_error err = DX_ERROR_INIT;
        bool ok = dx_postgres_dsn_check(strings[i].text, &err) == DX_OK;

        if (ok != strings[i].ok || strstr(err.text, "Secret") != NULL) {
            printf("FAIL '%s': %s\n", strings[i].text, err.text);
            failures++;
        }
    }
}

int main(void)
{
    whole();
    texts();
    times();
    connection_strings();
    printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
