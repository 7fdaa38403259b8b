/* SPDX-License-Identifier: Apache-2.0
 * test_ingest.c - whole runs: what is stored, twice, shuffled, threaded, killed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "builder/ingest/ingest.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_scan.h"
#include "builder/root/root_probe.h"
#include "tests/support/fail.h"
#include "tests/support/root_registry.h"
#include "tests/support/sample.h"

static int failures;
static char top[64];
static char psl[64];

static void put(const char *path, struct dx_span text)
{
    FILE *f = fopen(path, "w");

    if (f == NULL || fwrite(text.data, 1, text.size, f) != text.size || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static const char *at(const char *name)
{
    static char path[8][128];
    static unsigned next;

    next = (next + 1) % 8;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", top, name);
    return path[next];
}

struct how {
    unsigned threads;
    size_t sort_bytes;
    unsigned fan_in;
    uint64_t scale;
    bool objects; /* as into a store, over a directory */
    bool replace;
};

/* A run over "dataset, ts, url, extra" TSV. */
static int ingest(const char *root, const char *input, struct how how,
                  struct dx_ingest_stats *stats, struct dx_error *err)
{
    struct dx_ingest_options o = {
        .root = root,
        .want = { .url = "3", .ts = "2", .dataset = "1", .extra = { "4" }, .extra_count = 1 },
        .format = DX_RECORD_TSV,
        .psl_path = psl,
        .memory_bytes = DX_INGEST_MEMORY_MIN,
        .threads = how.threads,
        .input = &input,
        .input_count = 1,
        .test_sort_bytes = how.sort_bytes,
        .test_fan_in = how.fan_in,
        .test_scale = how.scale,
        .test_objects = how.objects,
        .test_lease_ms = 60000,
        .replace = how.replace,
        .work_dir = top
    };
    int rc = dx_ingest_run(&o, stats, err);

    free(stats->rejects_path);
    stats->rejects_path = NULL;
    return rc;
}

/* One hash over names and bytes of all files below urls/. */
static struct dx_hash128 lake_hash(const char *root, size_t *files)
{
    struct dx_hash_state *st = dx_hash_state_new();
    struct dx_error err = DX_ERROR_INIT;
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_lake_list list;
    struct dx_buf bytes = DX_BUF_INIT(64 << 20);
    char path[300];
    struct dx_hash128 h;

