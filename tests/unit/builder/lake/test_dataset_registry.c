/* SPDX-License-Identifier: Apache-2.0
 * test_dataset_registry.c - dataset names and ids beside the lake.
 */
#include "builder/lake/dataset_registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/support/fail.h"
#include "tests/support/root_registry.h"

static int failures;

static void test_round_trip(const char *root)
{
    static const char want[] =
        "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":203,\"datasets\":[\n"
        "{\"dataset_id\":1,\"name\":\"a \\\"b\\\" "
        "\xc3\xa9\",\"metadata\":{\"k\":\"w\",\"z\":\"1\"}},\n"
        "{\"dataset_id\":2,\"name\":\"name 0\"},\n";
    struct dx_dataset_registry *r = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    char path[200];
    uint32_t id = 0;

    if (root_registry(&r, root, &err) < 0 || dx_dataset_registry_count(r) != 0)
        FAIL("empty root: %s", err.text);
    if (dx_dataset_registry_add(r, dx_span_str("a \"b\" \xc3\xa9"), &id, &err) < 0 || id != 1)
        FAIL("first id %u: %s", id, err.text);
    for (int i = 0; i < 201; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "name %d", i);
        if (dx_dataset_registry_add(r, dx_span_str(name), &id, &err) < 0 || id != (uint32_t)i + 2)
            FAIL("%s: id %u", name, id);
    }
    if (dx_dataset_registry_add(r, dx_span_str("name 7"), &id, &err) < 0 || id != 9)
        FAIL("known name: id %u", id);
    if (dx_dataset_registry_set(r, 1, "z", "1", &err) < 0 ||
        dx_dataset_registry_set(r, 1, "k", "v", &err) < 0 ||
        dx_dataset_registry_set(r, 1, "k", "w", &err) < 0 ||
        dx_dataset_registry_set(r, 1, "gone", "1", &err) < 0 ||
        dx_dataset_registry_set(r, 1, "gone", "", &err) < 0)
        FAIL("%s", err.text);
    if (dx_dataset_registry_set(r, 999, "k", "v", &err) != DX_E_NOT_FOUND ||
        dx_dataset_registry_set(r, 1, "k\n", "v", &err) != DX_E_INVALID ||
        dx_dataset_registry_set(r, 1, "k", "v\x01", &err) != DX_E_INVALID)
        FAIL("bad metadata taken");
    if (dx_dataset_registry_save(r, root, &err) < 0)
        FAIL("%s", err.text);
    dx_dataset_registry_free(&r);
    (void)snprintf(path, sizeof path, "%s/" DX_DATASET_REGISTRY_FILE, root);
    if (dx_file_read(path, 1 << 20, &text, &err) < 0 || text.size < sizeof want ||
        memcmp(text.data, want, sizeof want - 1) != 0)
        FAIL("file: %.*s", 300, (const char *)text.data);
    if (root_registry(&r, root, &err) < 0 || dx_dataset_registry_count(r) != 202)
        FAIL("%s", err.text);
    if (r != NULL &&
        (dx_dataset_registry_find(r, dx_span_str("name 200")) != 202 ||
         dx_dataset_registry_find(r, dx_span_str("name 201")) != 0 ||
         dx_dataset_registry_get(r, 203) != NULL || dx_dataset_registry_get(r, 0) != NULL ||
         strcmp(dx_dataset_registry_get(r, 1)->metadata[0].value, "w") != 0))
        FAIL("read back");
    dx_dataset_registry_free(&r);
    dx_buf_release(&text);
}

static void test_names(void)
{
    static const struct {
        const char *name;
        bool valid;
    } rows[] = {
        { "a", true },
        { "r/\xe6\x97\xa5\xe6\x9c\xac", true },
        { "", false },
        { "a\nb", false },
        { "a\x7f", false },
        { "\xff", false },
        { "\xc0\x80", false },
        { "\xc2\x85", false },
        { "\xed\xa0\x80", false },
        { "\xf4\x90\x80\x80", false },
        { "\xf0\x9f\x98\x80", true },
        { "\xe6\x97", false },
    };
    char longest[300];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (dx_dataset_registry_name_valid(dx_span_str(rows[i].name)) != rows[i].valid)
            FAIL("'%s'", rows[i].name);
    memset(longest, 'x', sizeof longest);
    if (!dx_dataset_registry_name_valid(dx_span_of(longest, 255)) ||
        dx_dataset_registry_name_valid(dx_span_of(longest, 256)))
        FAIL("length limit");
}

