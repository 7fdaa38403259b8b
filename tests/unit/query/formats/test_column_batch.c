/* SPDX-License-Identifier: Apache-2.0
 * Values of rows by column: what each type makes of a JSON text, at its edges, and that another text is refused and never becomes
 * another number.
 */
#include "query/formats/column_batch.h"

#include <inttypes.h>
#include <string.h>

#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    enum dx_column_type type;
    const char *value;
    const char *want; /* NULL: refused; of numbers their bits, in hexadecimal */
} rows[] = {
    { DX_COLUMN_U64, "0", "0" },
    { DX_COLUMN_U64, "9", "9" },
    { DX_COLUMN_U64, "10", "a" },
    { DX_COLUMN_U64, "9223372036854775808", "8000000000000000" },
    { DX_COLUMN_U64, "18446744073709551615", "ffffffffffffffff" },
    { DX_COLUMN_U64, "18446744073709551616", NULL },
    { DX_COLUMN_U64, "18446744073709551620", NULL },
    { DX_COLUMN_U64, "36893488147419103232", NULL },
    { DX_COLUMN_U64, "99999999999999999999", NULL },
    { DX_COLUMN_U64, "184467440737095516160", NULL },
    { DX_COLUMN_U64, "", NULL },
    { DX_COLUMN_U64, "-1", NULL },
    { DX_COLUMN_U64, "1.5", NULL },
    { DX_COLUMN_U64, "1e3", NULL },
    { DX_COLUMN_U64, "1:", NULL },
    { DX_COLUMN_U64, "1/", NULL },
    { DX_COLUMN_U64, "\"1\"", NULL },
    { DX_COLUMN_HEX64, "\"0x0000000000000000\"", "0" },
    { DX_COLUMN_HEX64, "\"0x0123456789abcdef\"", "123456789abcdef" },
    { DX_COLUMN_HEX64, "\"0xffffffffffffffff\"", "ffffffffffffffff" },
    { DX_COLUMN_HEX64, "\"0x8000000000000001\"", "8000000000000001" },
    { DX_COLUMN_HEX64, "\"0x0123456789abcde\"", NULL },
    { DX_COLUMN_HEX64, "\"0x0123456789abcdef0\"", NULL },
    { DX_COLUMN_HEX64, "\"0xg123456789abcdef\"", NULL },
    { DX_COLUMN_HEX64, "\"0x0123456789abcdeg\"", NULL },
    { DX_COLUMN_HEX64, "\"1x0123456789abcdef\"", NULL },
    { DX_COLUMN_HEX64, "12345678901234567890", NULL },
    { DX_COLUMN_F64, "0", "0" },
    { DX_COLUMN_F64, "1", "3ff0000000000000" },
    { DX_COLUMN_F64, "-0.5", "bfe0000000000000" },
    { DX_COLUMN_F64, "0.1", "3fb999999999999a" },
    { DX_COLUMN_F64, "1e3", "408f400000000000" },
    { DX_COLUMN_F64, "0.00000000000000000000000000000000000012", "38446abcb63fdaab" },
    { DX_COLUMN_F64, "", NULL },
    { DX_COLUMN_F64, "1x", NULL },
    { DX_COLUMN_F64, "0.000000000000000000000000000000000000012",
      NULL }, /* longer than any that is written */
    { DX_COLUMN_TIME, "\"1970-01-01T00:00:00Z\"", "0" },
    { DX_COLUMN_TIME, "\"1970-01-01T00:00:01Z\"", "f4240" },
    { DX_COLUMN_TIME, "\"1969-12-31T23:59:59Z\"", "fffffffffff0bdc0" },
    { DX_COLUMN_TIME, "\"2024-02-30T00:00:00Z\"", NULL },
    { DX_COLUMN_TIME, "\"", NULL },
    { DX_COLUMN_TIME, "\"\"", NULL },
    { DX_COLUMN_TIME, "0", NULL },
    { DX_COLUMN_TEXT, "\"\"", "" },
    { DX_COLUMN_TEXT, "\"a b\"", "a b" },
    { DX_COLUMN_TEXT, "\"a\\\"b\\\\c\"", "a\"b\\c" },
    { DX_COLUMN_TEXT, "\"\\u00e9\\n\"", "\xc3\xa9\n" },
    { DX_COLUMN_TEXT, "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
    { DX_COLUMN_JSON, "[1,\"\\n\"]", "[1,\"\\n\"]" },
    { DX_COLUMN_JSON, "{}", "{}" },
};

static void number_text(struct dx_span value, char text[32])
{
    uint64_t v;

    memcpy(&v, value.data, sizeof v);
    (void)snprintf(text, 32, "%" PRIx64, v);
}

static void check_values(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_row_column column = { "c", rows[i].type };
        struct damaged d = damaged_copy(dx_span_str(rows[i].value)); /* no byte behind it is read */
        struct dx_span value = dx_span_of(d.bytes, d.size);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_column_batch b;
        const struct dx_batch_column *c = &b.column[0];
        char text[32] = "";
        int rc;

        dx_column_batch_init(&b, &column, 1);
        rc = dx_column_batch_add(&b, &value, &err);
        EXPECT(rc == (rows[i].want != NULL ? DX_OK : DX_E_INVALID), "row %zu: %d (%s)", i, rc,
               err.text);
        EXPECT(b.row_count == (rows[i].want != NULL), "row %zu", i);
        if (rc == DX_OK && dx_column_is_text(column.type)) {
            EXPECT(dx_span_equal(dx_span_of(c->text.data, c->text.size), dx_span_str(rows[i].want)),
                   "row %zu: '%.*s'", i, (int)c->text.size, (const char *)c->text.data);
        } else if (rc == DX_OK) {
            number_text(dx_span_of(c->ints.data, c->ints.size), text);
            EXPECT(c->ints.size == sizeof(uint64_t) && strcmp(text, rows[i].want) == 0,
                   "row %zu: %s, want %s", i, text, rows[i].want);
        }
        dx_column_batch_release(&b);
        damaged_free(&d);
    }
}