    if (dx_lake_list(&list, &left, root, &err) < 0)
        FAIL("%s", err.text);
    for (size_t i = 0; i <= list.count; i++) {
        const char *name = i < list.count ? list.file[i].path : DX_DATASET_REGISTRY_FILE;

        dx_buf_clear(&bytes);
        (void)snprintf(path, sizeof path, "%s/%s", root, name);
        if (dx_file_read(path, bytes.max, &bytes, &err) < 0)
            FAIL("%s", err.text);
        dx_hash_state_update(st, dx_span_str(name));
        dx_hash_state_update(st, dx_span_of(bytes.data, bytes.size));
    }
    *files = list.count;
    h = dx_hash_state_digest(st);
    dx_hash_state_free(&st);
    dx_lake_list_release(&list);
    dx_buf_release(&bytes);
    return h;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *text_of(struct dx_span s, char out[600])
{
    (void)snprintf(out, 600, "%.*s", s.data == NULL ? 1 : (int)s.size,
                   s.data == NULL ? "~" : (const char *)s.data);
    return out;
}

/* All rows of the lake as lines "dataset|domain|url|raw|ts|extra", sorted. */
static void lake_rows(const char *root, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_lake_list list;
    struct dx_dataset_registry *dataset_registry = NULL;
    char **lines = NULL;
    size_t n = 0;

    if (dx_lake_list(&list, &left, root, &err) < 0 ||
        root_registry(&dataset_registry, root, &err) < 0)
        FAIL("%s", err.text);
    for (size_t i = 0; i < list.count; i++) {
        struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
        struct dx_lake_row row;
        char path[300];
        int rc;

        (void)snprintf(path, sizeof path, "%s/%s", root, list.file[i].path);
        rc = dx_lake_scan_open(&scan, path, &err);
        while (rc >= 0 && (rc = dx_lake_scan_group(&scan, &err)) == 1)
            while (rc >= 0 && (rc = dx_lake_scan_row(&scan, &row, &err)) == 1) {
                char a[600];
                char b[600];
                struct dx_lake_path p;

                lines = realloc(lines, (n + 1) * sizeof *lines);
                if (asprintf(
                        &lines[n++], "%s|%.*s|%.*s://%.*s%.*s|%s|%s%lld|%s\n",
                        dx_dataset_registry_get(dataset_registry, list.file[i].dataset_id)->name,
                        (int)row.domain.size, row.domain.data, (int)row.scheme.size,
                        row.scheme.data, (int)row.host.size, row.host.data,
                        (int)row.path_query.size, row.path_query.data, text_of(row.raw_url, a),
                        row.has_ts ? "" : "~", (long long)row.ts_us,
                        text_of(scan.extra_count > 0 ? row.extra[0] : (struct dx_span){ NULL, 0 },
                                b)) < 0)
                    exit(1);
                if (dx_lake_path_parse(dx_span_str(list.file[i].path), &p) &&
                    (row.domain_id >> 56 < p.first || row.domain_id >> 56 > p.last))
                    FAIL("%s: a row of prefix %02x", list.file[i].path,
                         (unsigned)(row.domain_id >> 56));
            }
        if (rc < 0)
            FAIL("%s: %s", list.file[i].path, err.text);
        dx_lake_scan_close(&scan);
    }
    if (n > 0)
        qsort(lines, n, sizeof *lines, by_text);
    for (size_t i = 0; i < n; i++) {
        dx_buf_str(out, lines[i]);
        free(lines[i]);
    }
    dx_buf_u8(out, 0);
    free(lines);
    dx_lake_list_release(&list);
    dx_dataset_registry_free(&dataset_registry);
}

static void test_small(void)
{
    static const char input[] =
        "b\t10\thttp://Example.com/x\tself\n"
        "b\t10\tHTTP://example.com/x\tself\n" /* the same row, smaller raw spelling */
        "b\t10\thttp://example.com/x#f\tself\n"
        "b\t10\thttp://example.com/x\t\n"   /* another: no extra */
        "b\t\thttp://example.com/x\tself\n" /* another: no time */
        "a\t10\thttp://www.example.com/x\tself\n"
        "a\t10\thttp://www.example.com/x\tself\n" /* canonical already: no raw_url */
        "a\t10\thttp://www.example.com/x\tse\xfflf\n"
        "a\tyesterday\thttp://www.example.com/x\tself\n"
        "\t10\thttp://www.example.com/x\tself\n"
        "c\x01\t10\thttp://www.example.com/x\tself\n"
        "gone\t10\tmailto:x@example.com\tself\n"
        "a\t10\thttp://com/\tself\n"
        "a\t10\n";
    const char *root = at("small");
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf got = DX_BUF_INIT(1 << 20);
    struct dx_dataset_registry *dataset_registry = NULL;

    put(at("in.tsv"), dx_span_of(input, sizeof input - 1));
    if (ingest(root, at("in.tsv"), (struct how){ .threads = 2 }, &stats, &err) < 0)
        FAIL("%s", err.text);
    if (stats.records != 14 || stats.accepted != 9 || stats.stored != 6 || stats.repaired != 1 ||
        stats.rejected_total != 5 || stats.ts_dropped != 1 ||
        stats.rejected[DX_ROW_DATASET_MISSING] != 1 ||
        stats.rejected[DX_ROW_DATASET_INVALID] != 1 || stats.rejected[DX_REJECT_SCHEME] != 1 ||
        stats.rejected[DX_REJECT_PUBLIC_SUFFIX] != 1 ||
        stats.rejected[DX_ROW_COLUMN_MISSING] != 1 || stats.datasets != 2 || stats.files != 2)
        FAIL("records %llu, accepted %llu, stored %llu, rejected %llu",
             (unsigned long long)stats.records, (unsigned long long)stats.accepted,
             (unsigned long long)stats.stored, (unsigned long long)stats.rejected_total);
    lake_rows(root, &got);
    {
        static const char rows[] =
            "a|example.com|http://www.example.com/x|~|10000000|self\n"
            "a|example.com|http://www.example.com/x|~|10000000|se\xEF\xBF\xBDlf\n"
            "a|example.com|http://www.example.com/x|~|~0|self\n"
            "b|example.com|http://example.com/x|HTTP://example.com/x|10000000|self\n"
            "b|example.com|http://example.com/x|~|10000000|~\n"
            "b|example.com|http://example.com/x|~|~0|self\n";

        if (strcmp((char *)got.data, rows) != 0)
            FAIL("rows:\n%s", (char *)got.data);
    }
    if (root_registry(&dataset_registry, root, &err) < 0 ||
        dx_dataset_registry_count(dataset_registry) != 2 ||
        dx_dataset_registry_find(dataset_registry, dx_span_str("a")) != 1 ||
        dx_dataset_registry_find(dataset_registry, dx_span_str("b")) != 2)
        FAIL("ids: %s", err.text);
    dx_dataset_registry_free(&dataset_registry);
    dx_buf_clear(&got);
    if (dx_file_read(at("small/rejects/00001.tsv"), 1 << 20, &got, &err) < 0)
        FAIL("%s", err.text);
    dx_buf_u8(&got, 0);
    if (strstr((char *)got.data, "\n\t13\tpublic_suffix\ta\\t10\\thttp://com/\\tself\n") == NULL ||
        strstr((char *)got.data, "\n\t14\tcolumn_missing\ta\\t10\n") == NULL)
        FAIL("rejects:\n%s", (char *)got.data);
    dx_buf_release(&got);
}

/* A list of URLs with commas in them stays one where no column is asked for; --dataset-meta. */
static void test_plain(void)
{
    static const char *const meta[] = { "licence=CC0", "x=a=b" };
    const char *input = at("list.txt");
    struct dx_ingest_options o = { .root = at("plain"),
                                   .dataset = "list",
                                   .psl_path = psl,
                                   .memory_bytes = DX_INGEST_MEMORY_MIN,
                                   .threads = 1,
                                   .input = &input,
                                   .input_count = 1,
                                   .meta = meta,
                                   .meta_count = 2,
                                   .work_dir = top };
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf got = DX_BUF_INIT(1 << 20);

    put(input, dx_span_str("http://example.com/a,b\nhttp://example.com/c\n"));
    if (dx_ingest_run(&o, &stats, &err) < 0)
        FAIL("%s", err.text);
    free(stats.rejects_path);
    if (stats.stored != 2 || stats.rejected_total != 0)
        FAIL("%llu rows", (unsigned long long)stats.stored);
    lake_rows(at("plain"), &got);
    if (strstr((char *)got.data, "list|example.com|http://example.com/a,b|") == NULL)
        FAIL("rows:\n%s", (char *)got.data);
    dx_buf_clear(&got);
    if (dx_file_read(at("plain/" DX_DATASET_REGISTRY_FILE), 1 << 20, &got, &err) < 0)
        FAIL("%s", err.text);
    dx_buf_u8(&got, 0);
    if (strstr((char *)got.data, "\"licence\":\"CC0\"") == NULL ||
        strstr((char *)got.data, "\"x\":\"a=b\"") == NULL)
        FAIL("registry:\n%s", (char *)got.data);
    dx_buf_release(&got);
}

static unsigned asked, stop_at;

static bool stop(void)
{
    return ++asked >= stop_at;
}

/* So many rows that it is asked while they are written, too: with no function to ask, and stopped at the last time. */
static void test_stopped(void)
{
    const char *input = at("many.txt");
    struct dx_ingest_options o = { .dataset = "list",
                                   .format = DX_RECORD_LIST,
                                   .psl_path = psl,
                                   .memory_bytes = DX_INGEST_MEMORY_MIN,
                                   .threads = 1,
                                   .input = &input,
                                   .input_count = 1,
                                   .work_dir = top };
    FILE *f = fopen(input, "w");

    for (unsigned i = 0; i < 4200; i++)
        fprintf(f, "http://example.com/%u\n", i);
    (void)fclose(f);
    for (unsigned run = 0; run < 3; run++) {
        struct dx_ingest_stats stats;
        struct dx_error err = DX_ERROR_INIT;
        char name[16];
        int rc;

        (void)snprintf(name, sizeof name, "many%u", run);
        o.root = at(name);
        o.stopped = run == 0 ? NULL : stop;
        stop_at = run == 1 ? UINT_MAX : asked;
        asked = 0;
        rc = dx_ingest_run(&o, &stats, &err);
        free(stats.rejects_path);
        if (run < 2 ? rc < 0 || stats.stored != 4200 : rc >= 0)
            FAIL("run %u: %d %s", run, rc, err.text);
        if (run == 2 && strstr(err.text, "interrupted; nothing was added to the lake") == NULL)
            FAIL("%s", err.text);
    }
}

#define DATASETS 9

/* Lines of a random corpus: few large datasets and many small, duplicates on purpose. */
static size_t corpus(char ***lines, size_t n, unsigned seed)
{
    srandom(seed);
    *lines = calloc(n, sizeof **lines);
    for (size_t i = 0; i < n; i++) {
        long d = random() % 10 < 7 ? 0 : random() % DATASETS;

        if (asprintf(&(*lines)[i], "set%ld\t%ld%s\t%s://%s%ld.%s/%ld?q=%ld%s\t%s", d,
                     1300000000 + random() % 50, random() % 500 == 0 ? ".5" : "",
                     random() % 2 ? "http" : "HTTPS", random() % 3 ? "site" : "www.Site",
                     random() % 300, random() % 2 ? "com" : "co.uk", random() % 12, random() % 2,
                     random() % 9 == 0 ? "#frag" : "", random() % 3 ? "" : "e\\x") < 0)
            exit(1);
    }
    return n;
}

static void write_lines(const char *path, char **lines, size_t n)
{
    FILE *f = fopen(path, "w");

    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s\n", lines[i]);
    (void)fclose(f);
}

static void shuffle(char **lines, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)random() % i;
        char *t = lines[i - 1];