static void test_bad_files(void)
{
#define TOP "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":5,\"datasets\":["
#define TOP2 "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":5,\"removed\":"
    static const struct {
        const char *text;
        const char *words; /* of the error */
    } rows[] = {
        { "", "line" },
        { "{}", "'format' is not 'domaindex-registry'" },
        { "[]", "not an object" },
        { "{\"format\":\"domaindex-registry\"}", "'version'" },
        { "{\"format\":\"domaindex-registry\",\"version\":0}", "version 0" },
        { "{\"format\":\"domaindex-registry\",\"version\":2}", "ingest --root NEW" },
        { TOP2 "[0],\"datasets\":[]}", "removed" },
        { TOP2 "[5],\"datasets\":[]}", "removed" },
        { TOP2 "[2,2],\"datasets\":[]}", "removed" },
        { TOP2 "[true],\"datasets\":[]}", "removed" },
        { TOP2 "{},\"datasets\":[]}", "removed" },
        { TOP2 "[2],\"datasets\":[{\"dataset_id\":2,\"name\":\"a\"}]}", "removed" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"first_part\":0}]}", "first_part" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"next_part\":\"1\"}]}", "next_part" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"next_part\":100000001}]}", "next_part" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"replacing\":100000000}]}", "replacing" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"first_part\":7,\"end_part\":9,"
              "\"replacing\":8}]}",
          "below end_part" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"first_part\":7}]}", "above first_part" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"merged\":[7]}]}", "without an end" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"merged\":[7,7]}]}", "merged[1]" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"merged\":[0,7]}]}", "merged[0]" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"merged\":[2,4,3,7]}]}", "merged[2]" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"merged\":[2,100000001]}]}", "merged[1]" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"merged\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"
              "17,18]}]}",
          "merged" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"end_part\":7}]}", "above first_part" },
        { "{\"format\":\"domaindex-registry\",\"version\":1}", "next_dataset_id" },
        { "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":0}",
          "next_dataset_id" },
        { "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":1}", "datasets" },
        { TOP "{\"name\":\"a\"}]}", "dataset_id" },
        { TOP "{\"dataset_id\":5,\"name\":\"a\"}]}", "dataset_id" },
        { TOP "{\"dataset_id\":0,\"name\":\"a\"}]}", "dataset_id" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\"},{\"dataset_id\":1,\"name\":\"b\"}]}",
          "dataset_id" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\"},{\"dataset_id\":3,\"name\":\"a\"}]}", "already" },
        { TOP "{\"dataset_id\":2,\"name\":\"\"}]}", "name" },
        { TOP "{\"dataset_id\":2,\"name\":7}]}", "name" },
        { TOP "7]}", "dataset_id" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"metadata\":[]}]}", "metadata" },
        { TOP "{\"dataset_id\":2,\"name\":\"a\",\"metadata\":{\"k\":1}}]}", ".metadata.k:" },
        { TOP "]", "line" },
        { TOP "]}x", "line" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_registry *r = NULL;

        if (dx_dataset_registry_parse(&r, dx_span_str(rows[i].text), "R", &err) >= 0 || r != NULL)
            FAIL("taken: %s", rows[i].text);
        else if (strstr(err.text, rows[i].words) == NULL)
            FAIL("%s: '%s' lacks '%s'", rows[i].text, err.text, rows[i].words);
        dx_dataset_registry_free(&r);
    }
}

/* The ids of datasets that went are not given again; a name may come before all others. */
static void test_gaps(const char *root)
{
    static const char before[] =
        "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":10,\"datasets\":[\n"
        "{\"dataset_id\":2,\"name\":\"m\",\"metadata\":{\"k\":\"v\"}},\n"
        "{\"dataset_id\":5,\"name\":\"b\",\"later\":1}\n]}\n";
    static const char after[] =
        "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":12,\"datasets\":[\n"
        "{\"dataset_id\":2,\"name\":\"m\"},\n"
        "{\"dataset_id\":5,\"name\":\"b\"},\n"
        "{\"dataset_id\":10,\"name\":\"z\"},\n"
        "{\"dataset_id\":11,\"name\":\"a\"}\n]}\n";
    struct dx_registry taken = DX_REGISTRY_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_dataset_registry *r = NULL;
    char path[200];
    uint32_t z = 0;
    uint32_t a = 0;

    (void)snprintf(path, sizeof path, "%s/" DX_DATASET_REGISTRY_FILE, root);
    if (dx_dataset_registry_parse(&r, dx_span_str(before), "R", &err) < 0 ||
        dx_dataset_registry_add(r, dx_span_str("z"), &z, &err) < 0 || z != 10 ||
        dx_dataset_registry_add(r, dx_span_str("a"), &a, &err) < 0 || a != 11 ||
        dx_dataset_registry_set(r, 2, "k", "", &err) < 0 ||
        dx_dataset_registry_save(r, root, &err) < 0 || dx_file_read(path, 1 << 20, &text, &err) < 0)
        FAIL("ids %u, %u: %s", z, a, err.text);
    else if (!dx_span_equal(dx_span_of(text.data, text.size), dx_span_str(after)))
        FAIL("file: %.*s", (int)text.size, (const char *)text.data);
    else
        dx_dataset_registry_take(&r, &taken);
    if (r != NULL || taken.count != 4 ||
        dx_registry_by_name(&taken, dx_span_str("a")) != dx_registry_by_id(&taken, 11))
        FAIL("take: %zu datasets", taken.count);
    dx_dataset_registry_free(&r);
    dx_registry_release(&taken);
    dx_buf_release(&text);
}

