/* SPDX-License-Identifier: Apache-2.0
 * manifest.json: round trips, every flip and cut refused, and each member damaged with the
 * checksum made true again.
 */
#include "format/version/manifest.h"
#include "tests/support/damage.h"

static int failures;

static const char *const names[] = {
    DX_FILE_DOMAINS_MPHF, DX_FILE_DOMAINS_DICT,    DX_FILE_MEMBERSHIP,   DX_FILE_COUNTS,
    DX_FILE_POSTINGS_DIR, DX_FILE_FILES_TSV,       DX_FILE_PAGES,        DX_FILE_DATASETS,
    DX_FILE_PSL,          DX_FILE_DATASET_DOMAINS, DX_FILE_COLD,         DX_FILE_FACTS,
    DX_FILE_SKETCHES,     DX_FILE_URL_IDS,         DX_FILE_POSTINGS_IDX, DX_FILE_POSTINGS_DAT
};

static void fill(struct dx_manifest *m, size_t count)
{
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < count; i++) {
        struct dx_manifest_version *v = NULL;
        struct dx_hash128 hash = { { (uint8_t)i, 2, 3 } };
        char name[DX_VERSION_NAME];
        int64_t us = INT64_C(1795256000000000) + (int64_t)i * 1000000;

        EXPECT(dx_version_name_make(i + 1, us, name), "version %zu", i);
        EXPECT(dx_manifest_add(m, name, &v, &err) == DX_OK, "%s", err.text);
        v->published_us = us;
        v->canon_version = 1;
        v->domains = 1000 + i;
        v->rows = INT64_MAX;
        v->build.bytes[0] = 7;
        strcpy(v->parquet_root, "urls/");
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            EXPECT(dx_manifest_file_add(v, names[k], 100 * k, &hash, &err) == DX_OK, "%s",
                   err.text);
        if (i == 1) /* one version with it, one without */
            EXPECT(dx_manifest_file_add(v, DX_FILE_ETAGS, 7, &hash, &err) == DX_OK, "%s", err.text);
        if (i == 0) /* as older programs have it */
            EXPECT(dx_manifest_file_add(v, DX_FILE_DOMAINS_TXT, 9, &hash, &err) == DX_OK, "%s",
                   err.text);
        EXPECT(dx_manifest_file_add(v, names[0], 1, &hash, &err) < 0, "twice");
        EXPECT(dx_manifest_file_add(v, "postings/000/postings.idx.zst", 1, &hash, &err) < 0,
               "no such file");
        strcpy(m->current, name);
        m->sequence = i + 1;
    }
}

static enum verdict try_manifest(void *ctx, struct dx_span s)
{
    struct dx_manifest m;

    (void)ctx;
    if (dx_manifest_parse(s, "manifest.json", &m, NULL) < 0)
        return m.versions == NULL ? REFUSED : WRONG_ANSWER;
    dx_manifest_release(&m);
    return SAME_ANSWERS;
}

/* Where every version has the text of its domains, older programs read the manifest. */
/* Registry and suffix list as older programs have them. */
static void name_plain(struct dx_manifest_version *v)
{
    strcpy(v->files[dx_manifest_file(v, DX_FILE_DATASETS) - v->files].name, DX_FILE_DATASETS_PLAIN);
    strcpy(v->files[dx_manifest_file(v, DX_FILE_PSL) - v->files].name, DX_FILE_PSL_PLAIN);
}