        lines[i - 1] = lines[k];
        lines[k] = t;
    }
}

/* Any order, threads, memory: the same bytes. Twice: nothing new. In two overlapping
 * halves: the same rows. */
static void test_determinism(void)
{
    const size_t wanted = dx_sample(40000, 3000);
    const size_t sort_bytes = wanted / 2 * 15; /* a lot of runs */
    const uint64_t scale = dx_sample(200, 800);
    const struct how rows[] = { { 1, 0, 0, scale, false, false },
                                { 2, 0, 0, scale, false, false },
                                { 1, sort_bytes, 2, scale, false, false },
                                { 3, sort_bytes * 4 / 3, 3, scale, false, false },
                                { 2, sort_bytes * 7, 8, scale, false, false } };
    struct dx_hash128 first = { { 0 } };
    struct dx_buf want = DX_BUF_INIT(64 << 20);
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    size_t files = 0;
    size_t files_first = 0;
    uint64_t stored = 0;
    char **lines;
    size_t n = corpus(&lines, wanted, 3);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char root[32];
        struct dx_hash128 h;

        (void)snprintf(root, sizeof root, "d%zu", i);
        write_lines(at("shuffled.tsv"), lines, n);
        if (ingest(at(root), at("shuffled.tsv"), rows[i], &stats, &err) < 0)
            FAIL("%s", err.text);
        if (stats.records != n || stats.accepted != n)
            FAIL("row %zu: %llu of %llu accepted", i, (unsigned long long)stats.accepted,
                 (unsigned long long)stats.records);
        if (rows[i].sort_bytes == sort_bytes && stats.runs < 8)
            FAIL("only %llu runs", (unsigned long long)stats.runs);
        h = lake_hash(at(root), &files);
        if (i == 0) {
            first = h;
            files_first = files;
            stored = stats.stored;
            lake_rows(at(root), &want);
        } else if (!dx_hash128_equal(&h, &first) || files != files_first ||
                   stats.stored != stored) {
            FAIL("row %zu: other bytes, %zu files, %zu before", i, files, files_first);
        }
        shuffle(lines, n);
    }
    if (files < DATASETS - 1 + 16)
        FAIL("%zu files: the large dataset is not in ranges", files);
    if (ingest(at("d0"), at("shuffled.tsv"), rows[3], &stats, &err) < 0 || stats.stored != 0 ||
        stats.files != 0 || stats.known != stored)
        FAIL("twice: %llu rows, %s", (unsigned long long)stats.stored, err.text);

    write_lines(at("half1.tsv"), lines, n * 6 / 10);
    write_lines(at("half2.tsv"), lines + n * 4 / 10, n - n * 4 / 10);
    if (ingest(at("halves"), at("half1.tsv"), rows[0], &stats, &err) < 0 ||
        ingest(at("halves"), at("half2.tsv"), rows[2], &stats, &err) < 0)
        FAIL("%s", err.text);
    {
        struct dx_buf got = DX_BUF_INIT(64 << 20);

        /* Rows are counted only: which raw spelling is kept is known within a run. */
        lake_rows(at("halves"), &got);
        {
            size_t a = 0;
            size_t b = 0;

            for (char *p = (char *)want.data; *p != '\0'; p++)
                a += *p == '\n';
            for (char *p = (char *)got.data; *p != '\0'; p++)
                b += *p == '\n';
            if (a != b || a != stored)
                FAIL("halves: %zu rows, %zu expected", b, a);
        }
        dx_buf_release(&got);
    }
    dx_buf_release(&want);
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
}