/* Removed and replaced datasets: what counts, and the text. */
static void test_standing(void)
{
    static const char before[] =
        "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":9,\"datasets\":[\n"
        "{\"dataset_id\":2,\"name\":\"m\"},\n{\"dataset_id\":5,\"name\":\"b\"},\n"
        "{\"dataset_id\":7,\"name\":\"a\"}\n]}\n";
    static const char after[] =
        "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":9,\"removed\":[2],"
        "\"datasets\":[\n{\"dataset_id\":5,\"name\":\"b\",\"first_part\":4,\"end_part\":8,"
        "\"replacing\":9,\"next_part\":12},\n{\"dataset_id\":7,\"name\":\"a\",\"next_part\":9,"
        "\"merged\":[2,4,5,9]}\n]}\n";
    static const char *const deleted[] = {
        "urls/dataset_id=5/domain_prefix=00-ff/part-00011.parquet",
        "urls/dataset_id=5/domain_prefix=9b/part-00003.parquet", "urls/dataset_id=5/theirs.parquet",
        "urls/dataset_id=2/domain_prefix=00-ff/part-00001.parquet"
    };
    static const struct {
        const char *path;
        enum dx_lake_standing want;
    } rows[] = {
        { "urls/dataset_id=2/domain_prefix=00-ff/part-00099.parquet", DX_LAKE_REMOVED },
        { "urls/dataset_id=2/theirs.parquet", DX_LAKE_REMOVED },
        { "urls/dataset_id=3/domain_prefix=00-ff/part-00099.parquet", DX_LAKE_UNKNOWN },
        { "urls/dataset_id=5/domain_prefix=00-ff/part-00003.parquet", DX_LAKE_REPLACED },
        { "urls/dataset_id=5/theirs.parquet", DX_LAKE_STANDS },
        { "urls/dataset_id=5/domain_prefix=9b/part-00004.parquet", DX_LAKE_REPLACES },
        { "urls/dataset_id=5/domain_prefix=00-ff/part-00007.parquet", DX_LAKE_REPLACES },
        { "urls/dataset_id=5/domain_prefix=9b/part-00008.parquet", DX_LAKE_STANDS },
        { "urls/dataset_id=5/domain_prefix=9b/part-00009.parquet", DX_LAKE_MAKING },
        { "urls/dataset_id=7/domain_prefix=9b/part-00000.parquet", DX_LAKE_STANDS },
        { "urls/dataset_id=7/domain_prefix=9b/part-00001.parquet", DX_LAKE_STANDS },
        { "urls/dataset_id=7/domain_prefix=9b/part-00002.parquet", DX_LAKE_MERGED },
        { "urls/dataset_id=7/domain_prefix=00-ff/part-00003.parquet", DX_LAKE_MERGED },
        { "urls/dataset_id=7/domain_prefix=9b/part-00004.parquet", DX_LAKE_STANDS },
        { "urls/dataset_id=7/domain_prefix=9b/part-00008.parquet", DX_LAKE_MERGED },
        { "urls/dataset_id=7/domain_prefix=9b/part-00009.parquet", DX_LAKE_STANDS },
        { "urls/dataset_id=7/theirs.parquet", DX_LAKE_STANDS },
        { "elsewhere.parquet", DX_LAKE_UNKNOWN },
    };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_dataset_registry *r = NULL;
    struct dx_dataset_registry *back = NULL;

    if (dx_dataset_registry_parse(&r, dx_span_str(before), "R", &err) < 0 ||
        dx_dataset_registry_remove(r, 2, &err) < 0 ||
        dx_dataset_registry_remove(r, 2, &err) != DX_E_NOT_FOUND ||
        dx_dataset_registry_replace(r, 5, 4, &err) < 0 ||
        dx_dataset_registry_replaced(r, 5, 3, 8, &err) >= 0 ||
        dx_dataset_registry_replaced(r, 5, 4, 8, &err) < 0 ||
        dx_dataset_registry_replaced(r, 5, 4, 8, &err) < 0 ||
        dx_dataset_registry_replace(r, 5, 7, &err) >= 0 ||
        dx_dataset_registry_replace(r, 5, 9, &err) < 0 ||
        dx_dataset_registry_merged(r, 7, 0, 4, &err) != DX_E_LIMIT ||
        dx_dataset_registry_merged(r, 7, 2, 4, &err) < 0 ||
        dx_dataset_registry_merged(r, 7, 3, 5, &err) != DX_E_LIMIT ||
        dx_dataset_registry_merged(r, 7, 5, 9, &err) < 0 ||
        dx_dataset_registry_merged(r, 8, 5, 9, &err) != DX_E_CONFLICT)
        FAIL("%s", err.text);
    dx_dataset_registry_raise(r, deleted, sizeof deleted / sizeof deleted[0]);
    if (dx_dataset_registry_text(r, &text, &err) < 0 ||
        !dx_span_equal(dx_span_of(text.data, text.size), dx_span_str(after)))
        FAIL("text: %.*s", (int)text.size, (const char *)text.data);
    if (dx_dataset_registry_parse(&back, dx_span_str(after), "R", &err) < 0)
        FAIL("%s", err.text);
    for (size_t i = 0; back != NULL && i < sizeof rows / sizeof rows[0]; i++)
        if (dx_dataset_registry_standing(back, rows[i].path) != rows[i].want)
            FAIL("%s: %d", rows[i].path, (int)dx_dataset_registry_standing(back, rows[i].path));
    if (back != NULL && (dx_dataset_registry_next_part(back, 5, 3) != 12 ||
                         dx_dataset_registry_next_part(back, 5, 13) != 13 ||
                         dx_dataset_registry_next_part(back, 7, 0) != 9 ||
                         dx_dataset_registry_find(back, dx_span_str("m")) != 0 ||
                         dx_dataset_registry_find(back, dx_span_str("b")) != 5 ||
                         dx_dataset_registry_find(back, dx_span_str("a")) != 7))
        FAIL("numbers and names");
    dx_buf_release(&text);
    dx_dataset_registry_free(&r);
    dx_dataset_registry_free(&back);
}