static void test_format_of_before(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest back = DX_MANIFEST_INIT;
    struct dx_buf b = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;

    fill(&m, 1);
    name_plain(&m.versions[0]);
    EXPECT(dx_manifest_write(&m, &b, &err) == DX_OK, "%s", err.text);
    dx_buf_u8(&b, '\0');
    EXPECT(strstr((const char *)b.data, "/psl.dat\",") != NULL, "the plain name");
    EXPECT(strstr((const char *)b.data, "\"format_version\": 1,") != NULL, "format 1");
    EXPECT(dx_manifest_parse(dx_span_of(b.data, b.size - 1), "m", &back, &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_manifest_file(&back.versions[0], DX_FILE_DOMAINS_TXT) != NULL, "the text");
    EXPECT(strcmp(dx_manifest_file(&back.versions[0], DX_FILE_PSL)->name, DX_FILE_PSL_PLAIN) == 0,
           "found by the name of now");
    dx_manifest_release(&m);
    dx_manifest_release(&back);
    dx_buf_release(&b);
}

/* A buffer that is too small is an error, wherever it ends. */
static void test_no_room(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_buf whole = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;

    fill(&m, 1);
    EXPECT(dx_manifest_write(&m, &whole, &err) == DX_OK, "%s", err.text);
    for (size_t max = 0; max <= whole.size; max++) {
        struct dx_buf b = DX_BUF_INIT(max);
        int rc = dx_manifest_write(&m, &b, &err);

        EXPECT(max < whole.size ? rc < 0 : rc == DX_OK, "%zu of %zu bytes: %d", max, whole.size,
               rc);
        dx_buf_release(&b);
    }
    dx_buf_release(&whole);
    dx_manifest_release(&m);
}

static void test_round(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest back = DX_MANIFEST_INIT;
    struct dx_buf a = DX_BUF_INIT(1 << 20);
    struct dx_buf b = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct damaged d;
    struct verdicts v;

    EXPECT(dx_manifest_write(&m, &a, &err) < 0, "no version");
    dx_buf_clear(&a);
    fill(&m, 2);
    m.versions[1].rows_left_out = 77;
    m.versions[1].rows = m.versions[1].urls = 50;
    m.versions[1].pages = 40;
    EXPECT(dx_manifest_write(&m, &a, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_manifest_parse(dx_span_of(a.data, a.size), "m", &back, &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_manifest_write(&back, &b, &err) == DX_OK && a.size == b.size &&
               memcmp(a.data, b.data, a.size) == 0,
           "written again: %s", err.text);
    EXPECT(back.versions[0].pages == 0 && back.versions[1].pages == 40, "page_count");
    EXPECT(back.versions[0].rows_left_out == 0 && back.versions[1].rows_left_out == 77,
           "rows left out of one version");
    EXPECT(dx_manifest_current(&back) == &back.versions[1] && back.sequence == 2, "current");
    EXPECT(dx_manifest_file(&back.versions[0], DX_FILE_PAGES)->size == 600, "file");
    EXPECT(dx_manifest_file(&back.versions[0], "x") == NULL, "no file");
    EXPECT(dx_manifest_file(&back.versions[0], DX_FILE_ETAGS) == NULL &&
               dx_manifest_file(&back.versions[1], DX_FILE_ETAGS)->size == 7,
           "ETags of one version");
    EXPECT(dx_manifest_remove(&back, back.versions[1].version, &err) < 0, "current one");
    EXPECT(dx_manifest_remove(&back, back.versions[0].version, &err) == DX_OK, "%s", err.text);
    EXPECT(back.version_count == 1 && dx_manifest_current(&back) == &back.versions[0], "removed");
    d = damaged_copy(dx_span_of(a.data, a.size));
    v = damaged_flips(&d, 0, d.size, 1, try_manifest, NULL);
    EXPECT(v.count[REFUSED] == v.all, "%zu flips not refused", v.all - v.count[REFUSED]);
    v = damaged_cuts(&d, try_manifest, NULL);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    printf("%zu bytes, %zu flips\n", d.size, d.size * 8);
    damaged_free(&d);
    dx_manifest_release(&m);
    dx_manifest_release(&back);
    dx_buf_release(&a);
    dx_buf_release(&b);
}

/* The text with one place replaced and a true checksum. */
static bool replaced(const struct dx_buf *from, const char *what, const char *by,
                     struct dx_buf *out)
{
    const uint8_t *at = memmem(from->data, from->size, what, strlen(what));
    const uint8_t *sum = memmem(from->data, from->size, "\"checksum\"", 10);
    char hex[DX_HASH128_TEXT];
    struct dx_hash128 hash;

    if (at == NULL || sum == NULL)
        return false;
    dx_buf_append(out, from->data, (size_t)(at - from->data));
    dx_buf_str(out, by);
    dx_buf_append(out, at + strlen(what), (size_t)(sum - at) - strlen(what));
    hash = dx_hash128_of(dx_span_of(out->data, out->size));
    dx_hash128_text(&hash, hex);
    dx_buf_fmt(out, "\"checksum\": \"%s\"\n}\n", hex);
    return !out->failed;
}

struct member_case {
    const char *what;
    const char *by;
    const char *say; /* NULL: accepted */
};

static void try_members(const struct dx_manifest *m, const struct member_case *rows, size_t count)
{
    struct dx_buf whole = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_manifest_write(m, &whole, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < count; i++) {
        struct dx_buf b = DX_BUF_INIT(1 << 20);
        struct dx_manifest back;
        int rc;

        err.text[0] = '\0';
        EXPECT(replaced(&whole, rows[i].what, rows[i].by, &b), "row %zu: no such text", i);
        rc = dx_manifest_parse(dx_span_of(b.data, b.size), "m.json", &back, &err);
        if (rows[i].say == NULL)
            EXPECT(rc == DX_OK, "row %zu: %s", i, err.text);
        else
            EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL &&
                       strncmp(err.text, "m.json: ", 8) == 0,
                   "row %zu (%s): rc %d, '%s'", i, rows[i].say, rc, err.text);
        dx_manifest_release(&back);
        dx_buf_release(&b);
    }
    dx_buf_release(&whole);
}

static void test_members(void)
{
    static const struct member_case rows[] = {
        { "\"sequence\": 2,", "\"sequence\": 3,", NULL },
        { "{\n  \"format\"", "{ \"format\"", NULL },
        { "domaindex-index", "other", "'format' is not" },
        { "domaindex-index\",\n  \"format_version\": 2",
          "domaindex-manifest\",\n  \"format_version\": 3",
          "'domaindex-manifest' version 3 is of a program before release 1.0" },
        { "domaindex-index", "domaindex-manifest", "domaindex ingest --root NEW" },
        { "\"format_version\": 2", "\"format_version\": 3", "format_version is 3" },
        { "\"format_version\": 2", "\"format_version\": 0", "format_version is 0" },
        { "\"format_version\": 2", "\"format_version\": \"2\"", "format_version" },
        { "\"format_version\": 2", "\"format_version\": 1",
          "format_version is 1, and its versions are of 2" },
        { "\"facts.dat.zst\": {", "\"facts.dat.zsu\": {", "not a file of a version" },
        { "\"facts\": \"index/", "\"facts\": \"/index/", "'facts'" },
        { "\"cold_dir\": \"index/000002", "\"cold_dir\": \"index/000001", "'cold_dir'" },
        { "\"url_ids\":", "\"urlids\":", "'url_ids'" },
        { "\"sketches.dat.zst\": {", "\"missing.tsv.zst\": {",
          "file 'sketches.dat.zst' is not listed" },
        { "\"state\": \"listed\"", "\"state\": \"lost\"", "'state'" },
        { "\"state\": \"listed\"", "\"state\": \"dropped\"", "contradict" },
        { "\"condemned\": null", "\"condemned\": \"2026-11-21T10:30:00Z\"", "contradict" },
        { "\"condemned\": null", "\"condemned\": 0", "'condemned'" },
        { "\"superseded\": null", "\"superseded\": \"2026-11-21T10:30:00Z\"", NULL },
        { "\"base\": null", "\"base\": \"000001-20261121T103000Z\"", "'base'" },
        { "\"base\": null", "\"base\": 1", "'base'" },
        { "\"cleansed\": 0", "\"cleansed\": -1", "'cleansed'" },
        { "\"lake_files\": 0", "\"lake_files\": 1", "more lake files" },
        /* Members that a version has only where they say something. */
        { "\"lake_files\": 0,", "\"lake_files\": 0, \"missing_files\": 0,", "'missing_files'" },
        { "\"lake_files\": 0,", "\"lake_files\": 0, \"missing_files\": 1,", "do not agree" },
        { "\"lake_files\": 0,", "\"lake_files\": 0, \"gone_files\": 0,", "'gone_files'" },
        { "\"lake_files\": 0,", "\"lake_files\": 0, \"page_count\": 0,", "'page_count'" },
        { "\"lake_files\": 0,", "\"lake_files\": 0, \"rows_left_out\": 0,", "'rows_left_out'" },
        { "\"lake_files\": 0,", "\"lake_files\": 0, \"rows_left_out\": 1,", NULL },
        { "\"size\": 0,", "\"size\": 0, \"in\": \"000001-20261121T103000Z\",", "size and hash" },
        { "\"sequence\": 2,", "\"sequence\": 1,", "sequence 1 is below" },
        { "\"sequence\": 2,", "\"sequence\": -2,", "'sequence'" },
        { "\"sequence\": 2,", "\"sequence\": 2, \"x\": 1,", "other members" },
        { "\"sequence\": 2,", "\"sequence\": 2, \"sequence\": 2,", "duplicate" },
        { "\"current_version\": \"000002", "\"current_version\": \"000003", "is not listed" },
        { "\"current_version\": \"000002", "\"current_version\": \"../",
          "not the name of a version" },
        { "\"version\": \"000001", "\"version\": \"000003", "'sequence' is not" },
        { "\"version\": \"000001-2026", "\"version\": \"00001-2026", "not the name of a version" },
        { "\"version\": \"000002", "\"version\": \"000001", "does not come behind" },
        { "\"published\": \"2026", "\"published\": \"x026", "published" },
        { "\"build_id\": \"07", "\"build_id\": \"7", "build_id" },
        { "\"build_id\": \"07", "\"build_id\": \"0Z", "build_id" },
        { "\"canon_version\": 1", "\"canon_version\": 4294967296", "canon_version" },
        { "\"domains\": 1000", "\"domains\": 1e3", "domains" },
        { "\"domains\": 1000,", "", "members" },
        { "\"rows\": 9223372036854775807", "\"rows\": 9223372036854775808",
          "is not a whole number" },
        { "\"domains_txt\": \"index/", "\"domains_txt\": \"/index/", "domains_txt" },
        { "\"domains.txt.zst\": {", "\"etags.tsv.zst\": {", "do not agree" },
        { "\"domains_dict\": \"index/0", "\"domains_dict\": \"index/../0", "domains_dict" },
        { "\"pages\": \"index/", "\"pages\": \"http://evil/", "pages" },
        { "\"psl\": \"index/000001", "\"psl\": \"index/000002", "psl" },
        { "postings.idx.zst\",", "postings/{shard}/postings.idx.zst\",",
          "a program before release 1.0 wrote the index; ingest the data into a new root" },
        { "postings.dat.zst\",", "postings.idx.zst\",", "postings_dat" },
        { "\"parquet_root\": \"urls/", "\"parquet_root\": \"urls", "parquet_root" },
        { "\"parquet_root\": \"urls/", "\"parquet_root\": \"../", "parquet_root" },
        { "\"parquet_root\": \"urls/", "\"parquet_root\": \"/urls/", "parquet_root" },
        { "\"parquet_root\": \"urls/", "\"parquet_root\": \"s3://b/", "parquet_root" },
        { "\"pages.dxp\": {", "\"pages.dxq\": {", "not a file of a version" },
        { "\"pages.dxp\": {", "\"../pages.dxp\": {", "not a file of a version" },
        { "\"psl.dat.zst\": {", "\"missing.tsv.zst\": {", "'psl.dat.zst' is not listed" },
        { "\"psl.dat.zst\": {", "\"psl.dat\": {", "'psl' is 'index/000001" },
        { "psl.dat.zst\",", "psl.dat\",", "'psl' is 'index/000001" },
        { "\"etags.tsv.zst\": {", "\"psl.dat\": {", "lists 'psl.dat' and 'psl.dat.zst'" },
        { "\"postings.idx.zst\": {", "\"missing.tsv.zst\": {", "'postings.idx.zst' is not listed" },
        { "{\"size\": 0,", "{\"size\": -1,", "size" },
        { "{\"size\": 0,", "{", "size and hash" },
        { "\"versions\": [", "\"versions\": [[[[[[", "line" },
        { "\"versions\": [", "\"versions\": [7,", "members" },
    };
    struct dx_manifest m = DX_MANIFEST_INIT;

    fill(&m, 2);
    try_members(&m, rows, sizeof rows / sizeof rows[0]);
    dx_manifest_release(&m);
}

/* The third version stands on the first and the second. */
static void over_63_bits(struct dx_manifest *m)
{
    m->versions[0].urls = UINT64_C(1) << 63;
}

static void more_pages(struct dx_manifest *m)
{
    m->versions[0].urls = 10;
    m->versions[0].pages = 11;
}

static void half_a_second(struct dx_manifest *m)
{
    m->versions[0].published_us += 500000;
}

static void superseded_at_half_a_second(struct dx_manifest *m)
{
    m->versions[0].superseded_us = m->versions[0].published_us + 1500000;
}

static void published_too_late(struct dx_manifest *m)
{
    m->versions[0].published_us = INT64_C(253402300800) * 1000000; /* the year 10000 */
}

static void condemn_current(struct dx_manifest *m)
{
    m->versions[1].state = DX_VERSION_CONDEMNED;
    m->versions[1].condemned_us = m->versions[1].published_us;
}

static void condemned_without_time(struct dx_manifest *m)
{
    m->versions[0].state = DX_VERSION_CONDEMNED;
}

static void another_current(struct dx_manifest *m)
{
    m->current[5]++;
}

static void lower_sequence(struct dx_manifest *m)
{
    m->sequence = 1;
}

static void condemned_at_half_a_second(struct dx_manifest *m)
{
    m->versions[0].state = DX_VERSION_CONDEMNED;
    m->versions[0].condemned_us = m->versions[0].published_us + 500000;
}

static void superseded_too_late(struct dx_manifest *m)
{
    m->versions[0].superseded_us = INT64_C(253402300800) * 1000000;
}

static void unknown_state(struct dx_manifest *m)
{
    m->versions[0].state = (enum dx_version_state)7;
}

static void more_pages_than_rows(struct dx_manifest *m)
{
    m->versions[0].urls = 20;
    m->versions[0].rows = 10;
    m->versions[0].pages = 11;
}

static void long_root(struct dx_manifest *m)
{
    char *root = m->versions[0].parquet_root;

    memset(root, 'a', sizeof m->versions[0].parquet_root - 1);
    root[sizeof m->versions[0].parquet_root - 2] = '/';
    root[sizeof m->versions[0].parquet_root - 1] = '\0';
    root[0] = '/';
}

static void sequence_of_64_bits(struct dx_manifest *m)
{
    m->sequence = (uint64_t)INT64_MAX + 1;
}

static void parts_without_dead(struct dx_manifest *m)
{
    struct dx_manifest_version *v = &m->versions[1];

    v->part_count = 1;
    memcpy(v->parts[0], m->versions[0].version, DX_VERSION_NAME);
}

static void too_many_parts(struct dx_manifest *m)
{
    m->versions[1].part_count = DX_PARTS_MAX;
}

static void gone_without_parts(struct dx_manifest *m)
{
    m->versions[1].gone_files = 1;
}

/* What no manifest may say is not written either. */
static void test_refused_writes(void)
{
    static const struct {
        void (*change)(struct dx_manifest *m);
        const char *say;
    } rows[] = {
        { over_63_bits, "a count is over 63 bits" },
        { more_pages, "more pages than rows or URLs" },
        { half_a_second, "published is not a whole second" },
        { published_too_late, "published is not a whole second" },
        { superseded_at_half_a_second, "a time is not a whole second" },
        { condemn_current, "is condemned" },
        { condemned_without_time, "contradict each other" },
        { another_current, "is not listed" },
        { lower_sequence, "sequence 1 is below" },
        { condemned_at_half_a_second, "a time is not a whole second" },
        { superseded_too_late, "a time is not a whole second" },
        { unknown_state, "contradict each other" },
        { more_pages_than_rows, "more pages than rows or URLs" },
        { long_root, "parquet_root is not a plain relative path" },
        { sequence_of_64_bits, "is below that of version" },
        { parts_without_dead, "do not agree" },
        { too_many_parts, "are not older versions by their sequence" },
        { gone_without_parts, "and it has no older parts" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_buf text = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;

        fill(&m, 2);
        rows[i].change(&m);
        EXPECT(dx_manifest_write(&m, &text, &err) == DX_E_CORRUPT &&
                   strstr(err.text, rows[i].say) != NULL,
               "%s: %s", rows[i].say, err.text);
        dx_buf_release(&text);
        dx_manifest_release(&m);
    }
}

static void test_remove(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char first[DX_VERSION_NAME];

    fill(&m, 3);
    memcpy(first, m.versions[0].version, sizeof first);
    EXPECT(dx_manifest_remove(&m, m.current, &err) == DX_E_INVALID && m.version_count == 3,
           "the current one: %s", err.text);
    EXPECT(dx_manifest_remove(&m, first, &err) == DX_OK && m.version_count == 2 &&
               dx_manifest_find(&m, first) == NULL && dx_manifest_current(&m) == &m.versions[1],
           "the first: %s", err.text);
    EXPECT(dx_manifest_remove(&m, first, &err) == DX_E_NOT_FOUND && m.version_count == 2,
           "again: %s", err.text);
    dx_manifest_release(&m);
}

static void test_parts(void)
{
    static const struct member_case rows[] = {
        { "\"sequence\": 3,", "\"sequence\": 4,", NULL },
        { "Z\", \"000002", "Z\", \"000003", "is not listed" },
        { "\"parts\": [\"000001", "\"parts\": [\"000004", "not older versions" },
        { "\"parts\": [\"", "\"parts\": [\"x", "parts[0]" },
        { "\"parts\": [", "\"party\": [", "members" },
        { "\"part_domains\": 10,", "\"part_domains\": 1001,", NULL },
        { "\"part_domains\": 10,", "\"part_domains\": 1003,", "larger than the version" },
        { "\"part_domains\": 10,", "", "members, expected" },
        { "\"part_urls\": 0,", "\"part_urls\": -1,", "part_urls" },
        { "\"part_urls\": 0,", "\"part_urls\": 1,", "larger than the version" },
        { "\"part_pairs\": 0,", "\"part_pairs\": 1,", "larger than the version" },
        { "\"parts\": [\"000001-20261121T", "\"parts\": [\"000001-20261121t",
          "not older versions" },
        { "\"first_file\": 7,", "\"first_file\": 6,", "has other parts, file numbers" },
        { "\"first_file\": 5,", "\"first_file\": 4,", "has other parts, file numbers" },
        { "\"first_file\": 7,", "\"first_file\": 10,", "larger than the version" },
        { "\"dead.dxb\": {", "\"missing.tsv.zst\": {", "do not agree" },
        { "\"gone_files\": 3,", "\"gone_files\": 0,", "gone_files" },
        { "\"lake_files\": 0,", "\"lake_files\": 0,\n      \"gone_files\": 1,", "no older parts" },
        { "\"canon_version\": 1", "\"canon_version\": 2", "has other parts, file numbers" },
        { "\"parquet_root\": \"urls/", "\"parquet_root\": \"urlz/", "has other parts" },
        { "\"state\": \"listed\",\n      \"condemned\": null",
          "\"state\": \"condemned\",\n      \"condemned\": \"2026-11-21T10:30:00Z\"", NULL },
        { "\"state\": \"listed\",\n      \"condemned\": null",
          "\"state\": \"dropped\",\n      \"condemned\": \"2026-11-21T10:30:00Z\"",
          "its part 000001-20261121T" },
    };
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest back = DX_MANIFEST_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_hash128 hash = { { 1 } };

    fill(&m, 3);
    m.versions[0].file_ids = 5;
    m.versions[1].file_ids = 7;
    m.versions[2].file_ids = 9;
    for (size_t i = 1; i < 3; i++) {
        struct dx_manifest_version *v = &m.versions[i];

        v->part = (struct dx_manifest_part){ 10, 0, 0, 0, m.versions[i - 1].file_ids };
        for (v->part_count = 0; v->part_count < i; v->part_count++)
            memcpy(v->parts[v->part_count], m.versions[v->part_count].version, DX_VERSION_NAME);
        EXPECT(dx_manifest_file_add(v, DX_FILE_DEAD, 7, &hash, &err) == DX_OK, "%s", err.text);
    }
    m.versions[2].gone_files = 3;
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_manifest_parse(dx_span_of(text.data, text.size), "m", &back, &err) == DX_OK, "%s",
           err.text);
    EXPECT(back.versions[2].gone_files == 3 && back.versions[0].part_count == 0 &&
               back.versions[0].part.domains == 1000 && back.versions[2].part_count == 2 &&
               back.versions[2].part.first_file == 7 &&
               dx_manifest_has_part(&back.versions[2], back.versions[1].version) &&
               dx_manifest_has_part(&back.versions[2], back.versions[2].version) &&
               !dx_manifest_has_part(&back.versions[1], back.versions[2].version),
           "parts read back");
    EXPECT(dx_manifest_remove(&m, m.versions[0].version, &err) == DX_OK &&
               dx_manifest_write(&m, &text, &err) < 0,
           "a part of others is removed and the manifest written");
    dx_manifest_release(&m);
    try_members(&back, rows, sizeof rows / sizeof rows[0]);
    dx_manifest_release(&back);
    dx_buf_release(&text);
}

/* What the log of suppressions has at least. */
static void test_suppressions(void)
{
    static const struct member_case rows[] = {
        { "\"suppressions\": 3", "\"suppressions\": 4", NULL },
        { "\"suppressions\": 3", "\"suppressions\": 0", "suppressions" },
        { "\"suppressions\": 3", "\"suppressions\": 1048577", "suppressions" },
        { "\"suppressions\": 3", "\"suppression\": 3", "other members" },
        { "\"suppressions\": 3,", "", "other members" },
        { "\"suppressions_hash\": \"07", "\"suppressions_hash\": \"7", "suppressions_hash" },
        { "\"suppressions_hash\"", "\"suppression_hash\"", "suppressions_hash" },
    };
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest back = DX_MANIFEST_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;

    fill(&m, 1);
    m.suppressions = 3;
    m.suppressions_hash.bytes[0] = 7;
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_manifest_parse(dx_span_of(text.data, text.size), "m", &back, &err) == DX_OK &&
               back.suppressions == 3 && back.suppressions_hash.bytes[0] == 7,
           "read back: %s", err.text);
    try_members(&back, rows, sizeof rows / sizeof rows[0]);
    dx_manifest_release(&m);
    dx_manifest_release(&back);
    dx_buf_release(&text);
}

/* The generation that the access table has at least, with and without a log of suppressions. */
static void test_access(void)
{
    static const struct member_case rows[] = {
        { "\"access\": 1795320000123", "\"access\": 1", NULL },
        { "\"access\": 1795320000123", "\"access\": 9223372036854775807", NULL },
        { "\"access\": 1795320000123", "\"access\": 9223372036854775808", "access" },
        { "\"access\": 1795320000123", "\"access\": 0", "access" },
        { "\"access\": 1795320000123", "\"access\": null", "access" },
        { "\"access\": 1795320000123", "\"acces\": 1795320000123", "other members" },
        { "\"access\": 1795320000123", "\"access\": 1, \"access\": 1", "duplicate" },
    };
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest back = DX_MANIFEST_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;

    fill(&m, 1);
    for (uint64_t lines = 0; lines < 2; lines++) {
        m.suppressions = lines;
        m.access = UINT64_C(1795320000123);
        dx_buf_clear(&text);
        EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_manifest_parse(dx_span_of(text.data, text.size), "m", &back, &err) == DX_OK &&
                   back.access == UINT64_C(1795320000123) && back.suppressions == lines,
               "read back: %s", err.text);
        try_members(&back, rows, sizeof rows / sizeof rows[0]);
        dx_manifest_release(&back);
    }
    m.access = 0;
    dx_buf_clear(&text);
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK &&
               memmem(text.data, text.size, "\"access\"", 8) == NULL,
           "not of a root without a table");
    dx_manifest_release(&m);
    dx_buf_release(&text);
}