/* Damaged input adds nothing and leaves nothing. */
static void test_damaged_input(void)
{
    struct dx_buf bytes = DX_BUF_INIT(1 << 20);
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dirent *entry;
    DIR *dir;

    dx_buf_append(&bytes,
                  "\x28\xB5\x2F\xFD\x04\x58\x39\x00\x00"
                  "abcdefg",
                  16); /* a cut frame */
    put(at("cut.zst"), dx_span_of(bytes.data, bytes.size));
    if (ingest(at("cut"), at("cut.zst"), (struct how){ .threads = 2 }, &stats, &err) >= 0 ||
        strstr(err.text, "cut.zst") == NULL || strstr(err.text, "offset") == NULL)
        FAIL("cut: %s", err.text);
    dir = opendir(at("cut"));
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, "urls") == 0 || strncmp(entry->d_name, "tmp", 3) == 0)
            FAIL("left behind: %s", entry->d_name);
    if (dir != NULL)
        (void)closedir(dir);
    if (ingest(at("cut"), at("nowhere.tsv"), (struct how){ .threads = 1 }, &stats, &err) >= 0)
        FAIL("a missing input");
    dx_buf_release(&bytes);
}

/* Files of a dataset the registry does not know are refused: its id would be given again. */
static void test_lost_registry(void)
{
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;

    put(at("one.tsv"), dx_span_str("a\t1\thttp://example.com/\t\n"));
    if (ingest(at("lost"), at("one.tsv"), (struct how){ .threads = 1 }, &stats, &err) < 0)
        FAIL("%s", err.text);
    (void)unlink(at("lost/" DX_DATASET_REGISTRY_FILE));
    if (ingest(at("lost"), at("one.tsv"), (struct how){ .threads = 1 }, &stats, &err) !=
        DX_E_CORRUPT)
        FAIL("registry lost: %s", err.text);
}

