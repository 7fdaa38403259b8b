/* SPDX-License-Identifier: Apache-2.0
 * What `domaindex inspect` says of each kind of file, and that no damaged one is more than an
 * error: every file of a small version and one of its lake, bit by bit and cut.
 *
 * DX_INSPECT_STEP=n flips every n-th bit (13 by default).
 */
#include "base/bits.h"
#include "base/file.h"
#include "builder/check/inspect.h"
#include "format/core/zseek.h"
#include "format/version/dead.h"
#include "format/version/payload.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <fcntl.h>
#include <jansson.h>
#include <roaring/roaring.h>
#include <unistd.h>

#define DOMAINS 9
#define DATASETS 3
#define OUTPUT_MAX (8u << 20)

static unsigned failures;

/* What the rule of small_root.h gives. */
struct sums {
    uint64_t pairs, rows;
    uint64_t dataset_rows[DATASETS + 1];
};

static struct sums sums_of(void)
{
    struct sums s = { 0, 0, { 0 } };

    for (unsigned i = 0; i < DOMAINS; i++)
        for (unsigned d = 1; d <= DATASETS; d++)
            if (dx_test_root_member(i, d)) {
                s.pairs++;
                s.rows += dx_test_root_rows(i, d);
                s.dataset_rows[d] += dx_test_root_rows(i, d);
            }
    return s;
}

static json_t *parsed(const struct dx_buf *json, const char *path)
{
    json_error_t why = { .text = "" };
    json_t *j = json_loadb((const char *)json->data, json->size,
                           JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);

    EXPECT(j != NULL, "%s: %s in %.*s", path, why.text, (int)json->size, (const char *)json->data);
    return j;
}

/* The file's JSON, with and without deep; the text of it has each number on a line of its own. */
static json_t *inspect(const char *path)
{
    struct dx_buf json = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_buf text = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    json_t *plain = NULL;
    json_t *j = NULL;
    const char *key;
    json_t *value;

    EXPECT(dx_inspect_file(path, false, &json, &err) == DX_OK, "%s: %s", path, err.text);
    plain = parsed(&json, path);
    dx_buf_clear(&json);
    EXPECT(dx_inspect_file(path, true, &json, &err) == DX_OK, "%s, deep: %s", path, err.text);
    j = parsed(&json, path);
    EXPECT(dx_inspect_text(dx_span_of(json.data, json.size), &text, &err) == DX_OK, "%s", err.text);
    dx_buf_u8(&text, '\0');
    json_object_foreach(plain, key, value)
    {
        char line[200];

        if (strcmp(key, "row_groups") != 0) /* deep says more of each column */
            EXPECT(json_equal(value, json_object_get(j, key)), "%s: deep has another %s", path,
                   key);
        if (!json_is_integer(value))
            continue;
        (void)snprintf(line, sizeof line, "%s: %lld\n", key, (long long)json_integer_value(value));
        EXPECT(strstr((const char *)text.data, line) != NULL, "%s: no line '%s' in the text", path,
               line);
    }
    json_decref(plain);
    dx_buf_release(&json);
    dx_buf_release(&text);
    return j;
}

static uint64_t number(const json_t *j, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(j, key));
}

static const char *words(const json_t *j, const char *key)
{
    const char *text = json_string_value(json_object_get(j, key));

    return text == NULL ? "" : text;
}

/* A file of the version by the path in it. */
static void path_of(const struct dx_test_root *r, const char *name, char out[300])
{
    (void)snprintf(out, 300, "%s/index/%s/%s", r->path, r->version, name);
}