/* Several rows: each column has a value or its place for each of them. */
static void check_rows(void)
{
    static const struct dx_row_column columns[] = { { "text", DX_COLUMN_TEXT },
                                                    { "number", DX_COLUMN_U64 } };
    static const char *const values[][2] = {
        { "\"a\"", "1" }, { NULL, "2" }, { "\"\\u0062c\"", NULL }, { NULL, NULL }, { "\"\"", "5" }
    };
    static const uint32_t ends[] = { 1, 1, 3, 3, 3 };
    static const uint64_t ints[] = { 1, 2, 0, 0, 5 };
    static const uint8_t valid[2][5] = { { 1, 0, 1, 0, 1 }, { 1, 1, 0, 0, 1 } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_column_batch b;

    dx_column_batch_init(&b, columns, 2);
    for (unsigned round = 0; round < 2; round++) { /* clear keeps nothing */
        for (size_t i = 0; i < 5; i++) {
            struct dx_span row[2];

            for (size_t k = 0; k < 2; k++)
                row[k] = values[i][k] != NULL ? dx_span_str(values[i][k]) : (struct dx_span){ 0 };
            EXPECT(dx_column_batch_add(&b, row, &err) == DX_OK, "row %zu: %s", i, err.text);
        }
        EXPECT(b.row_count == 5 && b.column[0].null_count == 2 && b.column[1].null_count == 2,
               "%u rows", b.row_count);
        EXPECT(b.column[0].text.size == 3 && memcmp(b.column[0].text.data, "abc", 3) == 0, "text");
        EXPECT(b.column[0].ends.size == sizeof ends &&
                   memcmp(b.column[0].ends.data, ends, sizeof ends) == 0,
               "ends");
        EXPECT(b.column[1].ints.size == sizeof ints &&
                   memcmp(b.column[1].ints.data, ints, sizeof ints) == 0,
               "numbers");
        for (size_t k = 0; k < 2; k++)
            EXPECT(b.column[k].valid.size == 5 && memcmp(b.column[k].valid.data, valid[k], 5) == 0,
                   "which are null, of column %zu", k);
        dx_column_batch_clear(&b);
    }
    EXPECT(b.row_count == 0 && b.column[0].null_count == 0 && b.column[0].text.size == 0, "clear");
    dx_column_batch_release(&b);
}

int main(void)
{
    check_values();
    check_rows();
    return failures > 0;
}
