/* SPDX-License-Identifier: Apache-2.0
 * etags.tsv.zst: round trips over many frames, lines that are refused, every flip and cut.
 */
#include "format/version/cold.h"
#include "format/version/etags_tsv.h"
#include "tests/support/damage.h"

#define LAKE_FILES 5000u

static int failures;

static int sink(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    struct dx_buf *b = ctx;

    dx_buf_append(b, bytes.data, bytes.size);
    return b->failed ? dx_buf_fail(b, err, "sink") : DX_OK;
}

static void etag_of(enum dx_etag_kind kind, uint32_t number, char etag[DX_ETAGS_ETAG_MAX + 1])
{
    (void)snprintf(etag, DX_ETAGS_ETAG_MAX + 1, "\"%08x%u-%u\"", number * 2654435761u,
                   (unsigned)kind, number % 7);
}

static uint32_t numbers_of(unsigned kind, uint32_t lake_files)
{
    return kind == DX_ETAG_LAKE ? lake_files : kind == DX_ETAG_COLD ? DX_COLD_FILES : 1;
}

static bool write_all(struct dx_buf *out, uint32_t lake_files)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_etags_writer w;
    char etag[DX_ETAGS_ETAG_MAX + 1];
    int rc = dx_etags_writer_begin(&w, "https://host/bucket/root", sink, out, &err);

    for (unsigned kind = DX_ETAG_IDX; kind <= DX_ETAG_LAKE; kind++)
        for (uint32_t i = 0; i < numbers_of(kind, lake_files) && rc == DX_OK; i++) {
            etag_of((enum dx_etag_kind)kind, i, etag);
            rc = dx_etags_writer_add(&w, (enum dx_etag_kind)kind, i, etag, &err);
        }
    if (rc == DX_OK)
        rc = dx_etags_writer_finish(&w, &err);
    dx_etags_writer_release(&w);
    EXPECT(rc == DX_OK, "%s", err.text);
    return rc == DX_OK;
}

/* Lines read that are as written, or a negative code. */
static long read_all(struct dx_span file, struct dx_error *err)
{
    struct dx_etags r;
    struct dx_etags_row row;
    char etag[DX_ETAGS_ETAG_MAX + 1];
    long n = 0;
    int rc = dx_etags_open(&r, file, "e.tsv", err);

    if (rc == DX_OK && strcmp(r.root, "https://host/bucket/root") != 0)
        n = -1000;
    while (rc >= 0 && (rc = dx_etags_next(&r, &row, err)) == 1) {
        etag_of(row.kind, row.number, etag);
        n += strcmp(row.etag, etag) == 0 ? 1 : -1000000;
    }
    dx_etags_close(&r);
    return rc < 0 ? rc : n;
}

static enum verdict try_file(void *ctx, struct dx_span s)
{
    long n = read_all(s, NULL);

    return n < 0 && n > -100 ? REFUSED : n == *(long *)ctx ? SAME_ANSWERS : WRONG_ANSWER;
}

static void test_round(void)
{
    struct dx_buf large = DX_BUF_INIT(1 << 24);
    struct dx_buf small = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;
    struct damaged d;
    struct verdicts v;
    long want = 2 + DX_COLD_FILES + 40;

    if (write_all(&large, LAKE_FILES))
        EXPECT(read_all(dx_span_of(large.data, large.size), &err) == 2 + DX_COLD_FILES + LAKE_FILES,
               "%s", err.text);
    if (write_all(&small, 40)) {
        d = damaged_copy(dx_span_of(small.data, small.size));
        v = damaged_flips(&d, 0, d.size, 1, try_file, &want);
        EXPECT(v.count[WRONG_ANSWER] == 0, "%zu wrong", v.count[WRONG_ANSWER]);
        EXPECT(v.count[REFUSED] > 9 * v.count[SAME_ANSWERS], "%zu refused, %zu not",
               v.count[REFUSED], v.count[SAME_ANSWERS]);
        v = damaged_cuts(&d, try_file, &want);
        EXPECT(v.count[REFUSED] == d.size, "cuts");
        damaged_free(&d);
    }
    dx_buf_release(&large);
    dx_buf_release(&small);
}