/* A fresh root whose run is killed while it renames files into place, `after` files in.
 * True if it left some files and not all. */
static bool kill_in_publish(int after, struct how how)
{
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_lake_list list = { NULL, 0, 0 };
    int status = 0;
    bool partial;
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    pid_t pid;

    if (dx_dir_remove(at("killed"), &err) < 0 || dx_dir_make(at("killed"), &err) < 0)
        FAIL("%s", err.text);
    pid = fork();
    if (pid == 0)
        _exit(ingest(at("killed"), at("kill.tsv"), how, &stats, &err) < 0);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        dx_lake_list_release(&list);
        if (dx_lake_list(&list, &left, at("killed"), &err) == 0 && list.count > (size_t)after)
            break;
    }
    if (list.count > 0 && kill(pid, SIGKILL) == 0)
        (void)waitpid(pid, &status, 0);
    dx_lake_list_release(&list);
    partial = WIFSIGNALED(status) && dx_lake_list(&list, &left, at("killed"), &err) == 0 &&
              list.count > 0 && list.count < DATASETS - 1 + 16;
    dx_lake_list_release(&list);
    return partial;
}

/* Names in a folder that begin so. */
static unsigned count_names(const char *folder, const char *prefix)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    unsigned n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (dir != NULL)
        (void)closedir(dir);
    return n;
}