static void check_numbers(const struct dx_test_root *r)
{
    struct sums s = sums_of();
    const struct {
        const char *name, *kind, *key;
        uint64_t want;
    } rows[] = {
        { "domains.dict", "dictionary: ordinal to domain", "domains", DOMAINS },
        { "domains.mphf", "minimal perfect hash: domain to dictionary bucket", "domains", DOMAINS },
        { "domains.mphf", "minimal perfect hash: domain to dictionary bucket", "collisions", 0 },
        { "domain_to_datasets.roar", "membership: ordinal to set of datasets", "domains", DOMAINS },
        { "domain_to_datasets.roar", "membership: ordinal to set of datasets", "pairs", s.pairs },
        { "domain_counts.dxc", "counts of each domain and dataset", "pairs", s.pairs },
        { "domain_counts.dxc", "counts of each domain and dataset", "rows", s.rows },
        { "domain_counts.dxc", "counts of each domain and dataset", "urls", s.rows },
        { "postings.dxp", "directory of the postings", "pairs", s.pairs },
        { "pages.dxp", "places of all pages of the lake", "files", DATASETS },
        { "facts.dat.zst", "zstd seekable", "frames", 1 },
        { "sketches.dat.zst", "zstd seekable", "frames", 1 },
        { "url_ids.dat.zst", "zstd seekable", "frames", 1 },
        { "pages.dxp", "places of all pages of the lake", "row_groups", DATASETS },
        { "pages.dxp", "places of all pages of the lake", "rows", s.rows },
        { "files.tsv.zst", "zstd seekable", "frames", 1 },
        { "psl.dat.zst", "Public Suffix List", "rules", 4 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[300];
        json_t *j;

        path_of(r, rows[i].name, path);
        j = inspect(path);
        EXPECT(strcmp(words(j, "file"), path) == 0, "%s: file is '%s'", path, words(j, "file"));
        EXPECT(strcmp(words(j, "kind"), rows[i].kind) == 0, "%s: '%s'", path, words(j, "kind"));
        EXPECT(number(j, rows[i].key) == rows[i].want, "%s: %s is %llu, want %llu", path,
               rows[i].key, (unsigned long long)number(j, rows[i].key),
               (unsigned long long)rows[i].want);
        EXPECT(strlen(words(j, "xxh3_128")) == 32, "%s: no hash", path);
        json_decref(j);
    }
}

static void check_lists(const struct dx_test_root *r)
{
    static const char *const registries[] = { "registry.json", "index/datasets" };
    struct sums s = sums_of();
    char path[300];
    json_t *j;

    for (int i = 0; i < 2; i++) {
        const json_t *datasets;

        (void)snprintf(path, sizeof path, "%s/%s", r->path, registries[i]);
        if (i == 1)
            path_of(r, "datasets.json.zst", path);
        j = inspect(path);
        datasets = json_object_get(j, "datasets");
        EXPECT(json_array_size(datasets) == DATASETS, "%s: %zu", path, json_array_size(datasets));
        EXPECT(strcmp(words(json_array_get(datasets, 1), "name"), "dataset \"2\"") == 0, "%s: %s",
               path, words(json_array_get(datasets, 1), "name"));
        for (unsigned d = 1; i == 1 && d <= DATASETS; d++)
            EXPECT(number(json_array_get(datasets, d - 1), "rows") == s.dataset_rows[d], "%s: %u",
                   path, d);
        json_decref(j);
    }
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    j = inspect(path);
    EXPECT(strcmp(words(j, "current_version"), r->version) == 0, "%s", words(j, "current_version"));
    EXPECT(number(json_array_get(json_object_get(j, "versions"), 0), "pairs") == s.pairs, "%s",
           path);
    json_decref(j);
    for (unsigned d = 1; d <= DATASETS; d++) {
        const json_t *chunk;

        (void)snprintf(path, sizeof path,
                       "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-00000.parquet", r->path, d);
        j = inspect(path);
        EXPECT(number(j, "rows") == s.dataset_rows[d], "%s: %llu rows", path,
               (unsigned long long)number(j, "rows"));
        chunk = json_array_get(
            json_object_get(json_array_get(json_object_get(j, "row_groups"), 0), "chunks"), 0);
        EXPECT(strcmp(words(chunk, "column"), "domain") == 0, "%s", words(chunk, "column"));
        EXPECT(number(chunk, "values_read") == s.dataset_rows[d], "%s: values", path);
        json_decref(j);
    }
}

static void check_root(const struct dx_test_root *r)
{
    struct dx_buf json = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    json_t *j;

    EXPECT(dx_inspect_root(r->path, &json, &err) == DX_OK, "%s", err.text);
    j = parsed(&json, r->path);
    EXPECT(strcmp(words(j, "root"), r->path) == 0, "%s", words(j, "root"));
    EXPECT(json_array_size(json_object_get(j, "versions")) == 1, "versions");
    json_decref(j);
    dx_buf_clear(&json);
    EXPECT(dx_inspect_root("/nowhere", &json, &err) < 0 && strstr(err.text, "/nowhere") != NULL,
           "%s", err.text);
    dx_buf_release(&json);
}

/* The refusal names the file and says something of it. */
static bool try_file(const char *path, bool deep)
{
    struct dx_buf json = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_inspect_file(path, deep, &json, &err);

    if (rc == DX_OK)
        json_decref(parsed(&json, path));
    else
        EXPECT(strstr(err.text, path) != NULL && strlen(err.text) > strlen(path) + 8,
               "refused with '%s'", err.text);
    dx_buf_release(&json);
    return rc == DX_OK;
}

static void write_all(const char *path, struct dx_span bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, bytes.data, bytes.size) != (ssize_t)bytes.size || close(fd) != 0)
        abort();
}

