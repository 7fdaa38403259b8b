/* SPDX-License-Identifier: Apache-2.0
 * files.tsv: lines round, lines that are refused, and which paths are allowed.
 */
#include "format/version/files_tsv.h"
#include "tests/support/damage.h"

static int failures;

static void test_paths(void)
{
    static const struct {
        const char *path;
        bool ok;
    } rows[] = {
        { "part.parquet", true },
        { "dataset_id=1/domain_prefix=00-ff/part-00000.parquet", true },
        { "Year=2020/_x/a", true },
        { "", false },
        { "/", false },
        { "/etc/passwd", false },
        { "a//b", false },
        { "a/", false },
        { "../a", false },
        { "a/../b", false },
        { "a/..", false },
        { "a/./b", false },
        { ".hidden", false },
        { "-rf", false },
        { "a b", false },
        { "a\nb", false },
        { "a\\b", false },
        { "http://x/y", false },
        { "a%2e%2e/b", false },
        { "a?b", false },
        { "a#b", false },
        { "\xc3\xa4", false },
        { "a\x7f", false },
    };
    char longest[DX_FILES_PATH_MAX + 2];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        EXPECT(dx_lake_path_ok(dx_span_str(rows[i].path)) == rows[i].ok, "'%s'", rows[i].path);
    memset(longest, 'a', sizeof longest);
    EXPECT(dx_lake_path_ok(dx_span_of(longest, DX_FILES_PATH_MAX)), "longest");
    EXPECT(!dx_lake_path_ok(dx_span_of(longest, DX_FILES_PATH_MAX + 1)), "longer");
    EXPECT(!dx_lake_path_ok(dx_span_of("a\0b", 3)), "NUL");
}

static void test_lines(void)
{
    static const struct {
        const char *text;
        int lines; /* -1: refused */
        const char *say;
    } rows[] = {
        { "", 0, "" },
        { "0\t1\t00-ff\ta\t10\tx\t3\n", 1, "" },
        { "0\t4294967295\t9b\ta\t9223372036854775807\tx\t0\n1\t1\tff\ta.b\t1\t\"y\"\t1\n", 2, "" },
        { "0\t1\t00-ff\ta\t10\tx\t3", -1, "no end" },
        { "0\t1\t00-ff\ta\t10\t \t3\n", -1, "etag" },
        { "0\t1\t00-ff\ta\t10\t x\t3\n", -1, "etag" },
        { "0\t1\t00-ff\ta\t10\tx\t3\n\n", -1, "7 fields" },
        { "0\t1\t00-ff\ta\t10\tx\t3\t\n", -1, "7 fields" },
        { "1\t1\t00-ff\ta\t10\tx\t3\n", -1, "file_id" },
        { "00\t1\t00-ff\ta\t10\tx\t3\n", -1, "file_id" },
        { "+0\t1\t00-ff\ta\t10\tx\t3\n", -1, "file_id" },
        { "0\t0\t00-ff\ta\t10\tx\t3\n", -1, "dataset_id 0" },
        { "0\t4294967296\t00-ff\ta\t10\tx\t3\n", -1, "dataset_id" },
        { "0\t1\tff-00\ta\t10\tx\t3\n", -1, "domain_prefix" },
        { "0\t1\tFF\ta\t10\tx\t3\n", -1, "domain_prefix" },
        { "0\t1\t00\t../a\t10\tx\t3\n", -1, "path" },
        { "0\t1\t00\ta\t\tx\t3\n", -1, "size" },
        { "0\t1\t00\ta\t9223372036854775808\tx\t3\n", -1, "size" },
        { "0\t1\t00\ta\t99999999999999999999999\tx\t3\n", -1, "size" },
        { "0\t1\t00\ta\t1\t\t3\n", -1, "etag" },
        { "0\t1\t00\ta\t1\ta b\t3\n", -1, "etag" },
        { "0\t1\t00\ta\t1\tx\t-3\n", -1, "rows" },
        { "0\t1\t00\tb\t1\tx\t3\n1\t1\t00\ta\t1\tx\t3\n", 2, "" },
        { "0\t0\t-\t-\t0\t-\t0\n1\t1\t00\ta\t1\tx\t3\n2\t0\t-\t-\t0\t-\t0\n", 3, "" },
        { "0\t0\t00\t-\t0\t-\t0\n", -1, "dataset_id 0" },
        { "0\t0\t-\ta\t0\t-\t0\n", -1, "dataset_id 0" },
        { "0\t0\t-\t-\t1\t-\t0\n", -1, "dataset_id 0" },
        { "0\t0\t-\t-\t0\tx\t0\n", -1, "dataset_id 0" },
        { "0\t0\t-\t-\t0\t-\t1\n", -1, "dataset_id 0" },
        { "0\t1\t-\ta\t0\tx\t1\n", -1, "domain_prefix" },
        { "0\t1\t00\t-\t0\tx\t1\n", -1, "path" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_str(rows[i].text));
        struct dx_buf again = DX_BUF_INIT(10000);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_files_tsv_writer w;
        struct dx_files_row row;
        struct dx_files_tsv t;
        int n = 0;
        int rc;

        dx_files_tsv_begin(&t, dx_span_of(d.bytes, d.size), "f.tsv");
        dx_files_tsv_writer_begin(&w, &again);
        while ((rc = dx_files_tsv_next(&t, &row, &err)) == 1) {
            n++;
            EXPECT(dx_files_tsv_write(&w, &row, &err) == DX_OK, "row %zu: %s", i, err.text);
        }
        EXPECT((rc < 0 ? -1 : n) == rows[i].lines && strstr(err.text, rows[i].say) != NULL,
               "row %zu: %d lines, rc %d, '%s'", i, n, rc, err.text);
        EXPECT(rc < 0 || (again.size == d.size &&
                          (d.size == 0 || memcmp(again.data, d.bytes, d.size) == 0)),
               "row %zu: written again", i);
        dx_buf_release(&again);
        damaged_free(&d);
    }
}

static void test_writer(void)
{
    struct dx_buf b = DX_BUF_INIT(10000);
    struct dx_files_row row = { 0, 1, dx_span_str("00"), dx_span_str("a"), 1, dx_span_str("x"), 1 };
    struct dx_files_tsv_writer w;

    dx_files_tsv_writer_begin(&w, &b);
    row.file_id = 1;
    EXPECT(dx_files_tsv_write(&w, &row, NULL) < 0, "first id is 0");
    row.file_id = 0;
    EXPECT(dx_files_tsv_write(&w, &row, NULL) == DX_OK, "sound");
    row.file_id = 1;
    row.path = dx_span_str("b\tc");
    EXPECT(dx_files_tsv_write(&w, &row, NULL) < 0, "tab");
    row.path = dx_span_str("b");
    row.rows = UINT64_MAX;
    EXPECT(dx_files_tsv_write(&w, &row, NULL) < 0, "rows");
    dx_buf_release(&b);
}

int main(void)
{
    test_paths();
    test_lines();
    test_writer();
    return failures > 0;
}
