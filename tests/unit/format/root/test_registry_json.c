/* SPDX-License-Identifier: Apache-2.0
 * datasets.json: texts that are refused, registries round, ids and names.
 */
#include "format/root/registry_json.h"
#include "tests/support/damage.h"

static int failures;

#define D(id, name)                                                                    \
    "{\"dataset_id\":" id ",\"name\":" name ",\"metadata\":{},\"files\":1,\"rows\":2," \
    "\"urls\":2,\"domains\":1,\"first_ts\":null,\"last_ts\":null}"
#define TIMES(first, last)                                                                    \
    "{\"datasets\":[{\"dataset_id\":1,\"name\":\"a\",\"metadata\":{},\"files\":1,\"rows\":2," \
    "\"urls\":2,\"domains\":1,\"first_ts\":" first ",\"last_ts\":" last "}]}"
#define META(m)                                                                                  \
    "{\"datasets\":[{\"dataset_id\":1,\"name\":\"a\",\"metadata\":" m ",\"files\":1,\"rows\":2," \
    "\"urls\":2,\"domains\":1,\"first_ts\":null,\"last_ts\":null}]}"
#define LIST(x) "{\"datasets\":[" x "]}"

static void test_texts(void)
{
    static const struct {
        const char *text;
        const char *say; /* NULL: accepted */
    } rows[] = {
        { LIST(""), NULL },
        { LIST(D("1", "\"a\"")), NULL },
        { LIST(D("1", "\"a\"") "," D("4294967295", "\"\\u00e4 b\"")), NULL },
        { TIMES("\"2024-01-01T00:00:00Z\"", "\"2024-01-01T00:00:00.001Z\""), NULL },
        { META("{\"licence\":\"MIT\",\"empty\":\"\"}"), NULL },
        { "", "line" },
        { "[]", "not an object" },
        { "{\"datasets\":{}}", "'datasets' is not an array" },
        { "{\"datasets\":[],\"x\":1}", "one member" },
        { LIST("") "x", "end of file" },
        { "{\"datasets\":[],\"datasets\":[]}", "duplicate" },
        { LIST("1"), "not an object" },
        { LIST(D("0", "\"a\"")), "dataset_id" },
        { LIST(D("-1", "\"a\"")), "dataset_id" },
        { LIST(D("1.0", "\"a\"")), "dataset_id" },
        { LIST(D("4294967296", "\"a\"")), "dataset_id" },
        { LIST(D("18446744073709551617", "\"a\"")), "is not a whole number" },
        { LIST(D("2", "\"a\"") "," D("1", "\"b\"")), "does not ascend" },
        { LIST(D("1", "\"a\"") "," D("1", "\"b\"")), "does not ascend" },
        { LIST(D("1", "\"a\"") "," D("2", "\"b\"") "," D("3", "\"a\"")), "stands twice" },
        { LIST(D("1", "\"\"")), "name" },
        { LIST(D("1", "\"a\\nb\"")), "name" },
        { LIST(D("1", "\"a\\u0085b\"")), "name" },
        { LIST(D("1", "\"a\\u0000b\"")), "line" },
        { LIST(D("1", "\"\xff\"")), "line" },
        { LIST(D("1", "7")), "datasets[0]: 'name' is not a text" },
        { TIMES("null", "\"2024-01-01T00:00:00Z\""), "_ts' is not a time" },
        { TIMES("\"2024-01-02T00:00:00Z\"", "\"2024-01-01T00:00:00Z\""), "before" },
        { TIMES("\"2024-01-01\"", "\"2024-01-01T00:00:00Z\""), "_ts' is not a time" },
        { TIMES("1", "2"), "'first_ts' is not a time" },
        { META("{\"a\":1}"), "datasets[0].metadata.a: not a text" },
        { META("[]"), "'metadata' is not an object" },
        { META("{\"a\":\"1\",\"a\":\"2\"}"), "duplicate" },
        { META("{\"\":\"1\"}"), "metadata" },
        { META("{\"a\":\"\\u0007\"}"), "metadata" },
        { "{\"datasets\":[{}]}", "not an object" },
        { LIST(D("1", "\"a\",\"kind\":\"counts\"")), NULL },
        { LIST(D("1", "\"a\",\"kind\":\"urls\"")), "of a kind that this program does not know" },
        { LIST(D("1", "\"a\",\"kind\":1")), "kind" },
        { LIST(D("1", "\"a\",\"kin\":\"counts\"")), "not an object" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_str(rows[i].text));
        struct dx_registry r = DX_REGISTRY_INIT;
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_registry_parse(&r, dx_span_of(d.bytes, d.size), "datasets.json", &err);

        if (rows[i].say == NULL)
            EXPECT(rc == DX_OK, "row %zu: '%s'", i, err.text);
        else
            EXPECT(rc < 0 && strstr(err.text, rows[i].say) != NULL && r.count == 0,
                   "row %zu (%s): rc %d, '%s'", i, rows[i].say, rc, err.text);
        dx_registry_release(&r);
        damaged_free(&d);
    }
}