/* What concerns files differs, or only what does not. */
static void test_same(void)
{
#define ONE(more) TOP "{\"dataset_id\":2,\"name\":\"a\"" more "}]}"
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        { ONE(""), ONE(""), true },
        { ONE(",\"next_part\":7"), ONE(",\"metadata\":{\"k\":\"v\"}"), true },
        { TOP "]}", ONE(""), true }, /* a name that came has no files yet */
        { ONE(""), ONE(",\"replacing\":7"), false },
        { ONE(",\"replacing\":7"), ONE(",\"first_part\":7,\"end_part\":8"), false },
        { ONE(",\"first_part\":7,\"end_part\":8"), ONE(",\"first_part\":7,\"end_part\":9"), false },
        { ONE(",\"merged\":[7,8]"), ONE(",\"merged\":[7,9]"), false },
        { ONE(",\"merged\":[7,8]"), ONE(""), false },
        { TOP2 "[3],\"datasets\":[]}", TOP "]}", false },
        { TOP2 "[3],\"datasets\":[]}", TOP2 "[4],\"datasets\":[]}", false },
        { TOP2 "[3],\"datasets\":[]}", TOP2 "[3],\"datasets\":[]}", true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_registry *a = NULL;
        struct dx_dataset_registry *b = NULL;

        if (dx_dataset_registry_parse(&a, dx_span_str(rows[i].a), "A", &err) < 0 ||
            dx_dataset_registry_parse(&b, dx_span_str(rows[i].b), "B", &err) < 0)
            FAIL("row %zu: %s", i, err.text);
        else if (dx_registry_same_standing(dx_dataset_registry_registry(a),
                                           dx_dataset_registry_registry(b)) != rows[i].same ||
                 dx_registry_same_standing(dx_dataset_registry_registry(b),
                                           dx_dataset_registry_registry(a)) != rows[i].same)
            FAIL("row %zu", i);
        dx_dataset_registry_free(&a);
        dx_dataset_registry_free(&b);
    }
}

int main(void)
{
    char root[] = "/tmp/dx-test-registry-XXXXXX";
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(root) == NULL)
        return 1;
    test_round_trip(root);
    test_gaps(root);
    test_names();
    test_bad_files();
    test_standing();
    test_same();
    (void)dx_dir_remove(root, &err);
    return failures == 0 ? 0 : 1;
}
