/* SPDX-License-Identifier: Apache-2.0
 * pages.dxp: round trips, every flip and cut, each section damaged with its sums made true again,
 * sums of pages.
 */
#include "format/version/pages.h"
#include "tests/support/damage.h"

#define FILES 6
#define HOLE 2
#define GROUPS 3
#define COLUMNS 4
#define PAGES 6

static int failures;

/* Of file 1 all are listed, of file 4 not all, of file 5 none are known. */
static const struct dx_page_stray strays[] = {
    { 1, 0, 7 }, { 1, 0, UINT64_C(1) << 40 },   { 1, 2, 0 },
    { 4, 0, 1 }, { 4, UINT32_MAX, UINT64_MAX }, { 5, UINT32_MAX, UINT64_MAX },
};

#define STRAYS (sizeof strays / sizeof *strays)

struct model {
    struct dx_pages_file files[FILES];
    char paths[FILES][64];
    uint64_t group_rows[FILES][GROUPS];
    struct dx_page_column columns[FILES][GROUPS][COLUMNS];
    struct dx_page_location pages[FILES][GROUPS][COLUMNS][PAGES];
    unsigned flags;
};

static void make_column(struct dx_page_column *c, struct dx_page_location *pages, uint64_t rows,
                        uint64_t size, size_t number, uint64_t *seed)
{
    uint64_t end = size / 8 * number + random_below(seed, 50);
    uint64_t row = 0;

    *c = (struct dx_page_column){ .role = (uint8_t)(1 + number % 6),
                                  .physical_type = (uint8_t)random_below(seed, 8),
                                  .codec = 6,
                                  .max_def = (uint8_t)(number & 1),
                                  .time_unit = (uint8_t)random_below(seed, 5),
                                  .type_length = (uint32_t)random_below(seed, 300),
                                  .name = dx_span_str(number == 0 ? "scheme" : "path_query"),
                                  .page_count = 1 + random_below(seed, PAGES),
                                  .pages = pages };
    if (random_below(seed, 2) == 0) {
        c->dictionary.offset = end;
        c->dictionary.size = 1 + (uint32_t)random_below(seed, 1000);
        c->dictionary.sum = (uint32_t)random_next(seed);
        end += c->dictionary.size;
    }
    for (size_t i = 0; i < c->page_count; i++) {
        pages[i].offset = end + (i == 0 ? 0 : random_below(seed, 2) * 100);
        pages[i].size = 1 + (uint32_t)random_below(seed, 5000);
        pages[i].sum = (uint32_t)random_next(seed);
        pages[i].first_row = row;
        pages[i].rows = i + 1 == c->page_count ? rows - row : random_below(seed, rows - row + 1);
        row += pages[i].rows;
        end = pages[i].offset + pages[i].size;
    }
}

static void make_model(struct model *m)
{
    uint64_t seed = 4;

    memset(m, 0, sizeof *m);
    for (size_t f = 0; f < FILES; f++) {
        struct dx_pages_file *file = &m->files[f];

        (void)snprintf(m->paths[f], sizeof m->paths[f],
                       "dataset_id=%zu/domain_prefix=00-ff/part-00000.parquet", f + 1);
        file->file_id = (uint32_t)f;
        file->dataset_id = (uint32_t)f + 1;
        if (f == HOLE) {
            *file = (struct dx_pages_file){ .file_id = HOLE };
            continue;
        }
        file->row_groups = f == 3 ? 0 : 1 + (uint32_t)random_below(&seed, GROUPS);
        file->size = UINT64_C(1) << (20 + 10 * f % 40);
        file->path = dx_span_str(m->paths[f]);
        for (size_t i = 0; i < 16; i++)
            file->hash.bytes[i] = (uint8_t)random_next(&seed);
        for (size_t g = 0; g < file->row_groups; g++) {
            m->group_rows[f][g] = 1 + random_below(&seed, UINT64_C(1) << (10 * (f + 1)));
            file->rows += m->group_rows[f][g];
            for (size_t c = 0; c < COLUMNS; c++)
                make_column(&m->columns[f][g][c], m->pages[f][g][c], m->group_rows[f][g],
                            file->size, c, &seed);
        }
    }
}