static void test_pack(void)
{
    static const struct member_case rows[] = {
        { "\"pack\": \"09", "\"pack\": \"08", NULL },
        { "\"pack\": \"09", "\"pack\": \"9", "pack" },
        { "\"pack\": \"", "\"pack\": null, \"x\": \"", "members" },
        { "\"pack\": ", "\"puck\": ", "members" },
        { "\"size\": 1500", "\"size\": 1073741824", "too large for a pack" },
        { "\"size\": 1500", "\"size\": 9223372036854775807", "too large for a pack" },
    };
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest back = DX_MANIFEST_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_hash128 hash = { { 9, 1 } };
    const struct dx_manifest_version *v;
    struct dx_manifest_place place;
    uint64_t at = 0;

    fill(&m, 2);
    EXPECT(dx_manifest_pack_set(&m.versions[0], &hash, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK &&
               dx_manifest_parse(dx_span_of(text.data, text.size), "m", &back, &err) == DX_OK,
           "%s", err.text);
    v = &back.versions[0];
    for (size_t i = 0; i < v->file_count; i++) {
        at = (at + DX_PACK_ALIGN - 1) / DX_PACK_ALIGN * DX_PACK_ALIGN;
        dx_manifest_place(v, &v->files[i], &place);
        EXPECT(place.at == at && place.total == v->pack.size &&
                   strstr(place.object, "/" DX_FILE_PACK) != NULL,
               "%s is in %s at %llu", v->files[i].name, place.object, (unsigned long long)place.at);
        at += v->files[i].size;
    }
    EXPECT(at == v->pack.size && dx_hash128_equal(&v->pack.hash, &hash) &&
               dx_manifest_object_count(v) == 1 && dx_manifest_object(v, 0) == &v->pack,
           "the pack");
    v = &back.versions[1];
    dx_manifest_place(v, &v->files[3], &place);
    EXPECT(dx_manifest_object_count(v) == v->file_count &&
               dx_manifest_object(v, 3) == &v->files[3] && place.at == 0 &&
               place.total == v->files[3].size,
           "files of their own");
    dx_manifest_release(&m);
    try_members(&back, rows, sizeof rows / sizeof rows[0]);
    dx_manifest_release(&back);
    dx_buf_release(&text);
}

static void test_names(void)
{
    static const struct {
        const char *name;
        bool ok;
    } rows[] = {
        { "000001-20261121T103000Z", true },   { "999999-00000101T000000Z", true },
        { "000000-20261121T103000Z", false },  { "000001-20261321T103000Z", false },
        { "000001-20260230T103000Z", false },  { "000001-20261121T243000Z", false },
        { "000001-20261121T103060Z", false },  { "000001-20261121T103000", false },
        { "000001-20261121T103000ZZ", false }, { "000001_20261121T103000Z", false },
        { "../001-20261121T103000Z", false },  { "", false },
    };
    char name[DX_VERSION_NAME];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        EXPECT(dx_version_name_ok(dx_span_str(rows[i].name), NULL) == rows[i].ok, "'%s'",
               rows[i].name);
    EXPECT(dx_version_name_formed(dx_span_str("000000-20261399T996099Z")) &&
               !dx_version_name_formed(dx_span_str("000001-20261121T103000")) &&
               !dx_version_name_formed(dx_span_str("00000a-20261121T103000Z")),
           "the form alone");
    EXPECT(dx_version_name_make(7, 0, name) && strcmp(name, "000007-19700101T000000Z") == 0, "%s",
           name);
    EXPECT(!dx_version_name_make(0, 0, name) && !dx_version_name_make(1000000, 0, name) &&
               !dx_version_name_make(1, 1, name) &&
               !dx_version_name_make(1, INT64_C(253402300800) * 1000000, name),
           "refused");
}

/* A flip clears the mark of where it goes, and never goes to a version that is being removed. */
static void test_flip(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest other = DX_MANIFEST_INIT;
    struct dx_manifest_version copy;
    struct dx_error err = DX_ERROR_INIT;
    int64_t now = INT64_C(1795256000000000);
    char path[DX_MANIFEST_FILE_PATH];
    const char *first;

    fill(&m, 2);
    first = m.versions[0].version;
    dx_manifest_file_path(&m.versions[1], dx_manifest_file(&m.versions[1], DX_FILE_PSL), path);
    EXPECT(strncmp(path + 6, m.versions[1].version, DX_VERSION_NAME - 1) == 0, "%s", path);
    m.versions[0].state = DX_VERSION_CONDEMNED;
    m.versions[0].condemned_us = now;
    EXPECT(dx_manifest_version_copy(&m.versions[1], &copy, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_manifest_flip(&m, first, 2, now, &err) < 0, "the sequence must rise");
    EXPECT(dx_manifest_flip(&m, first, 3, now + 1, &err) == DX_OK, "%s", err.text);
    EXPECT(strcmp(m.current, first) == 0 && m.sequence == 3, "%s", m.current);
    EXPECT(m.versions[0].state == DX_VERSION_LISTED &&
               m.versions[0].condemned_us == DX_MANIFEST_NEVER &&
               m.versions[1].superseded_us == now,
           "the mark is cleared, the other's time taken");
    fill(&other, 2);
    other.versions[0].state = DX_VERSION_DROPPED;
    EXPECT(dx_manifest_flip(&other, other.versions[0].version, 3, now, &err) == DX_E_NOT_FOUND,
           "not to what is being removed");
    EXPECT(copy.file_count == m.versions[1].file_count && copy.files != m.versions[1].files &&
               memcmp(copy.files, m.versions[1].files, copy.file_count * sizeof *copy.files) == 0,
           "a deep copy");
    free(copy.files);
    dx_manifest_release(&m);
    dx_manifest_release(&other);
}

/* A version by its name or its number, and nothing by what only looks like one. */
static void test_said(void)
{
    static const char *const not_said[] = { "", "0", "000000", "3", "1x", "-1", " 1", "0000001" };
    struct dx_manifest m = DX_MANIFEST_INIT;

    fill(&m, 2);
    for (size_t i = 0; i < m.version_count; i++) {
        const struct dx_manifest_version *v = &m.versions[i];
        char number[16];

        (void)snprintf(number, sizeof number, "%u", (unsigned)v->sequence);
        EXPECT(dx_manifest_said(&m, v->version) == v && dx_manifest_said(&m, number) == v,
               "%s by %s", v->version, number);
        (void)snprintf(number, sizeof number, "%06u", (unsigned)v->sequence);
        EXPECT(dx_manifest_said(&m, number) == v, "%s by %s", v->version, number);
    }
    EXPECT(strcmp(dx_version_state_name(DX_VERSION_LISTED), "listed") == 0 &&
               strcmp(dx_version_state_name((enum dx_version_state)9), "unknown") == 0,
           "words of states");
    {
        struct dx_manifest_version none = m.versions[0], copy;
        struct dx_error err = DX_ERROR_INIT;
        const struct dx_hash128 hash = { { 1 } };

        none.files = NULL;
        none.file_count = none.file_capacity = 0;
        EXPECT(dx_manifest_version_copy(&none, &copy, &err) == DX_OK && copy.files == NULL &&
                   copy.file_count == 0 && strcmp(copy.version, none.version) == 0,
               "a version without files: %s", err.text);
        EXPECT(dx_manifest_file_add(&copy, DX_FILE_PSL, (uint64_t)INT64_MAX + 1, &hash, &err) ==
                       DX_E_INVALID &&
                   copy.file_count == 0,
               "a file of over 63 bits: %s", err.text);
    }
    for (size_t i = 0; i < sizeof not_said / sizeof *not_said; i++)
        EXPECT(dx_manifest_said(&m, not_said[i]) == NULL, "by '%s'", not_said[i]);
    dx_manifest_release(&m);
}

int main(void)
{
    test_names();
    test_said();
    test_flip();
    test_format_of_before();
    test_no_room();
    test_round();
    test_members();
    test_refused_writes();
    test_remove();
    test_parts();
    test_pack();
    test_suppressions();
    test_access();
    return failures > 0;
}