static bool says_url(const char *url)
{
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;
    bool says;

    if (dx_file_read(at("objects/" DX_ROOT_PROBE_FILE), text.max, &text, &err) < 0)
        FAIL("%s", err.text);
    says = dx_root_probed(dx_span_of(text.data, text.size), url);
    dx_buf_release(&text);
    return says;
}

/* What a copy of the root in another store says of that store is not believed here. */
static void test_probe(void)
{
    struct how objects = { 2, 300000, 4, 200, true, false };
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;

    if (!says_url(at("objects")))
        FAIL("the first run does not say that it tried the store");
    put(at("objects/" DX_ROOT_PROBE_FILE),
        dx_span_str("{\"format\":\"domaindex-store\",\"version\":1,\"url\":\"http://other\"}"));
    if (ingest(at("objects"), at("o1.tsv"), objects, &stats, &err) < 0 || !says_url(at("objects")))
        FAIL("the store is not tried: %s", err.text);
}

/* Rejects of a store stand in the work folder's parent, which may be /tmp: for this user alone, and
 * not where a link of another leads. */
static void test_rejects_folder(struct how objects)
{
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct stat st;
    char name[64];
    char folder[128];
    char file[160];

    (void)snprintf(name, sizeof name, "domaindex-rejects-%lu", (unsigned long)geteuid());
    (void)snprintf(folder, sizeof folder, "%s", at(name));
    (void)snprintf(file, sizeof file, "%s/00001.tsv", folder);
    if (stat(folder, &st) < 0 || (st.st_mode & 0777) != 0700)
        FAIL("%s: mode %o", folder, st.st_mode);
    if (stat(file, &st) < 0 || (st.st_mode & 0777) != 0600)
        FAIL("%s: mode %o", file, st.st_mode);
    (void)dx_dir_remove(folder, &err);
    if (mkdir(at("elsewhere"), 0755) < 0 || symlink(at("elsewhere"), folder) < 0)
        FAIL("cannot make %s", folder);
    if (ingest(at("objects"), at("bad.tsv"), objects, &stats, &err) >= 0 ||
        strstr(err.text, folder) == NULL)
        FAIL("a link is followed: %s", err.text);
    (void)unlink(folder);
}

/* A run into a store leaves the bytes and names of a run into a directory, and adds nothing when it
 * is repeated. */
static void test_objects(void)
{
    const size_t wanted = dx_sample(20000, 2000);
    struct how local = { 2, wanted * 15, 4, 200, false, false };
    struct how objects = { 2, wanted * 15, 4, 200, true, false };
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_hash128 want;
    struct dx_hash128 got;
    size_t want_files;
    size_t got_files;
    char **lines;
    size_t n = corpus(&lines, wanted, 7);

    write_lines(at("o1.tsv"), lines, n * 6 / 10);
    write_lines(at("o2.tsv"), lines + n * 4 / 10, n - n * 4 / 10);
    for (int i = 0; i < 2; i++) {
        const char *input = at(i == 0 ? "o1.tsv" : "o2.tsv");

        if (ingest(at("local"), input, local, &stats, &err) < 0 || stats.stored == 0)
            FAIL("local %d: %s", i, err.text);
        if (ingest(at("objects"), input, objects, &stats, &err) < 0 || stats.stored == 0)
            FAIL("objects %d: %s", i, err.text);
        want = lake_hash(at("local"), &want_files);
        got = lake_hash(at("objects"), &got_files);
        if (!dx_hash128_equal(&want, &got) || want_files != got_files)
            FAIL("run %d: %zu files, %zu in a directory, or other bytes", i, got_files, want_files);
        if (ingest(at("objects"), input, objects, &stats, &err) < 0 || stats.stored != 0 ||
            stats.files != 0 || stats.known == 0)
            FAIL("objects again: %llu rows, %s", (unsigned long long)stats.stored, err.text);
    }
    if (count_names(top, "domaindex-ingest-") != 0)
        FAIL("a work folder is left");
    put(at("bad.tsv"), dx_span_str("a\t1\tmailto:x\t\n"));
    if (ingest(at("objects"), at("bad.tsv"), objects, &stats, &err) < 0 ||
        stats.rejected_total != 1 || count_names(top, "domaindex-rejects-") != 1)
        FAIL("rejects of objects: %s", err.text);
    test_rejects_folder(objects);
    test_probe();
    (void)unlink(at("objects/" DX_DATASET_REGISTRY_FILE));
    if (ingest(at("objects"), at("o1.tsv"), objects, &stats, &err) != DX_E_CORRUPT)
        FAIL("registry lost: %s", err.text);
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
}