/* sealed: each bit of it is under a checksum that deep reads. Returns how many flips were shown. */
static size_t damage(const char *path, bool sealed, bool cut_is_seen, size_t step)
{
    struct dx_buf bytes = DX_BUF_INIT(1u << 20);
    struct dx_error err = DX_ERROR_INIT;
    size_t shown = 0;
    int fd;

    if (dx_file_read(path, bytes.max, &bytes, &err) < 0)
        abort();
    fd = open(path, O_WRONLY | O_CLOEXEC);
    for (size_t bit = 0; bit < bytes.size * 8; bit += step) {
        uint8_t damaged = (uint8_t)(bytes.data[bit / 8] ^ 1u << (bit & 7));
        bool ok;

        if (pwrite(fd, &damaged, 1, (off_t)(bit / 8)) != 1)
            abort();
        ok = try_file(path, true);
        (void)try_file(path, false);
        EXPECT(!ok || !sealed, "%s: byte %zu bit %zu is not seen", path, bit / 8, bit & 7);
        shown += ok;
        if (pwrite(fd, &bytes.data[bit / 8], 1, (off_t)(bit / 8)) != 1)
            abort();
    }
    (void)close(fd);
    for (size_t size = 0; size < bytes.size; size += bytes.size / 60 + 1) {
        write_all(path, dx_span_of(bytes.data, size));
        EXPECT(!try_file(path, false) || !cut_is_seen, "%s: cut to %zu", path, size);
        EXPECT(!try_file(path, true) || !cut_is_seen, "%s: cut to %zu", path, size);
    }
    write_all(path, dx_span_of(bytes.data, bytes.size));
    EXPECT(try_file(path, true), "%s was not put back", path);
    dx_buf_release(&bytes);
    return shown;
}

static void check_damage(const struct dx_test_root *r)
{
    const char *text = getenv("DX_INSPECT_STEP");
    size_t step = text == NULL || atoi(text) < 1 ? 13 : (size_t)atoi(text);
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_manifest_version *v;
    char path[300];
    size_t shown = 0;

    if (dx_version_manifest(r->path, &manifest, &err) < 0)
        abort();
    v = dx_manifest_current(&manifest);
    for (size_t i = 0; i < v->file_count; i++) {
        const char *name = v->files[i].name;
        bool zst = strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".zst") == 0;

        path_of(r, name, path);
        shown += damage(path, !zst, true, step);
    }
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    shown += damage(path, true, true, step);
    (void)snprintf(path, sizeof path, "%s/registry.json", r->path);
    shown += damage(path, false, false, step); /* a cut line end loses nothing */
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet",
                   r->path);
    shown += damage(path, false, true, step);
    printf("%zu flips in texts, frames and Parquet headers were shown, all others refused\n",
           shown);
    dx_manifest_release(&manifest);
}