static void build(struct model *m, uint8_t build_byte, struct dx_buf *out)
{
    struct dx_build_id id = { { build_byte } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pages_writer w;
    uint64_t groups = 0;
    uint64_t rows = 0;
    int rc;

    for (size_t f = 0; f < FILES; f++) {
        groups += m->files[f].row_groups;
        rows += m->files[f].rows;
    }
    rc = dx_pages_writer_begin(&w, FILES, groups, rows, &id, dx_envelope_sink_buf, out, &err);
    for (size_t f = 0; f < FILES && rc >= 0; f++) {
        rc = dx_pages_writer_file(&w, &m->files[f], &err);
        for (size_t g = 0; g < m->files[f].row_groups && rc >= 0; g++) {
            struct dx_buf record = DX_BUF_INIT(1 << 16);

            EXPECT(dx_pages_writer_end(&w, NULL) < 0, "file %zu is not whole", f);
            rc = dx_page_group_encode(&record, m->files[f].size, m->group_rows[f][g],
                                      m->columns[f][g], COLUMNS, &err);
            if (rc >= 0)
                rc = dx_pages_writer_group(&w, dx_span_of(record.data, record.size), &err);
            dx_buf_release(&record);
        }
    }
    for (size_t i = 0; i < STRAYS && rc >= 0; i++)
        rc = dx_pages_writer_stray(&w, &strays[i], &err);
    EXPECT(dx_pages_writer_stray(&w, &strays[1], NULL) < 0, "a row behind a later one");
    if (rc >= 0)
        rc = dx_pages_writer_end(&w, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_pages_writer_release(&w);
}

static bool equal_page(const struct dx_page_location *a, const struct dx_page_location *b)
{
    return a->offset == b->offset && a->size == b->size && a->sum == b->sum &&
           a->first_row == b->first_row && a->rows == b->rows;
}

static bool equal_column(struct dx_page_column *got, const struct dx_page_column *want)
{
    struct dx_page_location page;
    uint64_t n = 0;

    while (dx_page_column_next(got, &page) == 1)
        if (n >= want->page_count || !equal_page(&page, &want->pages[n++]))
            return false;
    return n == want->page_count && got->role == want->role &&
           got->physical_type == want->physical_type && got->codec == want->codec &&
           got->max_def == want->max_def && got->time_unit == want->time_unit &&
           got->type_length == want->type_length && dx_span_equal(got->name, want->name) &&
           got->dictionary.size == want->dictionary.size &&
           got->dictionary.offset == want->dictionary.offset &&
           got->dictionary.sum == want->dictionary.sum;
}

static enum verdict try_group(const struct model *m, const struct dx_pages *p,
                              const struct dx_pages_file *file, uint32_t g)
{
    struct dx_page_group group;
    struct dx_page_column column;
    size_t c = 0;
    bool same = true;

    if (dx_pages_group(p, file, g, &group, NULL) <= 0)
        return REFUSED;
    while (dx_page_group_next(&group, &column) == 1) {
        if ((m->flags & DX_OPEN_UNCHECKED) != 0) {
            struct dx_page_location page;

            while (dx_page_column_next(&column, &page) == 1)
                if (page.offset > file->size || page.size > file->size - page.offset)
                    return WRONG_ANSWER;
        } else if (c >= COLUMNS || !equal_column(&column, &m->columns[file->file_id][g][c++])) {
            same = false;
        }
    }
    return (m->flags & DX_OPEN_UNCHECKED) != 0 || (same && c == COLUMNS) ? SAME_ANSWERS
                                                                         : WRONG_ANSWER;
}

static enum verdict try_strays(const struct model *m, const struct dx_pages *p, uint32_t file)
{
    bool same = true;
    uint64_t first, count;
    uint64_t want = 0;
    int listed = dx_pages_strays(p, file, &first, &count, NULL);

    if (listed < 0)
        return REFUSED;
    for (size_t i = 0; i < STRAYS; i++) {
        struct dx_page_stray got;

        if (strays[i].file_id != file || dx_page_stray_is_unknown(&strays[i]))
            continue;
        if (want++ >= count)
            continue;
        if (dx_pages_stray(p, first + want - 1, &got, NULL) < 0)
            return REFUSED;
        same = same && got.file_id == file && got.row_group == strays[i].row_group &&
               got.row == strays[i].row;
    }
    same = same && want == count && listed == (file < 4);
    return same || (m->flags & DX_OPEN_UNCHECKED) != 0 ? SAME_ANSWERS : WRONG_ANSWER;
}

static enum verdict try_file(void *ctx, struct dx_span bytes)
{
    const struct model *m = ctx;
    enum verdict v = SAME_ANSWERS;
    struct dx_pages p;

    if (dx_pages_open(&p, bytes, m->flags, "p.dxp", NULL) < 0)
        return REFUSED;
    for (uint32_t f = 0; f < FILES && v != WRONG_ANSWER; f++) {
        const struct dx_pages_file *want = &m->files[f];
        struct dx_pages_file got;

        int rc = dx_pages_file(&p, f, &got, NULL);

        v = try_strays(m, &p, f);
        if (v != SAME_ANSWERS)
            continue;
        if (rc == 0 && f == HOLE)
            continue;
        if (rc <= 0) {
            v = REFUSED;
            continue;
        }
        if ((m->flags & DX_OPEN_UNCHECKED) == 0 &&
            (got.dataset_id != want->dataset_id || got.row_groups != want->row_groups ||
             got.rows != want->rows || got.size != want->size ||
             !dx_span_equal(got.path, want->path) || memcmp(&got.hash, &want->hash, 16) != 0))
            v = WRONG_ANSWER;
        for (uint32_t g = 0; g < got.row_groups && v != WRONG_ANSWER; g++) {
            enum verdict one = try_group(m, &p, &got, g);

            if (one != SAME_ANSWERS)
                v = one;
        }
    }
    if (dx_pages_file(&p, p.files, &(struct dx_pages_file){ 0 }, NULL) != 0)
        v = WRONG_ANSWER;
    dx_pages_close(&p);
    return v;
}

static void test_damage(struct model *m, const struct dx_buf *file)
{
    struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
    struct verdicts v;

    EXPECT(try_file(m, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS, "whole file");
    v = damaged_flips(&d, 0, d.size, 1, try_file, m);
    EXPECT(v.count[WRONG_ANSWER] == 0, "lazy: %zu wrong", v.count[WRONG_ANSWER]);
    m->flags = DX_OPEN_VERIFY_ALL;
    v = damaged_flips(&d, 0, d.size, 1, try_file, m);
    EXPECT(v.count[REFUSED] == v.all, "verify: %zu not refused", v.all - v.count[REFUSED]);
    v = damaged_cuts(&d, try_file, m);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    m->flags = DX_OPEN_UNCHECKED;
    v = damaged_flips(&d, 0, d.size, 1, try_file, m);
    EXPECT(v.count[WRONG_ANSWER] == 0, "unchecked: a page left its file");
    m->flags = 0;
    printf("%zu bytes, %zu flips\n", d.size, d.size * 8);
    damaged_free(&d);
}

static void test_sections(const struct dx_buf *file)
{
    static const struct {
        const char *tag;
        size_t at;
        uint8_t value;
        const char *say;
    } rows[] = {
        { NULL, 0, 'x', "does not begin" },
        { NULL, 8, 9, "FILE" },
        { NULL, 12, 9, "header" },
        { NULL, 16, 99, "GRPX" },
        { NULL, 32, 2, "header" },
        { NULL, 40, 1, "reserved" },
        { "FILE", 4, 0xff, "row groups" },
        { "FILE", 15, 1, "row groups" },
        { "FILE", 39, 1, "path is not in PATH" },
        { "FILE", 40, 13, "plain relative path" }, /* "dataset_id=1/" */
        { "FILE", 44, 1, "reserved" },
        { "PATH", 0, '/', "plain relative path" },
        { "GRPX", 7, 1, "record is" },
        { "GRPX", 8, 0, "row group" },
        { "GRPD", 2, 65, "columns" }, /* behind a row count of two bytes */
        { "GRPD", 3, 0, "unknown role" },
        { "GRPD", 4, 0, "column 0" },
        { "GRPD", 13, 2, "definition level" },
        { "GRPD", 14, 5, "time unit" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_pages_file f;
        struct dx_page_group group;
        struct dx_pages p;
        uint64_t size;
        uint8_t *at = rows[i].tag == NULL ? d.bytes
                                          : envelope_find(d.bytes, d.size, rows[i].tag, &size);
        int rc;

        at[rows[i].at] = rows[i].value;
        envelope_resum(d.bytes, d.size);
        rc = dx_pages_open(&p, dx_span_of(d.bytes, d.size), 0, "p.dxp", &err);
        if (rc >= 0)
            rc = dx_pages_file(&p, 0, &f, &err);
        if (rc > 0)
            rc = dx_pages_group(&p, &f, 0, &group, &err);
        EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL && strstr(err.text, "p.dxp"),
               "row %zu (%s): rc %d, '%s'", i, rows[i].say, rc, err.text);
        dx_pages_close(&p);
        damaged_free(&d);
    }
}

static void test_refused_groups(void)
{
    static const struct {
        struct dx_page_location pages[2];
        uint64_t rows;
        const char *say;
    } rows[] = {
        { { { 10, 10, 0, 0, 5 }, { 15, 10, 0, 0, 5 } }, 10, "do not ascend" },
        { { { 10, 10, 0, 0, 5 }, { 90, 11, 0, 0, 5 } }, 10, "not within its file" },
        { { { 10, 0, 0, 0, 5 }, { 20, 1, 0, 0, 5 } }, 10, "not within its file" },
        { { { 10, 10, 0, 0, 5 }, { 20, 1, 0, 0, 6 } }, 10, "more rows" },
        { { { 10, 10, 0, 0, 5 }, { 20, 1, 0, 0, 4 } }, 10, "fewer rows" },
        { { { 10, 10, 0, 0, UINT64_MAX }, { 20, 1, 0, 0, 11 } }, 10, "more rows" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_page_column c = {
            .role = 1, .name = dx_span_str("a"), .page_count = 2, .pages = rows[i].pages
        };
        struct dx_buf b = DX_BUF_INIT(1000);
        struct dx_error err = DX_ERROR_INIT;

        EXPECT(dx_page_group_encode(&b, 100, rows[i].rows, &c, 1, &err) < 0 &&
                   strstr(err.text, rows[i].say) != NULL,
               "row %zu: '%s'", i, err.text);
        dx_buf_release(&b);
    }
}

/* Records as no encoder of ours makes them: one column, two pages, in a file of 100 bytes. */
static void test_refused_records(void)
{
    static const struct {
        uint64_t first, gap[2], size[2], rows[2], pages;
        const char *say; /* NULL: accepted */
    } rows[] = {
        { 10, { 0, 5 }, { 10, 75 }, { 4, 6 }, 2, NULL },
        { 10, { 1, 5 }, { 10, 10 }, { 4, 6 }, 2, "gap before its first page" },
        { 101, { 0, 0 }, { 1, 1 }, { 4, 6 }, 2, "not within its file" },
        { 10, { 0, 5 }, { 10, 76 }, { 4, 6 }, 2, "not within its file" },
        { 10, { 0, UINT64_MAX }, { 10, 10 }, { 4, 6 }, 2, "not within its file" },
        { 10, { 0, 0 }, { 10, UINT64_MAX }, { 4, 6 }, 2, "not within its file" },
        { 10, { 0, 0 }, { 10, 0 }, { 4, 6 }, 2, "not within its file" },
        { 10, { 0, 0 }, { 10, (UINT64_C(1) << 32) + 5 }, { 4, 6 }, 2, "not within its file" },
        { 10, { 0, 0 }, { 10, 10 }, { 4, 5 }, 2, "fewer rows" },
        { 10, { 0, 0 }, { 10, 10 }, { 4, 7 }, 2, "more rows" },
        { 10, { 0, 0 }, { 10, 10 }, { UINT64_MAX, 11 }, 2, "more rows" },
        { 10, { 0, 0 }, { 10, 10 }, { 4, 6 }, 3, "more pages than bytes" },
        { 10, { 0, 0 }, { 10, 10 }, { 4, 6 }, UINT64_MAX, "more pages than bytes" },
        { 10, { 0, 0 }, { 10, 10 }, { 10, 0 }, 1, "behind its last column" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf b = DX_BUF_INIT(1000);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_page_group group;
        struct damaged d;
        int rc;

        dx_buf_append(&b, "\x0a\1\1\1a\6\6\0\0\0\0", 11); /* 10 rows, a column, no dictionary */
        dx_buf_varint(&b, rows[i].first);
        dx_buf_varint(&b, rows[i].pages);
        for (size_t k = 0; k < 2; k++) {
            dx_buf_varint(&b, rows[i].gap[k]);
            dx_buf_varint(&b, rows[i].size[k]);
            dx_buf_varint(&b, rows[i].rows[k]);
            dx_buf_u32(&b, 0);
        }
        d = damaged_copy(dx_span_of(b.data, b.size));
        rc = dx_page_group_open(&group, dx_span_of(d.bytes, d.size), 100, "r", &err);
        EXPECT(rows[i].say == NULL ? rc == DX_OK : rc < 0 && strstr(err.text, rows[i].say) != NULL,
               "row %zu: rc %d, '%s'", i, rc, err.text);
        damaged_free(&d);
        dx_buf_release(&b);
    }
}

static struct dx_span one_group(const struct model *m, struct dx_buf *b)
{
    dx_buf_clear(b);
    EXPECT(dx_page_group_encode(b, m->files[0].size, m->group_rows[0][0], m->columns[0][0], COLUMNS,
                                NULL) == DX_OK,
           "a record");
    return dx_span_of(b->data, b->size);
}

/* What comes must be what was announced, in its order. Each of these ends the file that is written. */
static void test_refused_writer(const struct model *m)
{
    static const char *const says[] = {
        "lacks 1 row groups",
        "lacks 0 row groups, 1 rows",
        "file 1 at place 0",
        "file 0 at place 0, path 'a'",
        "path '/a'",
        "a row group too many",
        "have more rows than it",
        "do not ascend",
        "1 files, 1 row groups",
        "1 files, 1 row groups",
        "1 files, 1 row groups",
        "do not ascend",
        "at most 64 are kept",
        "has a type length over 31 bits",
    };
    const struct dx_build_id id = { { 1 } };
    const uint64_t rows = m->group_rows[0][0];
    struct dx_buf record = DX_BUF_INIT(1 << 16);

    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        struct dx_pages_file file = { .dataset_id = 1,
                                      .row_groups = 1,
                                      .rows = rows,
                                      .size = m->files[0].size,
                                      .path = dx_span_str("a") };
        struct dx_page_stray stray = { 0, 0, 3 };
        static struct dx_page_column many[DX_PAGE_COLUMNS_MAX + 1];
        struct dx_buf out = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_pages_writer w;
        int rc;

        EXPECT(dx_pages_writer_begin(&w, i == 8 ? 2 : 1, i == 9 ? 2 : 1, i == 10 ? rows + 1 : rows,
                                     &id, dx_envelope_sink_buf, &out, &err) >= 0,
               "%s", err.text);
        file.rows += i == 1;
        file.rows -= i == 6;
        file.file_id = i == 2;
        file.dataset_id = i != 3;
        if (i == 4)
            file.path = dx_span_str("/a");
        rc = dx_pages_writer_file(&w, &file, &err);
        if (i >= 12) {
            struct dx_page_column c = { .role = 1, .name = dx_span_str("a"), .page_count = 0 };

            c.type_length = UINT32_MAX;
            rc = dx_page_group_encode(&record, 100, 0, i == 12 ? many : &c,
                                      i == 12 ? DX_PAGE_COLUMNS_MAX + 1 : 1, &err);
        } else if (i > 0) {
            if (rc >= 0)
                rc = dx_pages_writer_group(&w, one_group(m, &record), &err);
            if (rc >= 0 && i == 5)
                rc = dx_pages_writer_group(&w, one_group(m, &record), &err);
            stray.file_id = i == 7;
            if (rc >= 0 && (i == 7 || i == 11))
                rc = dx_pages_writer_stray(&w, &stray, &err);
            if (rc >= 0 && i == 11)
                rc = dx_pages_writer_stray(&w, &stray, &err); /* again */
        }
        if (rc >= 0)
            rc = dx_pages_writer_end(&w, &err);
        EXPECT(rc < 0 && strstr(err.text, says[i]) != NULL, "row %zu (%s): %d, '%s'", i, says[i],
               rc, err.text);
        dx_pages_writer_release(&w);
        dx_buf_release(&out);
    }
    dx_buf_release(&record);
}

/* Which file has a row group, and which columns. */
static void test_of_group(const struct model *m, const struct dx_buf *file)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pages_file f;
    struct dx_pages p;
    uint64_t number = 0;
    uint32_t group;

    EXPECT(dx_pages_open(&p, dx_span_of(file->data, file->size), 0, "p", &err) == DX_OK, "%s",
           err.text);
    for (uint32_t k = 0; k < FILES; k++) {
        for (uint32_t g = 0; g < m->files[k].row_groups; g++, number++)
            EXPECT(dx_pages_of_group(&p, number, &f, &group, &err) == 1 && f.file_id == k &&
                       group == g,
                   "row group %u of file %u: %s", (unsigned)g, (unsigned)k, err.text);
        if (k == HOLE || dx_pages_file(&p, k, &f, &err) != 1)
            continue;
        EXPECT(dx_pages_has_column(&p, &f, "scheme", &err) == (f.row_groups > 0) &&
                   dx_pages_has_column(&p, &f, "nope", &err) == 0,
               "columns of file %u", (unsigned)k);
    }
    EXPECT(dx_pages_of_group(&p, number, &f, &group, &err) == 0, "behind the last one");
    EXPECT(dx_pages_of_group(&p, UINT64_MAX, &f, &group, &err) == 0, "far behind it");
    dx_pages_close(&p);
}

static void test_sum(const struct model *m)
{
    struct dx_page_location page = { .offset = 4, .size = 5 };
    struct dx_span bytes = dx_span_str("abcde");

    page.sum = dx_page_sum(&m->files[0].hash, 4, bytes);
    EXPECT(dx_page_sum_check(&m->files[0], &page, bytes, NULL) == DX_OK, "sound");
    EXPECT(dx_page_sum_check(&m->files[0], &page, dx_span_str("abcdf"), NULL) < 0, "other bytes");
    EXPECT(dx_page_sum_check(&m->files[0], &page, dx_span_str("abcd"), NULL) < 0, "cut");
    EXPECT(dx_page_sum_check(&m->files[1], &page, bytes, NULL) < 0, "of another file");
    page.offset = 5;
    EXPECT(dx_page_sum_check(&m->files[0], &page, bytes, NULL) < 0, "of another place");
}

int main(void)
{
    struct model *m = malloc(sizeof *m);
    struct dx_buf file = DX_BUF_INIT(1 << 20);

    make_model(m);
    build(m, 1, &file);
    test_sections(&file);
    test_damage(m, &file);
    test_refused_writer(m);
    test_of_group(m, &file);
    test_refused_groups();
    test_refused_records();
    test_sum(m);
    dx_buf_release(&file);
    free(m);
    return failures > 0;
}