static void test_deep(void)
{
    struct dx_buf b = DX_BUF_INIT(1 << 20);
    struct dx_registry r = DX_REGISTRY_INIT;

    for (int i = 0; i < 500000; i++)
        dx_buf_u8(&b, '[');
    EXPECT(dx_registry_parse(&r, dx_span_of(b.data, b.size), "deep", NULL) < 0, "nesting");
    dx_buf_release(&b);
}

static void fill(struct dx_registry *r, size_t count)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t seed = 6;

    for (size_t i = 0; i < count; i++) {
        struct dx_dataset *d = NULL;
        char name[64];

        (void)snprintf(name, sizeof name, "%llx \xc3\xa4\"\\ %zu",
                       (unsigned long long)random_next(&seed), i);
        EXPECT(dx_registry_add(r, dx_span_str(name), &d, &err) == 1, "%s", err.text);
        d->rows = random_next(&seed) >> (1 + random_below(&seed, 63));
        d->files = i;
        dx_registry_set_kind(r, d, i % 5 == 0 ? DX_DATASET_COUNTS : DX_DATASET_URLS);
        d->has_ts = i % 3 == 0;
        d->first_us = d->has_ts ? (int64_t)random_below(&seed, UINT64_C(1) << 50) : 0;
        d->last_us = d->has_ts ? d->first_us + (int64_t)i : 0;
        if (i % 4 == 0) {
            EXPECT(dx_registry_meta(d, dx_span_str("z"), dx_span_str("old"), &err) == DX_OK, "z");
            EXPECT(dx_registry_meta(d, dx_span_str("a"), dx_span_str(""), &err) == DX_OK, "a");
            EXPECT(dx_registry_meta(d, dx_span_str("z"), dx_span_str("\xe2\x80\xa8"), &err) ==
                       DX_OK,
                   "z again");
        }
        EXPECT(dx_registry_add(r, dx_span_str(name), &d, &err) == 0, "added twice");
    }
}