static void check_strangers(const struct dx_test_root *r)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } rows[] = {
        { "", 0, "is empty" },
        { "hello", 5, "not a known magic" },
        { "\0\0\0\0\0\0\0\0", 8, "not a known magic" },
        { "PAR1", 4, "parquet" },
        { "PAR1\xff\xff\xff\xffPAR1", 12, "parquet" },
        { "\x28\xb5\x2f\xfd", 4, "" },
        { "DXDD", 4, "" },
        { "DXMP\1\0\0\0", 8, "" },
        { "{", 1, "neither a manifest, nor datasets.json" },
        { "{\"format\": \"domaindex-index\"}", 29, "" },
        { "{\"format\": \"domaindex-manifest\"}", 32, "" },
        { "{\"datasets\":[", 13, "" },
        { "[1,2]", 5, "not a known magic" },
    };
    char path[300];

    (void)snprintf(path, sizeof path, "%s/stranger", r->path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_buf json = DX_BUF_INIT(OUTPUT_MAX);
        struct dx_error err = DX_ERROR_INIT;

        write_all(path, dx_span_of(rows[i].bytes, rows[i].size));
        EXPECT(dx_inspect_file(path, true, &json, &err) < 0, "row %zu is shown: %.*s", i,
               (int)json.size, (const char *)json.data);
        EXPECT(strstr(err.text, path) != NULL && strstr(err.text, rows[i].words) != NULL,
               "row %zu: '%s'", i, err.text);
        dx_buf_release(&json);
    }
    (void)unlink(path);
}

