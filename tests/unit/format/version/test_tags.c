/* SPDX-License-Identifier: Apache-2.0
 * test_tags.c - tags.dxt of many shapes against plain tables, each bit of one damaged, each rule of
 * the layout broken with sums that are right, and the value of the column `tags` with all that it
 * may hold.
 */
#include "format/version/tag_list.h"
#include "format/version/tags.h"

#include <roaring/roaring.h>

#include "tests/support/damage.h"

#define TAGS 40
#define FILES 9
#define ROWS 3000
#define DOMAINS 70000

static int failures;
static const struct dx_build_id build = { { 7 } };

/* has[tag][file][row]; the domain of a row is row_domain(file, row). */
static uint8_t has[TAGS][FILES][ROWS];
static char names[TAGS][DX_TAG_MAX + 1];

static uint32_t row_domain(unsigned file, unsigned row)
{
    return (row / 5 * 23u + file * 7919u) % DOMAINS;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void make_names(void)
{
    for (unsigned i = 0; i < TAGS; i++)
        (void)snprintf(names[i], sizeof names[i], i % 3 == 0 ? "%u" : "tag \xc3\xa9/%u?%u", i, i);
    memset(names[5], 'x', DX_TAG_MAX);
    qsort(names, TAGS, sizeof *names, by_name);
}

/* Some tags are in all files, some in one row, some in none; runs, holes and single rows. */
static void make_rows(uint64_t seed)
{
    memset(has, 0, sizeof has);
    for (unsigned t = 0; t < TAGS; t++)
        for (unsigned f = 0; f < FILES; f++) {
            uint64_t shape = random_below(&seed, 6);
            unsigned row = (unsigned)random_below(&seed, ROWS);

            for (unsigned r = 0; r < ROWS && t % 7 != 3; r++)
                has[t][f][r] = shape == 0   ? r == row
                               : shape == 1 ? r >= row
                               : shape == 2 ? random_below(&seed, 2) == 0
                               : shape == 3 ? r % 97 == 0
                                            : 0;
        }
}

/* ---- writing ---- */

struct parts {
    struct dx_buf bytes[DX_TAGS_PARTS];
};

static int put(void *ctx, enum dx_tags_part part, struct dx_span bytes, struct dx_error *err)
{
    struct parts *p = ctx;

    (void)err;
    dx_buf_append(&p->bytes[part], bytes.data, bytes.size);
    return DX_OK;
}

static void encode_files(struct dx_tags_encoder *e, unsigned tag)
{
    for (unsigned f = 0; f < FILES; f++) {
        roaring_bitmap_t *rows = roaring_bitmap_create();
        roaring_bitmap_t *domains = roaring_bitmap_create();

        for (unsigned r = 0; r < ROWS; r++)
            if (has[tag][f][r]) {
                roaring_bitmap_add(rows, r);
                roaring_bitmap_add(domains, row_domain(f, r));
            }
        if (!roaring_bitmap_is_empty(rows))
            EXPECT(dx_tags_encode_file(e, f, rows, domains, NULL) == DX_OK, "file %u", f);
        roaring_bitmap_free(rows);
        roaring_bitmap_free(domains);
    }
}

static void write_file(unsigned tags, struct dx_buf *out)
{
    struct dx_tags_encoder e;
    struct dx_tags_writer w;
    struct parts p;

    for (unsigned i = 0; i < DX_TAGS_PARTS; i++)
        dx_buf_init(&p.bytes[i], 1 << 24);
    dx_tags_encoder_init(&e, DOMAINS, FILES, put, &p);
    for (unsigned t = 0; t < tags; t++) {
        EXPECT(dx_tags_encode_tag(&e, dx_span_str(names[t]), NULL) == DX_OK, "tag %u", t);
        encode_files(&e, t);
    }
    for (unsigned f = 1; f < FILES; f += 3) {
        const struct dx_tags_left left = { f, f - 1, 5 };

        EXPECT(dx_tags_encode_left(&e, &left, NULL) == DX_OK, "left %u", f);
    }
    EXPECT(dx_tags_writer_begin(&w, &e, &build, dx_envelope_sink_buf, out, NULL) == DX_OK, "begin");
    for (unsigned i = 0; i < DX_TAGS_PARTS; i++) {
        EXPECT(dx_tags_writer_part(&w, (enum dx_tags_part)i, NULL) == DX_OK, "part %u", i);
        EXPECT(dx_tags_writer_append(&w, dx_span_of(p.bytes[i].data, p.bytes[i].size), NULL) ==
                   DX_OK,
               "part %u", i);
        dx_buf_release(&p.bytes[i]);
    }
    EXPECT(dx_tags_writer_end(&w, NULL) == DX_OK && !out->failed, "end");
    dx_tags_writer_release(&w);
    dx_tags_encoder_release(&e);
}

/* ---- reading ---- */

/* Whether the sets are those of the table. */
static bool same_sets(const struct dx_tags *t, const struct dx_tag_file *f, unsigned tag)
{
    static uint8_t wanted[DOMAINS];
    static uint32_t ids[ROWS];
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    struct dx_error err = DX_ERROR_INIT;
    size_t n = 0;
    size_t count;

    if (dx_tag_file_sets(t, f, &rows, &domains, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    memset(wanted, 0, sizeof wanted);
    count = dx_dataset_set_ids(&rows, ids, ROWS);
    for (unsigned r = 0; r < ROWS; r++)
        if (has[tag][f->file_id][r]) {
            wanted[row_domain(f->file_id, r)] = 1;
            if (n >= count || ids[n++] != r)
                return false;
        }
    if (n != count || n != f->row_count)
        return false;
    count = dx_dataset_set_ids(&domains, ids, ROWS);
    for (n = 0; n < count; n++) {
        if (!wanted[ids[n]])
            return false;
        wanted[ids[n]] = 0;
    }
    return count == f->domain_count && memchr(wanted, 1, sizeof wanted) == NULL;
}

static bool in_file(unsigned tag, unsigned file)
{
    return memchr(has[tag][file], 1, ROWS) != NULL;
}

static bool anywhere(unsigned tag)
{
    for (unsigned f = 0; f < FILES; f++)
        if (in_file(tag, f))
            return true;
    return false;
}

static void check_files(const struct dx_tags *t, uint64_t i, unsigned tag)
{
    struct dx_tag_cursor c;
    struct dx_tag_file f;

    EXPECT(dx_tags_files(t, i, &c, NULL) == DX_OK, "files of %s", names[tag]);
    for (unsigned file = 0; file < FILES; file++)
        if (in_file(tag, file))
            EXPECT(dx_tag_cursor_next(&c, &f, NULL) == 1 && f.file_id == file &&
                       same_sets(t, &f, tag),
                   "%s in file %u", names[tag], file);
    EXPECT(dx_tag_cursor_next(&c, &f, NULL) == 0, "a file too many");
    for (unsigned from = 0; from <= FILES; from++) {
        unsigned want = from;

        while (want < FILES && !in_file(tag, want))
            want++;
        EXPECT(dx_tags_files(t, i, &c, NULL) == DX_OK &&
                   dx_tag_cursor_seek(&c, from, NULL) == DX_OK,
               "seek");
        EXPECT(dx_tag_cursor_next(&c, &f, NULL) == (want < FILES) &&
                   (want == FILES || f.file_id == want),
               "from file %u on", from);
    }
}

static void check_shape(uint64_t seed, unsigned tags)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_tags_left left;
    struct dx_tags t;
    uint64_t at = 0;
    uint64_t found;

    make_rows(seed);
    write_file(tags, &file);
    EXPECT(dx_tags_open(&t, dx_span_of(file.data, file.size), 0, "tags", &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_tags_verify(&t, &err) == DX_OK, "%s", err.text);
    EXPECT(t.domains == DOMAINS && t.files == FILES && t.left_count == 3, "header");
    for (unsigned i = 0; i < TAGS; i++) {
        struct dx_span tag = dx_span_str(names[i]);
        struct dx_span name = { NULL, 0 };
        bool there = i < tags && anywhere(i);

        EXPECT(dx_tags_find(&t, tag, &found, &err) == there && found == at, "%s: %llu", names[i],
               (unsigned long long)found);
        if (!there)
            continue;
        EXPECT(dx_tags_name(&t, at, &name, &err) == DX_OK && dx_span_equal(name, tag), "%s",
               names[i]);
        check_files(&t, at, i);
        at++;
    }
    EXPECT(at == t.count, "%llu tags of %llu", (unsigned long long)at, (unsigned long long)t.count);
    EXPECT(dx_tags_name(&t, at, &(struct dx_span){ NULL, 0 }, NULL) == DX_E_INVALID, "behind");
    for (unsigned k = 0; k < 3; k++)
        EXPECT(dx_tags_left_at(&t, k, &left, NULL) == 1 && left.file_id == 1 + 3 * k &&
                   left.rows == 3 * k && left.tags == 5,
               "left %u", k);
    EXPECT(dx_tags_left_at(&t, 3, &left, NULL) == 0, "behind the last left");
    dx_tags_close(&t);
    dx_buf_release(&file);
}

/* ---- damage ---- */

static enum verdict attempt(void *ctx, struct dx_span bytes)
{
    struct dx_tags t;
    int rc = dx_tags_open(&t, bytes, 0, "tags", NULL);

    (void)ctx;
    if (rc == DX_OK)
        rc = dx_envelope_verify(&t.envelope, NULL);
    dx_tags_close(&t);
    return rc < 0 ? REFUSED : WRONG_ANSWER;
}

/* A file that is small enough for each of its bits. */
static void small_file(struct dx_buf *out)
{
    make_rows(3);
    for (unsigned t = 0; t < TAGS; t++)
        for (unsigned f = 0; f < FILES; f++)
            memset(has[t][f] + 40, 0, ROWS - 40);
    write_file(8, out);
}

static void check_damage(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct damaged d;
    struct verdicts v;

    small_file(&file);
    d = damaged_copy(dx_span_of(file.data, file.size));
    v = damaged_flips(&d, 0, d.size, 1, attempt, NULL);
    EXPECT(v.count[WRONG_ANSWER] == 0 && v.count[REFUSED] == v.all, "flips");
    v = damaged_cuts(&d, attempt, NULL);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    damaged_free(&d);
    dx_buf_release(&file);
}

/* What the layout forbids, with sums that are right. */
static const struct {
    const char *section; /* NULL: the header */
    size_t at;
    unsigned size;
    uint64_t value;
    const char *says;
} rules[] = {
    { NULL, 8, 8, 1u << 20, "header" },                 /* more tags than files of tags */
    { NULL, 16, 8, UINT64_C(1) << 60, "header" },       /* entries without rows */
    { NULL, 24, 8, 1u << 30, "the files have" },        /* rows */
    { NULL, 32, 8, 1, "domain that the version" },      /* domains */
    { NULL, 40, 8, 1, "header" },                       /* files, fewer than left */
    { NULL, 40, 8, 4, "no such file" },                 /* files */
    { NULL, 48, 8, 2, "LEFT" },                         /* left */
    { NULL, 56, 1, 1, "zero" },                         /* reserved */
    { "TAGS", 0, 8, 1, "front" },                       /* the first name */
    { "TAGS", 8, 8, 1, "front" },                       /* its first file */
    { "TAGS", 16, 8, 0, "its name is empty" },          /* begins where the one before does */
    { "TAGS", 24, 8, 0, "no files" },                   /* likewise */
    { "TAGS", 16, 8, UINT64_MAX, "its name is empty" }, /* far outside */
    { "TAGS", 24, 8, UINT64_MAX, "no files" },          /* far outside */
    { "NAME", 0, 1, 0x1f, "no tag" },                   /* a control character */
    { "NAME", 0, 1, 0xff, "no tag" },                   /* no UTF-8 */
    { "NAME", 0, 1, 'z', "tags do not ascend" },        /* behind the next one */
    { "FILE", 0, 8, 1, "its sets do not begin" },       /* the first set */
    { "FILE", 20, 8, 0, "its sets are not in SETS" },   /* an empty place */
    { "FILE", 20, 8, UINT64_MAX, "not in SETS" },       /* far outside */
    { "FILE", 8, 4, FILES, "no such file" },            /* no such file */
    { "FILE", 12, 4, 0, "fewer rows than domains" },    /* no rows */
    { "FILE", 16, 4, 0, "fewer rows than domains" },    /* no domains */
    { "FILE", 16, 4, UINT32_MAX, "fewer rows" },        /* more domains than rows */
    { "SETS", 0, 1, 0, "set of 0 bytes" },              /* no size */
    { "SETS", 0, 1, 0x7e, "a set" },                    /* too long */
    { "LEFT", 0, 4, FILES, "no such file" },            /* no such file */
    { "LEFT", 4, 4, 1, "no such file, or nothing" },    /* reserved */
    { "LEFT", 24, 4, 0, "files do not ascend" },        /* behind file 1 */
};

static void check_rule(struct dx_span file, size_t i)
{
    struct damaged d = damaged_copy(file);
    uint64_t size = 0;
    uint8_t *section = rules[i].section == NULL
                           ? d.bytes
                           : envelope_find(d.bytes, d.size, rules[i].section, &size);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_tags t;
    int rc;

    for (unsigned k = 0; k < rules[i].size; k++)
        section[rules[i].at + k] = (uint8_t)(rules[i].value >> (8 * k));
    envelope_resum(d.bytes, d.size);
    rc = dx_tags_open(&t, dx_span_of(d.bytes, d.size), 0, "tags", &err);
    if (rc == DX_OK)
        rc = dx_tags_verify(&t, &err);
    EXPECT(rc < 0 && strstr(err.text, rules[i].says) != NULL, "rule %zu (%s): \"%s\"", i,
           rules[i].says, err.text);
    dx_tags_close(&t);
    damaged_free(&d);
}

static void check_rules(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);

    small_file(&file);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        check_rule(dx_span_of(file.data, file.size), i);
    dx_buf_release(&file);
}

/* With sums believed: whatever the bytes, no read outside and an end. */
static enum verdict attempt_believed(void *ctx, struct dx_span bytes)
{
    struct dx_tags t;
    int rc = dx_tags_open(&t, bytes, DX_OPEN_UNCHECKED, "tags", NULL);

    (void)ctx;
    if (rc == DX_OK)
        rc = dx_tags_verify(&t, NULL);
    dx_tags_close(&t);
    return rc < 0 ? REFUSED : SAME_ANSWERS;
}

static void check_believed(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct damaged d;
    struct verdicts v;

    small_file(&file);
    d = damaged_copy(dx_span_of(file.data, file.size));
    v = damaged_flips(&d, 0, d.size, 1, attempt_believed, NULL);
    printf("%zu bytes: %zu flips refused without sums, %zu are other files\n", d.size,
           v.count[REFUSED], v.count[SAME_ANSWERS]);
    damaged_free(&d);
    dx_buf_release(&file);
}

/* ---- what a writer refuses ---- */

static int put_nothing(void *ctx, enum dx_tags_part part, struct dx_span bytes,
                       struct dx_error *err)
{
    (void)ctx;
    (void)part;
    (void)bytes;
    (void)err;
    return DX_OK;
}

static void check_refusals(void)
{
    struct dx_tags_encoder e;
    roaring_bitmap_t *one = roaring_bitmap_from_range(1, 2, 1);
    roaring_bitmap_t *two = roaring_bitmap_from_range(8, 10, 1);
    roaring_bitmap_t *none = roaring_bitmap_create();
    const struct dx_tags_left left = { 1, 1, 0 };
    const struct dx_tags_left nothing = { 2, 0, 0 };

    dx_tags_encoder_init(&e, 10, 2, put_nothing, NULL);
    EXPECT(dx_tags_encode_file(&e, 0, one, one, NULL) < 0, "a file before a tag");
    EXPECT(dx_tags_encode_tag(&e, dx_span_str("b"), NULL) == DX_OK, "b");
    EXPECT(dx_tags_encode_tag(&e, dx_span_str("b"), NULL) < 0, "b twice");
    EXPECT(dx_tags_encode_tag(&e, dx_span_str("a"), NULL) < 0, "a behind b");
    EXPECT(dx_tags_encode_tag(&e, dx_span_str("c\n"), NULL) < 0, "a line end");
    EXPECT(dx_tags_encode_file(&e, 0, one, two, NULL) < 0, "more domains than rows");
    EXPECT(dx_tags_encode_file(&e, 0, none, none, NULL) < 0, "no rows");
    EXPECT(dx_tags_encode_file(&e, 1, two, two, NULL) == DX_OK, "file 1");
    EXPECT(dx_tags_encode_file(&e, 1, two, two, NULL) < 0, "file 1 twice");
    EXPECT(dx_tags_encode_file(&e, 2, two, two, NULL) < 0, "file 2 of 2");
    roaring_bitmap_add(two, 10);
    EXPECT(dx_tags_encode_tag(&e, dx_span_str("c"), NULL) == DX_OK, "c");
    EXPECT(dx_tags_encode_file(&e, 0, two, two, NULL) < 0, "domain 10 of 10");
    EXPECT(dx_tags_encode_left(&e, &left, NULL) == DX_OK, "left");
    EXPECT(dx_tags_encode_left(&e, &left, NULL) < 0, "left twice");
    EXPECT(dx_tags_encode_left(&e, &nothing, NULL) < 0, "nothing is left");
    EXPECT(e.count == 1 && e.entries == 1 && e.rows == 2, "%llu tags", (unsigned long long)e.count);
    dx_tags_encoder_release(&e);
    roaring_bitmap_free(one);
    roaring_bitmap_free(two);
    roaring_bitmap_free(none);
}

/* ---- the column ---- */

static const struct {
    const char *value;
    const char *tags; /* each with a | behind it; NULL: no list */
} lists[] = {
    { "", "" },
    { "[]", "" },
    { " [ ] ", "" },
    { "[\"a\"]", "a|" },
    { "[\"a\",\"b c\",\"a\"]", "a|b c|a|" },
    { "\n[\n\t\"a\" ,\r\n \"b\"]\n", "a|b|" },
    { "[\"\\u00e9\\ud83d\\ude00\"]", "\xc3\xa9\xf0\x9f\x98\x80|" },
    { "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "\"\\/\b\f\n\r\t|" },
    { "[\"\\ud83d\"]", "\xef\xbf\xbd|" },
    { "[\"\"]", "|" },
    { "[\"a\"", NULL },
    { "[\"a]", NULL },
    { "\"a\"", NULL },
    { "[1]", NULL },
    { "[null]", NULL },
    { "[\"a\",]", NULL },
    { "[,\"a\"]", NULL },
    { "[\"a\" \"b\"]", NULL },
    { "[[\"a\"]]", NULL },
    { "[\"a\"]x", NULL },
    { "[\"a\"][]", NULL },
    { "[\"\\x\"]", NULL },
    { "{\"a\":1}", NULL },
    { "null", NULL },
    { "a, b", NULL },
};

static void check_lists(void)
{
    struct dx_buf tag = DX_BUF_INIT(1000);
    struct dx_buf all = DX_BUF_INIT(1000);

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct dx_tag_list l;
        int rc;

        dx_buf_clear(&all);
        dx_tag_list_begin(&l, dx_span_str(lists[i].value));
        while ((rc = dx_tag_list_next(&l, &tag)) == 1) {
            dx_buf_append(&all, tag.data, tag.size);
            dx_buf_u8(&all, '|');
        }
        EXPECT((rc == 0) == (lists[i].tags != NULL), "%s: %d", lists[i].value, rc);
        EXPECT(rc != 0 || dx_span_equal(dx_span_of(all.data, all.size), dx_span_str(lists[i].tags)),
               "%s: %.*s", lists[i].value, (int)all.size, (const char *)all.data);
    }
    dx_buf_release(&tag);
    dx_buf_release(&all);
}

static void check_fits(void)
{
    static char longest[DX_TAG_MAX + 2];

    memset(longest, 'x', DX_TAG_MAX + 1);
    EXPECT(!dx_tag_fits(dx_span_str(longest)), "one byte too long");
    EXPECT(dx_tag_fits(dx_span_of(longest, DX_TAG_MAX)), "the longest");
    EXPECT(!dx_tag_fits(dx_span_str("")), "empty");
    EXPECT(dx_tag_fits(dx_span_str(" /?#%\"\xc3\xa9")), "odd ones");
    EXPECT(!dx_tag_fits(dx_span_of("a\0b", 3)), "a zero");
    EXPECT(!dx_tag_fits(dx_span_str("a\x7f")), "rubout");
    EXPECT(!dx_tag_fits(dx_span_str("\xc3")), "half a character");
}

int main(void)
{
    make_names();
    for (unsigned seed = 1; seed <= 3; seed++)
        check_shape(seed, TAGS);
    check_shape(4, 1);
    check_shape(5, 0);
    check_damage();
    check_rules();
    check_believed();
    check_refusals();
    check_lists();
    check_fits();
    return failures > 0;
}