/* As after a first replacement that died before its end: the datasets have an id, and what it has put is in the making. */
static void mark_replacing(const char *root)
{
    struct dx_dataset_registry *reg = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_dataset_registry_new(&reg, &err);

    for (int i = 0; rc == DX_OK && i < 2; i++) {
        uint32_t id;

        rc = dx_dataset_registry_add(reg, dx_span_str(i == 0 ? "a" : "b"), &id, &err);
        if (rc == DX_OK)
            rc = dx_dataset_registry_replace(reg, id, 1, &err);
    }
    if (rc == DX_OK)
        rc = dx_dataset_registry_save(reg, root, &err);
    if (rc < 0)
        FAIL("%s", err.text);
    dx_dataset_registry_free(&reg);
}

/* The numbers of the lake's files, "DATASET_ID:PART " each. */
static void parts_of(const char *root, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_lake_list list;

    if (dx_lake_list(&list, &left, root, &err) < 0)
        FAIL("%s", err.text);
    for (size_t i = 0; i < list.count; i++) {
        struct dx_lake_path p;
        char text[40];

        if (!dx_lake_path_parse(dx_span_str(list.file[i].path), &p))
            FAIL("%s", list.file[i].path);
        (void)snprintf(text, sizeof text, "%lu:%lu ", (unsigned long)list.file[i].dataset_id,
                       (unsigned long)p.part);
        dx_buf_str(out, text);
    }
    dx_buf_u8(out, 0);
    dx_lake_list_release(&list);
}

/* A plain run is refused after a replacement that died. The replacement again removes what it left, of its own datasets alone, and
 * gives no number twice. */
static void test_replace_again(bool objects)
{
    const char *root = at(objects ? "again-objects" : "again");
    struct how plain = { .threads = 1, .objects = objects };
    struct how replace = { .threads = 1, .objects = objects, .replace = true };
    struct dx_buf got = DX_BUF_INIT(1 << 20);
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;

    put(at("old.tsv"),
        dx_span_str("a\t1\thttp://example.com/old\t\nb\t1\thttp://example.com/b\t\n"));
    put(at("new.tsv"), dx_span_str("a\t1\thttp://example.com/new\t\n"));
    if (ingest(root, at("old.tsv"), replace, &stats, &err) < 0 || stats.stored != 2)
        FAIL("%s", err.text);
    parts_of(root, &got);
    if (strcmp((char *)got.data, "1:1 2:1 ") != 0)
        FAIL("files of the first run: %s", (char *)got.data);
    mark_replacing(root);
    if (ingest(root, at("new.tsv"), plain, &stats, &err) != DX_E_INVALID ||
        strstr(err.text, "dataset 'a': replacing it was begun and is not finished") == NULL)
        FAIL("a plain run into what is being replaced: %s", err.text);
    if (ingest(root, at("new.tsv"), replace, &stats, &err) < 0 || stats.stored != 1)
        FAIL("%s", err.text);
    dx_buf_clear(&got);
    parts_of(root, &got);
    if (strcmp((char *)got.data, "1:2 2:1 ") != 0)
        FAIL("files after the replacement: %s", (char *)got.data);
    dx_buf_clear(&got);
    lake_rows(root, &got);
    if (strstr((char *)got.data, "/old") != NULL || strstr((char *)got.data, "/new") == NULL)
        FAIL("rows after the replacement: %s", (char *)got.data);
    if (ingest(root, at("new.tsv"), replace, &stats, &err) != DX_E_INVALID ||
        strstr(err.text, "publish first, then replace it") == NULL)
        FAIL("a replacement before a publish: %s", err.text);
    dx_buf_release(&got);
}