static const struct {
    const char *text;
    const char *say; /* NULL: accepted, with `lines` rows */
    int lines;
} rows[] = {
    { "http://h\n", NULL, 0 },
    { "http://h\nidx\t0\t\"a\"\ndat\t0\t\"\"\nlake\t4294967295\t\"b\"\n", NULL, 3 },
    { "lake\n", NULL, 0 }, /* any text is a URL to this reader: it is compared, never opened */
    { "\n", "line 0", 0 },
    { "http://h h\n", "line 0", 0 },
    { "http://h\x7f\n", "line 0", 0 },
    { "http://h", "does not end", 0 },
    { "http://h\nidx\t0\t\"a\"", "does not end", 0 },
    { "http://h\n\n", "3 fields", 0 },
    { "http://h\nidx\t0\n", "3 fields", 0 },
    { "http://h\nidx\t0\t\"a\"\t\n", "strong", 0 },
    { "http://h\nidy\t0\t\"a\"\n", "neither", 0 },
    { "http://h\n\t0\t\"a\"\n", "neither", 0 },
    { "http://h\nidx\t\t\"a\"\n", "number", 0 },
    { "http://h\nidx\t00\t\"a\"\n", "number", 0 },
    { "http://h\nidx\t-1\t\"a\"\n", "number", 0 },
    { "http://h\nlake\t4294967296\t\"a\"\n", "number", 0 },
    { "http://h\nlake\t99999999999999999999\t\"a\"\n", "number", 0 },
    { "http://h\nidx\t1\t\"a\"\n", "number 0", 0 },
    { "http://h\ndat\t1\t\"a\"\n", "number 0", 0 },
    { "http://h\ndat\t0\t\"a\"\ncold\t2\t\"a\"\nlake\t0\t\"b\"\n", NULL, 3 },
    { "http://h\ncold\t3\t\"a\"\n", "cold file", 0 },
    { "http://h\nlake\t1\t\"a\"\ncold\t2\t\"a\"\n", "ascend", 0 },
    { "http://h\nlake\t1\t\"a\"\nlake\t1\t\"a\"\n", "ascend", 0 },
    { "http://h\nidx\t0\t\"a\"\nidx\t0\t\"a\"\n", "ascend", 0 },
    { "http://h\nlake\t1\t\"a\"\nlake\t0\t\"a\"\n", "ascend", 0 },
    { "http://h\nlake\t1\t\"a\"\ndat\t0\t\"a\"\n", "ascend", 0 },
    { "http://h\nidx\t0\ta\n", "strong", 0 },
    { "http://h\nidx\t0\tW/\"a\"\n", "strong", 0 },
    { "http://h\nidx\t0\t\"\n", "strong", 0 },
    { "http://h\nidx\t0\t\"a\"b\"\n", "strong", 0 },
    { "http://h\nidx\t0\t\"a b\"\n", "strong", 0 },
};

static void wrap(struct dx_span plain, struct dx_buf *file)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_zseek_writer w;
    int rc = dx_zseek_writer_init(&w, 1, sink, file, &err);

    if (rc == DX_OK && plain.size > 0)
        rc = dx_zseek_writer_frame(&w, plain, NULL, &err);
    if (rc == DX_OK)
        rc = dx_zseek_writer_finish(&w, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    dx_zseek_writer_release(&w);
}

static void test_lines(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf file = DX_BUF_INIT(1 << 16);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_etags_row row;
        struct dx_etags r;
        int n = 0;
        int rc;

        wrap(dx_span_str(rows[i].text), &file);
        rc = dx_etags_open(&r, dx_span_of(file.data, file.size), "e.tsv", &err);
        while (rc >= 0 && (rc = dx_etags_next(&r, &row, &err)) == 1)
            n++;
        dx_etags_close(&r);
        if (rows[i].say == NULL)
            EXPECT(rc == 0 && n == rows[i].lines, "row %zu: %d lines, %s", i, n, err.text);
        else
            EXPECT(rc == DX_E_CORRUPT && strstr(err.text, rows[i].say) != NULL &&
                       strncmp(err.text, "e.tsv: ", 7) == 0,
                   "row %zu: rc %d, '%s'", i, rc, err.text);
        dx_buf_release(&file);
    }
}

static void test_empty(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 10);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_etags r;

    wrap(dx_span_of("", 0), &file);
    EXPECT(dx_etags_open(&r, dx_span_of(file.data, file.size), "e.tsv", &err) == DX_E_CORRUPT, "%s",
           err.text);
    dx_etags_close(&r);
    dx_buf_release(&file);
}

static void test_writer(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_etags_writer w;
    char longest[DX_ETAGS_ETAG_MAX + 2];

    EXPECT(dx_etags_writer_begin(&w, "", sink, &file, NULL) < 0, "no root");
    dx_etags_writer_release(&w);
    EXPECT(dx_etags_writer_begin(&w, "http://h\n", sink, &file, NULL) < 0, "two lines");
    dx_etags_writer_release(&w);
    EXPECT(dx_etags_writer_begin(&w, "http://h", sink, &file, NULL) == DX_OK, "sound");
    memset(longest, 'a', sizeof longest);
    longest[0] = longest[DX_ETAGS_ETAG_MAX] = '"';
    longest[DX_ETAGS_ETAG_MAX + 1] = '\0';
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_IDX, 0, longest, NULL) < 0, "a byte too long");
    longest[DX_ETAGS_ETAG_MAX - 1] = '"';
    longest[DX_ETAGS_ETAG_MAX] = '\0';
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_IDX, 0, longest, NULL) == DX_OK, "the longest");
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_IDX, 0, "\"a\"", NULL) < 0, "twice");
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_IDX, 1, "\"a\"", NULL) < 0, "no number");
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_COLD, DX_COLD_FILES, "\"a\"", NULL) < 0, "no file");
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_LAKE, 0, "W/\"a\"", NULL) < 0, "weak");
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_LAKE, 0, "\"a\"", NULL) == DX_OK, "lake");
    EXPECT(dx_etags_writer_add(&w, DX_ETAG_DAT, 0, "\"a\"", NULL) < 0, "backwards");
    EXPECT(dx_etags_writer_finish(&w, NULL) == DX_OK, "end");
    dx_etags_writer_release(&w);
    dx_buf_release(&file);
}

int main(void)
{
    test_round();
    test_lines();
    test_empty();
    test_writer();
    return failures > 0;
}