static void test_round(void)
{
    struct dx_registry r = DX_REGISTRY_INIT;
    struct dx_registry back = DX_REGISTRY_INIT;
    struct dx_buf a = DX_BUF_INIT(1 << 20);
    struct dx_buf b = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset *d = NULL;

    fill(&r, 500);
    EXPECT(dx_registry_write(&r, &a, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_registry_parse(&back, dx_span_of(a.data, a.size), "r", &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_registry_write(&back, &b, &err) == DX_OK, "%s", err.text);
    EXPECT(a.size == b.size && memcmp(a.data, b.data, a.size) == 0, "written again");
    EXPECT(back.count == 500, "%zu", back.count);
    for (size_t i = 0; i < back.count && i < r.count; i++) {
        d = dx_registry_by_name(&back, dx_span_str(r.datasets[i].name));
        EXPECT(d != NULL && d->dataset_id == i + 1 && d == dx_registry_by_id(&back, d->dataset_id),
               "dataset %zu", i);
        EXPECT(d == NULL ||
                   (d->kind == r.datasets[i].kind && d->rows == r.datasets[i].rows &&
                    d->first_us == r.datasets[i].first_us && d->last_us == r.datasets[i].last_us &&
                    d->metadata_count == r.datasets[i].metadata_count),
               "dataset %zu", i);
    }
    EXPECT(back.has_counts && dx_registry_of_counts(&back, 1) && !dx_registry_of_counts(&back, 2) &&
               !dx_registry_of_counts(&back, 999),
           "kinds");
    EXPECT(dx_registry_by_id(&back, 0) == NULL && dx_registry_by_id(&back, 501) == NULL, "absent");
    EXPECT(dx_registry_by_name(&back, dx_span_str("none")) == NULL, "absent");
    for (size_t n = 0; n < a.size; n += 97)
        EXPECT(dx_registry_parse(&(struct dx_registry)DX_REGISTRY_INIT, dx_span_of(a.data, n),
                                 "cut", NULL) < 0,
               "cut to %zu", n);
    d = dx_registry_by_id(&back, 500);
    if (d != NULL)
        d->dataset_id = UINT32_MAX;
    EXPECT(dx_registry_add(&back, dx_span_str("one more"), &d, &err) == DX_E_LIMIT, "last id");
    EXPECT(dx_registry_add(&back, dx_span_str("a\tb"), &d, &err) == DX_E_INVALID, "tab");
    dx_registry_release(&r);
    dx_registry_release(&back);
    dx_buf_release(&a);
    dx_buf_release(&b);
}

static void over_63_bits(struct dx_dataset *d)
{
    d->urls = UINT64_C(1) << 63;
}

static void more_files(struct dx_dataset *d)
{
    d->files = UINT64_MAX;
}

static void more_rows(struct dx_dataset *d)
{
    d->rows = UINT64_MAX;
}

static void more_domains(struct dx_dataset *d)
{
    d->domains = UINT64_MAX;
}

static void backwards(struct dx_dataset *d)
{
    d->has_ts = true;
    d->first_us = 1;
    d->last_us = 0;
}

static void too_early(struct dx_dataset *d)
{
    d->has_ts = true;
    d->first_us = INT64_C(-62167219200000001);
}

static void too_late(struct dx_dataset *d)
{
    d->has_ts = true;
    d->last_us = INT64_C(253402300800000000);
}

/* What no program would read back is not written. */
static void test_refused_writes(void)
{
    static const struct {
        void (*change)(struct dx_dataset *d);
        const char *say;
    } rows[] = {
        { over_63_bits, "dataset 2: a total is over 63 bits" },
        { more_files, "over 63 bits" },
        { more_rows, "over 63 bits" },
        { more_domains, "over 63 bits" },
        { backwards, "last_ts is before first_ts" },
        { too_early, "not in the years 0000 to 9999" },
        { too_late, "not in the years 0000 to 9999" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_registry r = DX_REGISTRY_INIT;
        struct dx_buf text = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;

        fill(&r, 3);
        rows[i].change(dx_registry_by_id(&r, 2));
        EXPECT(dx_registry_write(&r, &text, &err) == DX_E_INVALID &&
                   strstr(err.text, rows[i].say) != NULL,
               "%s: %s", rows[i].say, err.text);
        dx_buf_release(&text);
        dx_registry_release(&r);
    }
}

static void test_metadata(void)
{
    static char large[DX_DATASET_META_VALUE_MAX + 2];
    struct dx_registry r = DX_REGISTRY_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset *d = NULL;
    char key[16];

    r.next_id = 1; /* of a root */
    EXPECT(dx_registry_add(&r, dx_span_str("a"), &d, &err) == 1, "%s", err.text);
    memset(large, 'x', sizeof large - 1);
    EXPECT(dx_registry_meta(d, dx_span_str("k"), dx_span_str(large), &err) == DX_E_INVALID &&
               d->metadata_count == 0,
           "a value of %zu bytes", sizeof large - 1);
    large[DX_DATASET_META_VALUE_MAX] = '\0';
    EXPECT(dx_registry_meta(d, dx_span_str("k"), dx_span_str(large), &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_registry_meta(d, dx_span_str(""), dx_span_str("v"), &err) == DX_E_INVALID, "no key");
    EXPECT(!dx_registry_meta_remove(d, dx_span_str("j")) &&
               !dx_registry_meta_remove(d, dx_span_str("l")) && d->metadata_count == 1,
           "what is not there");
    for (int i = 1; i < DX_DATASET_META_MAX; i++) {
        (void)snprintf(key, sizeof key, "m%d", i);
        EXPECT(dx_registry_meta(d, dx_span_str(key), dx_span_str("v"), &err) == DX_OK, "%s",
               err.text);
    }
    EXPECT(dx_registry_meta(d, dx_span_str("one more"), dx_span_str("v"), &err) == DX_E_LIMIT &&
               d->metadata_count == DX_DATASET_META_MAX,
           "over 64 members: %s", err.text);
    EXPECT(dx_registry_meta(d, dx_span_str("k"), dx_span_str("other"), &err) == DX_OK,
           "one that is there can be changed: %s", err.text);
    EXPECT(dx_registry_meta_remove(d, dx_span_str("m7")) &&
               !dx_registry_meta_remove(d, dx_span_str("m7")) &&
               d->metadata_count == DX_DATASET_META_MAX - 1,
           "removed once");
    EXPECT(dx_registry_remove(&r, 1, &err) == DX_OK && dx_registry_by_id(&r, 1) == NULL &&
               dx_registry_removed(&r, 1),
           "the dataset: %s", err.text);
    EXPECT(dx_registry_remove(&r, 1, &err) == DX_E_NOT_FOUND, "again");
    EXPECT(dx_registry_add(&r, dx_span_str("a"), &d, &err) == 1 && d->dataset_id == 2,
           "its number is not given again");
    dx_registry_release(&r);
}

/* Of the numbers of compactions the last ones are kept. */
static void test_merged(void)
{
    struct dx_registry r = DX_REGISTRY_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset *d = NULL;

    EXPECT(dx_registry_add(&r, dx_span_str("a"), &d, &err) == 1, "%s", err.text);
    for (uint32_t i = 0; i <= DX_DATASET_MERGED_MAX; i++)
        dx_dataset_merged_add(d, (struct dx_part_range){ 1 + 2 * i, 2 + 2 * i });
    EXPECT(d->merged_count == DX_DATASET_MERGED_MAX && d->merged[0].first == 3 &&
               d->merged[DX_DATASET_MERGED_MAX - 1].first == 1 + 2 * DX_DATASET_MERGED_MAX,
           "%u, from %u on", (unsigned)d->merged_count, (unsigned)d->merged[0].first);
    dx_registry_release(&r);
}

int main(void)
{
    test_refused_writes();
    test_metadata();
    test_merged();
    test_texts();
    test_deep();
    test_round();
    return failures > 0;
}