/* Each kill costs an ingest. */
static int kills(void)
{
    return (int)dx_sample(16, 4);
}

/* SIGKILL at many moments; then one run to the end: the rows of an undisturbed run. */
static void test_kill(bool objects)
{
    struct dx_buf want = DX_BUF_INIT(64 << 20);
    struct dx_buf got = DX_BUF_INIT(64 << 20);
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct how how = { 2, 200000, 4, 10000, objects, false };
    struct timespec begun;
    struct timespec ended;
    long whole_us;
    unsigned killed = 0;
    char **lines;
    size_t n = corpus(&lines, dx_sample(12000, 1500), 5);

    if (dx_dir_remove(at("whole"), &err) < 0 || dx_dir_remove(at("killed"), &err) < 0)
        FAIL("%s", err.text);
    write_lines(at("kill.tsv"), lines, n);
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    if (ingest(at("whole"), at("kill.tsv"), how, &stats, &err) < 0)
        FAIL("%s", err.text);
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    whole_us = (ended.tv_sec - begun.tv_sec) * 1000000 + (ended.tv_nsec - begun.tv_nsec) / 1000;
    lake_rows(at("whole"), &want);
    for (int round = 0; round < kills(); round++) {
        pid_t pid = fork();
        int status = 0;

        if (pid == 0)
            _exit(ingest(at("killed"), at("kill.tsv"), how, &stats, &err) < 0);
        /* The end is where it is dangerous: most kills go there. */
        (void)usleep(
            (useconds_t)(whole_us * (round < kills() / 2 ? random() % 100 : 60 + random() % 45) /
                         100));
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        killed += WIFSIGNALED(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
            FAIL("round %d refused", round);
    }
    if (ingest(at("killed"), at("kill.tsv"), how, &stats, &err) < 0)
        FAIL("%s", err.text);
    lake_rows(at("killed"), &got);
    if (got.size != want.size || memcmp(got.data, want.data, got.size) != 0)
        FAIL("after %u kills the rows differ: %zu and %zu bytes", killed, got.size, want.size);
    printf("killed %u times\n", killed);
    killed = 0;
    for (int round = 0; round < kills() / 2; round++) {
        killed += kill_in_publish(round, how);
        dx_buf_clear(&got);
        if (ingest(at("killed"), at("kill.tsv"), how, &stats, &err) < 0)
            FAIL("%s", err.text);
        lake_rows(at("killed"), &got);
        if (got.size != want.size || memcmp(got.data, want.data, got.size) != 0)
            FAIL("killed between files: the rows differ: %zu and %zu bytes", got.size, want.size);
    }
    printf("killed between files %u times\n", killed);
    if (count_names(top, "domaindex-ingest-") != 0 || count_names(at("killed"), "tmp-ingest-") != 0)
        FAIL("work folders of killed runs are left");
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
    dx_buf_release(&want);
    dx_buf_release(&got);
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;

    /* A kill loses nothing the kernel has, so memory is as good as a disk, and synced at once. */
    (void)snprintf(top, sizeof top, "%s/dx-test-ingest-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(top) == NULL)
        return 1;
    (void)snprintf(psl, sizeof psl, "%s/psl", top);
    put(psl,
        dx_span_str("// ===BEGIN ICANN DOMAINS===\ncom\nuk\nco.uk\n// ===END ICANN DOMAINS===\n"));
    test_small();
    test_plain();
    test_stopped();
    test_determinism();
    test_damaged_input();
    test_lost_registry();
    test_objects();
    test_replace_again(false);
    test_replace_again(true);
    if (dx_sample(1, DX_ROUNDS(1, 0)) > 0) { /* what dies has no races to be found */
        test_kill(false);
        test_kill(true);
    }
    if (failures == 0)
        (void)dx_dir_remove(top, &err);
    return failures == 0 ? 0 : 1;
}