static void check_urls(void)
{
    static const struct {
        const char *url;
        bool is_object;
    } rows[] = {
        { "s3://bucket/a/index/manifest.json", true },
        { "s3://bucket/x.parquet", true },
        { "s3://bucket/a%20b.dat", true },
        { "http://h/a/b%3Dc.parquet", true },
        { "https://h:8443/x.zst", true },
        { "http://h/a/b%00c.json", true },
        { "http://h/a/x.json?y=1", false },
        { "http://h/a/", false },
        { "http://h", false },
        { "s3://x.json", true },
        { "s3://bucket/.json", false },
        { "s3://bucket/a/b.dxp", true },
        { "s3://bucket/a/root", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        EXPECT(dx_inspect_is_object(rows[i].url) == rows[i].is_object, "%s", rows[i].url);
}

/* Two older parts: of the first, three of 20 domains are taken over. */
static void check_dead(const struct dx_test_root *r)
{
    static const struct dx_build_id builds[] = { { { 1 } }, { { 2 } }, { { 3 } } };
    static const struct dx_dead_rank ranks[] = { { 1, 4, 2 }, { 2, 1, 1 } };
    roaring_bitmap_t *three = roaring_bitmap_of(3, 1, 7, 19);
    roaring_bitmap_t *none = roaring_bitmap_create();
    struct dx_buf file = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dead_writer w;
    const json_t *parts;
    const json_t *part;
    char path[300];
    json_t *j;

    dx_dead_writer_init(&w);
    EXPECT(dx_dead_writer_part(&w, &builds[0], 20, three, &err) == DX_OK &&
               dx_dead_writer_rank(&w, &ranks[0], &err) == DX_OK &&
               dx_dead_writer_rank(&w, &ranks[1], &err) == DX_OK &&
               dx_dead_writer_part(&w, &builds[1], 5, none, &err) == DX_OK &&
               dx_dead_writer_end(&w, &builds[2], dx_envelope_sink_buf, &file, &err) == DX_OK,
           "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/dead.dxb", r->path);
    write_all(path, dx_span_of(file.data, file.size));
    j = inspect(path);
    parts = json_object_get(j, "parts");
    part = json_array_get(parts, 0);
    EXPECT(json_array_size(parts) == 2 &&
               json_integer_value(json_object_get(part, "domains")) == 20 &&
               json_integer_value(json_object_get(part, "dead_domains")) == 3 &&
               json_integer_value(json_object_get(part, "ranks")) == 2 &&
               json_integer_value(json_object_get(json_array_get(parts, 1), "dead_domains")) == 0,
           "parts of dead.dxb");
    json_decref(j);
    (void)damage(path, true, true, 13);
    (void)unlink(path);
    dx_dead_writer_release(&w);
    dx_buf_release(&file);
    roaring_bitmap_free(three);
    roaring_bitmap_free(none);
}

/* The index of postings as it was up to version 1 of their directory: pairs by ids. */
static void check_postings_by_ids(const struct dx_test_root *r)
{
    struct dx_buf plain = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_buf file = DX_BUF_INIT(OUTPUT_MAX);
    struct dx_bits_out bits = { .to = &plain };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_zseek_writer w;
    const json_t *entry;
    char path[300];
    json_t *j;

    dx_buf_str(&plain, "PDX1");
    dx_buf_u32(&plain, 2);
    dx_buf_u64(&plain, 1); /* entries: of all pages, and of this one */
    dx_buf_u16(&plain, 1);
    dx_buf_u64(&plain, 0xabcd);
    dx_buf_u32(&plain, 0); /* Rice codes of a byte each */
    dx_bits_put_rice(&bits, 7, 0);
    dx_bits_put_rice(&bits, 2, 0); /* bytes more than a payload has at least */
    dx_bits_flush(&bits);
    EXPECT(!plain.failed && dx_zseek_writer_init(&w, 1, dx_envelope_sink_buf, &file, &err) >= 0 &&
               dx_zseek_writer_frame(&w, dx_span_of(plain.data, plain.size), NULL, &err) >= 0 &&
               dx_zseek_writer_finish(&w, &err) >= 0,
           "%s", err.text);
    dx_zseek_writer_release(&w);
    (void)snprintf(path, sizeof path, "%s/postings.idx.zst", r->path);
    write_all(path, dx_span_of(file.data, file.size));
    j = inspect(path);
    entry = json_array_get(json_object_get(j, "first"), 0);
    EXPECT(
        number(j, "entries") == 1 && strcmp(words(entry, "domain_id"), "0x000000000000abcd") == 0 &&
            number(entry, "dataset_id") == 7 && number(entry, "payload_len") == DX_PAYLOAD_MIN + 2,
        "postings by ids");
    json_decref(j);
    (void)unlink(path);
    dx_buf_release(&plain);
    dx_buf_release(&file);
}

/* JSON as indented lines: lists, objects in lists, empty ones, texts with what a terminal must not get. */
static void check_text(void)
{
    static const char json[] =
        "{\"a\":1,\"b\":{\"c\":[1,\"x y\"],\"d\":[],\"e\":{}},"
        "\"f\":[{\"g\":true,\"h\":{\"i\":null}},{\"j\":[2]}],\"k\":\"q\\\"\\n\"}";
    static const char want[] =
        "a: 1\nb:\n  c:\n    - 1\n    - x y\n  d: none\n  e:\nf:\n  - g: true\n"
        "    h:\n      i: null\n  - j:\n      - 2\nk: \"q\\\"\\n\"\n";
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_inspect_text(dx_span_str(json), &text, &err) == DX_OK, "%s", err.text);
    dx_buf_u8(&text, '\0');
    EXPECT(strcmp((const char *)text.data, want) == 0, "%s", (const char *)text.data);
    dx_buf_release(&text);
}

/* A pack is cut apart by the manifest of its root, so its path has to lead there. */
static void check_packs(const struct dx_test_root *r)
{
    static const char *const places[] = { "part.pack", "x/part.pack",
                                          "xindex/000001-20261119T103000Z/part.pack",
                                          "root/indexes/000001-20261119T103000Z/part.pack",
                                          "root/index/000001-20261119T103000Z/below/part.pack" };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct dx_buf json = DX_BUF_INIT(1 << 16);
        struct dx_error err = DX_ERROR_INIT;

        EXPECT(dx_inspect_span(places[i], dx_span_str("x"), false, &json, &err) ==
                       DX_E_UNSUPPORTED &&
                   strstr(err.text, "give its path as ROOT/index/VERSION/part.pack") != NULL,
               "%s: %s", places[i], err.text);
        dx_buf_release(&json);
    }
    for (int known = 0; known < 2; known++) { /* a version that is not packed, and none */
        struct dx_buf json = DX_BUF_INIT(1 << 16);
        struct dx_error err = DX_ERROR_INIT;
        char path[300];

        (void)snprintf(path, sizeof path, "%s/index/%s/part.pack", r->path,
                       known == 1 ? r->version : "000077-20261119T103000Z");
        EXPECT(dx_inspect_span(path, dx_span_str("x"), false, &json, &err) == DX_E_NOT_FOUND &&
                   strstr(err.text, "lists no such pack") != NULL,
               "%s: %s", path, err.text);
        dx_buf_release(&json);
    }
}

int main(void)
{
    struct dx_test_root r;

    dx_test_root_make(&r, DOMAINS, DATASETS);
    check_numbers(&r);
    check_lists(&r);
    check_root(&r);
    check_strangers(&r);
    check_text();
    check_packs(&r);
    check_urls();
    check_dead(&r);
    check_postings_by_ids(&r);
    check_damage(&r);
    dx_test_root_remove(&r);
    return failures == 0 ? 0 : 1;
}
